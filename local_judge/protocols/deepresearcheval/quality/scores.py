"""Adaptive quality of one report as trees, 0 to 10, by one judge or by several (section 4.1).

    criterion   s_c                              of several judges: the mean over those who answered
    dimension   S_d = sum(w_c * s_c) / sum(w_c)
    quality     S   = sum(W_d * S_d) / sum(W_d)
    general, specific                            the same over the dimensions of a kind
    gap         general - specific               above 0: better at what every report is asked than at its own task

    upstream    the same by the published code; `general` and `specific` are plain means of dimensions

Invariants: what failed is left out of the value and opens the bounds, with 0 and with 10; it is never a 0. The
published code makes a 0 of a dimension in which an answer is missing: by `upstream` it has no value then, and neither
has what is above it. A part whose weights are all 0 is undefined.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

from local_judge.protocols.base import Rated
from local_judge.protocols.deepresearcheval.quality import upstream
from local_judge.protocols.deepresearcheval.quality.findings import TOP, QualityFindings
from local_judge.protocols.deepresearcheval.quality.published import (
    criteria_json,
    raw_scores,
    weights_json,
)
from local_judge.protocols.ensemble import mean_trees
from local_judge.protocols.scores import Profile, Score, ScoreNode, mean_of
from local_judge.tasks.model import Criterion, DimensionKind, QualityDimension, QualityDimensions

QUALITY, GAP = "quality", "general_gap"
GENERAL, SPECIFIC = "general", "specific"
KINDS: tuple[DimensionKind, ...] = (GENERAL, SPECIFIC)
LABELS = {
    QUALITY: "Adaptive quality",
    GENERAL: "General dimensions",
    SPECIFIC: "Task-specific dimensions",
    GAP: "General above task-specific",
}
NO_WEIGHT = "all its weights are 0"
COUNTED_0 = "an answer is missing: the published code counts the dimension as 0"

Tree = tuple[ScoreNode, ...]
Weighted = tuple[float, Score]


def score_quality(judges: Sequence[QualityFindings], profile: Profile) -> Tree:
    """Quality, and the gap between general and task-specific dimensions.

    Args:
        judges: those that judged one report by the same dimensions; one at least.
        profile: by whose formulas; `upstream` knows one judge.
    """
    dimensions = judges[0].dimensions
    if dimensions is None:
        return _failed(judges[0])
    nodes = _dimensions(dimensions, judges)
    if profile == "upstream":
        nodes = [_published(node) for node in nodes]
    parts = [(one, node) for one, node in zip(dimensions.dimensions, nodes, strict=True)]
    groups = [_group(kind, [part for part in parts if part[0].kind == kind], profile) for kind in KINDS]
    whole = [(one.weight, node.score) for one, node in parts]
    score = weighted(whole) if profile == "paper" else _total(judges[0], dimensions, whole)
    notes = [*_notes(judges, dimensions), *([score.note] if score.note else [])]
    general, specific = (group.score for group in groups)
    return (
        ScoreNode(
            id=QUALITY,
            label=LABELS[QUALITY],
            score=score.model_copy(update={"note": "; ".join(notes)}),
            children=tuple(groups),
        ),
        ScoreNode(id=GAP, label=LABELS[GAP], score=gap_between(general, specific)),
    )


def quality_together(judges: Sequence[QualityFindings], profile: Profile) -> Tree:
    """Of several judges: criterion by criterion where they judged by the same dimensions, else means of scores."""
    same = all(found.dimensions == judges[0].dimensions for found in judges)
    if len(judges) == 1 or (profile == "paper" and same and judges[0].dimensions is not None):
        return score_quality(judges, profile)
    return mean_trees([score_quality([found], profile) for found in judges])


def weighted(parts: Sequence[Weighted]) -> Score:
    """The weighted mean of the parts that have a value.

    Formula: sum(w * value) / sum(w) over them; bounds: the same over all parts, with their bounds.
    """
    whole = math.fsum(weight for weight, _ in parts)
    n_expected = sum(score.n_expected for _, score in parts)
    n_failed = sum(score.n_failed for _, score in parts)
    if not whole:
        # No answer would give it a value: it is undefined, whatever failed.
        return Score(value=None, n_expected=n_expected, n_undefined=1, note=NO_WEIGHT)
    known = [(weight, score.value) for weight, score in parts if score.value is not None]
    above = math.fsum(weight * value for weight, value in known)
    below = math.fsum(weight for weight, _ in known)
    value = above / below if below else None
    low = high = value
    if n_failed:
        low = math.fsum(weight * (score.low or 0.0) for weight, score in parts) / whole
        high = math.fsum(weight * (score.high or 0.0) for weight, score in parts) / whole
    if value is not None and low is not None and high is not None:  # the last bit of a sum
        low, high = min(low, value), max(high, value)
    return Score(
        value=value,
        numerator=above if below else None,
        denominator=below or None,
        n_expected=n_expected,
        n_failed=n_failed,
        low=low,
        high=high,
        note=f"{n_failed} of {n_expected} answers failed" if n_failed else "",
    )


def gap_between(general: Score, specific: Score) -> Score:
    """How far the general dimensions are above the task-specific ones; -10 to 10."""
    known = general.value is not None and specific.value is not None
    value = (general.value or 0.0) - (specific.value or 0.0) if known else None
    undefined = not known and bool(general.n_undefined or specific.n_undefined)
    n_failed = 0 if undefined else general.n_failed + specific.n_failed
    ends = [general.low, specific.high, general.high, specific.low]
    bounded = not undefined and None not in ends
    return Score(
        value=value,
        n_expected=general.n_expected + specific.n_expected,
        n_failed=n_failed,
        n_undefined=int(undefined),
        low=(general.low or 0.0) - (specific.high or 0.0) if bounded else value,
        high=(general.high or 0.0) - (specific.low or 0.0) if bounded else value,
        note=NO_WEIGHT if undefined else "",
    )


def _failed(found: QualityFindings) -> Tree:
    kind = found.failure.kind if found.failure else "unknown"
    note = f"no dimensions were drafted: {kind}"
    none = Score(value=None, n_expected=1, n_failed=1, low=0.0, high=TOP, note=note)
    return (
        ScoreNode(id=QUALITY, label=LABELS[QUALITY], score=none),
        ScoreNode(id=GAP, label=LABELS[GAP], score=none.model_copy(update={"low": -TOP})),
    )


def _dimensions(dimensions: QualityDimensions, judges: Sequence[QualityFindings]) -> list[ScoreNode]:
    given = [{mark.criterion: mark.score for mark in found.marks} for found in judges]
    nodes: list[ScoreNode] = []
    for dimension in dimensions.dimensions:
        children = [
            ScoreNode(
                id=one.id.rpartition(".")[2],
                label=one.criterion,
                score=_criterion([marks[one.id] for marks in given]),
            )
            for one in dimension.criteria
        ]
        parts = [(one.weight, child.score) for one, child in zip(dimension.criteria, children, strict=True)]
        nodes.append(
            ScoreNode(id=dimension.id, label=dimension.name, score=weighted(parts), children=tuple(children))
        )
    return nodes


def _criterion(given: Sequence[float | None]) -> Score:
    """One criterion; each judge is a unit."""
    known = [score for score in given if score is not None]
    n_failed = len(given) - len(known)
    total = math.fsum(known)
    return Score(
        value=total / len(known) if known else None,
        n_expected=len(given),
        n_failed=n_failed,
        low=total / len(given),
        high=(total + TOP * n_failed) / len(given),
    )


def _published(node: ScoreNode) -> ScoreNode:
    """A dimension as the published code has it: all answers, or none."""
    if not node.score.n_failed:
        return node
    changes = {"value": None, "numerator": None, "denominator": None, "note": COUNTED_0}
    return node.model_copy(update={"score": node.score.model_copy(update=changes)})


def _group(
    kind: DimensionKind, parts: Sequence[tuple[QualityDimension, ScoreNode]], profile: Profile
) -> ScoreNode:
    """The dimensions of one kind: by their weights, or as the plain mean of the published columns."""
    scores = [(one.weight if profile == "paper" else 1.0, node.score) for one, node in parts]
    score = weighted(scores)
    if profile == "upstream" and score.n_failed:
        score = score.model_copy(update={"value": None, "numerator": None, "denominator": None})
    children = tuple(node for _, node in parts)
    return ScoreNode(id=kind, label=LABELS[kind], score=score, children=children)


def _total(found: QualityFindings, dimensions: QualityDimensions, whole: Sequence[Weighted]) -> Score:
    """The published total; null where an answer is missing."""
    score = weighted(whole)
    if score.n_failed:
        return score.model_copy(
            update={"value": None, "numerator": None, "denominator": None, "note": COUNTED_0}
        )
    value = upstream.final_scores(raw_scores(found), criteria_json(dimensions), weights_json(dimensions))[
        upstream.TOTAL
    ]
    return score.model_copy(update={"value": value, "numerator": value, "low": value, "high": value})


def _notes(judges: Sequence[QualityFindings], dimensions: QualityDimensions) -> list[str]:
    """What a reader must know of where the dimensions come from, and of quotations."""
    origin = judges[0].origin
    notes = ["dimensions drafted by the judge" if origin == "judge" else f"dimensions {dimensions.status}"]
    if any(found.calls == "task" for found in judges):
        notes.append("all dimensions in one call")
    rejected = sum(mark.quote_rejected is not None for found in judges for mark in found.marks)
    return notes + ([f"{rejected} quotations do not occur in the report"] if rejected else [])


def rated_quality(found: QualityFindings) -> tuple[Rated, ...]:
    """The judge's scores of criteria, by dimension; of several task-specific ones together.

    Judges that have drafted criteria of their own are compared in none of them: an item is known by its text too.
    """
    dimensions = found.dimensions.dimensions if found.dimensions else ()
    scores = {mark.criterion: mark.score for mark in found.marks}
    return tuple(
        Rated(
            metric=dimension.id if dimension.kind == "general" else SPECIFIC,
            item=_item(one, found),
            value=scores[one.id],
            scale="interval",
        )
        for dimension in dimensions
        for one in dimension.criteria
    )


def _item(criterion: Criterion, found: QualityFindings) -> str:
    if found.origin == "task":
        return criterion.id
    return f"{criterion.id}#{hashlib.sha256(criterion.criterion.encode()).hexdigest()[:8]}"


def mean_over(scores: Sequence[Score | None], low: float = 0.0) -> Score:
    """The mean over reports; None for one of which nothing is known, from `low` to 10."""
    unknown = Score(value=None, n_expected=1, n_failed=1, low=low, high=TOP)
    return mean_of([unknown if score is None else score for score in scores])
