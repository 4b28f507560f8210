"""FACT's scores over all reports of a system, in every way that is in use, each by its name.

Invariants: both profiles give the same tree; a report of which nothing is known stays in the counts and in the bounds;
what the published code prints is, in `upstream`, computed from whole numbers as it does, to the last bit.

    citation accuracy    all      mean over all reports, 0 for one without pairs (paper, appendix E.1, Eq. 3 and 4)
                         citing   mean over the reports with citations
                         pooled   supported pairs / pairs that count, of all reports together (the code's `valid_rate`)
    effective citations  all      supported pairs / all reports (Eq. 5)
                         citing   supported pairs / reports with citations (the code's `total_valid_citations`)
    citations            all, citing likewise (the code's `total_citations`)
    unknown              pairs of unknown outcome / pairs, of all reports together

The root of the first three is, in `paper`, what the paper defines (`all`), and in `upstream` what the code prints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from local_judge.protocols.fact.findings import FactFindings
from local_judge.protocols.fact.scores import (
    ACCURACY,
    CITATIONS,
    EFFECTIVE,
    LABELS,
    Tally,
    accuracy,
    citations_of,
    effective,
    pooled,
    tally,
    unknown_share,
    vote_together,
    voted,
)
from local_judge.scoring.aggregate import mean_over_reports
from local_judge.scoring.ensemble import at_extremes, mean_trees
from local_judge.scoring.node import Profile, Score, ScoreNode, map_scores, noted

ROOTS: Mapping[Profile, Mapping[str, str]] = {
    "paper": {ACCURACY: "all", EFFECTIVE: "all", CITATIONS: "all"},
    "upstream": {ACCURACY: "pooled", EFFECTIVE: "citing", CITATIONS: "citing"},
}
"""Which child each root repeats."""

WAYS = {"all": "mean over all reports", "citing": "mean over citing reports", "pooled": "pooled"}


def aggregate(
    reports: Sequence[Sequence[FactFindings]], profile: Profile, n_missing: int
) -> tuple[ScoreNode, ...]:
    """The scores of several reports together.

    Args:
        reports: of each report, each of another task, the findings of each judge.
        profile: whose definition of a report's scores.
        n_missing: reports that have no findings, since they could not be read or evaluated.
    """
    if not reports:
        return _of_one((), profile, n_missing)
    own = [_of_one(findings, profile, n_missing) for findings in zip(*reports, strict=True)]
    if not all(map(vote_together, reports)):
        return mean_trees(own)
    trees = at_extremes(
        lambda favour: _of_one([voted(judges, favour) for judges in reports], profile, n_missing), own
    )
    return tuple(map(_without_upper_end, trees)) if n_missing else trees


def _without_upper_end(node: ScoreNode) -> ScoreNode:
    """Leave a count without an upper bound: how many pairs a missing report has is not known, whoever votes."""
    if node.id not in (EFFECTIVE, CITATIONS):
        return node
    (opened,) = map_scores((node,), lambda score: score.model_copy(update={"high": None}))
    return opened


def _of_one(reports: Sequence[FactFindings], profile: Profile, n_missing: int) -> tuple[ScoreNode, ...]:
    counts = [tally(findings, profile) for findings in reports]
    citing = [one for one, findings in zip(counts, reports, strict=True) if findings.n_citations]
    partly = profile == "upstream"  # the code takes what is known of each report, however little

    def means(score: Callable[[Tally], Score], most: float | None) -> dict[str, Score]:
        return {
            name: mean_over_reports(list(map(score, group)), n_missing, 0.0, most, partly=partly)
            for name, group in (("all", counts), ("citing", citing))
        }

    together = Tally(*map(sum, zip(*counts, strict=True))) if counts else Tally(0, 0, 0, 0)
    found = {
        # A report without pairs has the accuracy 0 in a mean, whatever the profile.
        ACCURACY: means(lambda one: accuracy(one, profile if one.n else "paper"), 1.0)
        | {"pooled": _opened(pooled(together), len(reports), n_missing)},
        EFFECTIVE: means(effective, None),
        CITATIONS: means(lambda one: citations_of(one, profile), None),
    }
    unknown = unknown_share(reports)
    return (
        *(_node(id, ways, ROOTS[profile][id]) for id, ways in found.items()),
        unknown.model_copy(update={"score": _opened(unknown.score, len(reports), n_missing)}),
    )


def _opened(share: Score, n: int, n_missing: int) -> Score:
    """A share of pairs. How many pairs a missing report has is not known: it leaves all open."""
    if not n_missing:
        return share
    opened = share.model_copy(update={"low": 0.0, "high": 1.0, "n_undefined": 0})
    return noted(opened, f"of {n + n_missing} reports {n_missing} missing")


def _node(id: str, ways: Mapping[str, Score], chosen: str) -> ScoreNode:
    """A root with its ways of taking the mean; it repeats the one that the profile defines, and says which."""
    return ScoreNode(
        id=id,
        label=LABELS[id],
        score=noted(ways[chosen], WAYS[chosen], first=True),
        children=tuple(ScoreNode(id=name, label=WAYS[name], score=score) for name, score in ways.items()),
    )
