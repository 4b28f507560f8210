"""Which answers cost a report most.

Invariant: a cost is the exact difference that this one answer makes, by the paper's profile as it was computed: were it
10 and all else the same, the dimension and the overall score would be higher by so much. Since a mean weighs its
defined parts alike, that is the missing points divided by the number of defined parts at each level above.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.deer.names import INTEGRITY, OVERALL, RECENCY
from local_judge.protocols.deer.rubric.findings import RubricFindings
from local_judge.protocols.deer.rubric.model import HIGHEST, Path, kind_of, on_scale
from local_judge.scoring.node import ScoreNode
from serving.types import Frozen


class Cost(Frozen):
    """What one answer below the top takes from the scores above it."""

    path: Path
    """As in the findings."""
    dimension: float
    """Points that its dimension would gain."""
    overall: float
    """Points that the overall score would gain."""


def costs(roots: Sequence[ScoreNode], rubric: RubricFindings) -> tuple[Cost, ...]:
    """What each answer costs, the dearest first, those of equal cost in the rubric's order.

    Args:
        roots: the scores of `overall.score` by the profile `paper`.
        rubric: the findings that they were computed from.

    Recency costs nothing: the paper does not count it. A report judged as a whole has no parts that could cost, and a
    dimension without value nothing that could be added to.
    """
    if rubric.mode == "vanilla":
        return ()
    by_id = {root.id: root for root in roots}
    n_dimensions = _defined([root for root in roots if root.id not in (OVERALL, RECENCY)])
    found = [
        _cost(by_id[grade.path[0]], grade.path, HIGHEST - on_scale(grade.score, rubric.scale), n_dimensions)
        for grade in rubric.grades
        if grade.score is not None
        and grade.score < rubric.scale
        and grade.path[0] != INTEGRITY
        and by_id[grade.path[0]].score.value is not None
    ]
    return tuple(sorted(found, key=lambda cost: -cost.overall))


def _cost(root: ScoreNode, path: Path, missing: float, n_dimensions: int) -> Cost:
    steps = (*path[1:3], kind_of(path[3]), path[3]) if len(path) > 1 else ()
    parts = 1
    node = root
    for step in steps:
        parts *= _defined(node.children)
        node = node.find(step)
    return Cost(path=path, dimension=missing / parts, overall=missing / (parts * n_dimensions))


def _defined(nodes: Sequence[ScoreNode]) -> int:
    return sum(node.score.value is not None for node in nodes)
