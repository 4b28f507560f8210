"""One judge less another, figure by figure.

    d      = value of the first - value of the second, both on the items that both answered
    d*     the same on units drawn with replacement, the same units for both judges
    95 %   the 2.5th and the 97.5th percentile of d* (Efron and Tibshirani 1993, chapter 13)

Invariant: items are matched by id; what one judge did not answer is taken from both and counted; an item of which two
judges were told different truths is refused, since it is not the same item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from local_judge.errors import InputError
from local_judge.lab.qualification.comparing.model import Difference, Verdict
from local_judge.lab.qualification.figures import Draws, Measure, in_draws
from local_judge.lab.qualification.model import Item
from local_judge.stats.estimate import Estimate, with_interval
from local_judge.stats.numeric import DIGITS
from local_judge.stats.significance import LEAST_UNITS, LEVEL, bootstrap_p, holm

Answers = Mapping[str, Item]
"""The items of one judge by id."""


class Replicated(NamedTuple):
    """A measure of one judge on some items."""

    value: float | None
    drawn: list[float | None]


def by_id(items: Mapping[str, Sequence[Item]]) -> dict[str, dict[str, Item]]:
    """Each judge's items of one part by id.

    Raises:
        InputError: an item has another truth, or another unit where both answered it, for one judge than for another.
    """
    found = {judge: {item.id: item for item in own} for judge, own in items.items()}
    known: dict[str, tuple[str, Item]] = {}
    for judge, own in found.items():
        for id, item in own.items():
            before, first = known.setdefault(id, (judge, item))
            both = item.said is not None and first.said is not None
            for field, same in (
                ("truth", item.truth == first.truth),
                ("unit", item.unit == first.unit or not both),
            ):
                if not same:
                    raise InputError(
                        f"item {id!r}: its {field} is {getattr(first, field)!r} for {before!r} and "
                        f"{getattr(item, field)!r} for {judge!r}: they were not asked the same"
                    )
            if first.said is None and item.said is not None:
                known[id] = (judge, item)
    return found


def differences(
    items: Mapping[str, Sequence[Item]], measures: Sequence[Measure], draws: Draws
) -> list[Difference]:
    """Every measure, for each two judges, with Holm's correction over the pairs of one measure.

    Args:
        items: of one part, by judge, in the order in which judges are named; two at least.
        measures: of the part.
        draws: of the bootstrap.

    Raises:
        InputError: see `by_id`.
    """
    answers = by_id(items)
    found: list[Difference] = []
    for measure in measures:
        kept: dict[tuple[str, tuple[str, ...]], Replicated] = {}
        rows = [
            _difference(measure, (first, answers[first]), (second, answers[second]), draws, kept)
            for first, second in combinations(answers, 2)
        ]
        corrected = holm([row.p for row in rows])
        found += [
            row.model_copy(update={"p_holm": p, "verdict": _verdict(row, p, measure.better)})
            for row, p in zip(rows, corrected, strict=True)
        ]
    return found


def both_answered(first: Answers, second: Answers) -> tuple[str, ...]:
    """The ids of the items that two judges both answered, in order."""
    return tuple(
        id
        for id in sorted(first)
        if first[id].said is not None and id in second and second[id].said is not None
    )


def _difference(
    measure: Measure,
    first: tuple[str, Answers],
    second: tuple[str, Answers],
    draws: Draws,
    kept: dict[tuple[str, tuple[str, ...]], Replicated],
) -> Difference:
    sides = [{id: item for id, item in own.items() if measure.of(item)} for _, own in (first, second)]
    ids = both_answered(*sides)
    units = units_of(ids, sides[0])
    answered = [{id for id, item in side.items() if item.said is not None} for side in sides]
    row = Difference(
        id=measure.id,
        first=first[0],
        second=second[0],
        first_value=None,
        second_value=None,
        value=None,
        n=len(ids),
        n_units=len(units),
        n_only_first=len(answered[0]) - len(ids),
        n_only_second=len(answered[1]) - len(ids),
        n_neither=len({*sides[0], *sides[1]} - answered[0] - answered[1]),
        verdict="none",
    )
    if not ids:
        asked = sides[0] or sides[1]
        return row.model_copy(
            update={"reason": "no item that both answered" if asked else "nothing was asked"}
        )
    one, other = (
        _replicated(measure, judge, ids, units, own, draws, kept)
        for (judge, _), own in zip((first, second), sides, strict=True)
    )
    update: dict[str, object] = {"first_value": one.value, "second_value": other.value}
    if one.value is None or other.value is None:
        return row.model_copy(update=update | {"reason": "not defined"})
    drawn = less(one.drawn, other.drawn)
    estimate = with_interval(Estimate(_round(one.value - other.value), len(ids)), drawn, len(units))
    return row.model_copy(
        update=update
        | {
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "p": bootstrap_p(drawn) if len(units) >= LEAST_UNITS else None,
        }
    )


def units_of(ids: Sequence[str], items: Answers) -> list[list[str]]:
    """The ids by unit, units in the order of their names."""
    groups: dict[str, list[str]] = {}
    for id in ids:
        groups.setdefault(items[id].unit, []).append(id)
    return [groups[unit] for unit in sorted(groups)]


def less(first: Sequence[float | None], second: Sequence[float | None]) -> list[float | None]:
    """First less second; None where either does not exist."""
    return [
        None if one is None or other is None else _round(one - other)
        for one, other in zip(first, second, strict=True)
    ]


def _replicated(
    measure: Measure,
    judge: str,
    ids: tuple[str, ...],
    units: Sequence[Sequence[str]],
    items: Answers,
    draws: Draws,
    kept: dict[tuple[str, tuple[str, ...]], Replicated],
) -> Replicated:
    """A measure of one judge on some items, and in each draw; the same for every judge that it is compared with."""
    if (judge, ids) not in kept:
        groups = [[items[id] for id in unit] for unit in units]
        kept[judge, ids] = Replicated(
            measure.value([items[id] for id in ids]), in_draws(measure.value, groups, draws)
        )
    return kept[judge, ids]


def _verdict(row: Difference, p: float | None, better: str | None) -> Verdict:
    if row.value is None:
        return "none"
    if row.n_units < LEAST_UNITS:
        return "too_few"
    if p is None or p > LEVEL or row.value == 0:
        return "not_shown"
    if better is None:
        return "differs"
    return "first" if (row.value > 0) == (better == "more") else "second"


def _round(value: float) -> float:
    """What differs less than this differs by the order of additions."""
    return round(value, DIGITS) + 0.0
