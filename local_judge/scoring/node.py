"""Scores, and the trees that they form.

Invariants: a score is a value with the counts that it rests on, or null with the reason; what failed is counted and
leaves bounds open, and is never a zero. Where a score has a value, `low <= value <= high`. No number is NaN or
infinite. Bounds are made by the operations in `algebra`, `aggregate` and `ensemble`, not by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import model_validator

from local_judge.base.model import Frozen

Profile = Literal["paper", "upstream"]
"""`paper`: the formulas as printed. `upstream`: as the published code computes."""

Vertical = Literal["presentation", "compliance", "depth", "sources"]

VERTICALS: Mapping[Vertical, str] = {
    "presentation": "Presentation quality",
    "compliance": "Task compliance",
    "depth": "Analytical depth",
    "sources": "Source quality",
}
"""DREAM's four verticals with their labels, in the order in which they are shown.

presentation: how the report is written, ordered and laid out; compliance: whether it does what was asked, and covers
it; depth: whether it explains, weighs, concludes, and holds together; sources: whether what it says is so, and rests on
sources that say it and can be relied on.
"""

WHOLE = "spans all verticals"
DIAGNOSTIC = "says how far scores can be trusted"
COUNT = "a count, not a measure of quality"
DIFFERENCE = "a difference of two scores"


class Scale(Frozen):
    """The ends of a score's scale, and which of them is better."""

    low: float = 0.0
    high: float | None = 100.0
    """None where the scale has no upper end."""
    better: Literal["higher", "lower"] = "higher"

    def normalised(self, value: float) -> float | None:
        """Return the value on a scale from 0 (worst) to 100 (best); None where this scale has no upper end."""
        if self.high is None:
            return None
        share = 100.0 * (value - self.low) / (self.high - self.low)
        return share if self.better == "higher" else 100.0 - share


PERCENT, TEN, ONE_TO_TEN, UNIT = Scale(), Scale(high=10), Scale(low=1, high=10), Scale(high=1)


LAST_BITS = 1e-9
"""Relative difference that the rounding of sums explains."""


def _above(lower: float | None, upper: float | None) -> bool:
    if lower is None or upper is None or lower <= upper:
        return False
    return not math.isclose(lower, upper, rel_tol=LAST_BITS, abs_tol=LAST_BITS)


class Score(Frozen):
    """One number, with what it rests on."""

    value: float | None
    """The number on the protocol's scale; None where it is undefined or all that it needs failed."""
    numerator: float | None = None
    """Numerator of the ratio, or the count."""
    denominator: float | None = None
    """Terms of the ratio that the value is, before it is put on the scale; None for counts, which have a numerator
    only."""
    n_expected: int = 0
    """Number of units (claims, citations, references, parts) that it should cover."""
    n_failed: int = 0
    """Number of them that are unknown because of our failures."""
    n_undefined: int = 0
    """Number of parts (1 for a score without parts) that have no value by the formula itself, such as 0/0."""
    known: float | None = None
    """Share from 0 to 1 of what it should rest on that is known, where that is not what the counts say: of a mean,
    the mean share of its parts."""
    low: float | None = None
    """The value if every failure were resolved against the report."""
    high: float | None = None
    """The value if every failure were resolved in its favour."""
    interval_low: float | None = None
    """Lower end of the confidence interval; see `interval_high`."""
    interval_high: float | None = None
    """Confidence interval of 95 % for the value over all units, if only a random sample of them was examined. Failures
    widen it. None if all units were examined, or if they were chosen in another way."""
    note: str = ""
    """The reason for a null, or another remark, in a few words."""

    @model_validator(mode="after")
    def _within_its_bounds(self) -> Self:
        low, value, high = self.low, self.value, self.high
        if _above(low, value) or _above(value, high) or (value is None and _above(low, high)):
            raise ValueError(f"value {value} outside of its bounds {low} to {high}")
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return the score with some fields changed, checked as any other."""
        return type(self).model_validate({**dict(self), **(update or {})})


class ScoreNode(Frozen):
    """A score with its name, what it measures, and the parts that it was made of."""

    id: str
    """Name in paths such as `information_integrity/claim_factuality`."""
    label: str
    """Name in the paper."""
    score: Score
    scale: Scale | None = None
    """None where it is that of the node above, or no scale is meant: of a count, a difference, a diagnostic."""
    vertical: Vertical | None = None
    """The aspect of a report that it measures; None where it is that of the node above, or see `aside`."""
    aside: str = ""
    """Reason why it has no vertical: `WHOLE`, `DIAGNOSTIC`, `COUNT`, `DIFFERENCE`, or another one."""
    of_task: bool = False
    """True for an item of the report's task, such as of its checklist: another task may have another item at the same
    path."""
    mean: bool = False
    """True for a score over reports that is the mean of the reports' scores; False if it has another rule, such as
    pooling."""
    children: tuple[ScoreNode, ...] = ()
    """Parts of the score."""

    def walk(self, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], ScoreNode]]:
        """This node and all below it with their paths, parents first."""
        path = (*above, self.id)
        yield path, self
        for child in self.children:
            yield from child.walk(path)

    def find(self, *path: str) -> ScoreNode:
        """Return the node at `path` below this one. Raises KeyError."""
        node = self
        for step in path:
            for child in node.children:
                if child.id == step:
                    node = child
                    break
            else:
                raise KeyError("/".join(path))
        return node

    def noted(self, *notes: str) -> ScoreNode:
        """Return the node with notes added to its score's."""
        return self.model_copy(update={"score": noted(self.score, *notes)})


