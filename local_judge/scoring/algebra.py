"""Operations on scores. Each carries value, bounds and counts along, so that no metric computes bounds by hand.

    exactly     a number that is known by its definition
    undefined   no value by the formula, such as 0/0
    unknown     no value since all that it rests on failed
    answers     mean of the answers to one question         a missing one may be anything from `least` to `most`
    share       hits / known units                          a failed unit may be a hit or not; `Unseen` ones too
    count       a number of units                           up to `more` others may belong to it, `fewer` of it may not
    weighted    sum(w * part) / sum(w)                      of parts with bounds of their own
    mean_of     mean of the parts that have a value         where at least half of the parts is known
    difference  one score less another
    rising      a formula that rises in each of its parts   evaluated at their bounds
    resolved    a formula of answers                        evaluated with all failures against and for the report
    measured    a formula of all units or none              none known unless nothing is missing

Invariant: `low <= value <= high`; the bounds are what the value would be were all that failed resolved against the
report, and in its favour.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from local_judge.scoring.coverage import LEAST_KNOWN, failed, known_enough, known_share
from local_judge.scoring.node import Score
from local_judge.stats.sums import sum_in_order

Weighted = tuple[float, Score]
"""A weight and the score that has it."""


class Answer(NamedTuple):
    """One answer, or its absence, with the least and the greatest value that it may have."""

    value: float | None
    low: float
    high: float


class Unseen(NamedTuple):
    """Largest changes in a share of units by a text that was not read."""

    more: float = 0
    """Units that it may add, each a hit or not."""
    gains: float = 0
    """Known units that it may turn into hits."""
    losses: float = 0
    """Known hits that it may take away."""


ALL_SEEN = Unseen()


def undefined(note: str, n_expected: int = 0) -> Score:
    """Return a score that has no value by its formula, such as 0/0."""
    return Score(value=None, n_expected=n_expected, n_undefined=1, note=note)


def unknown(low: float | None, high: float | None, note: str = "", n: int = 1) -> Score:
    """Return a score that has no value because all `n` units that it rests on failed."""
    return Score(value=None, n_expected=n, n_failed=n, low=low, high=high, note=note)


def exactly(value: float, note: str = "") -> Score:
    """Return a number that is known by its definition."""
    return Score(value=value, low=value, high=value, note=note)


def answers(values: Sequence[float | None], least: float, most: float, note: str = "") -> Score:
    """Return the mean of the answers to one question.

    Args:
        values: one for each judge, None where it gave no answer; one at least.
        least: the least value of a missing answer.
        most: its greatest value.
        note: what a reader must know.
    """
    return answers_between(
        [Answer(value, *((least, most) if value is None else (value, value))) for value in values], note
    )


def answers_between(given: Sequence[Answer], note: str = "") -> Score:
    """Return the mean of the answers that have a value, one answer at least; its bounds are the means of all bounds."""
    values = [one.value for one in given if one.value is not None]
    value = sum_in_order(values) / len(values) if values else None
    low, high = spanning(
        value,
        sum_in_order(one.low for one in given) / len(given),
        sum_in_order(one.high for one in given) / len(given),
    )
    return Score(
        value=value,
        n_expected=len(given),
        n_failed=len(given) - len(values),
        low=low,
        high=high,
        note=note,
    )


def share(
    hits: float,
    known: float,
    n_failed: int,
    *,
    top: float = 1.0,
    n_expected: int | None = None,
    empty: str = "",
    unseen: Unseen = ALL_SEEN,
) -> Score:
    """Hits / known units, on a scale from 0 to `top`.

    Bounds: (hits - losses) / (known + failed + more) and (min(hits + gains, known) + failed + more) / (known + failed +
    more). Without a unit it is undefined (`empty` says why); with failed or unseen units only it has bounds and no
    value.

    Args:
        hits: units that count, at most `known`.
        known: units that are known.
        n_failed: units that failed.
        top: the upper end of the scale.
        n_expected: of how many units it should be, where these are not all that is in the ratio.
        empty: note for 0/0.
        unseen: units that were not read.
    """
    n = known + n_failed
    if not n:
        return unknown(0.0, top) if unseen.more else undefined(empty, n_expected or 0)
    n_all = n + unseen.more
    return Score(
        value=top * hits / known if known else None,
        numerator=hits if known else None,
        denominator=known or None,
        n_expected=int(n) if n_expected is None else n_expected,
        n_failed=n_failed,
        low=top * max(hits - unseen.losses, 0) / n_all,
        high=top * (min(hits + unseen.gains, known) + n_failed + unseen.more) / n_all,
    )


def count(
    n: float,
    more: float | None = 0.0,
    *,
    fewer: float = 0.0,
    n_expected: int,
    n_failed: int = 0,
    note: str = "",
) -> Score:
    """Return a number of units.

    Args:
        n: the number.
        more: the most that may come to it; None if that is not known.
        fewer: the most that may be taken from it; it stays at least 0.
        n_expected: of how many units.
        n_failed: how many of these failed.
        note: what a reader must know.
    """
    return Score(
        value=float(n),
        numerator=float(n),
        n_expected=n_expected,
        n_failed=n_failed,
        low=float(max(n - fewer, 0)),
        high=None if more is None else float(n + more),
        note=note,
    )


def weighted(parts: Sequence[Weighted], *, unit: float = 1.0, empty: str = "all its weights are 0") -> Score:
    """Return the weighted mean of the parts that have a value.

    Formula: sum(w * value) / sum(w) over them; bounds: the same over all parts, with their bounds.

    Args:
        parts: weights and scores; a part that failed has the bounds of its scale.
        unit: what one whole unit is on the scale: 100 for the share of a checklist's items that are met, so that the
            numerator counts items.
        empty: note for weights that sum to 0: no answer would give a value, whatever failed.
    """
    n_expected = sum(score.n_expected for _, score in parts)
    known = [(weight, score.value) for weight, score in parts if score.value is not None]
    if not math.fsum(weight for weight, score in parts if score.value is not None or failed(score)):
        return undefined(empty, n_expected)
    above = math.fsum(weight * value for weight, value in known)
    below = math.fsum(weight for weight, _ in known)
    value = above / below if below else None
    low, high = spanning(value, *(_weighted_mean(ends) for ends in _ends_of(parts)))
    return Score(
        value=value,
        numerator=above / unit if below else None,
        denominator=below or None,
        n_expected=n_expected,
        n_failed=sum(score.n_failed for _, score in parts),
        low=low,
        high=high,
    )


def _weighted_mean(ends: Sequence[tuple[float, float]] | None) -> float | None:
    if ends is None:
        return None
    return math.fsum(weight * end for weight, end in ends) / math.fsum(weight for weight, _ in ends)


_Ends = list[tuple[float, float]] | None
"""The weights and bounds of some parts on one side; None where a part is open there."""


def _ends_of(parts: Sequence[Weighted]) -> tuple[_Ends, _Ends]:
    """Return the lower and the upper bounds of some parts; an undefined part without bounds is in neither."""
    return (
        _side([(weight, score, score.low) for weight, score in parts]),
        _side([(weight, score, score.high) for weight, score in parts]),
    )


def _side(parts: Sequence[tuple[float, Score, float | None]]) -> _Ends:
    ends = [(weight, _end(score, bound)) for weight, score, bound in parts if not _absent(score, bound)]
    known = [(weight, end) for weight, end in ends if end is not None]
    return known if len(known) == len(ends) else None


def _end(score: Score, bound: float | None) -> float | None:
    """Return a bound of a score; of one without failures that has none, its value."""
    return score.value if bound is None and not score.n_failed else bound


def _absent(score: Score, bound: float | None) -> bool:
    """Check whether a score is undefined whatever failed."""
    return bound is None and score.value is None and not failed(score)


def spanning(value: float | None, low: float | None, high: float | None) -> tuple[float | None, float | None]:
    """Bounds widened to include the value, beyond which the last bit of a sum may put it. None stays open."""
    if value is None:
        return low, high
    return None if low is None else min(low, value), None if high is None else max(high, value)


def mean_of(parts: Sequence[Score], *, partly: bool = False) -> Score:
    """Return the mean of the parts that have a value, where at least half of the parts is known.

    Formula: sum of the defined values / number of them. A part that is less than half known has no value here
    either. A part without value counts in `n_failed` if failures are the cause, else in `n_undefined`. The bounds are
    the means of the parts' bounds: a part that failed altogether is in them, one that is undefined is not. A part that
    failed and has no bound may be anything on that side: then the mean has none. A single part is its own mean, counts
    and all.

    Args:
        parts: one at least.
        partly: take each part that has a value, however little of it is known, as published code does.
    """
    found = Mean(partly=partly)
    for part in parts:
        found.add(part)
    return found.score()


class Mean:
    """`mean_of`, which takes one part at a time and keeps sums only."""

    def __init__(self, *, partly: bool = False) -> None:
        self._partly = partly
        self._first: Score | None = None
        self.n = 0
        """Number of parts."""
        self._n_values = self._n_failed = 0
        self._sum: float = 0
        self._shares: float = 0
        self._reason: str | None = None
        self._low, self._high = _End(), _End()

    def add(self, part: Score, times: int = 1) -> None:
        """Add a part; `times` adds one without value and bounds several times."""
        if self._first is None:
            self._first = part
        if not self._partly:
            part = known_enough(part)
        self.n += times
        lost = failed(part)
        if part.value is not None:
            self._n_values += 1
            self._sum += part.value
        elif lost:
            self._n_failed += times
        else:
            self._reason = part.note if self._reason in (None, part.note) else ""
        if part.value is not None or lost:
            share = known_share(part)
            self._shares += 1.0 if share is None else share
        self._low.add(part, part.low, lost, times)
        self._high.add(part, part.high, lost, times)

    def score(self) -> Score:
        """Return the mean of all parts so far, one at least."""
        if self.n == 1 and self._first is not None:
            return self._first
        n_values, n_failed, n_known = self._n_values, self._n_failed, self._n_values + self._n_failed
        n_undefined = self.n - n_known
        known = self._shares / n_known if n_known else None
        enough = self._partly or ((known is None or known >= LEAST_KNOWN) and n_values >= n_failed)
        value = self._sum / n_values if n_values and enough else None
        low, high = spanning(value, self._low.mean(), self._high.mean())
        note = _missing_note(self.n, n_failed, n_undefined)
        if n_undefined == self.n and self._reason:
            note = self._reason  # of all parts
        return Score(
            value=value,
            numerator=None if value is None else self._sum,
            denominator=None if value is None else n_values,
            n_expected=self.n,
            n_failed=n_failed,
            n_undefined=n_undefined,
            known=known,
            low=low,
            high=high,
            note=note,
        )


class _End:
    """Running mean of the bounds of scores on one side."""

    def __init__(self) -> None:
        self._sum: float = 0
        self._n = 0
        self._open = False

    def add(self, part: Score, bound: float | None, lost: bool, times: int) -> None:
        """Add a bound; one of an undefined part counts only if it has a number."""
        end = _end(part, bound)
        if end is None:
            self._open = self._open or part.value is not None or lost
        else:
            self._sum += end
            self._n += times

    def mean(self) -> float | None:
        """Return the mean; None if it is open, or rests on nothing."""
        return self._sum / self._n if self._n and not self._open else None


def mean_of_answers(parts: Sequence[Score]) -> Score:
    """Return the mean of the parts as `mean_of` does, with counts of their answers instead of the parts."""
    counts = {name: sum(getattr(part, name) for part in parts) for name in ("n_expected", "n_failed")}
    return mean_of(parts).model_copy(update={**counts, "note": ""})


def _missing_note(n_parts: int, n_failed: int, n_undefined: int) -> str:
    reasons = [f"{n_undefined} undefined"] if n_undefined else []
    reasons += [f"{n_failed} failed"] if n_failed else []
    return f"of {n_parts} parts {' and '.join(reasons)}" if reasons else ""


def difference(one: Score, other: Score, note: str = "") -> Score:
    """Return one score less another; undefined, with `note`, where one of them is."""
    n_expected = one.n_expected + other.n_expected
    value = _less(one.value, other.value)
    if value is None and (one.n_undefined or other.n_undefined):
        return undefined(note, n_expected)
    low, high = spanning(
        value,
        _less(_end(one, one.low), _end(other, other.high)),
        _less(_end(one, one.high), _end(other, other.low)),
    )
    return Score(
        value=value,
        n_expected=n_expected,
        n_failed=one.n_failed + other.n_failed,
        low=low,
        high=high,
    )


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def rising(
    formula: Callable[..., float], parts: Sequence[Score], least: float, most: float, note: str = ""
) -> Score:
    """Return a formula that rises in each of its parts, with its values at their bounds as bounds.

    Args:
        formula: of one number for each part.
        parts: a part without a bound may be anything from `least` to `most`.
        least: the lower end of the parts' scale.
        most: the upper end.
        note: what a reader must know.
    """
    values = [part.value for part in parts if part.value is not None]
    shares = [share for part in parts if (share := known_share(part)) is not None]
    return Score(
        value=formula(*values) if len(values) == len(parts) else None,
        n_expected=sum(part.n_expected for part in parts),
        n_failed=sum(part.n_failed for part in parts),
        known=min(shares, default=None),
        low=formula(*(least if part.low is None else part.low for part in parts)),
        high=formula(*(most if part.high is None else part.high for part in parts)),
        note=note,
    )


def resolved(score: Callable[[bool | None], Score], least: float, most: float) -> Score:
    """Return a score with the bounds that failures leave open, for formulas that are not made of scores.

    Args:
        score: the formula of the answers (None), with every failure against the report (False), or for it (True).
        least: the lower bound if the formula has no value against it.
        most: the upper bound if it has none in its favour.
    """
    against, favour = score(False).value, score(True).value
    return score(None).model_copy(
        update={"low": least if against is None else against, "high": most if favour is None else favour}
    )


def measured(
    value: float | None,
    *,
    complete: bool,
    n_expected: int,
    n_failed: int = 0,
    n_undefined: int = 0,
    known: float | None = None,
    note: str = "",
) -> Score:
    """Return a number that anything missing may change either way: it has bounds, itself, only if it is `complete`."""
    end = value if complete else None
    return Score(
        value=value,
        n_expected=n_expected,
        n_failed=n_failed,
        n_undefined=n_undefined,
        known=known,
        low=end,
        high=end,
        note=note,
    )


def failures_of(score: Score, what: str = "answers") -> str:
    """Return a note on how much of what a score should rest on failed; empty where nothing did."""
    return f"{score.n_failed} of {score.n_expected} {what} failed" if score.n_failed else ""
