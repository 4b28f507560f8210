"""Active fact-checking over all reports of a system.

    ratio        pooled: 100 * sum of N_Right / sum of N_Statements. All nine rows of the paper's Table 4 are mean
                 Right / mean Statements, which is the same
    by report    mean of the reports' ratios, and of their numbers of statements by label: the columns of Table 4

Invariant: a report that is missing opens the bounds of every number, and of those without an end on the upper side, all
the way.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.deepresearcheval.facts.findings import FactsFindings
from local_judge.protocols.deepresearcheval.facts.scores import (
    COUNTS,
    ROOT,
    SCALE,
    count_scores,
    ratio,
)
from local_judge.protocols.deepresearcheval.facts.tally import pooled, tally
from local_judge.protocols.scores import Profile, Score, ScoreNode, mean_of

BY_REPORT = ("by_report", "Mean of the reports' ratios")


def over_facts(reports: Sequence[FactsFindings], profile: Profile, n_missing: int) -> ScoreNode:
    """The pooled ratio, with what stands beside it for each report.

    Args:
        reports: findings of one system's reports.
        profile: whose labels.
        n_missing: reports that have no findings.
    """
    tallies = [tally(one, profile) for one in reports]
    whole = ratio(pooled(tallies))
    notes = ["pooled", *([whole.note] if whole.note else [])]
    if n_missing:
        notes.append(f"{n_missing} of the run's reports missing")
        whole = whole.model_copy(update={"low": 0.0, "high": SCALE})
    by_report = [ratio(one) for one in tallies]
    counts = [count_scores(one) for one in tallies]
    children = [
        ScoreNode(
            id=BY_REPORT[0],
            label=BY_REPORT[1],
            score=_mean(by_report, n_missing, SCALE),
        ),
        *(
            ScoreNode(id=id, label=f"{label} a report", score=_mean([one[id] for one in counts], n_missing))
            for id, label in COUNTS.items()
        ),
    ]
    return ScoreNode(
        id=ROOT[0],
        label=ROOT[1],
        score=whole.model_copy(update={"note": "; ".join(notes)}),
        children=tuple(children),
    )


def _mean(parts: Sequence[Score], n_missing: int, top: float | None = None) -> Score:
    missing = Score(value=None, n_expected=1, n_failed=1, low=0.0, high=top)
    return mean_of([*parts, *[missing] * n_missing])