def node(
    id: str,
    label: str,
    score: Score,
    children: Iterable[ScoreNode] = (),
    *,
    aside: str = "",
    scale: Scale | None = None,
    of_task: bool = False,
    mean: bool = False,
) -> ScoreNode:
    """Return the node of a score with its parts; see the fields of `ScoreNode`."""
    return ScoreNode(
        id=id,
        label=label,
        score=score,
        children=tuple(children),
        aside=aside,
        scale=scale,
        of_task=of_task,
        mean=mean,
    )


class Place(Frozen):
    """Vertical and scale of one score: see the fields of a node."""

    vertical: Vertical | None = None
    scale: Scale | None = PERCENT
    aside: str = ""


Tree = Sequence[ScoreNode]
"""Score trees side by side, as a protocol gives them."""


def headlines(tree: Tree) -> list[ScoreNode]:
    """Return the roots that sum up a report: its overall score, else every root that measures quality.

    An overall score spans all verticals and has no parts below it: the other roots are its parts.
    """
    overall = [root for root in tree if root.aside == WHOLE and not root.children]
    return overall or [root for root in tree if root.aside in ("", WHOLE)] or list(tree)


def noted(score: Score, *notes: str, first: bool = False) -> Score:
    """Return the score with notes added behind its own, or before it (`first`); empty ones are left out."""
    every = (*notes, score.note) if first else (score.note, *notes)
    return score.model_copy(update={"note": "; ".join(filter(None, every))})


EVALUATED = "evaluated: "
"""Opens the note that says which part of its parts an overall score is of."""


def evaluated(score: Score) -> str:
    """Return the note that a score is of a part of its parts; empty for a score without value or of all parts."""
    notes = score.note.split("; ") if score.value is not None else ()
    return next((one for one in notes if one.startswith(EVALUATED)), "")


def placed(tree: Tree, places: Mapping[str, Place], above: str = "") -> tuple[ScoreNode, ...]:
    """Return the trees with vertical, scale and reason set on those nodes whose path, `a/b/c`, is in `places`.

    A node with a scale keeps it.
    """
    found: list[ScoreNode] = []
    for node in tree:
        path = f"{above}/{node.id}" if above else node.id
        update: dict[str, object] = {"children": placed(node.children, places, path)} if node.children else {}
        place = places.get(path)
        if place is not None:
            scale = node.scale or place.scale
            update |= {"vertical": place.vertical, "scale": scale, "aside": place.aside}
        found.append(node.model_copy(update=update) if update else node)
    return tuple(found)


def map_scores(tree: Tree, change: Callable[[Score], Score]) -> tuple[ScoreNode, ...]:
    """Return the trees with every score changed."""
    return tuple(
        node
        if score is node.score and not node.children
        else node.model_copy(update={"score": score, "children": map_scores(node.children, change)})
        for node in tree
        for score in (change(node.score),)
    )
