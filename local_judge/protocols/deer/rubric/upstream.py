"""The rubric's arithmetic as the published code does it, to the last bit.

Invariant: the same floats as the code, in its order of operations and with its rounding. It has two derivations. The
file of one report's rubric adds floats and rounds to two places at every level. The integration starts again from the
items, takes the exact mean of the floats at each level, and rounds sub-dimensions and dimensions. The two differ by
0.01 now and then. The score tree follows the integration, whose numbers are the ones that the code publishes.

None stands for what the code writes as "N/A".
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from local_judge.protocols.deer.names import INTEGRATED_NAMES, INTEGRITY, RECENCY, REFERENCE_QUALITY
from local_judge.protocols.deer.rubric.model import Path, RubricFindings, kind_of, on_scale
from local_judge.stats.sums import sum_in_order

Number = float | None
Items = dict[str, dict[str, dict[str, dict[str, Number]]]]
"""Dimension -> sub-dimension -> criterion -> item."""
Parts = dict[str, dict[str, Number]]
"""Dimension -> sub-dimension."""

QUALITY_METRICS = 2
"""Metrics of reference quality: recency joins them as a third of the same weight."""


class Averages(NamedTuple):
    """Averages in the code's file of one report's rubric, each level rounded."""

    elements: dict[str, dict[str, dict[str, dict[str, Number]]]]
    """Dimension -> sub-dimension -> criterion -> `c_avg`, `q_avg`, `element_avg`."""
    criteria: Parts
    scores: dict[str, Number]
    score: Number


class Integrated(NamedTuple):
    """Scores in the code's integrated file."""

    scores: dict[str, Number]
    criteria: Parts


def mean(values: Iterable[Number]) -> Number:
    """Return the mean of those that are not N/A, as a sum of floats; None for none."""
    known = [value for value in values if value is not None]
    return sum_in_order(known) / len(known) if known else None


def exact_mean(values: Iterable[Number]) -> Number:
    """Return the float nearest to the exact mean of those that are not N/A; None for none.

    It can differ from `mean` in the last bit, and so by 0.01 once it is rounded.
    """
    known = [value for value in values if value is not None]
    return float(statistics.mean(known)) if known else None


def rounded(value: Number) -> Number:
    """Round to two places, by the binary value, half to even."""
    return None if value is None else round(value, 2)


def items_of(findings: RubricFindings) -> Items:
    """Return the items' scores on the scale from 1 to 10; what failed is N/A, since the code knows no failures.

    Raises ValueError unless items were judged.
    """
    if findings.mode != "items":
        raise ValueError(f"the published code has items; these findings are of mode {findings.mode!r}")
    return nest_values(
        (grade.path, None if grade.score is None else on_scale(grade.score, findings.scale))
        for grade in findings.grades
    )


