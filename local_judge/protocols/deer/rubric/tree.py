"""The tree that both profiles fill from the rubric's findings.

Invariant: the shape depends on the findings' paths alone, in their order, so that two profiles of one report can be
printed side by side: dimension > sub-dimension > criterion > coverage, quality > items; one leaf for each dimension
where whole dimensions were judged; one leaf for all where the report was judged as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from local_judge.protocols.deer.rubric.findings import Grade, Mode, RubricFindings
from local_judge.protocols.deer.rubric.model import Path
from local_judge.protocols.deer.rubric.names import label_of
from local_judge.protocols.scores import Score, ScoreNode

LOWEST, HIGHEST = 1.0, 10.0
"""The scale that every score is put on."""

OVERALL = "overall"
ITEM_DEPTH = 4
"""Length of an item's path in the findings."""

KINDS = {"C": "coverage", "Q": "quality"}
"""By the first letter of an item's id."""

Parent = Callable[[int, Sequence[Score]], Score]
"""The score of a node from its depth (0 for a dimension, 1 for a sub-dimension, 2 for a criterion, 3 for coverage or
quality) and its children's scores."""


class Leaves(NamedTuple):
    """What the tree is built on: the score of each answer, of one judge or of several together."""

    mode: Mode
    scores: tuple[tuple[Path, Score], ...]
    """By the findings' paths, in their order."""


def on_scale(score: int, scale: int) -> float:
    """A score of a scale from 1 to `scale`, on the scale from 1 to 10.

    Formula: 1 + (score - 1) * 9 / (scale - 1): the ends meet, 3 of 5 becomes 5.5.
    """
    return float(score) if scale == HIGHEST else LOWEST + (score - 1) * (HIGHEST - LOWEST) / (scale - 1)


def kind_of(item: str) -> str:
    """`coverage` or `quality`. Raises ValueError for an id that begins with neither letter."""
    try:
        return KINDS[item[:1]]
    except KeyError:
        raise ValueError(f"item {item!r}: its id begins with neither C nor Q") from None


def leaf(grade: Grade, scale: int) -> Score:
    """The score of one answer: null where it is not applicable, and with the whole scale open where it failed."""
    if grade.status == "failed":
        kind = f": {grade.failure.kind}" if grade.failure else ""
        return Score(value=None, n_expected=1, n_failed=1, low=LOWEST, high=HIGHEST, note=f"failed{kind}")
    if grade.score is None:
        return Score(value=None, n_expected=1, n_undefined=1, note="not applicable")
    value = on_scale(grade.score, scale)
    note = "capped by the guidance" if grade.capped else ""
    return Score(value=value, numerator=value, denominator=1, n_expected=1, low=value, high=value, note=note)


def leaves_of(findings: RubricFindings) -> Leaves:
    """The scores of one judge's answers."""
    return Leaves(
        findings.mode, tuple((grade.path, leaf(grade, findings.scale)) for grade in findings.grades)
    )


def build(leaves: Leaves, parent: Parent) -> tuple[ScoreNode, ...]:
    """The tree of the leaves' mode, one root for each judged dimension, or one for the whole report."""
    if leaves.mode == "vanilla":
        return tuple(ScoreNode(id=OVERALL, label="Overall", score=score) for _, score in leaves.scores)
    if leaves.mode == "dimensions":
        return tuple(
            ScoreNode(id=path[0], label=label_of(path[0]), score=score) for path, score in leaves.scores
        )
    return _grouped(
        [((*path[:3], kind_of(path[3]), path[3]), score) for path, score in leaves.scores], 0, parent
    )


def _grouped(
    leaves: Iterable[tuple[tuple[str, ...], Score]], depth: int, parent: Parent
) -> tuple[ScoreNode, ...]:
    nodes: list[ScoreNode] = []
    for id, group in groupby(leaves, key=lambda entry: entry[0][depth]):
        members = list(group)
        if depth == ITEM_DEPTH:
            nodes.append(ScoreNode(id=id, label=id, score=members[0][1]))
            continue
        children = _grouped(members, depth + 1, parent)
        label = f"Criterion {id}" if depth == ITEM_DEPTH - 2 else label_of(id)
        score = parent(depth, [child.score for child in children])
        nodes.append(ScoreNode(id=id, label=label, score=score, children=children))
    return tuple(nodes)
