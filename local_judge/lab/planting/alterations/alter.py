"""All alterations that a sentence admits.

Invariant: the same sentence, page, names and seed give the same edits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random

from local_judge.lab.planting.alterations import chinese, english, english_words
from local_judge.lab.planting.alterations.alteration_context import AlterationContext, PageText
from local_judge.lab.planting.alterations.names import NamePool
from local_judge.lab.planting.model import AlterationKind, Edit, Language

_Maker = Callable[[AlterationContext], Iterable[Edit]]
_MAKERS: dict[Language, dict[AlterationKind, _Maker]] = {
    "en": {
        "number": english.numbers,
        "date": english.dates,
        "name": english.names,
        "unit": english.units,
        "direction": english_words.directions,
        "negation": english_words.negations,
        "scope": english_words.scopes,
        "causal": english_words.causes,
    },
    "zh": {
        "number": chinese.numbers,
        "date": chinese.dates,
        "name": chinese.names,
        "unit": chinese.units,
        "direction": chinese.directions,
        "negation": chinese.negations,
        "scope": chinese.scopes,
        "causal": chinese.causes,
    },
}


_IS_BOUND: dict[Language, Callable[[str, Edit], bool]] = {"en": english.is_bound, "zh": chinese.is_bound}


def contradicts(sentence: str, edit: Edit, language: Language) -> bool:
    """Whether a sentence and what an edit makes of it cannot both be true: one that moves a bound leaves room."""
    return not _IS_BOUND[language](sentence, edit)


def alterations(
    sentence: str, page: PageText, names: NamePool, language: Language, rng: Random
) -> Mapping[AlterationKind, Edit]:
    """One edit of each kind that `sentence` admits and its page does not bear out.

    Args:
        sentence: of the page.
        page: its title and text.
        names: of other pages, to be put in the place of one of this page.
        language: of the sentence.
        rng: decides between several places and values.
    """
    context = AlterationContext(sentence, page, names, language, rng)
    made: dict[AlterationKind, Edit] = {}
    for kind, make in _MAKERS[language].items():
        one = context.chosen(make(context))
        if one is not None:
            made[kind] = one
    return made
