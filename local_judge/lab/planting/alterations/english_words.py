"""Negations, directions, scopes and causes of English sentences.

Invariant: only patterns after which the sentence is still good English; a sentence that negates anything already, or
that has a word and its opposite, is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import cast

from local_judge.lab.planting.alterations.alteration_context import AlterationContext
from local_judge.lab.planting.alterations.name_lists import COUNTRIES
from local_judge.lab.planting.model import Edit
from serving.strict_yaml import load_yaml
from serving.types import Frozen

_NEGATIVE = re.compile(
    r"\b(?:not|no|nor|never|none|nothing|nobody|neither|without|cannot|unless|hardly|rarely|seldom|few|little|only|"
    r"barely|except|but|lacks?|unlike)\b|n[’']t\b",
    re.I,
)
_NEGATABLE = re.compile(
    r"(?<!\bwhat )(?<!\bthan )(?<!\bas )(?<!\bif )(?<!\bwhether )(?<!\bthere )(?<!\bhow )(?<!\bthat )"
    r"\b(?:was|were|is|are|can|could|will|would|must|should|(?:has|have|had)(?= (?:been|become|made|won|led|taken)))\b"
    r"(?! (?:sometimes|often|usually|generally|commonly|typically|frequently|mostly|mainly|largely|some|any|both|"
    r"either|still|already|just|probably|thus|known|called|named|about|approximately|around|almost|nearly|to|each|all|now|"
    r"always|at least|more than|over|up to|several|many|most|one of|two|primarily|particularly|especially|perhaps|"
    r"predominantly|broadly|currently|traditionally|sufficiently|then|too|once|first)\b)(?![,.;:)])"
)
_NEGATED = re.compile(
    r"\b(was|were|is|are|has|have|had|will|would|could|should|must|can) not "
    r"(?!(?:only|just|merely|simply|until|necessarily|all|every|always|yet|any|so|even|as)\b)"
)
_POLAR = re.compile(
    r"\b(?:any|anyone|anything|yet|until|but|either|nor|neither|no|never|ever|at all)\b|n[’']t"
)


def negations(context: AlterationContext) -> Iterator[Edit]:
    """A `not` after the first verb that takes one, or the only `not` gone."""
    sentence = context.sentence
    negated = list(_NEGATED.finditer(sentence))
    if len(negated) == 1 and not _POLAR.search(sentence):
        found = negated[0]
        yield context.edit("negation", found.start(), found.end(), f"{found[1]} ")
        return
    found = None if _NEGATIVE.search(sentence) else _NEGATABLE.search(sentence)
    if found is not None:
        after = "cannot" if found[0] == "can" else f"{found[0]} not"
        yield context.edit("negation", found.start(), found.end(), after)


_ADJECTIVE = r"[a-z]+(?:ed|ive|al|ous|ent|ant|ful|ic|able|ible|ing|ular|ated|ized|ised|ive|dense|diverse|remote|common)"


class _Direction(Frozen):
    """An entry of `directions.yaml`."""

    word: str
    opposite: str
    ahead: str = ""
    behind: str = ""


def _directions() -> list[_Direction]:
    text = (
        files("local_judge.lab.planting.alterations").joinpath("directions.yaml").read_text(encoding="utf-8")
    )
    rows = cast("list[object]", load_yaml(text.replace("{{adjective}}", _ADJECTIVE)))
    return [_Direction.model_validate(row) for row in rows]


_PAIRS = [(one.word, one.opposite, one.ahead, one.behind) for one in _directions()]
_OPPOSITES = {
    word: "|".join(other if word == one else one for one, other, _, _ in _PAIRS if word in (one, other))
    for pair in _PAIRS
    for word in pair[:2]
}
_TURNS = tuple(
    (
        re.compile(rf"{ahead}\b{word}\b{behind}"),
        re.compile(rf"\b{word}\b"),
        re.compile(rf"\b(?:{_OPPOSITES[word]})\b", re.I),
        opposite,
    )
    for one, other, ahead, behind in _PAIRS
    for word, opposite in ((one, other), (other, one))
)


def directions(context: AlterationContext) -> Iterator[Edit]:
    """Comparisons, trends and points of the compass turned round."""
    sentence = context.sentence
    for place, word, against, opposite in _TURNS:
        found = place.search(sentence)
        if found is not None and not against.search(sentence) and len(word.findall(sentence)) == 1:
            yield context.edit("direction", found.start(), found.end(), opposite)


_NO_NOUN = r"(?: (?:time|times|extent|point|day|sort|kind|form|degree|way|one|\d|other|more|less|of them))"
_WIDER = tuple(
    (re.compile(pattern), wider)
    for pattern, wider in (
        (rf"^Some(?= [a-z]+s\b)(?!{_NO_NOUN})", "All"),
        (r"\bsome of the\b", "all of the"),
        (
            rf"(?<= )some(?= [a-z]+s\b)(?! (?:as|is|was|has|others|times|years|days|months|hours)\b)(?!{_NO_NOUN})",
            "all",
        ),
        (r"^Many(?= [a-z]+s\b)", "All"),
        (r"\bmany of the\b", "all of the"),
        (r"^Most(?= (?:[a-z]+ )?[a-z]+s\b)", "All"),
        (r"\b[Mm]ost of (?=the |its )", "all of "),
        (r"(?<=^)Most of (?=the )", "All of "),
        (
            r"\b(?:often|usually|generally|typically|commonly|frequently|sometimes|occasionally)(?= [a-z]+ed\b)",
            "always",
        ),
        (r"(?<=\bis )(?:often|usually|generally|typically|sometimes|occasionally)(?= [a-z])", "always"),
        (r"(?<=\bare )(?:often|usually|generally|typically|sometimes|occasionally)(?= [a-z])", "always"),
        (
            r"\b(?:mainly|mostly|primarily|largely|chiefly|partly|partially|predominantly)"
            r"(?= (?:in|within|by|from|on|for|at|through|with|[a-z]+(?:ed|ous|al|ar|ic|ive|en|ish|an))\b)(?! known)",
            "entirely",
        ),
        (r"\b(?:almost|nearly|virtually) (?=(?:all|every|entirely|always)\b)", ""),
        (r"\bin (?:some|many|most|certain) cases\b", "in all cases"),
        (r"\bin (?:some|many|most|several) countries\b", "in all countries"),
    )
)
_ONE_OF = re.compile(
    r"\bone of (?:the|its) ((?:[a-z]+-)?(?:most|least) [a-z]+|[a-z]+est)( [a-z]+(?: [a-z]+)?s)\b"
    r"(?= (?:of|in|on|from|to|by|and|for|during|ever)\b|[.,])"
)
_LARGEST = re.compile(
    r"\b(?:[a-z]{3,}est|most [a-z]+)\b(?:,? [a-z]+){1,4} (in|of) ((?:the )?[A-Z][a-z]+(?: [A-Z][a-z]+)?)"
    r"(?=[.,;]|$| by| and (?:is|was|has)\b| with )"
)
_WIDE = frozenset((*COUNTRIES[0], "Europe", "Asia", "Africa", "Oceania", "North America", "South America"))


def scopes(context: AlterationContext) -> Iterator[Edit]:
    """What holds of some or of most said of all, and what holds of a country said of the world."""
    sentence, page = context.sentence, context.page
    if _NEGATIVE.search(sentence):
        return
    for pattern, wider in _WIDER:
        found = pattern.search(sentence)
        if found is not None:
            capital = wider[:1].upper() + wider[1:] if found[0][:1].isupper() else wider
            yield context.edit("scope", found.start(), found.end(), capital)
    found = _ONE_OF.search(sentence)
    if found is not None:
        yield context.edit("scope", found.start(), found.end(), f"the {found[1]} of all{found[2]}")
    found = _LARGEST.search(sentence)
    if (
        found is not None
        and found[2].removeprefix("the ") in _WIDE
        and not page.has("world")
        and "capital" not in sentence
    ):
        yield context.edit("scope", found.start(1), found.end(2), "in the world")


_REVERSED = tuple(
    (re.compile(pattern), after)
    for pattern, after in (
        (r"\b(?:was|were) caused by\b", "caused"),
        (r"\bis caused by\b", "causes"),
        (r"\bare caused by\b", "cause"),
        (r"(?<!be )(?<!been )(?<!being )\bcaused by\b", "causing"),
        (
            r"(?<=[a-z] )caused(?= (?:the|a|an|widespread|severe|[a-z]+) [a-z])"
            r"(?! (?:by|in|to))(?![^.,;]{0,90} to [a-z])",
            "resulted from",
        ),
        (r"\bled to\b", "resulted from"),
        (r"(?<=, )leading to\b", "resulting from"),
        (r"\b(?:can|may|could|might|will) lead to\b", "may result from"),
        (r"\bleads to\b", "results from"),
        (r"\bresulted in\b", "resulted from"),
        (r"\bresults in\b", "results from"),
        (r"\bresulting in\b", "resulting from"),
        (r"\bresulted from\b", "resulted in"),
        (r"\bresulting from\b", "resulting in"),
        (r"\bgave rise to\b", "arose from"),
        (r"\barose from\b", "gave rise to"),
        (r"\bstem(?:s|med) from\b", "led to"),
    )
)
"""Relations that can be turned round where they stand, whatever their number."""
_NOT_LED = re.compile(
    r"\b(?:was|were|been|be|is|are|being|who|path|road|roads|streets?|door|he|pioneered?|has|have|had)(?: \w+ly)? $"
)
_CLAUSES = re.compile(r"^((?:The|A|An|Some|Many) [^,;:()]{14,110}?) because ((?!of\b)[^,;:()]{14,110})\.$")
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|will|would|became|took|rose|fell)\b|[a-z]{3,}ed\b"
)
_HANGING = re.compile(r"\b(?:who|which|that|when|where|while|so|and|or|but|as|if)\b")


def causes(context: AlterationContext) -> Iterator[Edit]:
    """Cause and effect changed round."""
    sentence = context.sentence
    if _NEGATIVE.search(sentence):
        return
    for pattern, after in _REVERSED:
        for found in pattern.finditer(sentence):
            if not (found[0].startswith(("led", "caused")) and _NOT_LED.search(sentence[: found.start()])):
                yield context.edit("causal", found.start(), found.end(), after)
    found = _CLAUSES.match(sentence)
    if found is not None and all(_FINITE.search(one) and not _HANGING.search(one) for one in found.groups()):
        first, second = found[1], found[2]
        after = f"{second[0].upper()}{second[1:]} because {first[0].lower()}{first[1:]}"
        yield context.edit("causal", 0, len(sentence) - 1, after)
