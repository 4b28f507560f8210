"""RACE as the published code computes it: arithmetic on the JSON of its judge, rows of results, and their means.

Invariants: the published numbers bit for bit, faults included. A reply to the published prompt counts as it is, unless
a score in it is off the scale. In other answers, a failure counts as a missing item, as in the published code. Files
have the same keys in the same order, numbers unrounded in the rows and with four places in the text.

For each dimension of the judge's JSON that is a list and has criteria and a weight:

    w_i    = weight of the criterion that the item's name is taken for (see `weight_of`)
    D_1    = sum(s1_i * w_i) / sum(w_i)
    D_2    = sum(s2_i * w_i, where s2_i is given) / sum(w_i), or 0 if the last entry gives no s2

The last entry is the last whose scores are numbers or missing, also one without a name or s1, which counts nowhere.

    T = sum(W_d * D_1), R = sum(W_d * D_2)
    row:  dimension = D_1 / (D_1 + D_2),  overall = T / (T + R),  0/0 = 0
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, cast

from local_judge.protocols.race.findings import Comparison, RaceFindings
from local_judge.stats.sums import sum_in_order
from local_judge.tasks.criteria import DIMENSIONS
from local_judge.tasks.model import Criteria

SUFFIX = "_weighted_avg"


class Side(NamedTuple):
    """The scores of one of the two articles."""

    dims: dict[str, float]
    """`<dimension>_weighted_avg`, 0 to 10."""
    total: float


class Sides(NamedTuple):
    """The scores of the article that is judged and of the one that it is compared with."""

    target: Side
    reference: Side


class Item(NamedTuple):
    """One entry that counts: it has a name and a score of the first article."""

    name: str
    target: float
    reference: float | None


def sides(judged: Mapping[str, Any], criteria: Mapping[str, Any]) -> Sides:
    """Weighted averages and totals of both articles.

    Args:
        judged: by dimension, lists of items with `criterion`, `article_1_score` (or `target_score`) and
            `article_2_score`.
        criteria: a row of the published `criteria.jsonl`.
    """
    target: dict[str, float] = {}
    reference: dict[str, float] = {}
    total_target = total_reference = 0.0
    for dimension, found in judged.items():
        weights = table(criteria["criterions"].get(dimension) or ())
        if not isinstance(found, list) or not weights or dimension not in criteria["dimension_weight"]:
            continue
        one, two = averages(cast("list[object]", found), weights)
        target[dimension + SUFFIX], reference[dimension + SUFFIX] = one, two
        weight = criteria["dimension_weight"][dimension]
        total_target += one * weight
        total_reference += two * weight
    return Sides(Side(target, total_target), Side(reference, total_reference))


def row(found: Sides) -> dict[str, float]:
    """Return the scores of one report as `raw_results.jsonl` holds them."""
    scores = {
        dimension: share(
            found.target.dims.get(dimension + SUFFIX, 0), found.reference.dims.get(dimension + SUFFIX, 0)
        )
        for dimension in DIMENSIONS
    }
    return {**scores, "overall_score": share(found.target.total, found.reference.total)}


def share(target: float, reference: float) -> float:
    """`target / (target + reference)`, 0 where both are."""
    return target / (target + reference) if target + reference > 0 else 0.0


def table(criteria: Any) -> dict[str, float]:
    """Weights by criterion; of equal names the last counts."""
    return {criterion["criterion"]: criterion["weight"] for criterion in criteria}


def averages(found: list[object], weights: Mapping[str, float]) -> tuple[float, float]:
    """Return the weighted averages of both articles over the entries of one dimension."""
    one = two = total = 0.0
    for item in items_of(found):
        weight = weight_of(item.name, weights)
        one += item.target * weight
        total += weight
        if item.reference is not None:
            two += item.reference * weight
    if total <= 0:
        return 0.0, 0.0
    return one / total, two / total if _entries(found)[-1][2] is not None else 0.0


def items_of(found: list[object]) -> list[Item]:
    """Return the entries that have a name and a score of the first article; others are passed over."""
    return [Item(name, one, two) for name, one, two in _entries(found) if name and one is not None]


def _entries(found: list[object]) -> list[tuple[str, float | None, float | None]]:
    """Return name and scores of the entries whose scores are numbers, as texts too, or missing."""
    entries: list[tuple[str, float | None, float | None]] = []
    for entry in found:
        if not isinstance(entry, dict):
            continue
        given = cast("dict[str, Any]", entry)
        name: object = given.get("criterion")
        first = given.get("article_1_score")
        if first is None:
            first = given.get("target_score")
        with suppress(TypeError, ValueError):
            scores = _number(first), _number(given.get("article_2_score"))
            entries.append((name.strip() if isinstance(name, str) else "", *scores))
    return entries


def _number(score: Any) -> float | None:
    """Return a score as a number; one that no float holds, on which the published code ends, is infinite."""
    try:
        return None if score is None else float(score)
    except OverflowError:
        return math.inf


def weight_of(name: str, weights: Mapping[str, float]) -> float:
    """Return the weight of the criterion that a name is taken for, or the mean of all for a name like none of them."""
    known = name_of(name, weights)
    return sum_in_order(weights.values()) / len(weights) if known is None else weights[known]


def name_of(name: str, names: Iterable[str]) -> str | None:
    """Return the criterion that a name is taken for.

    The same text; else the same but for letter case; else the first criterion that is part of the name or that the name
    is part of, whatever its length; None for a name that nothing resembles.
    """
    if name in (known := list(names)):
        return name
    lower = name.lower()
    same = [one for one in known if one.lower() == lower]
    part = [one for one in known if lower in one.lower() or one.lower() in lower]
    return next(iter((*same, *part)), None)


RESULTS, MEANS = "raw_results.jsonl", "race_result.txt"
SCORES = (*DIMENSIONS, "overall_score")


def judged_json(comparison: Comparison, criteria: Criteria) -> dict[str, list[dict[str, Any]]]:
    """Return a comparison as the JSON of the published judge. Article 1 is the report, whichever was shown first.

    A criterion that failed is left out, like one that the judge forgot; so is a dimension whose criteria all failed.
    """
    answered = {item.id: item for item in comparison.scores}
    found: dict[str, list[dict[str, Any]]] = {}
    for dimension in criteria.dimensions:
        items: list[dict[str, Any]] = []
        for criterion in dimension.criteria:
            item = answered[criterion.id]
            if item.failure is not None:
                continue
            scores = (
                {"target_score": item.target}
                if comparison.reference is None
                else {"article_1_score": item.target, "article_2_score": item.reference}
            )
            items.append({"criterion": criterion.criterion, "analysis": item.rationale, **scores})
        if items:
            found[dimension.id] = items
    return found


def criteria_json(
    criteria: Criteria, criterion_weights: bool = True, dimension_weights: bool = True
) -> dict[str, Any]:
    """Criteria as `dimension_weight` and `criterions` of the published file; weights that do not count are 1."""
    return {
        "dimension_weight": {
            dimension.id: dimension.weight if dimension_weights else 1.0 for dimension in criteria.dimensions
        },
        "criterions": {
            one.id: [
                {
                    "criterion": criterion.criterion,
                    "explanation": criterion.explanation,
                    "weight": criterion.weight if criterion_weights else 1.0,
                }
                for criterion in one.criteria
            ]
            for one in criteria.dimensions
        },
    }


def comparison_sides(comparison: Comparison, findings: RaceFindings) -> Sides | None:
    """Return the published averages of one comparison.

    None where the published code has no defined result: without criteria; without a reference, where its ratio is
    1 whatever the scores are; and where a dimension has no answer at all, for which it asks again and then drops the
    report.
    """
    if findings.criteria is None or comparison.reference is None:
        return None
    if comparison.reply_json is not None:
        judged = json.loads(comparison.reply_json)
    else:
        judged = judged_json(comparison, findings.criteria)
        if set(judged) != set(DIMENSIONS):
            return None
    return sides(
        judged, criteria_json(findings.criteria, findings.criterion_weights, findings.dimension_weights)
    )


def result_row(findings: RaceFindings) -> dict[str, float] | None:
    """Return the scores of a row of results: the mean over the comparisons, None if one has no scores."""
    rows: list[dict[str, float]] = []
    for comparison in findings.comparisons:
        found = comparison_sides(comparison, findings)
        if found is None:
            return None
        rows.append(row(found))
    return (
        rows[0] if len(rows) == 1 else {name: sum(one[name] for one in rows) / len(rows) for name in SCORES}
    )


def means(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of `race_result.txt`: plain means over the rows, 0 to 1.

    Raises:
        ValueError: there is no row.
    """
    if not rows:
        raise ValueError("no row to take a mean of")
    lines: list[str] = []
    for name in SCORES:
        # Added up from the first row on, as the published code does: the sum keeps its last bit.
        value = sum_in_order(float(one[name]) for one in rows) / len(rows)
        lines.append(f"{name.replace('_', ' ').title()}: {value:.4f}\n")
    return "".join(lines)
