"""Effect of a scoring method on ties, on test-retest and on the order of a report and its perturbed report.

Invariant: pure arithmetic over scores by report and item; what has no score is counted and in no figure; every share
stands with its counts. A perturbed report has one planted flaw: the report should score higher.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from local_judge.base.model import Frozen
from local_judge.stats.agreement.icc import icc_1_1
from local_judge.stats.correlation import pearson_rows
from local_judge.stats.estimate import DRAWS, Estimate, Resamples, with_interval
from local_judge.stats.numeric import rounded
from local_judge.stats.rates import Rate, rate

DIGITS = 6
"""Decimals to which scores are compared: as they are stored."""

Scores = Mapping[tuple[str, str], float | None]
"""Scores by report and item; None for a failure."""


class Ties(Frozen):
    """Frequency of ties between two reports."""

    tied: Rate
    """Pairs of reports on one item."""
    distinct: int
    """Different scores given."""


class Retest(Frozen):
    """Two runs on the same reports and items."""

    same: Rate
    """Shares of items with the same score in both."""
    mean_difference: float | None
    """Mean of |first - second|, in points."""
    pearson: float | None
    icc: float | None
    """ICC(1,1) of Shrout and Fleiss (1979): reliability of one score. None where all scores are the same."""


class Preference(Frozen):
    """Reports compared with their perturbed reports."""

    n: int
    n_failed: int
    """Pairs of which a score is missing; of reports also those of which one is not in the run, or crashed in it."""
    n_above: int
    n_tied: int
    n_below: int
    value: float | None
    """(above + tied / 2) / n: as an AUC of paired items."""
    low: float | None
    high: float | None
    """95 %: a bootstrap over reports; None for one report."""
    mean_difference: float | None
    """Mean of report - perturbed report, in points."""
    effect: float | None
    """Mean difference over the standard deviation of the differences (Cohen's d_z); None where all are the same."""


class ScaleReport(Frozen):
    """One way of scoring."""

    name: str
    n_expected: int
    n_failed: int
    ties: Ties
    retest: Retest | None
    """None without a second run."""
    items: Preference
    """Comparison of items."""
    reports: Preference
    """Comparison of the reports' means over the items that both have."""


class Paired(Frozen):
    """Difference between two scoring methods in how often the report is preferred, on items that both scored."""

    first: str
    second: str
    n: int
    difference: float | None
    low: float | None
    high: float | None


class _Pair(NamedTuple):
    report: str
    perturbed: str
    item: str


def scale_report(
    name: str,
    scores: Scores,
    perturbed: Mapping[str, Sequence[str]],
    again: Scores | None = None,
    *,
    seed: int = 0,
    draws: int = DRAWS,
) -> ScaleReport:
    """Return all figures of one way of scoring.

    Args:
        name: of it.
        scores: Scores of reports and perturbed reports.
        perturbed: Perturbed reports of each report.
        again: of a second run.
        seed: of the bootstrap.
        draws: of each interval.
    """
    pairs = _pairs(scores, perturbed)
    totals = _totals(scores, perturbed)
    return ScaleReport(
        name=name,
        n_expected=len(scores),
        n_failed=sum(score is None for score in scores.values()),
        ties=_ties(scores),
        retest=None if again is None else _retest(scores, again),
        items=_preference([(pair.report, _gap(scores, pair)) for pair in pairs], seed, draws),
        reports=_preference(totals, seed, draws),
    )


def paired(
    first: tuple[str, Scores],
    second: tuple[str, Scores],
    perturbed: Mapping[str, Sequence[str]],
    *,
    seed: int = 0,
    draws: int = DRAWS,
) -> Paired:
    """(above + tied / 2) / n of the first less that of the second, over the same pairs; a bootstrap over reports."""
    found: list[tuple[str, float]] = []
    for pair in _pairs(first[1], perturbed):
        one, other = _gap(first[1], pair), _gap(second[1], pair)
        if one is not None and other is not None:
            found.append((pair.report, _win(one) - _win(other)))
    value, low, high = _mean_by_report(found, seed, draws)
    return Paired(first=first[0], second=second[0], n=len(found), difference=value, low=low, high=high)


def _pairs(scores: Scores, perturbed: Mapping[str, Sequence[str]]) -> list[_Pair]:
    items: dict[str, dict[str, None]] = {}
    for report, item in scores:
        items.setdefault(report, {})[item] = None
    return [
        _Pair(report, one, item)
        for report in sorted(perturbed)
        for one in perturbed[report]
        if one in items
        for item in items.get(report, {})
        if item in items[one]
    ]


def _gap(scores: Scores, pair: _Pair) -> float | None:
    one, other = scores.get((pair.report, pair.item)), scores.get((pair.perturbed, pair.item))
    return None if one is None or other is None else round(one - other, DIGITS)


def _totals(scores: Scores, perturbed: Mapping[str, Sequence[str]]) -> list[tuple[str, float | None]]:
    """Return the mean difference of each report and perturbed report, over the items with both scores."""
    by_perturbed: dict[tuple[str, str], list[float | None]] = {
        (report, one): [] for report in sorted(perturbed) for one in perturbed[report]
    }
    for pair in _pairs(scores, perturbed):
        by_perturbed[pair.report, pair.perturbed].append(_gap(scores, pair))
    totals: list[tuple[str, float | None]] = []
    for (report, _), gaps in by_perturbed.items():
        known = [gap for gap in gaps if gap is not None]
        totals.append((report, round(math.fsum(known) / len(known), DIGITS) if known else None))
    return totals


def _ties(scores: Scores) -> Ties:
    by_item: dict[str, list[float]] = {}
    for (_, item), score in scores.items():
        if score is not None:
            by_item.setdefault(item, []).append(round(score, DIGITS))
    pairs = [one == other for given in by_item.values() for one, other in combinations(given, 2)]
    distinct = {score for given in by_item.values() for score in given}
    return Ties(tied=rate(sum(pairs), len(pairs)), distinct=len(distinct))


def _retest(scores: Scores, again: Scores) -> Retest:
    both = [
        (round(one, DIGITS), round(other, DIGITS))
        for key, one in sorted(scores.items())
        if one is not None and (other := again.get(key)) is not None
    ]
    if not both:
        return Retest(same=rate(0, 0), mean_difference=None, pearson=None, icc=None)
    x, y = (rounded([pair[place] for pair in both]) for place in (0, 1))
    varied = len(both) > 1 and bool(np.ptp(x)) and bool(np.ptp(y))
    return Retest(
        same=rate(sum(one == other for one, other in both), len(both)),
        mean_difference=math.fsum(abs(one - other) for one, other in both) / len(both),
        pearson=float(pearson_rows(x, y)) if varied else None,
        icc=icc_1_1([list(pair) for pair in both]).value if len(both) > 1 else None,
    )


def _win(gap: float) -> float:
    return (gap > 0) + (gap == 0) / 2


def _preference(gaps: Sequence[tuple[str, float | None]], seed: int, draws: int) -> Preference:
    known = [(report, gap) for report, gap in gaps if gap is not None]
    values = [gap for _, gap in known]
    value, low, high = _mean_by_report([(report, _win(gap)) for report, gap in known], seed, draws)
    mean = math.fsum(values) / len(values) if values else None
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return Preference(
        n=len(known),
        n_failed=len(gaps) - len(known),
        n_above=sum(gap > 0 for gap in values),
        n_tied=sum(gap == 0 for gap in values),
        n_below=sum(gap < 0 for gap in values),
        value=value,
        low=low,
        high=high,
        mean_difference=mean,
        effect=mean / spread if mean is not None and spread > 0 else None,
    )


def _mean_by_report(
    values: Sequence[tuple[str, float]], seed: int, draws: int
) -> tuple[float | None, float | None, float | None]:
    """Return the mean, with the percentiles of draws of reports."""
    if not values:
        return None, None, None
    reports = sorted({report for report, _ in values})
    sums = [math.fsum(value for report, value in values if report == one) for one in reports]
    counts = [sum(report == one for report, _ in values) for one in reports]
    mean = math.fsum(sums) / sum(counts)
    drawn = [
        math.fsum(sums[place] for place in draw) / sum(counts[place] for place in draw)
        for draw in Resamples(len(reports), draws, seed)
    ]
    found = with_interval(Estimate(mean, len(values)), drawn, len(reports))
    return mean, found.low, found.high