def leaves(tree: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the values of nested dictionaries with their paths."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from leaves(cast("Mapping[str, Any]", value), (*above, key))
        else:
            yield (*above, key), value


def nest_values(values: Iterable[tuple[Path, object]]) -> dict[str, Any]:
    """Return nested dictionaries with these values at their paths."""
    tree: dict[str, Any] = {}
    for path, value in values:
        group = tree
        for step in path[:-1]:
            group = group.setdefault(step, {})
        group[path[-1]] = value
    return tree


def _kinds(items: Mapping[str, Number]) -> tuple[list[Number], list[Number]]:
    """Coverage and quality scores."""
    coverage = [score for item, score in items.items() if kind_of(item) == "coverage"]
    return coverage, [score for item, score in items.items() if kind_of(item) == "quality"]


def averages(items: Items) -> Averages:
    """Return all levels of one report's rubric, rounded at each of them.

    Formula: c_avg, q_avg = round(mean of items); element_avg = round(mean of these two); sub-dimension, dimension and
    score = round(mean of the rounded level below). N/A is skipped. `score` is over every judged dimension, so
    information integrity, which is recency alone here, counts in it where it has a value.
    """
    elements: dict[str, dict[str, dict[str, dict[str, Number]]]] = {}
    criteria: Parts = {}
    for dimension, parts in items.items():
        elements[dimension] = {
            part: {criterion: _element(scores) for criterion, scores in group.items()}
            for part, group in parts.items()
        }
        criteria[dimension] = {
            part: rounded(mean(element["element_avg"] for element in group.values()))
            for part, group in elements[dimension].items()
        }
    scores = {dimension: rounded(mean(parts.values())) for dimension, parts in criteria.items()}
    return Averages(elements, criteria, scores, rounded(mean(scores.values())))


def _element(items: Mapping[str, Number]) -> dict[str, Number]:
    coverage, quality = (rounded(mean(scores)) for scores in _kinds(items))
    return {"c_avg": coverage, "q_avg": quality, "element_avg": rounded(mean((coverage, quality)))}


def subdimensions(items: Items) -> Parts:
    """Sub-dimensions as the integration computes them: rounded, and nothing below them."""
    return {
        dimension: {
            part: rounded_mean(mean(exact_mean(kind) for kind in _kinds(scores)) for scores in group.values())
            for part, group in parts.items()
        }
        for dimension, parts in items.items()
    }


def merge_recency(reference_quality: Number, recency: Number) -> Number:
    """Reference quality with recency as a third metric.

    Formula: (2 * reference_quality + recency) / 3; reference quality alone where recency is N/A.
    """
    if reference_quality is None or recency is None:
        return reference_quality
    return (QUALITY_METRICS * reference_quality + recency) / (QUALITY_METRICS + 1)


def rounded_mean(values: Iterable[Number]) -> Number:
    """Return a sub-dimension from its criteria, or a dimension from its sub-dimensions: the exact mean, rounded."""
    return rounded(exact_mean(values))


def integrate(fact: Mapping[str, Mapping[str, float]] | None, items: Items | None) -> Integrated:
    """Return the seven dimensions of one report from its sub-dimensions by rule and its rubric's items.

    `fact` has the rounded sub-dimensions of `integrity` and `sufficiency`; without it, or without items, there are the
    other dimensions only. A dimension without a sub-dimension is left out.
    """
    criteria: Parts = {INTEGRATED_NAMES[name]: dict(parts) for name, parts in (fact or {}).items()}
    judged = subdimensions(items or {})
    recency = judged.get(INTEGRITY, {}).pop(RECENCY, None)
    if REFERENCE_QUALITY in criteria.get(INTEGRITY, {}):
        by_rule = criteria[INTEGRITY]
        by_rule[REFERENCE_QUALITY] = rounded(merge_recency(by_rule[REFERENCE_QUALITY], recency))
    for dimension, parts in judged.items():
        if parts:
            criteria.setdefault(dimension, {}).update(parts)
    return Integrated(
        {dimension: rounded_mean(parts.values()) for dimension, parts in criteria.items()}, criteria
    )


def mean_fact(facts: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """Sub-dimensions by rule over several reports: the rounded means of the rounded ones, as in the code's summary.

    Raises ValueError for no report.
    """
    if not facts:
        raise ValueError("the mean of no report")
    return {
        dimension: {
            part: round(statistics.mean(fact[dimension][part] for fact in facts), 2) for part in parts
        }
        for dimension, parts in facts[0].items()
    }


def mean_items(reports: Sequence[Items]) -> Items:
    """Return each item's mean over the reports in which it has a score; N/A where it has none in any."""
    pooled: dict[Path, list[Number]] = {}
    for items in reports:
        for path, score in leaves(items):
            pooled.setdefault(path, []).append(score)
    return nest_values((path, exact_mean(scores)) for path, scores in pooled.items())


def integrate_all(facts: Sequence[Mapping[str, Mapping[str, float]]], rubrics: Sequence[Items]) -> Integrated:
    """Return the seven dimensions over several reports, as the code's `final.json` has them.

    Items are averaged over the reports first, so that with N/A it is not the mean of the reports' own dimensions.
    """
    return integrate(mean_fact(facts) if facts else None, mean_items(rubrics) if rubrics else None)
