"""Ratings of plans' items by people beside those of judges, and their order of the methods, by aspect.

After DREAM, section 4.1 and appendix E: people rate each item of a plan from 1 to 3 in several aspects (DREAM, Table
8), and Kendall's W says how far they put the ways of drafting plans in the same order (DREAM, Table 9).

Invariant: an item is one row of a plan, by task, method and id; an aspect that a row does not rate is not compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from local_judge.base.errors import InputError
from local_judge.base.rows import read_jsonl
from local_judge.stats.agreement.concordance import RatedItem, concordance
from local_judge.stats.agreement.items import LabelledItem
from local_judge.stats.agreement.ratings import Measure

WHERE = ("task_id", "method", "item")
"""Columns that identify an item of a plan."""
OTHER = (*WHERE, "rater", "question", "reason")
"""Columns that are no aspect."""
AVERAGE = "average"
"""Mean of an item's aspects, as an aspect of its own."""
GRADES = (1, 2, 3)


class PlanRating(NamedTuple):
    """One rater's ratings of one item of a plan."""

    task: str
    method: str
    item: str
    rater: str
    grades: Mapping[str, int]
    """Ratings by aspect, without those that are missing."""


class RatedAspect(NamedTuple):
    """All ratings in one aspect."""

    aspect: str
    items: tuple[LabelledItem, ...]
    order: tuple[Measure, ...]
    """Kendall's W of people's order of the methods, and its p-value."""


def has_plan_ratings(path: Path) -> bool:
    """Check whether the first row of a JSONL file rates an item of a plan."""
    if path.suffix.lower() == ".csv":
        return False
    first = next(iter(read_jsonl(path)), None)
    return first is not None and {*WHERE, "rater"} <= {*first[1]}


def load_plan_ratings(path: Path) -> list[PlanRating]:
    """Read the ratings of a file, as `lab experiment plans` writes and reads them.

    Raises:
        InputError: the file cannot be read, a row is invalid, or a rater rates an item twice.
    """
    found: list[PlanRating] = []
    seen: dict[tuple[str, ...], str] = {}
    for place, row in read_jsonl(path):
        names = [row.get(name) for name in (*WHERE, "rater")]
        if not all(isinstance(name, str) and name for name in names):
            raise InputError(f"{place}: needs the texts {', '.join((*WHERE, 'rater'))}")
        task, method, item, rater = key = tuple(map(str, names))
        before = seen.setdefault(key, place)
        if before != place:
            raise InputError(f"{place}: {rater!r} rates {item} of task {task!r} twice; first in {before}")
        grades = {name: value for name, value in row.items() if name not in OTHER and value is not None}
        for name, value in grades.items():
            if isinstance(value, bool) or value not in GRADES:
                raise InputError(f"{place}: {name} {str(value)[:40]!r} is not a rating from 1 to 3")
        found.append(PlanRating(task, method, item, rater, grades))
    if not found:
        raise InputError(f"{path}: no ratings in it")
    return found


def rated_aspects(
    people: Sequence[PlanRating], judges: Sequence[PlanRating], *, seed: int, draws: int
) -> list[RatedAspect]:
    """Return the ratings by aspect; the average of all comes last if there are several.

    Args:
        people: ratings by people.
        judges: ratings by judges of the same plans.
        seed: of the bootstrap over tasks.
        draws: of each interval.

    Raises:
        InputError: people rate no item that judges rate.
    """
    items: dict[str, dict[tuple[str, ...], LabelledItem]] = {}
    order: dict[str, list[RatedItem]] = {}
    for one in people:
        for aspect, grade in _aspects(one).items():
            known = items.setdefault(aspect, {})
            item = known.setdefault(one[:3], LabelledItem(one.task, {}, {}, frozenset()))
            item.labels[one.rater] = grade
            order.setdefault(aspect, []).append(RatedItem(one.task, one.method, one.rater, grade))
    matched = False
    for one in judges:
        grades = _aspects(one)
        for aspect, known in items.items():
            item = known.get(one[:3])
            if item is not None:
                matched = True
                known[one[:3]] = item._replace(judges=item.judges | {one.rater})
                if aspect in grades:
                    item.answers[one.rater] = grades[aspect]
    if not matched:
        first = people[0]
        raise InputError(
            f"no rated item is one that judges rate: {first.item!r} of the plan by {first.method} of task "
            f"{first.task!r}"
        )
    return [
        RatedAspect(aspect, tuple(known.values()), concordance(order[aspect], seed=seed, draws=draws))
        for aspect, known in sorted(items.items(), key=lambda entry: entry[0] == AVERAGE)
    ]


def _aspects(one: PlanRating) -> dict[str, float]:
    grades: dict[str, float] = {name: float(grade) for name, grade in one.grades.items()}
    if len(grades) > 1:
        grades[AVERAGE] = float(Fraction(sum(one.grades.values()), len(one.grades)))
    return grades
