"""Numbers as text.

Invariant: a number that does not exist is a dash and never a zero; a number that failures leave open shows its bounds.
"""

from __future__ import annotations

from local_judge.protocols.scores import Score

NONE = "–"


def value(score: Score) -> str:
    """The value to two places, or a dash."""
    return NONE if score.value is None else f"{score.value:.2f}"


def ratio(score: Score) -> str:
    """`numerator/denominator` where the score has them."""
    if score.numerator is None:
        return ""
    if score.denominator is None:
        return _figure(score.numerator)
    return f"{_figure(score.numerator)}/{_figure(score.denominator)}"


def _figure(number: float) -> str:
    """Counts to the last digit, others to four places."""
    return f"{number:.0f}" if float(number).is_integer() else f"{number:.4g}"


def bounds(score: Score) -> str:
    """`low to high`, where failures leave the value open: its own, or those of a part that has a value all the same."""
    if score.low is None or score.high is None or score.low == score.high:
        return ""
    return f"{score.low:.2f} to {score.high:.2f}"


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 claim`, `2 claims`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
