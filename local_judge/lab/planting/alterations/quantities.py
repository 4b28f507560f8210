"""Alterations of numbers, dates and units.

Invariants: a value is altered only where it stands alone: not in a name, a range, a score or a conversion. The new
value is not on the page, differs by a fifth or more, is written like the old one (separators, decimals, final zeros),
and lies on the side on which the old statement does not imply the new one: "more than 40" includes "more than 20", so
such a number only grows. The years of a sentence keep their order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator
from random import Random
from typing import Literal

from local_judge.lab.planting.alterations.alteration_context import AlterationContext
from local_judge.lab.planting.lexicon import Lexicon, Place, lexicon
from local_judge.lab.planting.model import Edit, Language

Side = Literal["up", "down"]
LAST_YEAR = 2025
"""Latest year to which an earlier year moves."""
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_LONG_MONTHS = frozenset((1, 3, 5, 7, 8, 10, 12))


def numbers(context: AlterationContext) -> Iterator[Edit]:
    """Yield other quantities."""
    known = lexicon(context.language)
    for place in known.places("number", context.sentence):
        if _is_no_quantity(place, context.sentence, known):
            continue
        side: Side = "down" if place.within(known.contexts["less"]) else "up"
        percent = known.patterns["percent"].match(place.behind) is not None
        most = 99 if percent and float(place.text.replace(",", "")) <= 100 else float("inf")
        turns = not place.within(known.contexts["more"])
        other = other_number(place.text, context.page.numbers, context.rng, side, most, turns=turns)
        if other is not None:
            yield context.edit("number", place.start, place.end, other)
    words = known.tables["number_words"]
    for place in known.places("number_word", context.sentence):
        if place.within(known.contexts["number_word_kept"]):
            continue
        less, old = place.within(known.contexts["number_word_less"]), words[place.text]
        free = [
            word
            for word, value in words.items()
            if value not in context.page.numbers and (value < old if less else value > old)
        ]
        if free:
            yield context.edit("number", place.start, place.end, context.rng.choice(free))


def _is_no_quantity(place: Place, sentence: str, known: Lexicon) -> bool:
    return (
        known.patterns["number_kept"].fullmatch(place.text) is not None
        or known.patterns["number_kept_in"].search(sentence) is not None
        or known.patterns["number_is_year"].search(place.before + place.text) is not None
        or place.within(known.contexts["number_kept"])
    )


def dates(context: AlterationContext) -> Iterator[Edit]:
    """Yield other years, months, decades and centuries."""
    known = lexicon(context.language)
    years = [int(place.text) for place in known.places("any_year", context.sentence)]
    for place in known.places("year", context.sentence):
        if place.within(known.contexts["year_kept"]) or _in_name(place, known):
            continue
        year = int(place.text)
        low = max((one for one in years if one < year), default=0)
        high = min((one for one in years if one > year), default=9999)
        other = other_year(year, context.page.numbers, context.rng, _side(place, known), low, high)
        if other is not None and not context.page.has(other):
            yield context.edit("date", place.start, place.end, other)
    if context.language == "zh":
        yield from _chinese_months(context, known)
    else:
        yield from _english_months(context, known)
        yield from _decades(context, known, years)
        yield from _centuries(context, known, years)


def _in_name(place: Place, known: Lexicon) -> bool:
    """Check whether a year belongs to the name before it."""
    return known.patterns["year_of_name"].search(place.before) is not None and not (
        known.patterns["month"].search(place.before[-12:])
        or known.patterns["year_opening"].fullmatch(place.before)
    )


def _side(place: Place, known: Lexicon) -> Side | None:
    """Return the side to which a date can move: who lived there since 1950 lived there since 1960 too."""
    if place.within(known.contexts["since"]):
        return "down"
    return "up" if place.within(known.contexts["until"]) else None


def _chosen(context: AlterationContext, place: Place, free: Iterable[str]) -> Iterator[Edit]:
    drawn = tuple(free)
    if drawn:
        yield context.edit("date", place.start, place.end, context.rng.choice(drawn))


def _chinese_months(context: AlterationContext, known: Lexicon) -> Iterator[Edit]:
    for place in known.places("month", context.sentence):
        late = re.search(r"29日|30日|31日", context.sentence)
        months = [month for month in range(1, 13) if month in _LONG_MONTHS or not late]
        yield from _chosen(
            context,
            place,
            (str(one) for one in months if not re.search(rf"(?<!\d)0?{one}\s?月", context.page.text)),
        )


def _english_months(context: AlterationContext, known: Lexicon) -> Iterator[Edit]:
    for place in known.places("month", context.sentence):
        late = re.search(r"\b(?:29|30|31)\b", context.sentence)
        months = [one for number, one in enumerate(_MONTHS, 1) if number in _LONG_MONTHS or not late]
        if _side(place, known) is None and not place.within(known.contexts["between"]):
            yield from _chosen(context, place, (one for one in months if not context.page.has(one[:3])))


def _decades(context: AlterationContext, known: Lexicon, years: Collection[int]) -> Iterator[Edit]:
    for place in known.places("decade", context.sentence):
        side, first = _side(place, known), int(place.text[:4])
        steps = [
            sign * step
            for step in (20, 30, 40)
            for sign in (-1, 1)
            if side in (None, "up" if sign > 0 else "down")
        ]
        decades = [f"{first + step}s" for step in steps if 1100 <= first + step <= 2010]
        if not years and not place.within(known.contexts["between"]):
            yield from _chosen(context, place, (one for one in decades if not context.page.has(one[:3])))


def _centuries(context: AlterationContext, known: Lexicon, years: Collection[int]) -> Iterator[Edit]:
    found = list(known.places("century", context.sentence))
    for place in found:
        own = int(place.match[1])
        centuries = [_ordinal(number) for number in range(3, 21) if abs(number - own) in (2, 3, 4)]
        if len(found) == 1 and not years and _side(place, known) is None:
            yield from _chosen(context, place, (one for one in centuries if not context.page.has(one)))


def _ordinal(number: int) -> str:
    last = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number not in (11, 12, 13) else 0, "th")
    return f"{number}{last}"


def units(context: AlterationContext) -> Iterator[Edit]:
    """Yield other units of measure, powers of a thousand and currencies."""
    known = lexicon(context.language)
    for place in known.places("unit", context.sentence):
        after, sizes = known.tables["units"][place.text], known.tables["sizes"]
        grows = sizes.get(after, 1.0) > sizes.get(place.text, 1.0)
        implied = known.contexts["unit_at_most" if grows else "unit_at_least"]
        if not place.within(implied) and not place.within(known.contexts["unit_kept"]):
            yield context.edit("unit", place.start, place.end, after)


def is_bound(sentence: str, edit: Edit, language: Language) -> bool:
    """Check whether an edit changes a bound: "over 40" and "over 60" can both be true."""
    known, end = lexicon(language), edit.start + len(edit.before)
    before, behind = sentence[: edit.start], sentence[end:]
    names = {
        "date": ("since", "until", "date_bounded"),
        "number": ("bounded",),
        "unit": ("bounded",),
    }.get(edit.kind, ())
    return any(
        known.contexts[name].before.search(before) or known.contexts[name].behind.match(behind)
        for name in names
    )


def other_number(
    written: str,
    taken: Collection[float],
    rng: Random,
    side: Side = "up",
    most: float = float("inf"),
    *,
    turns: bool = True,
) -> str | None:
    """Return a number of the same form; None if none is found.

    Args:
        written: The number on the page, such as `1,240` or `3.50`.
        taken: Numbers that are excluded.
        rng: Source of randomness.
        side: `up` by 20 to 90 %, `down` by 20 to 60 %; by 2 units of the last place or more.
        most: Greatest plausible value, such as 100 percent; instead of exceeding it, the number shrinks.
        turns: Whether the number can shrink for that; a lower bound only grows.
    """
    plain = written.replace(",", "")
    decimals = len(plain.partition(".")[2])
    value = float(plain)
    step = 10.0**-decimals if decimals else float(10 ** (len(plain) - len(plain.rstrip("0"))))
    if value < 10 * step:
        step = step / 10 if step > 1 else step
    for _ in range(30):
        if side == "up":
            changed = value + max(2 * step, value * rng.uniform(0.2, 0.9))
        else:
            changed = value - max(2 * step, value * rng.uniform(0.2, 0.6))
        # Rounded away from the old value, so that the change is never less than what was drawn.
        places = changed / step
        whole = math.ceil(places - 1e-9) if side == "up" else math.floor(places + 1e-9)
        changed = round(whole * step, decimals)
        if changed > most:
            side = "down" if turns else side
        elif changed > 0 and changed not in taken and (decimals or changed >= 2):
            return f"{changed:,.{decimals}f}" if "," in written else f"{changed:.{decimals}f}"
    return None


def other_year(
    year: int, taken: Collection[float], rng: Random, side: Side | None = None, low: int = 0, high: int = 9999
) -> str | None:
    """Return a year 3 to 19 years away, strictly between `low` and `high`; None if there is none."""
    last = max(LAST_YEAR, year)
    signs = {"up": (1,), "down": (-1,), None: (-1, 1)}[side]
    years = [year + sign * step for step in range(3, 20) for sign in signs]
    free = [one for one in years if low < one < high and one <= last and one not in taken]
    return str(rng.choice(free)) if free else None
