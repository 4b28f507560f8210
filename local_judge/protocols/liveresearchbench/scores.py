"""The metrics as trees, of one judge or of several.

    paper      of several judges: presentation and coverage item by item, then the rate; all else the mean of the scores
    upstream   the mean of the judges' scores (`average_results.py`)
    depth      sums of dimensions averaged before a pair is decided (`paper`), or games pooled (`upstream`)

Invariant: the trees are the same whatever the number of judges; a metric that was not run has none.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.base import Rated
from local_judge.protocols.ensemble import mean_trees
from local_judge.protocols.items import rated as rated_items
from local_judge.protocols.liveresearchbench.accuracy.scores import rated_accuracy, score_accuracy
from local_judge.protocols.liveresearchbench.coverage.scores import score_coverage
from local_judge.protocols.liveresearchbench.depth.rated import rated_depth
from local_judge.protocols.liveresearchbench.depth.scores import depth_together, score_depth
from local_judge.protocols.liveresearchbench.findings import LrbFindings
from local_judge.protocols.liveresearchbench.issues.scores import rated_issues, score_issues
from local_judge.protocols.liveresearchbench.presentation.scores import score_presentation
from local_judge.protocols.scores import Profile, ScoreNode

NO_REQUEST = "judged without the request: the report has no task"


def score(found: LrbFindings, profile: Profile) -> tuple[ScoreNode, ...]:
    """One root for each metric that was run."""
    return _noted(_roots(found, profile), found)


def _roots(found: LrbFindings, profile: Profile) -> tuple[ScoreNode, ...]:
    return tuple(
        root
        for root in (
            found.presentation and score_presentation([found.presentation], profile),
            found.coverage and score_coverage([found.coverage], profile),
            found.consistency and score_issues(found.consistency, profile),
            found.citation and score_issues(found.citation, profile),
            found.accuracy and score_accuracy(found.accuracy, profile),
            found.depth and score_depth(found.depth, profile),
        )
        if root is not None
    )


def _noted(roots: Sequence[ScoreNode], found: LrbFindings) -> tuple[ScoreNode, ...]:
    """The roots, each with a note where the judge did not see the request, which paper and code show it."""
    if found.request is not None:
        return tuple(roots)
    return tuple(
        root.model_copy(
            update={
                "score": root.score.model_copy(
                    update={"note": "; ".join(filter(None, (NO_REQUEST, root.score.note)))}
                )
            }
        )
        for root in roots
    )


def together(judges: Sequence[LrbFindings], profile: Profile) -> tuple[ScoreNode, ...]:
    """The scores of one report by all judges that have findings about it."""
    roots = mean_trees([_roots(found, profile) for found in judges])
    compared = [found.depth for found in judges if found.depth is not None]
    by_item: dict[str, ScoreNode] = {}
    if compared:
        by_item["depth"] = depth_together(compared, profile)
    if profile == "upstream":
        return _noted([by_item.get(root.id, root) for root in roots], judges[0])
    presented = [found.presentation for found in judges if found.presentation is not None]
    covered = [found.coverage for found in judges if found.coverage is not None]
    if presented:
        by_item["presentation"] = score_presentation(presented, profile)
    if covered:
        by_item["coverage"] = score_coverage(covered, profile)
    return _noted([by_item.get(root.id, root) for root in roots], judges[0])


def rated(found: LrbFindings) -> tuple[Rated, ...]:
    """All decisions of one judge."""
    decisions: list[Rated] = []
    if found.presentation is not None:
        decisions += rated_items("presentation", found.presentation.checks)
    if found.coverage is not None:
        decisions += rated_items("coverage", found.coverage.items)
    for issues in (found.consistency, found.citation):
        if issues is not None:
            decisions += rated_issues(issues)
    if found.accuracy is not None:
        decisions += rated_accuracy(found.accuracy)
    if found.depth is not None:
        decisions += rated_depth(found.depth)
    return tuple(decisions)
