"""Numbers, dates, units and names of English sentences.

Invariant: a value is changed only where it is one by itself: no part of a name, a range, a score or a conversion, and
on the side where the old statement does not imply the new one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from local_judge.lab.planting.alterations.alteration_context import NUMBER_WORDS, AlterationContext
from local_judge.lab.planting.alterations.name_lists import pairs
from local_judge.lab.planting.alterations.names import names_in
from local_judge.lab.planting.alterations.values import Side, other_number, other_year
from local_judge.lab.planting.model import Edit

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_LONG_MONTHS = frozenset(("January", "March", "May", "July", "August", "October", "December"))
_YEAR = re.compile(r"(?<![\w.,$£€–/:-])(?:1[1-9]|20)\d\d(?![\w–/:-]|[.,]\d)")
_ERA = re.compile(r"\s?(?:BCE?|AD|CE|B\.C|C\.E|A\.D)\b")
_MONTH = re.compile(
    r"(?:(?<=\d )|(?<=\bin )|(?<=\bof )|(?<=\bearly )|(?<=\blate )|(?<=\bIn )|(?<=\bon )|(?<=\bOn ))(?:"
    + "|".join(MONTHS)
    + r")\b(?= ?\d|[ ,.)](?! ?[A-Z]))"
)
_ANY_MONTH = re.compile(r"\b(?:" + "|".join(MONTHS) + r")\b")
_CENTURY = re.compile(r"\b(\d{1,2})(st|nd|rd|th)(?=[ -](?:century|centuries)\b)")
_DECADE = re.compile(r"\b(1[1-9]|20)(\d)0s\b")
_NUMBER = re.compile(
    r"(?<![\w.,–:/-])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w–:/-]|[.,]\d|,? (?:and|or|to) \d)"
)
_NUMBER_WORD = re.compile(
    r"\b(?:"
    + "|".join(NUMBER_WORDS)
    + r")\b(?= [a-z]+s\b)(?! (?:or|and|to|times|sides|others|as|is|was|has|does)\b)"
)
_IDENTIFIES = re.compile(
    r"(?:[A-Z][\w’'-]*|\b[Nn]o\.|#|[+±=×x]|\b(?:section|chapter|number|type|phase|version)) ?$"
)
_CIRCA = re.compile(r"\b(?:circa|c\.|ca\.|in|from|by|since|until|around|about|to|and|between) ?$", re.I)
_OPENING = re.compile(
    r"(?:About|Around|Over|Nearly|Almost|In|By|Of|With|Some|More than|At least|From|Only|Up to) $"
)
_NAMED_AFTER = re.compile(r"\s[A-Z]")
_CONVERTED = re.compile(r"[^;,]{0,60}?\((?:about |approximately |~ ?|c\. ?)?[$£€]?[\d.,]+")
_AT_MOST = (
    r"(?:(?<!\bno )(?<!\bnot )\b(?:less|fewer|lower|smaller) than|\b(?:no|not) (?:more|greater|higher|larger) than|"
    r"\b(?:under|below|up to|at most|within|almost|nearly|maximum of|limited to|as (?:low|few|little) as))"
)
"""What stands before a bound from above: the statement holds of every greater number too."""
_AT_LEAST = (
    r"(?:(?<!\bno )(?<!\bnot )\b(?:more|greater|higher|larger) than|\b(?:no|not) (?:less|fewer|lower|smaller) than|"
    r"\b(?:over|exceed(?:s|ed|ing)?|at least|above|upwards? of|beyond|minimum of|as (?:many|much|high) as))"
)
"""What stands before a bound from below: the statement holds of every smaller number too."""
_LESS = re.compile(_AT_MOST + r" (?:about |[$£€])?$", re.I)
_GREATER = re.compile(_AT_LEAST + r" (?:about |almost |nearly |[$£€])?$", re.I)
_BOUNDED = re.compile(rf"(?:{_AT_MOST}|{_AT_LEAST})[^,;()]{{0,40}}$", re.I)
_OR_LESS = re.compile(
    r"[^,;()]{0,30}?\b(?:or|and) (?:less|fewer|below|under|younger|lower|shorter|earlier|before)\b"
)
_OR_MORE = re.compile(
    r"[^,;()]{0,30}?\b(?:or|and) (?:more|above|over|older|higher|greater|longer|later|after)\b"
)
_DENIED = re.compile(
    r"(?:\b(?:not|never|cannot)|n[’']t) (?!(?:more|greater|higher|larger|less|fewer|lower|smaller|later|earlier) than|"
    r"before|after)[^,;()]{0,60}$",
    re.I,
)
"""A denial turns the side round on which one statement implies another."""
_WITHIN_RANGE = re.compile(
    r"(?:\bbetween [^,;()]{1,40}|(?<![\d.,$£€])[$£€]?\d[\d.,]*(?:\s?%|\spercent|\sper cent)?\s(?:to|or))\s"
    r"(?:about )?[$£€]?$",
    re.I,
)
"""Before the end of a range: a wider range holds what a narrower one does."""
_PERCENT = re.compile(r" ?(?:%|percent|per cent)")
_BACKWARDS = re.compile(
    r"\b(?:since|(?<!\bnot )before|by|from|prior to|(?:no|not) (?:later than|after)|as early as|"
    r"(?<!\bno )(?<!\bnot )earlier than) (?:the )?(?:early |mid-?|late )?$",
    re.I,
)
_ONWARDS = re.compile(
    r"\b(?:(?<!\bno )(?<!\bnot )after|until|(?<!\bprior )to|through|as late as|not before|(?:no|not) earlier than|"
    r"(?<!\bno )(?<!\bnot )later than) (?:the )?(?:early |mid-?|late )?$",
    re.I,
)
_BETWEEN = re.compile(r"\bbetween [^,;()]{0,40}$", re.I)
"""What was begun in a span was begun in a longer one, and what went on in it went on in a shorter one."""
_PER_PERIOD = {"a day": "a month", "per day": "per month", "per year": "per day", "a year": "a day"}
_SIZES = {
    "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
    "km": 1000, "kilometres": 1000, "kilometers": 1000, "miles": 1609, "metres": 1, "meters": 1, "feet": 0.3, "m": 1,
    "cm": 0.01, "mm": 0.001, "inches": 0.025, "pounds": 0.45, "kilograms": 1, "kg": 1, "grams": 0.001, "g": 0.001,
    "mg": 1e-6, "tonnes": 1000, "tons": 907, "years": 365, "months": 30, "weeks": 7, "days": 1, "hours": 0.04,
    "minutes": 0.0007, "seconds": 0.00001, "decades": 3650, "centuries": 36500, "acres": 0.4, "hectares": 1,
    "kW": 1, "kilowatts": 1, "MW": 1e3, "megawatts": 1e3, "GW": 1e6, "gigawatts": 1e6, "kWh": 1, "MWh": 1e3,
    "MB": 1, "GB": 1e3, "TB": 1e6, "Hz": 1, "kHz": 1e3, "MHz": 1e6, "litres": 1, "liters": 1, "gallons": 4,
}  # fmt: skip
"""How large a unit is beside others of its kind."""
_UNITS = pairs(
    """
    million:billion billion:million trillion:billion thousand:million km:miles kilometres:miles
    kilometers:miles miles:kilometres metres:feet meters:feet feet:metres m:km cm:mm mm:cm inches:feet
    pounds:tonnes kilograms:grams grams:kilograms kg:g g:kg mg:g tonnes:kilograms tons:kilograms years:months
    months:weeks weeks:months days:weeks hours:days minutes:hours seconds:minutes decades:centuries
    centuries:decades dollars:euros euros:dollars acres:hectares hectares:acres °C:°F °F:°C kW:MW MW:kW GW:MW
    kWh:MWh MWh:kWh GB:MB MB:GB TB:GB Hz:kHz kHz:MHz MHz:kHz kilowatts:megawatts megawatts:kilowatts
    gigawatts:megawatts litres:gallons liters:gallons gallons:litres
    """
)
_UNIT = re.compile(r"(?<=\d[ \u00a0])(?:" + "|".join(map(re.escape, _UNITS)) + r")(?![\w/²³])(?!\s\()")
_UNIT_BOUND = re.compile(
    r"(?<=\d-)(?:year|month|week|day|hour|minute|mile|kilometre|kilometer|metre|meter|foot)\b(?! \()"
)
_BOUND_UNITS = pairs(
    """
    year:month month:year week:month day:month hour:day minute:hour mile:metre kilometre:metre kilometer:meter
    metre:kilometre meter:kilometer foot:mile
    """
)
_MORE = re.compile(
    rf"(?:{_AT_LEAST}|\b(?:for|lasted|lasting)) (?:about |almost |nearly |[$£€])?[\d.,–]+\s$", re.I
)
_LESS_THAN = re.compile(rf"{_AT_MOST} [$£€]?[\d.,–]+\s$", re.I)
_CURRENCY = re.compile(r"[$£€](?=\d)")
_PERIOD = re.compile(r"\b(?:a|per) (?:day|year)\b")


def numbers(context: AlterationContext) -> Iterator[Edit]:
    """Quantities."""
    sentence = context.sentence
    for found in _NUMBER.finditer(sentence):
        before, behind = sentence[: found.start()], sentence[found.end() :]
        if _YEAR.fullmatch(found[0]) or _ANY_MONTH.search(sentence) or found[0] in ("0", "1"):
            continue
        if _NAMED_AFTER.match(behind) or _ERA.match(behind) or _CONVERTED.match(behind):
            continue
        if re.fullmatch(r"\d{3,4}", found[0]) and _CIRCA.search(before):
            continue  # a year of long ago
        if (_IDENTIFIES.search(before) and not _OPENING.fullmatch(before)) or before.endswith(("(", "~")):
            continue
        if _WITHIN_RANGE.search(before) or _DENIED.search(before):
            continue
        side: Side = "down" if _LESS.search(before) or _OR_LESS.match(behind) else "up"
        bound = _GREATER.search(before) is not None or _OR_MORE.match(behind) is not None
        percent = _PERCENT.match(behind) is not None and float(found[0].replace(",", "")) <= 100
        most = 99 if percent else float("inf")
        other = other_number(found[0], context.page.numbers, context.rng, side, most, turns=not bound)
        if other is not None:
            yield context.edit("number", found.start(), found.end(), other)
    for found in _NUMBER_WORD.finditer(sentence):
        if _BETWEEN.search(sentence[: found.start()]) or _DENIED.search(sentence[: found.start()]):
            continue
        values = [(word, value) for word, value in NUMBER_WORDS.items() if value not in context.page.numbers]
        less = _LESS.search(sentence[: found.start()]) is not None
        old = NUMBER_WORDS[found[0]]
        words = [word for word, value in values if (value < old if less else value > old)]
        if words:
            yield context.edit("number", found.start(), found.end(), context.rng.choice(words))


def dates(context: AlterationContext) -> Iterator[Edit]:
    """Years, months, decades and centuries; the order of a sentence's years stays."""
    sentence, page, rng = context.sentence, context.page, context.rng
    years = [int(found[0]) for found in _YEAR.finditer(sentence)]
    for found in _YEAR.finditer(sentence):
        before, behind = sentence[: found.start()], sentence[found.end() :]
        if (
            _NAMED_AFTER.match(behind)
            or _ERA.match(behind)
            or _BETWEEN.search(before)
            or _DENIED.search(before)
            or _bounded_behind(behind)
            or (
                re.search(r"[A-Z]\w* $", before)
                and not (
                    _MONTH.search(before[-12:])
                    or re.fullmatch(r"(?:In|By|Since|During|From|Between) ", before)
                )
            )
        ):
            continue
        year = int(found[0])
        low = max((one for one in years if one < year), default=0)
        high = min((one for one in years if one > year), default=9999)
        other = other_year(year, page.numbers, rng, _side(before), low, high)
        if other is not None and not page.has(other):
            yield context.edit("date", found.start(), found.end(), other)
    for found in _MONTH.finditer(sentence):
        before = sentence[: found.start()]
        late = re.search(r"\b(?:29|30|31)\b", sentence) is not None
        months = [one for one in MONTHS if not page.has(one[:3]) and (one in _LONG_MONTHS or not late)]
        if months and _side(before) is None and not _BETWEEN.search(before):
            yield context.edit("date", found.start(), found.end(), rng.choice(months))
    for found in _DECADE.finditer(sentence):
        side = _side(sentence[: found.start()])
        first = int(found[1]) * 100 + int(found[2]) * 10
        steps = [
            sign * step
            for step in (20, 30, 40)
            for sign in (-1, 1)
            if side in (None, "up" if sign > 0 else "down")
        ]
        decades = [f"{first + step}s" for step in steps if 1100 <= first + step <= 2010]
        free = [one for one in decades if not page.has(one[:3])]
        if free and len(years) == 0 and not _BETWEEN.search(sentence[: found.start()]):
            yield context.edit("date", found.start(), found.end(), rng.choice(free))
    for found in _CENTURY.finditer(sentence):
        centuries = [number for number in range(3, 21) if abs(number - int(found[1])) in (2, 3, 4)]
        if len(_CENTURY.findall(sentence)) > 1 or years:
            continue
        free = [one for one in map(_ordinal, centuries) if not page.has(one)]
        if free and _side(sentence[: found.start()]) is None:
            yield context.edit("date", found.start(), found.end(), rng.choice(free))


