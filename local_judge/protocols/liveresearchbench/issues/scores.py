"""Consistency and citation association as scores, 0 to 100.

    paper      table(issues that count)
    upstream   table(issues that the judge listed): the published code checks no quotation and merges nothing

An issue of citation association is a statement whose citation is missing or misplaced (paper, section 4.2 and figure
11). `upstream` counts both too: the published prompt asks for statements without a proper citation, and whether
citations support what they stand with (`criteria/citation.py`).

The published code takes the score that its judge chose from the same table (`graders/pointwise_grader.py`); here no
judge chooses one.

Invariant: no list is no score, with all scores of the table as bounds; a list that is full may be longer, which opens
the lower bound.
"""

from __future__ import annotations

from local_judge.protocols.base import Rated
from local_judge.protocols.liveresearchbench.issues.findings import Fate, IssueFindings, Metric
from local_judge.protocols.liveresearchbench.issues.table import score_of
from local_judge.protocols.scores import Profile, Score, ScoreNode

LABELS: dict[Metric, str] = {
    "consistency": "Factual and logical consistency",
    "citation": "Citation association",
}
NOT_CHOSEN = "from all issues listed; the published code takes the score that the judge chooses"
_FATES: dict[Fate, str] = {
    "counted": "Issues that count",
    "rejected": "Quoting nothing that the report says",
    "repeated": "Named before",
    "covered": "Covered by a citation",
}
_KINDS = {"missing": "Missing citations", "misplaced": "Misplaced citations"}


def score_issues(findings: IssueFindings, profile: Profile) -> ScoreNode:
    """The score, with the number of issues by what became of them."""
    cited = findings.metric == "citation"
    return ScoreNode(
        id=findings.metric,
        label=LABELS[findings.metric],
        score=_score(findings, profile),
        children=tuple(
            ScoreNode(
                id=fate,
                label=label,
                score=_count(findings, findings.count(fate)),
                children=_kinds(findings) if cited and fate == "counted" else (),
            )
            for fate, label in _FATES.items()
            if cited or fate != "covered"
        ),
    )


def _kinds(findings: IssueFindings) -> tuple[ScoreNode, ...]:
    """The issues of citation association that count, by kind."""
    misplaced = findings.n_misplaced
    counts = {"missing": findings.count("counted") - misplaced, "misplaced": misplaced}
    return tuple(
        ScoreNode(id=kind, label=_KINDS[kind], score=_count(findings, n)) for kind, n in counts.items()
    )


def _score(findings: IssueFindings, profile: Profile) -> Score:
    table = findings.table
    worst, best = table[-1].score, table[0].score
    if findings.failure is not None:
        return Score(
            value=None, n_expected=1, n_failed=1, low=worst, high=best, note="the judge gave no list"
        )
    n_issues = len(findings.issues) if profile == "upstream" else findings.count("counted")
    value = score_of(n_issues, table)
    notes = [NOT_CHOSEN] if profile == "upstream" else []
    if findings.full:
        notes.append(f"the list is full at {findings.limit}: there may be more issues")
    if profile == "paper" and findings.count("rejected"):
        notes.append(
            f"{findings.count('rejected')} of {len(findings.issues)} issues rejected: the report does not say so"
        )
    return Score(
        value=value,
        numerator=float(n_issues),
        n_expected=1,
        low=worst if findings.full else value,
        high=value,
        note="; ".join(notes),
    )


def _count(findings: IssueFindings, n: int) -> Score:
    if findings.failure is not None:
        return Score(value=None, n_expected=1, n_failed=1, note="the judge gave no list")
    found = float(n)
    return Score(value=found, numerator=found, n_expected=1, low=found, high=found)


def rated_issues(findings: IssueFindings) -> tuple[Rated, ...]:
    """How many issues the judge found that count."""
    value = None if findings.failure is not None else float(findings.count("counted"))
    return (Rated(metric=findings.metric, item="issues", value=value, scale="interval"),)
