"""The rubric's scores, 1 to 10, of one judge or several.

    item              mean over the judges that scored it; not applicable where more judges say so than score it
    coverage, quality mean of the criterion's C items, of its Q items
    criterion         mean of those of the two that are defined
    sub-dimension     mean of its criteria
    dimension         mean of its sub-dimensions

`paper` (DEER, appendix D.4) rounds nothing. `upstream` is the integration's derivation: sub-dimensions and dimensions
are exact means, rounded to two places.

Invariants: what is not applicable is left out. What failed is left out too and opens the bounds: 1 against the report,
10 in its favour. The shape depends on the findings' paths alone, in their order, so that two profiles of one report can
be printed side by side: dimension > sub-dimension > criterion > coverage, quality > items; one leaf for each dimension
where whole dimensions were judged; one leaf for all where the report was judged as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from local_judge.protocols.deer.names import OVERALL
from local_judge.protocols.deer.rubric.load import label_of
from local_judge.protocols.deer.rubric.model import HIGHEST, LOWEST, Grade, RubricFindings, kind_of, on_scale
from local_judge.protocols.deer.rubric.upstream import rounded_mean
from local_judge.scoring.algebra import answers, mean_of, undefined, unknown
from local_judge.scoring.node import Profile, Score, ScoreNode

ITEM_DEPTH = 4
"""Depth of an item in the tree."""


def score(
    judges: Sequence[RubricFindings], profile: Profile, favour: bool | None = None
) -> tuple[ScoreNode, ...]:
    """Return the judged dimensions in the findings' order, `information_integrity` with recency alone among them.

    Args:
        judges: the findings of each judge on one rubric; one at least.
        profile: the profile whose formulas are used.
        favour: give each missing answer the best score (True) or the worst (False); None leaves it out.
    """
    mode, scale = judges[0].mode, judges[0].scale
    leaves = [
        (same[0].path, _answer(same, scale, favour))
        for same in zip(*(judge.grades for judge in judges), strict=True)
    ]
    if mode == "vanilla":
        return tuple(ScoreNode(id=OVERALL, label="Overall", score=score) for _, score in leaves)
    if mode == "dimensions":
        return tuple(ScoreNode(id=id, label=label_of(id), score=score) for (id,), score in leaves)
    return _group_leaves(
        [((*path[:3], kind_of(path[3]), path[3]), score) for path, score in leaves], 0, profile
    )


def _answer(same: Sequence[Grade], scale: int, favour: bool | None) -> Score:
    """Return the score of one question by all judges."""
    failed = [grade for grade in same if grade.status == "failed"]
    values = [on_scale(grade.score, scale) for grade in same if grade.score is not None]
    n_without = len(same) - len(values) - len(failed)
    if favour is not None:
        values += [HIGHEST if favour else LOWEST] * len(failed)
    if n_without > len(values):
        return undefined("not applicable", 1)
    if not values:
        failure = failed[0].failure
        return unknown(LOWEST, HIGHEST, f"failed: {failure.kind}" if failure else "failed")
    capped = all(grade.capped for grade in same)
    return answers(values, LOWEST, HIGHEST, "capped by the guidance" if capped else "")


def _group_leaves(
    leaves: Iterable[tuple[tuple[str, ...], Score]], depth: int, profile: Profile
) -> tuple[ScoreNode, ...]:
    nodes: list[ScoreNode] = []
    for id, group in groupby(leaves, key=lambda entry: entry[0][depth]):
        members = list(group)
        if depth == ITEM_DEPTH:
            nodes.append(ScoreNode(id=id, label=id, score=members[0][1]))
            continue
        children = _group_leaves(members, depth + 1, profile)
        parts = [child.score for child in children]
        nodes.append(
            ScoreNode(
                id=id,
                label=f"Criterion {id}" if depth == ITEM_DEPTH - 2 else label_of(id),
                score=rounded_score(parts)
                if profile == "upstream" and depth <= 1
                else mean_of(parts, partly=profile == "upstream"),
                children=children,
            )
        )
    return tuple(nodes)


def rounded_score(parts: Sequence[Score]) -> Score:
    """Return a sub-dimension from its criteria, or a dimension from its sub-dimensions, by the published code.

    It has no failures: what failed is left out like what is not applicable. The bounds are the values with every
    failure as 1 and as 10.
    """
    update = {
        "value": rounded_mean(part.value for part in parts),
        "low": rounded_mean(part.low for part in parts),
        "high": rounded_mean(part.high for part in parts),
    }
    return mean_of(parts, partly=True).model_copy(update=update)
