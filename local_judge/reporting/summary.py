"""One score of one or several reports, and one measure, as every table prints them.

    value       the protocol's own score over the reports of a system if it defines one, else the mean of the values
    interval    95 % percentile bootstrap interval of that mean over reports (seed 0), or the score's own interval

Invariant: the number of reports behind a value is counted, and a report that could not be evaluated counts as failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from local_judge.scoring.algebra import mean_of
from local_judge.scoring.coverage import failed, in_part
from local_judge.scoring.node import Scale, Score
from local_judge.scoring.text import bounds, interval, known_percent, range_text, value
from local_judge.stats.estimate import DRAWS, LEVEL, Estimate, resamples
from local_judge.terminal import NONE, safe

NAMED = 5
"""Most reports that one line names; the others are counted."""
BY_RULE = "*"
"""Mark of a value that the protocol's own rule over reports gives."""
RULE_NOTE = f"{BY_RULE} by the protocol's own rule over all reports, not a mean of their scores"


class ReportCounts(NamedTuple):
    """Number of reports behind a value."""

    n_reports: int
    n_values: int
    """Reports with a value."""
    n_failed: int
    """Reports without a value because of failures, including those that were not read or not scored."""
    n_in_part: int
    """Reports whose value rests on a part of the answers."""
    n_undefined: int
    """Reports without a value by the formula itself, or for which the score was not asked."""


class Summary(NamedTuple):
    """One score of several reports."""

    score: Score
    by_rule: bool
    counts: ReportCounts

    def value(self) -> str:
        """Return the value with a mark if a rule gives it, else with the number of reports if it is not of all."""
        return marked_value(self.score, self.by_rule, self.counts.n_values, self.counts.n_reports)


def summary_of(scores: Sequence[Score], by_rule: Score | None = None) -> Summary:
    """Return the summary of one score of each report, or of the score `by_rule` over all of them."""
    n_values = sum(score.value is not None for score in scores)
    n_failed = sum(failed(score) for score in scores)
    counts = ReportCounts(
        n_reports=len(scores),
        n_values=n_values,
        n_failed=n_failed,
        n_in_part=sum(in_part(score) for score in scores),
        n_undefined=len(scores) - n_values - n_failed,
    )
    return Summary(mean_of(scores) if by_rule is None else by_rule, by_rule is not None, counts)


def unknown_on(scale: Scale | None = None) -> Score:
    """Return the score of a report that could not be evaluated: any value of the scale is possible."""
    low, high = (None, None) if scale is None else (scale.low, scale.high)
    return Score(value=None, n_expected=1, n_failed=1, low=low, high=high)


def marked_value(score: Score, by_rule: bool, n_values: int, n_reports: int) -> str:
    """Return the value with a mark if a rule gives it, else with the number of reports if it is not of all."""
    if by_rule:
        return value(score) + BY_RULE
    return value(score) + (f" (of {n_values})" if 0 < n_values < n_reports else "")


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the percentile bootstrap interval of the mean over reports; None for fewer than two values."""
    if len(values) < 2:
        return None
    means = np.asarray(values)[_draws(len(values))].mean(axis=1)
    rest = (100 - LEVEL) / 2
    low, high = np.percentile(means, (rest, 100 - rest)).tolist()
    return low, high


@lru_cache(8)
def _draws(n: int) -> NDArray[np.intp]:
    """Return the draws of a bootstrap over `n` reports, by draw and report; many scores have the same ones."""
    return np.array(resamples(n, DRAWS, 0))


def score_lines(found: Summary, ends: tuple[float, float] | None, *, with_bounds: bool) -> list[str]:
    """Return the lines of a cell: the value, its interval, its bounds if asked for, and the share that is known.

    Args:
        found: the score.
        ends: interval of the mean; None if there is none.
        with_bounds: whether to add the lowest and highest value that failures leave possible.
    """
    sampled = interval(found.score)
    whole = range_text(*ends) if ends else f"{LEVEL} %: {sampled}" if sampled else ""
    lines = [found.value(), *([f"({whole})"] if whole else [])]
    if with_bounds and (bounds(found.score) or found.score.n_failed):
        lines.append(f"bounds {bounds(found.score) or 'unknown'}")
    known = known_percent(found.score)
    return [*lines, *([f"{known} known"] if known else [])]


def estimate_text(
    found: Estimate, digits: int = 3, sign: str = "", beside: str = "", *, below: bool = False
) -> str:
    """Return a measure with its interval.

    Args:
        found: the measure; a dash if it has no value.
        digits: decimal places of the value; the interval has two.
        sign: `+` to print the sign of positive numbers.
        beside: text after the value.
        below: whether the interval is a second, dim line instead of standing in brackets.
    """
    if found.value is None:
        return NONE
    shown = f"{found.value:{sign}.{digits}f} {beside}".strip()
    if found.low is None or found.high is None:
        return shown
    ends = f"{found.low:{sign}.2f} to {found.high:{sign}.2f}"
    return f"{shown}\n[dim]{ends}[/dim]" if below else f"{shown} ({ends})"


def listed(names: Sequence[str]) -> str:
    """Return the first names of a list, safe to print."""
    return ", ".join(safe(name, 60) for name in names[:NAMED]) + (", …" if len(names) > NAMED else "")
