"""FACT's scores of one report (paper, section 3.2 and appendix E.1).

Invariants: pure functions of stored findings; both profiles give the same tree; a failure of ours leaves the
denominator and opens the bounds.

Formulas, with N_u pairs and N_s of them supported:

    citation accuracy    paper: N_s / N_u, and 0 for a report without pairs      upstream: N_s / known pairs
    effective citations  N_s
    citations            paper: N_u                                              upstream: known pairs
    unknown              pairs of unknown outcome / N_u, in both

In `paper`, which knows only "support" and "not support", a page that is dead, blocked, empty or unusable does not
support; only failures of ours are unknown. In `upstream`, whatever is unknown is left out of the count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from local_judge.protocols.fact.findings import REASONS, FactFindings
from local_judge.protocols.scores import Profile, Score, ScoreNode

ACCURACY, EFFECTIVE, CITATIONS, UNKNOWN = (
    ("citation_accuracy", "Citation Accuracy"),
    ("effective_citations", "Effective Citations"),
    ("citations", "Citations"),
    ("unknown", "Unknown"),
)
"""Ids and labels of the roots."""


class Tally(NamedTuple):
    """The pairs of a report, counted."""

    n: int
    supported: int
    known: int
    """Those that a profile counts."""
    failed: int
    """Those that it would count, had nothing of ours failed."""


def tally(findings: FactFindings, profile: Profile) -> Tally:
    """The pairs as a profile counts them."""
    failed = sum(pair.failed for pair in findings.pairs)
    unknown = sum(pair.outcome == "unknown" for pair in findings.pairs)
    n = len(findings.pairs)
    return Tally(
        n=n,
        supported=sum(pair.outcome == "supported" for pair in findings.pairs),
        known=n - (failed if profile == "paper" else unknown),
        failed=failed,
    )


def score(findings: FactFindings, profile: Profile) -> tuple[ScoreNode, ...]:
    """The four scores of one report; below the share of unknown pairs stands that of each reason."""
    counts = tally(findings, profile)
    unresolved = (
        f"{findings.n_unresolved} citations lead to no URL and make no pair" if findings.n_unresolved else ""
    )
    citations = citations_of(counts, profile).model_copy(update={"note": unresolved})
    return (
        ScoreNode(id=ACCURACY[0], label=ACCURACY[1], score=accuracy(counts, profile)),
        ScoreNode(id=EFFECTIVE[0], label=EFFECTIVE[1], score=effective(counts)),
        ScoreNode(id=CITATIONS[0], label=CITATIONS[1], score=citations),
        unknown_share((findings,)),
    )


def accuracy(counts: Tally, profile: Profile) -> Score:
    """Supported pairs / pairs that count; without any, `zero` in `paper` and null in `upstream`."""
    if counts.n == 0 and profile == "paper":
        return zero()
    base = counts.known + counts.failed
    if counts.known == 0:
        return Score(
            value=None,
            n_expected=base,
            n_failed=counts.failed,
            n_undefined=int(not counts.failed),
            low=0.0 if counts.failed else None,
            high=1.0 if counts.failed else None,
            note=f"all {counts.failed} failed" if counts.failed else "0/0: no pair is known, the code fails",
        )
    return Score(
        value=counts.supported / counts.known,
        numerator=counts.supported,
        denominator=counts.known,
        n_expected=base,
        n_failed=counts.failed,
        low=counts.supported / base,
        high=(counts.supported + counts.failed) / base,
    )


def zero() -> Score:
    """The accuracy of a report without pairs by the paper's definition (appendix E.1)."""
    return Score(value=0.0, numerator=0, denominator=0, low=0.0, high=0.0, note="no citation")


def effective(counts: Tally) -> Score:
    """N_s: the supported pairs."""
    return Score(
        value=float(counts.supported),
        numerator=counts.supported,
        n_expected=counts.known + counts.failed,
        n_failed=counts.failed,
        low=float(counts.supported),
        high=float(counts.supported + counts.failed),
        note="counts what is known" if counts.failed else "",
    )


def citations_of(counts: Tally, profile: Profile) -> Score:
    """The pairs that the accuracy is of: in `paper` all, known or not; in `upstream` the known ones."""
    if profile == "paper":
        return Score(value=float(counts.n), numerator=counts.n, n_expected=counts.n)
    return Score(
        value=float(counts.known),
        numerator=counts.known,
        n_expected=counts.known + counts.failed,
        n_failed=counts.failed,
        low=float(counts.known),
        high=float(counts.known + counts.failed),
    )


def unknown_share(reports: Sequence[FactFindings]) -> ScoreNode:
    """Pairs of unknown outcome / all pairs, of one or several reports together, and by reason."""
    reasons = Counter(pair.reason for findings in reports for pair in findings.pairs)
    n = sum(reasons.values())

    def share(count: int) -> Score:
        if n == 0:
            return Score(value=None, n_undefined=1, note="no pair")
        return Score(value=count / n, numerator=count, denominator=n, n_expected=n)

    return ScoreNode(
        id=UNKNOWN[0],
        label=UNKNOWN[1],
        score=share(n - reasons[None]),
        children=tuple(
            ScoreNode(id=reason, label=reason.replace("_", " "), score=share(reasons[reason]))
            for reason in REASONS
            if reason != "tied" or reasons[reason]  # one judge is never divided
        ),
    )
