"""True and altered claims from pages, made by code.

A true claim is a sentence of its page, word for word. An altered claim is another sentence of the same page with one
thing changed: a number, a year or month, a unit, a name, a direction, or a negation put in. Half of the sentences of a
page are altered.

Invariants: the page states a true claim and does not state an altered one; both are drawn from the same sentences,
those that stand by themselves and admit at least one alteration; the same pages and seed give the same claims.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Literal, get_args

from sentencex import get_sentence_boundaries

from serving.types import Frozen

Kind = Literal["number", "date", "unit", "name", "direction", "negation"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Edit(Frozen):
    """What was changed."""

    kind: Kind
    before: str
    after: str


class PlantedClaim(Frozen):
    """A claim with what is known of it."""

    id: str
    claim: str
    url: str
    sentence: str
    """As the page has it."""
    edit: Edit | None
    """None for a true claim."""

    @property
    def true(self) -> bool:
        """Whether the page states it."""
        return self.edit is None


class PageText(Frozen):
    """A page to plant in."""

    url: str
    text: str


Place = tuple[int, int, str]
"""Start and end in the sentence, and what to put there."""


def _pairs(text: str) -> dict[str, str]:
    """`a:b c:d` as a mapping."""
    return dict(pair.split(":") for pair in text.split())


MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_YEAR = re.compile(r"(?<![\w.,$£€–-])(?:1[1-9]|20)\d\d(?![\w–-]|[.,]\d)")
_MONTH = re.compile(r"\b(?:" + "|".join(month for month in MONTHS if month != "May") + r")\b")
_NUMBER = re.compile(r"(?<![\w.,–-])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w–-]|[.,]\d)")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+(?: (?:[A-Z]\. )?[A-Z][a-z]+)+\b(?!['’])")
_NEGATABLE = re.compile(
    r"\b(?:was|were|is|are|can|could|will|would|must|(?:has|have|had)(?= been))\b(?! (?:not|no|only|nothing)\b)"
)
_UNITS = _pairs(
    """million:billion billion:million trillion:million thousand:million km:miles kilometres:miles kilometers:miles
    miles:kilometres metres:feet meters:feet feet:metres inches:feet pounds:tonnes kilograms:grams kg:g
    tonnes:kilograms tons:kilograms years:months months:weeks weeks:months days:weeks hours:days minutes:hours
    seconds:minutes dollars:euros euros:dollars acres:hectares hectares:acres"""
)
_UNIT = re.compile(r"(?<=\d[ \u00a0])(?:" + "|".join(_UNITS) + r")\b(?! \()")
_OPPOSITES = _pairs(
    """increased:decreased increase:decrease rose:fell rise:fall more:less higher:lower before:after
    largest:smallest larger:smaller first:last oldest:youngest older:younger above:below won:lost north:south
    northern:southern east:west eastern:western highest:lowest early:late earlier:later longest:shortest
    greater:smaller northeast:southwest northwest:southeast northeastern:southwestern
    northwestern:southeastern best:worst"""
)
_DIRECTIONS = {opposite: word for word, opposite in reversed(_OPPOSITES.items())} | _OPPOSITES
_DIRECTION = re.compile(r"\b(?:" + "|".join(sorted(_DIRECTIONS, key=len, reverse=True)) + r")\b")
_LEANING = re.compile(
    r"(?:It|Its|This|That|These|Those|There|Their|His|Her|But|And|Or|So|However|Also|Such|Both|Here|Then|Another|Other|"
    r"Others|Moreover|Furthermore|Instead|Meanwhile|Additionally|Nevertheless|Thus|Therefore|My|Our|Your|Later|"
    r"Afterwards|Subsequently|In addition|For example|For instance|As a result|As such|After that|At the time)\b"
)
_PRONOUN = re.compile(
    r"\b(?:he|she|they|we|I|you|this|these|those|him|them|me|us|the latter|the former)\b", re.I
)
_PARTICULAR = re.compile(r"\d|(?<=[a-z,;] )[A-Z]")


def standalone_sentences(text: str) -> Iterator[str]:
    """Sentences of `text` that hold a number or a name and need no sentence before them to be understood."""
    for line in text.splitlines():
        for found in get_sentence_boundaries("en", line):
            sentence = line[found["start_index"] : found["end_index"]].strip()
            if (
                45 <= len(sentence) <= 260
                and sentence[0].isupper()
                and sentence.endswith(".")
                and not _LEANING.match(sentence)
                and not _PRONOUN.search(sentence)
                and not re.search(r'["“”‘?!|]|www\.|please', sentence)
                and _PARTICULAR.search(sentence)
            ):
                yield sentence


def names_in(text: str) -> list[str]:
    """Names of two words and more, each once, in order."""
    return list(dict.fromkeys(match[0] for match in _NAME.finditer(text)))


def edits(sentence: str, page: str, names: Sequence[str], rng: Random) -> dict[Kind, Place]:
    """One possible alteration of each kind that `sentence` admits and `page` does not bear out.

    Args:
        sentence: of the page.
        page: its whole text.
        names: of other pages, to be put in the place of one of this page.
        rng: decides between several places and values.
    """
    makers: dict[Kind, Callable[[], list[Place]]] = {
        "number": lambda: [
            (match.start(), match.end(), _other_number(match[0], page, rng))
            for match in _NUMBER.finditer(sentence)
            if not _YEAR.fullmatch(match[0]) and not _MONTH.search(sentence)
        ],
        "date": lambda: (
            [
                (match.start(), match.end(), _other_year(match[0], page, rng))
                for match in _YEAR.finditer(sentence)
            ]
            + [
                (
                    match.start(),
                    match.end(),
                    rng.choice([month for month in MONTHS if month not in page] or [match[0]]),
                )
                for match in _MONTH.finditer(sentence)
            ]
        ),
        "unit": lambda: [
            (match.start(), match.end(), _UNITS[match[0]]) for match in _UNIT.finditer(sentence)
        ],
        "name": lambda: [
            (match.start(), match.end(), other)
            for match in _NAME.finditer(sentence)
            for other in _other_name(match[0], page, names, rng)
        ],
        "direction": lambda: [
            (match.start(), match.end(), _DIRECTIONS[match[0]]) for match in _DIRECTION.finditer(sentence)
        ],
        "negation": lambda: [
            (match.start(), match.end(), f"{match[0]} not")
            for match in list(_NEGATABLE.finditer(sentence))[:1]
        ],
    }
    found: dict[Kind, Place] = {}
    for kind, make in makers.items():
        places = [place for place in make() if applied(sentence, place) not in (sentence, *page.splitlines())]
        if places:
            found[kind] = rng.choice(places)
    return found


def applied(sentence: str, place: Place) -> str:
    """`sentence` with the alteration."""
    start, end, after = place
    return sentence[:start] + after + sentence[end:]


def plant(pages: Sequence[PageText], per_page: int, seed: int) -> list[PlantedClaim]:
    """`per_page` claims of each page that has so many suitable sentences, half of them altered (rounded down).

    The kind of an alteration is the one used least so far among those that its sentence admits.
    """
    used: Counter[Kind] = Counter()
    claims: list[PlantedClaim] = []
    names_of = {page.url: names_in(page.text) for page in pages}
    for number, page in enumerate(pages, 1):
        rng = Random(f"{seed}:{page.url}")
        foreign = [name for url, names in names_of.items() if url != page.url for name in names]
        options = [
            (sentence, found)
            for sentence in dict.fromkeys(standalone_sentences(page.text))
            if (found := edits(sentence, page.text, foreign, rng))
        ]
        if len(options) < per_page:
            continue
        chosen = sorted(rng.sample(range(len(options)), per_page))
        altered = set(rng.sample(chosen, per_page // 2))
        for n, index in enumerate(chosen, 1):
            sentence, found = options[index]
            claim, edit = sentence, None
            if index in altered:
                kind = min(found, key=lambda one: (used[one], KINDS.index(one)))
                used[kind] += 1
                start, end, after = found[kind]
                claim = applied(sentence, found[kind])
                edit = Edit(kind=kind, before=sentence[start:end], after=after)
            claims.append(
                PlantedClaim(id=f"{number}.{n}", claim=claim, url=page.url, sentence=sentence, edit=edit)
            )
    return claims


def _other_number(text: str, page: str, rng: Random) -> str:
    """A number of the same form that is 20 to 90 % larger (by 2 at least) and that the page does not have."""
    decimals = len(text.partition(".")[2])
    value = float(text.replace(",", ""))
    for _ in range(20):
        changed = value + max(2 * 10**-decimals, round(value * rng.uniform(0.2, 0.9), decimals))
        other = f"{changed:,.{decimals}f}" if "," in text else f"{changed:.{decimals}f}"
        if not re.search(rf"(?<!\d){re.escape(other)}(?!\d)", page):
            return other
    return text


def _other_year(text: str, page: str, rng: Random) -> str:
    """A year 3 to 19 years off that the page does not have."""
    years = [int(text) + sign * step for step in range(3, 20) for sign in (-1, 1)]
    return rng.choice([str(year) for year in years if str(year) not in page] or [text])


def _other_name(text: str, page: str, names: Sequence[str], rng: Random) -> list[str]:
    """One of `names` with as many words that shares none of them with the page; empty if there is none."""
    fitting = [
        name
        for name in names
        if len(name.split()) == len(text.split()) and not any(word in page for word in name.split())
    ]
    return [rng.choice(fitting)] if fitting else []
