"""The seven dimensions and the overall score, from what was learnt about one report.

Invariant: both profiles have the same tree. `overall` is the mean of the dimensions that have a value and says of how
many it is; recency is printed in either profile and counts only where the published code counts it.

    paper      recency stands under reference quality and counts in nothing: the paper does not have it
    upstream   reference quality = round((2 * reference quality + recency) / 3, 2) where recency has a value
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from local_judge.protocols.deer.rubric import paper, upstream
from local_judge.protocols.deer.rubric.findings import RubricFindings
from local_judge.protocols.deer.rubric.names import INTEGRITY, ORDER, QUALITY_OF_REFERENCES, RECENCY
from local_judge.protocols.deer.rubric.tree import OVERALL, Leaves, leaves_of
from local_judge.protocols.deer.verification.rows import Rows
from local_judge.protocols.deer.verification.scores import score as score_rows
from local_judge.protocols.scores import Profile, Score, ScoreNode, mean_of

NOT_COUNTED = "not counted: no sub-dimension of the paper"
COUNTED = "a third metric of reference quality in the published code"
NOT_MERGED = "not counted: reference quality, which it belongs to, was not verified"


def score(rows: Rows | None, rubric: RubricFindings | None, profile: Profile) -> tuple[ScoreNode, ...]:
    """The dimensions in the paper's order, then `overall` if there is a rubric.

    Without a rubric there are the two dimensions of the verification; without verification the judged ones, with
    recency beside them. A report judged as a whole has that one score as its overall one.
    """
    return score_leaves(rows, None if rubric is None else leaves_of(rubric), profile)


def score_leaves(rows: Rows | None, rubric: Leaves | None, profile: Profile) -> tuple[ScoreNode, ...]:
    """The same, of answers that may be several judges' together."""
    verified = score_rows(rows, profile).dimensions if rows is not None else ()
    if rubric is None:
        return verified
    judged = (paper if profile == "paper" else upstream).score_leaves(rubric)
    if rubric.mode == "vanilla":
        return (*verified, *(_noted(root, "one score for the whole report") for root in judged))
    dimensions = {root.id: root for root in (*judged, *verified)}
    beside: tuple[ScoreNode, ...] = ()
    recency = _recency(judged)
    if recency is not None:
        if rows is None:
            del dimensions[INTEGRITY]
            label = f"{recency.label} (not counted)"
            beside = (_noted(recency.model_copy(update={"label": label}), NOT_MERGED),)
        else:
            dimensions[INTEGRITY] = _with_recency(dimensions[INTEGRITY], recency, profile)
    order = [*(id for id in ORDER if id in dimensions), *(id for id in dimensions if id not in ORDER)]
    roots = tuple(dimensions[id] for id in order)
    return (*roots, *beside, ScoreNode(id=OVERALL, label="Overall", score=_overall(roots, profile)))


def _overall(dimensions: Sequence[ScoreNode], profile: Profile) -> Score:
    """The mean of the dimensions that have a value; in `upstream` these are rounded, the mean is not."""
    mean = mean_of([root.score for root in dimensions], partly=profile == "upstream")
    if len(dimensions) == len(ORDER):
        return mean
    return _with_note(mean, f"evaluated: {len(dimensions)} of the {len(ORDER)} dimensions")


def _recency(judged: Sequence[ScoreNode]) -> ScoreNode | None:
    """Recency, the one sub-dimension of information integrity that the judge is asked about, item by item."""
    integrity = next((root for root in judged if root.id == INTEGRITY), None)
    if integrity is None:
        return None
    return next((child for child in integrity.children if child.id == RECENCY), None)


def _with_recency(integrity: ScoreNode, recency: ScoreNode, profile: Profile) -> ScoreNode:
    """Information integrity with recency under reference quality, counted by the profile."""
    shown = _noted(recency, NOT_COUNTED if profile == "paper" else COUNTED)

    def extended(part: ScoreNode) -> ScoreNode:
        if part.id != QUALITY_OF_REFERENCES:
            return part
        score = part.score if profile == "paper" else _merged(part.score, recency.score)
        return part.model_copy(update={"children": (*part.children, shown), "score": score})

    children = tuple(extended(part) for part in integrity.children)
    update: Mapping[str, object] = {"children": children}
    if profile == "upstream" and integrity.score.value is not None:
        again = upstream.rounded_score([child.score for child in children])
        update = {**update, "score": _with_note(again, integrity.score.note)}
    return integrity.model_copy(update=update)


def _merged(quality: Score, recency: Score) -> Score:
    """Reference quality with recency as a third metric, to two places."""
    value = upstream.rounded(upstream.merged(quality.value, recency.value))
    if quality.value is None or value is None:
        return quality
    low, high = (
        upstream.rounded(upstream.merged(of_quality, of_recency))
        for of_quality, of_recency in ((quality.low, recency.low), (quality.high, recency.high))
    )
    ends = [end for end in (low, value, high) if end is not None]
    counts = quality.model_dump(include={"numerator", "denominator"})
    if recency.value is not None:
        counts = {"numerator": 2 * quality.value + recency.value, "denominator": 3}
    return quality.model_copy(
        update={
            **counts,
            "value": value,
            "low": min(ends),
            "high": max(ends),
            "n_expected": quality.n_expected + 1,
            "n_failed": quality.n_failed + (recency.value is None and recency.n_failed > 0),
            "n_undefined": quality.n_undefined + (recency.value is None and not recency.n_failed),
        }
    )


def _noted(node: ScoreNode, note: str) -> ScoreNode:
    return node.model_copy(update={"score": _with_note(node.score, note)})


def _with_note(score: Score, note: str) -> Score:
    notes = [text for text in (score.note, note) if text]
    return score.model_copy(update={"note": "; ".join(notes)})
