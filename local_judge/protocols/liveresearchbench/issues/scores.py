"""Consistency and citation association as scores, 0 to 100.

    paper      table(issues that count)
    upstream   table(issues that the judge listed): the published code checks no quotation and merges nothing

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
    "rejected": "Quotation not in the report",
    "repeated": "Named before",
    "covered": "Covered by a citation",
}


def score_issues(findings: IssueFindings, profile: Profile) -> ScoreNode:
    """The score, with the number of issues by what became of them."""
    fates: list[Fate] = [fate for fate in _FATES if fate != "covered" or findings.metric == "citation"]
    return ScoreNode(
        id=findings.metric,
        label=LABELS[findings.metric],
        score=_score(findings, profile),
        children=tuple(
            ScoreNode(id=fate, label=_FATES[fate], score=_count(findings, fate)) for fate in fates
        ),
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
        notes.append(f"{findings.count('rejected')} of {len(findings.issues)} issues rejected: no such words")
    return Score(
        value=value,
        numerator=float(n_issues),
        n_expected=1,
        low=worst if findings.full else value,
        high=value,
        note="; ".join(notes),
    )


def _count(findings: IssueFindings, fate: Fate) -> Score:
    if findings.failure is not None:
        return Score(value=None, n_expected=1, n_failed=1, note="the judge gave no list")
    found = float(findings.count(fate))
    return Score(value=found, numerator=found, n_expected=1, low=found, high=found)


def rated_issues(findings: IssueFindings) -> tuple[Rated, ...]:
    """How many issues the judge found that count."""
    value = None if findings.failure is not None else float(findings.count("counted"))
    return (Rated(metric=findings.metric, item="issues", value=value, scale="interval"),)
