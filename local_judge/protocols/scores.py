"""Numbers computed from findings.

Invariant: a score is a value with the counts that it rests on, or null with the reason; what failed is
counted and leaves bounds open, and is never a zero (design, 3.2). Where a score has a value, `low <= value <=
high`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from local_judge.documents.model import Frozen

Profile = Literal["paper", "upstream"]
"""`paper`: the formulas as printed. `upstream`: as the published code computes."""


class Score(Frozen):
    """One number."""

    value: float | None
    """On the protocol's scale; None where it is undefined or nothing that it needs could be had."""
    numerator: float | None = None
    denominator: float | None = None
    """What the value is the ratio of, before it is put on the scale; None for counts, which have a numerator
    only."""
    n_expected: int = 0
    """How many units (claims, citations, references, parts) it should cover."""
    n_failed: int = 0
    """How many of them are unknown because something of ours failed."""
    n_undefined: int = 0
    """How many parts, or 1 for a score without parts, have no value by the formula itself (0/0)."""
    low: float | None = None
    """The value if every failure were resolved against the report."""
    high: float | None = None
    """The value if every failure were resolved in its favour."""
    note: str = ""
    """Why it is null, or what a reader must know, in a few words."""


class ScoreNode(Frozen):
    """A score with its name and the parts that it was made of."""

    id: str
    label: str
    """For people: the paper's name."""
    score: Score
    children: tuple[ScoreNode, ...] = ()

    def walk(self, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], ScoreNode]]:
        """This node and all below it with their paths, parents first."""
        path = (*above, self.id)
        yield path, self
        for child in self.children:
            yield from child.walk(path)

    def find(self, *path: str) -> ScoreNode:
        """The node at `path` below this one. Raises KeyError."""
        node = self
        for step in path:
            for child in node.children:
                if child.id == step:
                    node = child
                    break
            else:
                raise KeyError("/".join(path))
        return node


def mean_of(parts: Sequence[Score]) -> Score:
    """The mean of the parts that have a value.

    Formula: sum of the defined values / number of them. A part without value counts in `n_failed` if failures
    are the cause, else in `n_undefined`. The bounds are the means of the parts' bounds: a part that failed
    altogether is in them, one that is undefined is not. A part that failed and has no bound may be
    anything on that side: then the mean has none. A single part is its own mean, counts and all.
    """
    if len(parts) == 1:
        return parts[0]
    values = [part.value for part in parts if part.value is not None]
    missing = [part for part in parts if part.value is None]
    n_failed = sum(part.n_failed > 0 for part in missing)
    value = sum(values) / len(values) if values else None
    lows = [part.low for part in parts if part.low is not None]
    highs = [part.high for part in parts if part.high is not None]
    low = sum(lows) / len(lows) if lows else None
    high = sum(highs) / len(highs) if highs else None
    if value is not None:
        low = value if low is None else min(low, value)
        high = value if high is None else max(high, value)
    failed = [part for part in parts if part.n_failed]
    if any(part.low is None for part in failed):
        low = None
    if any(part.high is None for part in failed):
        high = None
    n_undefined = len(missing) - n_failed
    return Score(
        value=value,
        numerator=sum(values) if values else None,
        denominator=len(values) if values else None,
        n_expected=len(parts),
        n_failed=n_failed,
        n_undefined=n_undefined,
        low=low,
        high=high,
        note=_missing_note(len(parts), n_failed, n_undefined),
    )


def _missing_note(n_parts: int, n_failed: int, n_undefined: int) -> str:
    reasons = [f"{n_undefined} undefined"] if n_undefined else []
    reasons += [f"{n_failed} failed"] if n_failed else []
    return f"of {n_parts} parts {' and '.join(reasons)}" if reasons else ""
