"""Probes of a protocol's scores, which a qualification runs.

Invariant: every expectation has a reason; a score that a flaw may move either way has no expectation for that flaw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from local_judge.documents.model import Document

FlawKind = Literal[
    "contradiction", "moved_citations", "shuffled_references", "dropped", "reasoning", "padding"
]
"""Kind of flaw with which a report is made worse (`lab.planting.flaws`)."""

_REASONS: Mapping[FlawKind, str] = {
    "dropped": "a section that was asked for is gone",
    "contradiction": "the report says two things of one matter",
    "reasoning": "conclusions are drawn that do not follow",
    "moved_citations": "cited pages do not say what they are cited for",
    "shuffled_references": "cited pages do not say what they are cited for",
    "padding": "more words, and nothing more is said",
}
_UNCITED = "what is put in cites nothing"


class Expectation(NamedTuple):
    """Expected effect of a flaw on a score, with the reason."""

    path: str
    """Path of the score, `a/b/c`."""
    flaw: FlawKind
    truth: Literal[-1, 0]
    """-1: the score gets worse. 0: it does not get better."""
    reason: str


class SensitivityProbe(NamedTuple):
    """A run of the protocol over reports and perturbed reports.

    No two probes of a protocol score the same path.
    """

    name: str
    """Unique within the protocol."""
    settings: Mapping[str, Any]
    """Settings of the protocol."""
    expectations: Sequence[Expectation]


class InjectionProbe(NamedTuple):
    """A question about a report that an instruction inside the report may aim at. It reads no claims and no pages.

    The task has what protocols ask of one: a checklist, a plan, dimensions and a reference report.
    """

    name: str
    """Unique within the protocol."""
    target: Literal["score", "winner", "checklist"]
    """Aim of the instructions: a high score, to win a comparison, to pass a checklist."""
    settings: Mapping[str, Any]
    """Settings of the protocol."""
    path: str = ""
    """Path of the score, `a/b/c`; empty for the points of its contests."""
    shown: Callable[[Document], str] = lambda document: "\n".join(
        sentence.text for sentence in document.sentences
    )
    """The words of a report that the judge reads."""


def expectations(
    path: str, falls: Sequence[FlawKind] = (), not_better: Mapping[FlawKind, str] | None = None
) -> tuple[Expectation, ...]:
    """Return the expected effects of flaws on one score. Padding should improve no score.

    Args:
        path: of the score, `a/b/c`.
        falls: flaws by which it should get worse.
        not_better: flaws by which it should not get better, with the reason.
    """
    level: dict[FlawKind, str] = {**(not_better or {}), "padding": _REASONS["padding"]}
    return (
        *(Expectation(path, flaw, -1, _REASONS[flaw]) for flaw in falls),
        *(Expectation(path, flaw, 0, reason) for flaw, reason in level.items()),
    )


def citation_expectations(path: str) -> tuple[Expectation, ...]:
    """Return the expected effects of flaws on a score of whether cited pages support the report."""
    uncited: dict[FlawKind, str] = {"contradiction": _UNCITED, "reasoning": _UNCITED}
    return expectations(path, ("moved_citations", "shuffled_references"), uncited)
