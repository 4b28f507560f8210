"""RACE's arithmetic as the published code computes it, on the JSON that its judge answers with.

Invariant: bit for bit the published numbers, their faults included; no failure is told from a missing item here, since
the published code does not.

For each dimension of the judge's JSON that is a list and has criteria and a weight:

    w_i    = weight of the criterion that the item's name is taken for (see `weight_of`)
    D_1    = sum(s1_i * w_i) / sum(w_i)
    D_2    = sum(s2_i * w_i, where s2_i is given) / sum(w_i), or 0 if the last item gives no s2

    T = sum(W_d * D_1), R = sum(W_d * D_2)
    row:  dimension = D_1 / (D_1 + D_2),  overall = T / (T + R),  0/0 = 0
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from local_judge.tasks.criteria import DIMENSIONS

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
    """One entry of a dimension's list that counts."""

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
        one, two = averages(items_of(cast("list[object]", found)), weights)
        target[dimension + SUFFIX], reference[dimension + SUFFIX] = one, two
        weight = criteria["dimension_weight"][dimension]
        total_target += one * weight
        total_reference += two * weight
    return Sides(Side(target, total_target), Side(reference, total_reference))


def row(found: Sides) -> dict[str, float]:
    """The scores of one report as `raw_results.jsonl` holds them."""
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


def averages(items: list[Item], weights: Mapping[str, float]) -> tuple[float, float]:
    """The weighted averages of both articles over the items of one dimension."""
    one = two = total = 0.0
    for item in items:
        weight = weight_of(item.name, weights)
        one += item.target * weight
        total += weight
        if item.reference is not None:
            two += item.reference * weight
    if total <= 0:
        return 0.0, 0.0
    return one / total, two / total if items[-1].reference is not None else 0.0


def items_of(found: list[object]) -> list[Item]:
    """The entries that have a name and a score of the first article; others are passed over."""
    items: list[Item] = []
    for entry in found:
        if not isinstance(entry, dict):
            continue
        given = cast("dict[str, Any]", entry)
        name: object = given.get("criterion")
        first = given.get("article_1_score")
        if first is None:
            first = given.get("target_score")
        second = given.get("article_2_score")
        try:
            one = None if first is None else float(first)
            two = None if second is None else float(second)
        except (TypeError, ValueError):
            continue
        if isinstance(name, str) and name.strip() and one is not None:
            items.append(Item(name.strip(), one, two))
    return items


def weight_of(name: str, weights: Mapping[str, float]) -> float:
    """The weight of the criterion that a name is taken for.

    The same text; else the same but for letter case; else the first criterion that is part of the name or that the name
    is part of, whatever its length; else, for a name that nothing resembles, the mean of all.
    """
    if name in weights:
        return weights[name]
    lower = name.lower()
    for known, weight in weights.items():
        if known.lower() == lower:
            return weight
    for known, weight in weights.items():
        if lower in known.lower() or known.lower() in lower:
            return weight
    return sum(weights.values()) / len(weights)
