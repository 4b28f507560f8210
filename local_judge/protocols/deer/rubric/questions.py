"""Which questions are asked, in which calls.

Invariants: each item is asked in exactly one call; a criterion is never split between calls; the calls of one report
differ only behind the report, the references, the request and the guidance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from local_judge.protocols.deer.rubric.model import Criterion, Dimension, Item, Path, Rubric, Subdimension
from local_judge.protocols.deer.settings import DeerSettings

JUDGED = (
    "request_fulfillment",
    "analytical_soundness",
    "structural_coherence",
    "format_style",
    "ethics_compliance",
)
"""The dimensions that are the judge's alone."""

CALLS: tuple[tuple[str, ...], ...] = (
    ("request_fulfillment",),
    ("analytical_soundness",),
    ("structural_coherence",),
    ("format_style",),
    ("information_integrity", "ethics_compliance"),
)
"""Dimensions that are asked about together: five calls, as in the published code."""

GUIDED_UPSTREAM = frozenset(CALLS[0] + CALLS[1] + CALLS[2])


class Question(NamedTuple):
    """One thing to be scored."""

    path: Path
    name: str
    """Its key in the reply."""
    item: Item | None
    """None where a dimension or the report is scored as a whole."""

    @property
    def text(self) -> str:
        """What is asked, in the rubric's words; empty where it has none."""
        return self.item.text if self.item else ""


class Group(NamedTuple):
    """Questions that stay together: a criterion's, or a single one."""

    subdimension: Subdimension | None
    criterion: Criterion | None
    questions: tuple[Question, ...]


class Call(NamedTuple):
    """What is asked at once."""

    groups: tuple[Group, ...]
    subject: str
    """What is scored where it has no items."""
    guided: bool
    """Whether the guidance is shown."""


def calls_for(rubric: Rubric, settings: DeerSettings, guidance: bool) -> list[Call]:
    """The calls about one report.

    Args:
        rubric: the texts.
        settings: mode, who is guided, how much a call may ask.
        guidance: whether the task has guidance.
    """
    if settings.mode == "vanilla":
        question = Question((), "report", None)
        subject = "how good an answer to the request it is."
        guided = guidance and settings.guidance == "paper"
        return [Call((Group(None, None, (question,)),), subject, guided)]
    by_id = {dimension.id: dimension for dimension in rubric.dimensions}
    calls: list[Call] = []
    for names in CALLS:
        dimensions = [by_id[name] for name in names]
        guided = guidance and is_guided(names[0], settings)
        if settings.mode == "dimensions":
            calls += [_whole(dimension, guided) for dimension in dimensions if dimension.id in JUDGED]
        else:
            groups = [group for dimension in dimensions for group in _groups(dimension)]
            calls += [Call(part, "", guided) for part in packed(groups, settings.items_per_call)]
    return calls


def is_guided(dimension: str, settings: DeerSettings) -> bool:
    """Whether questions of this dimension are asked with the guidance, where there is one."""
    if settings.guidance == "upstream":
        return dimension in GUIDED_UPSTREAM
    return settings.guidance == "paper"


def dimensions_of(call: Call) -> tuple[str, ...]:
    """The dimensions that a call asks about; none where the report is scored as a whole."""
    paths = (question.path for group in call.groups for question in group.questions)
    return tuple(dict.fromkeys(path[0] for path in paths if path))


def packed(groups: Sequence[Group], limit: int) -> list[tuple[Group, ...]]:
    """Consecutive groups of at most `limit` questions together; a group that is longer stands alone."""
    parts: list[list[Group]] = []
    n = 0
    for group in groups:
        if not parts or n + len(group.questions) > limit:
            parts.append([])
            n = 0
        parts[-1].append(group)
        n += len(group.questions)
    return [tuple(part) for part in parts]


def _whole(dimension: Dimension, guided: bool) -> Call:
    question = Question((dimension.id,), dimension.id, None)
    subject = f"one dimension, {dimension.label}: {dimension.description}"
    return Call((Group(None, None, (question,)),), subject, guided)


def _groups(dimension: Dimension) -> list[Group]:
    return [
        Group(
            part,
            criterion,
            tuple(
                Question(
                    (dimension.id, part.id, criterion.id, item.id),
                    f"{part.id}.{criterion.id}.{item.id}",
                    item,
                )
                for item in criterion.items
            ),
        )
        for part in dimension.subdimensions
        for criterion in part.criteria
    ]
