"""Differences between two judges, figure by figure.

The difference is the value of the second judge minus that of the first, on the items that both answered
(`stats.comparison.compare`); units are pages and reports. p is of the signs of the units' pseudo-values
(`lab.qualification.figures.jackknife_p`), corrected over the pairs of judges for one figure.

Invariant: items are matched by id. An item that one judge did not answer is removed from both and counted. An item with
different truths for two judges is refused, because it is not the same item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from local_judge.base.errors import InputError
from local_judge.lab.qualification.comparing.model import JudgeDifference, Verdict
from local_judge.lab.qualification.figures import (
    Better,
    Draws,
    Measure,
    Value,
    in_draws,
    leaving_one_out,
    pseudo_values,
)
from local_judge.lab.qualification.model import Item
from local_judge.stats.comparison import Contrast, Difference, Units, compare, corrected
from local_judge.stats.estimate import SIGNIFICANT
from local_judge.stats.numeric import DIGITS

Answers = Mapping[str, Item]
"""Items of one judge by id."""


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
) -> list[JudgeDifference]:
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


def _compared(measure: Measure, answers: Mapping[str, Answers], draws: Draws) -> list[JudgeDifference]:
    """Compare each two judges by one measure."""
    asked = {
        judge: {id: item for id, item in items.items() if measure.of(item)}
        for judge, items in answers.items()
    }
    pairs = list(combinations(answers, 2))
    found = corrected(
        [_difference(measure.value, asked[first], asked[second], draws) for first, second in pairs]
    )
    return [
        JudgeDifference(
            id=measure.id,
            judges=pair,
            difference=difference,
            n_neither=sum(
                all(id not in side or side[id].said is None for side in sides)
                for id in {*sides[0], *sides[1]}
            ),
            verdict=_verdict(difference, measure.better),
            reason=_reason(difference, asked=any(sides)),
        )
        for pair, difference in zip(pairs, found, strict=True)
        for sides in ([asked[judge] for judge in pair],)
    ]


def _difference(value: Value, first: Answers, second: Answers, draws: Draws) -> Difference:
    def contrast(units: Units[Item]) -> Contrast:
        sides = [[[pair[side] for pair in unit] for unit in units] for side in (0, 1)]
        before, after = (value([item for unit in side for item in unit]) if units else None for side in sides)
        whole = minus(after, before)

        def replicates(drawn: Iterable[Sequence[int]]) -> list[float | None]:
            positions = tuple(map(tuple, drawn))
            before, after = (in_draws(value, side, positions) for side in sides)
            return list(map(minus, after, before))

        def contributions() -> list[int] | None:
            return None if whole is None else pseudo_values(whole, replicates(leaving_one_out(len(units))))

        return Contrast(before, after, whole, replicates, contributions)

    before, after = _answered(first), _answered(second)
    return compare(before, after, lambda id: before[id].unit, contrast, seed=draws.seed, draws=draws.n)


def _answered(side: Answers) -> dict[str, Item]:
    """Return the answered items by unit and id, so that their order changes nothing."""
    ordered = sorted(side.values(), key=lambda item: (item.unit, item.id))
    return {item.id: item for item in ordered if item.said is not None}


def _reason(found: Difference, *, asked: bool) -> str:
    if found.value is not None:
        return ""
    if found.n:
        return "not defined"
    return "no item that both answered" if asked else "nothing was asked"


def _verdict(found: Difference, better: Better) -> Verdict:
    if found.value is None:
        return "none"
    if found.p_holm is None:
        return "not_tested"
    if found.p_holm > SIGNIFICANT or found.value == 0:
        return "not_shown"
    if better is None:
        return "differs"
    return "second" if (found.value > 0) == (better == "more") else "first"
