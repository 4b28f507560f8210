"""RACE's scores from one comparison, 0 to 100 (DeepResearch Bench, section 3.1).

    side       = sum(w_c * s_c) / sum(w_c)       over the criteria of a dimension, 0 to 10, for report and reference
    total      = sum(W_d * side_d)               over the dimensions
    score      = 100 * report / (report + reference)       of a dimension, and of the totals (overall)

50 says that report and reference are equal. Without a reference a score is 10 * side, and 10 * total / sum(W_d).

Invariant: a criterion counts once, with both articles' scores or not at all. One that failed is left out and counted;
what it leaves open is in the bounds of `scores`. Where all scores are 0, 0/0 is undefined.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from local_judge.protocols.race.findings import TOP, Comparison, CriterionScore, RaceFindings
from local_judge.scoring.algebra import failures_of, share, undefined
from local_judge.scoring.node import Score, noted
from local_judge.tasks.model import Dimension

SCALE = 100.0


class Scores(NamedTuple):
    """The scores of one comparison."""

    criteria: Mapping[str, Score]
    dimensions: Mapping[str, Score]
    overall: Score


class _Sides(NamedTuple):
    """The scores of both articles, 0 to 10 or as a total, with what they rest on."""

    n: int
    n_failed: int
    report: float = 0.0
    reference: float = 0.0
    weight: float = 0.0
    """Weight of what was answered."""


def comparison_scores(comparison: Comparison, findings: RaceFindings) -> Scores:
    """Return the scores of one comparison, without the bounds that its failures leave open."""
    compared = comparison.reference is not None
    if findings.criteria is None:
        return Scores({}, {}, _score(_criterion(comparison.scores[0]), compared))
    items = {item.id: item for item in comparison.scores}
    sides = {
        dimension.id: _sides(dimension, items, findings.criterion_weights)
        for dimension in findings.criteria.dimensions
    }
    weights = {
        one.id: one.weight if findings.dimension_weights else 1.0 for one in findings.criteria.dimensions
    }
    return Scores(
        {name: _score(_criterion(item), compared) for name, item in items.items()},
        {name: _score(found, compared) for name, found in sides.items()},
        _score(_total(sides, weights, compared), compared),
    )


def _criterion(item: CriterionScore) -> _Sides:
    failed = item.failure is not None
    return _Sides(1, int(failed), item.target or 0.0, item.reference or 0.0, float(not failed))


def _sides(dimension: Dimension, items: Mapping[str, CriterionScore], weighted: bool) -> _Sides:
    report = reference = weight = 0.0
    n_failed = 0
    for criterion in dimension.criteria:
        item = items[criterion.id]
        if item.failure is not None:
            n_failed += 1
            continue
        own = criterion.weight if weighted else 1.0
        report += (item.target or 0.0) * own
        reference += (item.reference or 0.0) * own
        weight += own
    counts = len(dimension.criteria), n_failed
    return _Sides(*counts, report / weight, reference / weight, weight) if weight else _Sides(*counts)


def _total(sides: Mapping[str, _Sides], weights: Mapping[str, float], compared: bool) -> _Sides:
    """Return the weighted sums over the dimensions that have an answer; without a reference, their weighted mean."""
    report = reference = known = 0.0
    for name, found in sides.items():
        if found.weight:
            report += weights[name] * found.report
            reference += weights[name] * found.reference
            known += weights[name]
    if not compared:
        report = report / known if known else 0.0
    n, n_failed = (
        sum(counts) for counts in zip(*((side.n, side.n_failed) for side in sides.values()), strict=True)
    )
    return _Sides(n, n_failed, report, reference, known)


def _score(sides: _Sides, compared: bool) -> Score:
    """Return the report's share of what both articles got; of a report alone, of what it could have got."""
    whole = sides.report + sides.reference if compared else TOP
    if sides.weight:
        found = share(sides.report, whole, 0, top=SCALE, n_expected=sides.n, empty="0/0: every score is 0")
    else:
        found = undefined("its criteria have no weight", sides.n)
    if not sides.n_failed:
        return found
    found = found.model_copy(
        update={
            "n_failed": sides.n_failed,
            "n_undefined": int(found.value is None and sides.weight > 0),
            "note": "",
        }
    )
    return noted(found, failures_of(found, "criteria"))
