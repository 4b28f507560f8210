"""Scores as text.

Invariant: a number that does not exist is a dash and never a zero; a number that failures leave open shows its bounds.
"""

from __future__ import annotations

from local_judge.base.output import NONE, count
from local_judge.scoring.coverage import Coverage, known_share
from local_judge.scoring.node import Score


def value(score: Score) -> str:
    """Return the value to two places, or a dash."""
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
    if score.low is None or score.high is None:
        return ""
    return range_text(score.low, score.high)


def range_text(low: float, high: float) -> str:
    """Return `low to high` to two places; nothing if both are equal."""
    ends = f"{low:.2f}", f"{high:.2f}"
    return "" if ends[0] == ends[1] else " to ".join(ends)


def known_percent(score: Score) -> str:
    """Return the share that is known of what the score rests on, where that is not all of it."""
    share = known_share(score)
    return "" if share is None or share == 1.0 else f"{100 * share:.1f} %"


def interval(score: Score) -> str:
    """`low to high` of the confidence interval for the whole, where only a random sample of it was examined."""
    if score.interval_low is None or score.interval_high is None:
        return ""
    return f"{score.interval_low:.2f} to {score.interval_high:.2f}"


def coverage_line(found: Coverage) -> str:
    """Return a line on the coverage of a statistic's scores; empty where nothing failed."""
    if not found.n_in_part:
        return ""
    wide = "" if found.widest is None else f", bounds up to {found.widest:.2f} wide"
    verb = "rests" if found.n_in_part == 1 else "rest"
    return (
        f"{found.n_in_part} of {count(found.n, 'score')} {verb} on a part of the answers: "
        f"{100 * (found.known or 0.0):.1f} % known on average{wide}"
    )