def _side(before: str) -> Side | None:
    """To which side a date may move: who lived there since 1950 lived there since 1960 too."""
    return "down" if _BACKWARDS.search(before) else "up" if _ONWARDS.search(before) else None


def _ordinal(number: int) -> str:
    last = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number not in (11, 12, 13) else 0, "th")
    return f"{number}{last}"


def is_bound(sentence: str, edit: Edit) -> bool:
    """Whether the value that an edit changes is a bound: "over 40" and "over 60" can both be true."""
    before, behind = sentence[: edit.start], sentence[edit.start + len(edit.before) :]
    return edit.kind in ("number", "date", "unit") and (
        _BOUNDED.search(before) is not None
        or _bounded_behind(behind)
        or (edit.kind == "date" and _side(before) is not None)
    )


def _bounded_behind(behind: str) -> bool:
    return _OR_LESS.match(behind) is not None or _OR_MORE.match(behind) is not None


def units(context: AlterationContext) -> Iterator[Edit]:
    """Units of measure, powers of a thousand, currencies, periods."""
    sentence = context.sentence
    for found in _UNIT.finditer(sentence):
        before, after = sentence[: found.start()], _UNITS[found[0]]
        grows = _SIZES.get(after, 1.0) > _SIZES.get(found[0], 1.0)
        implied = _MORE.search(before) if not grows else _LESS_THAN.search(before)
        behind = sentence[found.end() :]
        implied = implied or _bounded_behind(behind)
        if not implied and not _CONVERTED.match(behind) and "(" not in before[-12:]:
            yield context.edit("unit", found.start(), found.end(), after)
    for found in _UNIT_BOUND.finditer(sentence):
        if "(" in sentence[max(0, found.start() - 8) : found.start()]:
            continue
        yield context.edit("unit", found.start(), found.end(), _BOUND_UNITS[found[0]])
    for found in _CURRENCY.finditer(sentence):
        if len(_CURRENCY.findall(sentence)) == 1 and not _BOUNDED.search(sentence[: found.start()]):
            yield context.edit("unit", found.start(), found.end(), "£" if found[0] != "£" else "€")
    for found in _PERIOD.finditer(sentence):
        before = sentence[: found.start()]
        if re.search(r"\d[\w ]{0,24} $", before) and not _BOUNDED.search(before):
            yield context.edit("unit", found.start(), found.end(), _PER_PERIOD[found[0]])


def names(context: AlterationContext) -> Iterator[Edit]:
    """Names of people, places and organisations, by others of their kind."""
    for name in names_in(context.sentence, context.language):
        other = context.names.other(name, context.page.folded, context.rng)
        if other is None or context.sentence.count(name.text) > 1:
            continue
        article = re.search(r"\b([Aa]n?) $", context.sentence[: name.start])
        start, new = name.start, other
        if article is not None:
            start = article.start()
            an = "an" if other[0] in "AEIOU" and not other.startswith(("Eu", "Uk", "Uni", "Ur")) else "a"
            new = f"{an if article[1].islower() else an.capitalize()} {other}"
        yield context.edit("name", start, name.end, new)
