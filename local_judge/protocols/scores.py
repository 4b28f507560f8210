"""Numbers computed from findings.

Invariant: a score is a value with the counts that it rests on, or null with the reason; what failed is
counted and leaves bounds open, and is never a zero (design, 3.2). Where a score has a value, `low <= value <=
high`. A stored score of which less is known than unknown has no value, only bounds (`known_enough`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

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
    known: float | None = None
    """Share from 0 to 1 of what it should rest on that is known, where that is not what the counts say: of a mean,
    the mean share of its parts."""
    low: float | None = None
    """The value if every failure were resolved against the report."""
    high: float | None = None
    """The value if every failure were resolved in its favour."""
    interval_low: float | None = None
    interval_high: float | None = None
    """Where only a random sample of the units was examined: a confidence interval of 95 % for the value over all of
    them. Failures widen it. None where all units were examined, or where they were chosen in another way."""
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


LEAST_KNOWN = 0.5
"""Least share of what a score should rest on that is known where the score has a value."""


def known_share(score: Score) -> float | None:
    """The share, from 0 to 1, of what a score should rest on that is known; None where it rests on nothing.

    Formula: `known`, or 1 - n_failed / (n_expected - n_undefined) where it is not set. Of a mean, `known` is the mean
    share of its parts, so that a dimension with one known part of four has 0.25, however many answers that part has.
    """
    if score.known is not None:
        return score.known
    base = score.n_expected - score.n_undefined
    if base > 0:
        return max(0.0, 1 - score.n_failed / base)
    return 0.0 if score.n_failed else None


def mean_share(parts: Sequence[Score], n_missing: int = 0) -> float | None:
    """The mean known share of the parts that are defined and of missing ones, which have 0; None without any."""
    shares = [known_share(part) for part in parts if part.value is not None or failed(part)]
    known = [1.0 if share is None else share for share in shares]
    return sum(known) / (len(known) + n_missing) if known or n_missing else None


def failed(score: Score) -> bool:
    """Whether a score has no value because of failures, and not by its formula."""
    return score.value is None and (score.n_failed > 0 or known_share(score) not in (None, 1.0))


def known_enough(score: Score) -> Score:
    """The score, or, where less of it is known than unknown, its bounds without a value."""
    share = known_share(score)
    if score.value is None or share is None or share >= LEAST_KNOWN:
        return score
    said = f"no value: {100 * share:.0f} % of what it rests on is known"
    return score.model_copy(
        update={
            **dict.fromkeys(("value", "numerator", "denominator", "interval_low", "interval_high")),
            "note": f"{said}; {score.note}" if score.note else said,
        }
    )


def known_enough_trees(roots: Sequence[ScoreNode], most: float = 1.0) -> tuple[ScoreNode, ...]:
    """Score trees with `known_enough` applied to every node.

    Args:
        roots: the trees.
        most: the largest share that can be known: of scores over reports, the share of the reports with findings.
    """

    def counted(score: Score) -> Score:
        share = known_share(score)
        if share is not None and most < 1.0:
            score = score.model_copy(update={"known": min(share, most)})
        return known_enough(score)

    return tuple(
        node.model_copy(
            update={"score": counted(node.score), "children": known_enough_trees(node.children, most)}
        )
        for node in roots
    )


def mean_of(parts: Sequence[Score], *, partly: bool = False) -> Score:
    """The mean of the parts that have a value, where at least half of the parts is known.

    Formula: sum of the defined values / number of them. A part of which less is known than unknown has no value here
    either. A part without value counts in `n_failed` if failures are the cause, else in `n_undefined`. The bounds are
    the means of the parts' bounds: a part that failed altogether is in them, one that is undefined is not. A part that
    failed and has no bound may be anything on that side: then the mean has none. A single part is its own mean, counts
    and all.

    Args:
        parts: one at least.
        partly: take each part that has a value, however little of it is known, as published code does.
    """
    if len(parts) == 1:
        return parts[0]
    if not partly:
        parts = [known_enough(part) for part in parts]
    values = [part.value for part in parts if part.value is not None]
    missing = [part for part in parts if part.value is None]
    n_failed = sum(failed(part) for part in missing)
    n_undefined = len(missing) - n_failed
    share = mean_share(parts)
    enough = partly or ((share is None or share >= LEAST_KNOWN) and len(values) >= n_failed)
    value = sum(values) / len(values) if values and enough else None
    lows = [part.low for part in parts if part.low is not None]
    highs = [part.high for part in parts if part.high is not None]
    low = sum(lows) / len(lows) if lows else None
    high = sum(highs) / len(highs) if highs else None
    if value is not None:
        low = value if low is None else min(low, value)
        high = value if high is None else max(high, value)
    in_doubt = [part for part in parts if part.n_failed or failed(part)]
    if any(part.low is None for part in in_doubt):
        low = None
    if any(part.high is None for part in in_doubt):
        high = None
    return Score(
        value=value,
        numerator=None if value is None else sum(values),
        denominator=None if value is None else len(values),
        n_expected=len(parts),
        n_failed=n_failed,
        n_undefined=n_undefined,
        known=share,
        low=low,
        high=high,
        note=_missing_note(len(parts), n_failed, n_undefined),
    )


def in_part(score: Score) -> bool:
    """Whether a score has a value in spite of failures: its own, or those of a part of it."""
    share = known_share(score)
    return score.value is not None and (score.n_failed > 0 or (share is not None and share < 1.0))


class Coverage(NamedTuple):
    """How much is known of the scores that a statistic is of."""

    n_in_part: int
    """Scores with a value in spite of failures."""
    n: int
    """Scores with a value."""
    known: float | None
    """Mean of their known shares; None without a score that could have failed."""
    widest: float | None
    """The largest distance between the bounds of one of them; None where one of them has a bound that is not known."""


def coverage_of(scores: Iterable[Score]) -> Coverage:
    """The coverage of the scores that have a value."""
    found = [score for score in scores if score.value is not None]
    shares = [share for score in found if (share := known_share(score)) is not None]
    part = [score for score in found if in_part(score)]
    widths = [score.high - score.low for score in part if score.low is not None and score.high is not None]
    return Coverage(
        n_in_part=len(part),
        n=len(found),
        known=sum(shares) / len(shares) if shares else None,
        widest=None if len(widths) < len(part) else max(widths, default=0.0),
    )


def _missing_note(n_parts: int, n_failed: int, n_undefined: int) -> str:
    reasons = [f"{n_undefined} undefined"] if n_undefined else []
    reasons += [f"{n_failed} failed"] if n_failed else []
    return f"of {n_parts} parts {' and '.join(reasons)}" if reasons else ""
