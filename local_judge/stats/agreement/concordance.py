"""Do several people rank the same things alike by the means of their ratings of single items?

DREAM, Table 9 reports Kendall's W and its p-value of people's ratings of plans, which rank three ways of drafting
them. Its figures fit six people and three ways: W = S / 72 for S = 42, 56 and 62 gives 0.58, 0.78 and 0.86, and chi^2 =
12 W with two degrees of freedom 0.030, 0.009 and 0.006, as printed.

Invariant: whoever has not rated an item of each thing has no order of them, and is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from local_judge.stats.agreement.ratings import Measure
from local_judge.stats.correlation import kendall_w, kendall_w_test
from local_judge.stats.estimate import DRAWS, Estimate, Resamples, SumStatistic
from local_judge.stats.numeric import exact, scaled


class RatedItem(NamedTuple):
    """One person's rating of one item."""

    task: str
    """Unit of the bootstrap."""
    thing: str
    """Whole that the item is a part of, such as the plans by one method."""
    person: str
    rating: float


def concordance(items: Iterable[RatedItem], *, seed: int = 0, draws: int = DRAWS) -> tuple[Measure, ...]:
    """Return Kendall's W of people's mean ratings of things, and its p-value; `n` counts people.

    Args:
        items: ratings of items.
        seed: of the bootstrap over tasks.
        draws: of the interval of W.
    """
    rated = list(items)
    factor = scaled(exact(one.rating) for one in rated)
    tasks: dict[str, Counter[tuple[str, str, str]]] = {}
    for one in rated:
        sums = tasks.setdefault(one.task, Counter())
        sums[one.person, one.thing, "n"] += 1
        sums[one.person, one.thing, "ratings"] += int(exact(one.rating) * factor)
    people, things = (sorted({getattr(one, name) for one in rated}) for name in ("person", "thing"))
    statistic = SumStatistic(list(tasks.values()), partial(_w, people=people, things=things))
    drawn = Resamples(len(tasks), draws, seed) if len(tasks) > 1 else ()
    found = statistic.estimate(drawn)
    p = replace(found, low=None, high=None, n_draws=0)
    if found.value is not None:
        p = replace(p, value=kendall_w_test(found.value, found.n, len(things)))
    return (
        Measure("kendall_w", "Kendall's W of the methods", "people", found),
        Measure("kendall_w_p", "p of Kendall's W", "people", p),
    )


def _w(sums: Mapping[tuple[str, str, str], int], people: Sequence[str], things: Sequence[str]) -> Estimate:
    whole = [person for person in people if all(sums.get((person, thing, "n"), 0) for thing in things)]
    means = [
        [Fraction(sums[person, thing, "ratings"], sums[person, thing, "n"]) for thing in things]
        for person in whole
    ]
    found = kendall_w(means)
    return replace(found, n=len(whole), n_undefined=len(people) - len(whole))
