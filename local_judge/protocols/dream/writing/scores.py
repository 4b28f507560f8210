"""Writing quality, 0 to 100 (DREAM, section 3 and Table 3).

    S_d = sum over the sub-dimensions of d of weight * score            weights of a dimension sum to 1
    WQ  = (S_ideas + S_organization + S_fluency) / 3

Of several judges, a sub-dimension's score is the mean of those that gave one. A sub-dimension without a score is left
out of its dimension, whose other weights are scaled up, and opens the bounds with 0 and with 100.

Invariant: with all ten scores, WQ is the formula's and its bounds are WQ.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.base import Rated
from local_judge.protocols.dream.writing.findings import WritingFindings, WritingMark
from local_judge.protocols.dream.writing.rubric import (
    DIMENSIONS,
    LABELS,
    SUBDIMENSIONS,
    DimensionId,
    of_dimension,
)
from local_judge.protocols.scores import Score, ScoreNode, mean_of

TOP = 100.0


def score_writing(judges: Sequence[WritingFindings]) -> ScoreNode:
    """WQ of one report, with its dimensions and their sub-dimensions; one judge at least."""
    by_id = {same[0].id: _subdimension(same) for same in zip(*(found.marks for found in judges), strict=True)}
    dimensions = tuple(_dimension(dimension, by_id) for dimension in DIMENSIONS)
    whole = mean_of([node.score for node in dimensions])
    n_failed = sum(score.n_failed for score in by_id.values())
    n_expected = sum(score.n_expected for score in by_id.values())
    scored = [mark for found in judges for mark in found.marks if mark.score is not None]
    bare = sum(mark.quote is None for mark in scored)
    notes = [f"{n_failed} of {n_expected} answers failed"] if n_failed else []
    notes += [f"{bare} of {len(scored)} scores without a quotation that occurs in the report"] if bare else []
    counts = {"n_expected": n_expected, "n_failed": n_failed, "note": "; ".join(notes)}
    return ScoreNode(
        id="writing", label="Writing quality", score=whole.model_copy(update=counts), children=dimensions
    )


def _subdimension(same: Sequence[WritingMark]) -> Score:
    """One sub-dimension by all judges."""
    scores = [mark.score for mark in same if mark.score is not None]
    n_failed = len(same) - len(scores)
    return Score(
        value=sum(scores) / len(scores) if scores else None,
        n_expected=len(same),
        n_failed=n_failed,
        low=sum(scores) / len(same),
        high=(sum(scores) + TOP * n_failed) / len(same),
    )


def _dimension(dimension: DimensionId, by_id: dict[str, Score]) -> ScoreNode:
    parts = [(one, by_id[one.id]) for one in of_dimension(dimension)]
    known = [(one.weight, score.value) for one, score in parts if score.value is not None]
    weight = sum(weight for weight, _ in known)
    total = sum(weight * value for weight, value in known)
    whole = Score(
        value=total / weight if known else None,
        numerator=total if known else None,
        denominator=weight if known else None,
        n_expected=sum(score.n_expected for _, score in parts),
        n_failed=sum(score.n_failed for _, score in parts),
        low=sum(one.weight * (score.low or 0.0) for one, score in parts),
        high=sum(one.weight * (score.high or 0.0) for one, score in parts),
    )
    return ScoreNode(
        id=dimension,
        label=LABELS[dimension],
        score=whole,
        children=tuple(ScoreNode(id=one.id, label=one.label, score=score) for one, score in parts),
    )


def rated_writing(found: WritingFindings) -> tuple[Rated, ...]:
    """The score of each sub-dimension."""
    names = {one.id: one.dimension for one in SUBDIMENSIONS}
    return tuple(
        Rated(
            metric=f"writing.{names[mark.id]}",
            item=mark.id,
            value=None if mark.score is None else float(mark.score),
            scale="interval",
        )
        for mark in found.marks
    )
