"""Differences between two judges, figure by figure.

    d      = value of the first - value of the second, both on the items that both answered
    d*     the same on units drawn with replacement, the same units for both judges
    95 %   the 2.5th and the 97.5th percentile of d* (Efron and Tibshirani 1993, chapter 13)
    p      of the signs of the units' pseudo-values (`lab.qualification.figures.jackknife_p`)

Invariant: items are matched by id. An item that one judge did not answer is removed from both and counted. An item with
different truths for two judges is refused, because it is not the same item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

from local_judge.base.errors import InputError
from local_judge.lab.qualification.comparing.model import Difference, Verdict
from local_judge.lab.qualification.figures import (
    Better,
    Draws,
    Measure,
    by_unit,
    draws_of,
    in_draws,
    jackknife_p,
    leaving_one_out,
)
from local_judge.lab.qualification.model import Item
from local_judge.stats.estimate import SIGNIFICANT, Estimate, holm, with_interval
from local_judge.stats.numeric import DIGITS

Answers = Mapping[str, Item]
"""Items of one judge by id."""


class Replicated(NamedTuple):
    """Value of a measure on some units."""

    value: float | None
    drawn: list[float | None]
    """Its value in each draw of the units."""
    left_out: list[float | None]
    """Its value without each of the units; empty for too few of them."""


def by_id(items: Mapping[str, Sequence[Item]]) -> dict[str, dict[str, Item]]:
    """Return each judge's items of one part by id.

    Raises:
        InputError: two judges have an item with different truths, or with different units where both answered it.
    """
    found = {judge: {item.id: item for item in own} for judge, own in items.items()}
    known: dict[str, tuple[str, Item]] = {}
    for judge, own in found.items():
        for id, item in own.items():
            before, first = known.setdefault(id, (judge, item))
            both = item.said is not None and first.said is not None
            for field in ("truth", "unit") if both else ("truth",):
                if getattr(item, field) != getattr(first, field):
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
    """Compare each two judges by every measure, with Holm's correction over the pairs for one measure.

    Args:
        items: items of one part by judge, at least two judges.
        measures: measures of the part.
        draws: of the bootstrap.

    Raises:
        InputError: see `by_id`.
    """
    answers = by_id(items)
    return [row for measure in measures for row in _compared(measure, answers, draws)]


def both_answered(*judges: Answers) -> list[str]:
    """Return the ids of the items that all judges answered, in order."""
    return [id for id in sorted(judges[0]) if all(id in own and own[id].said is not None for own in judges)]


def minus(first: float | None, second: float | None) -> float | None:
    """Return the difference without the rounding errors of sums, or None if one of the values is missing."""
    return None if first is None or second is None else round(first - second, DIGITS) + 0.0


def _compared(measure: Measure, answers: Mapping[str, Answers], draws: Draws) -> list[Difference]:
    own = {
        judge: {id: item for id, item in items.items() if measure.of(item)}
        for judge, items in answers.items()
    }

    @cache
    def replicated(judge: str, ids: tuple[str, ...]) -> Replicated:
        items = [own[judge][id] for id in ids]
        units = by_unit(items)
        drawn, left_out = (
            in_draws(measure.value, units, those)
            for those in (draws_of(len(units), draws), leaving_one_out(len(units)))
        )
        return Replicated(measure.value(items), drawn, left_out)

    rows = [_difference(measure.id, pair, own, replicated, draws.seed) for pair in combinations(answers, 2)]
    corrected = holm([row.p for row in rows])
    return [
        row.model_copy(update={"p_holm": p, "verdict": _verdict(row, p, measure.better)})
        for row, p in zip(rows, corrected, strict=True)
    ]


def _difference(
    id: str,
    pair: tuple[str, str],
    own: Mapping[str, Answers],
    replicated: Callable[[str, tuple[str, ...]], Replicated],
    seed: int,
) -> Difference:
    sides = [own[judge] for judge in pair]
    ids = both_answered(*sides)
    units = by_unit([sides[0][id] for id in ids])
    answered = [{id for id, item in side.items() if item.said is not None} for side in sides]
    row = Difference(
        id=id,
        first=pair[0],
        second=pair[1],
        first_value=None,
        second_value=None,
        value=None,
        n=len(ids),
        n_units=len(units),
        n_only_first=len(answered[0]) - len(ids),
        n_only_second=len(answered[1]) - len(ids),
        n_neither=len({*sides[0], *sides[1]} - answered[0] - answered[1]),
        verdict="none",
        reason="no item that both answered" if sides[0] or sides[1] else "nothing was asked",
    )
    if not ids:
        return row
    first, second = (replicated(judge, tuple(ids)) for judge in pair)
    value = minus(first.value, second.value)
    update: dict[str, object] = {
        "first_value": first.value,
        "second_value": second.value,
        "reason": "not defined",
    }
    if value is not None:
        drawn = list(map(minus, first.drawn, second.drawn))
        estimate = with_interval(Estimate(value, len(ids)), drawn, len(units))
        p = jackknife_p(value, list(map(minus, first.left_out, second.left_out)), seed)
        update |= {"value": value, "low": estimate.low, "high": estimate.high, "p": p, "reason": ""}
    return row.model_copy(update=update)


def _verdict(row: Difference, p: float | None, better: Better) -> Verdict:
    if row.value is None:
        return "none"
    if p is None:
        return "not_tested"
    if p > SIGNIFICANT or row.value == 0:
        return "not_shown"
    if better is None:
        return "differs"
    return "first" if (row.value > 0) == (better == "more") else "second"
