"""RACE's scores as the paper defines them (section 3.1), from one sheet, 0 to 100.

    side       = sum(w_c * s_c) / sum(w_c)       over the criteria of a dimension, 0 to 10, for report and reference
    total      = sum(W_d * side_d)               over the dimensions
    score      = 100 * report / (report + reference)       of a dimension, and of the totals (overall)

50 says that report and reference are equal. Without a reference a score is 10 * side, and 10 * total / sum(W_d).

Invariant: a criterion counts once, with both articles' scores or not at all. One that failed is left out of the value
and opens the bounds: with 0 for the report and 10 for the reference, and the other way round. Where all scores are 0,
0/0 is undefined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from local_judge.protocols.race.findings import TOP, Mark, RaceFindings, Sheet
from local_judge.protocols.scores import Score
from local_judge.tasks.model import Criteria, Dimension

SCALE = 100.0


class Scores(NamedTuple):
    """The scores of one sheet."""

    criteria: Mapping[str, Score]
    dimensions: Mapping[str, Score]
    overall: Score


class _Sums(NamedTuple):
    """Weighted sums of one dimension, or of all."""

    report: float
    reference: float
    weight: float
    """Of what was answered."""
    open: float
    """Weight of what was not."""
    n: int
    n_failed: int


def sheet_scores(sheet: Sheet, findings: RaceFindings) -> Scores:
    """The scores of one comparison."""
    compared = sheet.reference is not None
    if findings.criteria is None:
        return Scores({}, {}, _criterion(sheet.marks[0], compared))
    marks = {mark.criterion: mark for mark in sheet.marks}
    sums = {
        dimension.id: _sums(dimension, marks, findings.criterion_weights)
        for dimension in findings.criteria.dimensions
    }
    return Scores(
        {name: _criterion(mark, compared) for name, mark in marks.items()},
        {name: _dimension(found, compared) for name, found in sums.items()},
        _overall(findings.criteria, sums, findings.dimension_weights, compared),
    )


def _criterion(mark: Mark, compared: bool) -> Score:
    failed = int(mark.failure is not None)
    sums = _Sums(mark.target or 0.0, mark.reference or 0.0, 1.0 - failed, float(failed), 1, failed)
    return _dimension(sums, compared)


def _sums(dimension: Dimension, marks: Mapping[str, Mark], weighted: bool) -> _Sums:
    report = reference = weight = left = 0.0
    n_failed = 0
    for criterion in dimension.criteria:
        mark = marks[criterion.id]
        own = criterion.weight if weighted else 1.0
        if mark.failure is not None:
            left += own
            n_failed += 1
            continue
        report += (mark.target or 0.0) * own
        reference += (mark.reference or 0.0) * own
        weight += own
    return _Sums(report, reference, weight, left, len(dimension.criteria), n_failed)


def _dimension(sums: _Sums, compared: bool) -> Score:
    weight = sums.weight
    report, reference = (sums.report / weight, sums.reference / weight) if weight else (0.0, 0.0)
    low, high = _bounds(sums)
    return _score(report, reference, low, high, sums, compared)


def _bounds(sums: _Sums) -> tuple[tuple[float, float], tuple[float, float]]:
    """Both sides with all that failed against the report, and in its favour."""
    whole = sums.weight + sums.open
    if not whole:
        return (0.0, 0.0), (0.0, 0.0)
    worst = (sums.report / whole, (sums.reference + TOP * sums.open) / whole)
    best = ((sums.report + TOP * sums.open) / whole, sums.reference / whole)
    return worst, best


def _overall(criteria: Criteria, sums: Mapping[str, _Sums], weighted: bool, compared: bool) -> Score:
    report = reference = known = whole = 0.0
    low, high = [0.0, 0.0], [0.0, 0.0]
    for dimension in criteria.dimensions:
        own = dimension.weight if weighted else 1.0
        found = sums[dimension.id]
        if found.weight:
            report += own * (found.report / found.weight)
            reference += own * (found.reference / found.weight)
            known += own
        if found.weight + found.open:
            whole += own
        for total, side in zip((low, high), _bounds(found), strict=True):
            total[0] += own * side[0]
            total[1] += own * side[1]
    everything = _Sums(
        0.0,
        0.0,
        known,
        0.0,
        sum(one.n for one in sums.values()),
        sum(one.n_failed for one in sums.values()),
    )
    if not compared:  # on the scale of one criterion, whatever the weights of the dimensions sum to
        report = report / known if known else 0.0
        low[0], high[0] = (low[0] / whole, high[0] / whole) if whole else (0.0, 0.0)
    return _score(report, reference, (low[0], low[1]), (high[0], high[1]), everything, compared)


def _score(
    report: float,
    reference: float,
    low: tuple[float, float],
    high: tuple[float, float],
    sums: _Sums,
    compared: bool,
) -> Score:
    def ratio(one: float, other: float) -> float | None:
        below = one + other if compared else TOP
        return SCALE * one / below if below > 0 else None

    value = ratio(report, reference) if sums.weight else None
    if value is None and not sums.n_failed:
        why = "0/0: every score is 0" if sums.weight else "its criteria have no weight"
        return Score(value=None, n_expected=sums.n, n_undefined=1, note=why)
    bounds = (ratio(*low), ratio(*high)) if sums.n_failed else (value, value)
    known = [bound for bound in (*bounds, value) if bound is not None]
    return Score(
        value=value,
        numerator=None if value is None else report,
        denominator=None if value is None else (report + reference if compared else TOP),
        n_expected=sums.n,
        n_failed=sums.n_failed,
        n_undefined=int(value is None and sums.weight > 0),
        low=min(known, default=None),
        high=max(known, default=None),
        note=f"{sums.n_failed} of {sums.n} criteria failed" if sums.n_failed else "",
    )


def mean(scores: Sequence[Score]) -> Score:
    """The mean of several sheets' scores; of one, itself.

    Formula: sum of the values / number of them. What has no value is left out, and counted; its bounds are in the
    bounds.
    """
    if len(scores) == 1:
        return scores[0]
    values = [score.value for score in scores if score.value is not None]
    value = sum(values) / len(values) if values else None
    lows = [score.low for score in scores if score.low is not None]
    highs = [score.high for score in scores if score.high is not None]
    low = sum(lows) / len(lows) if lows else None
    high = sum(highs) / len(highs) if highs else None
    if value is not None and low is not None and high is not None:
        low, high = min(low, value), max(high, value)
    notes = [f"mean of {len(values)} of {len(scores)} comparisons"] if len(values) < len(scores) else []
    n_failed = sum(score.n_failed for score in scores)
    n_expected = sum(score.n_expected for score in scores)
    notes += [f"{n_failed} of {n_expected} criteria failed"] if n_failed else []
    return Score(
        value=value,
        numerator=None if value is None else sum(values) / SCALE,
        denominator=None if value is None else float(len(values)),
        n_expected=n_expected,
        n_failed=n_failed,
        n_undefined=sum(score.n_undefined for score in scores),
        low=low,
        high=high,
        note="; ".join(notes),
    )
