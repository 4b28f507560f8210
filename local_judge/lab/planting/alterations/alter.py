"""All alterations that a sentence admits.

Invariants: the same sentence, page, names and seed give the same edits. A rewording leaves a well-formed sentence; a
sentence that already contains a negation, or a word together with its opposite, is not reworded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from random import Random

from local_judge.lab.planting.alterations.alteration_context import AlterationContext, PageText
from local_judge.lab.planting.alterations.names import COUNTRIES, NamePool, names_in
from local_judge.lab.planting.alterations.quantities import dates, is_bound, numbers, units
from local_judge.lab.planting.lexicon import lexicon, places
from local_judge.lab.planting.model import AlterationKind, Edit, Language

_WIDE = frozenset((*COUNTRIES[0], "Europe", "Asia", "Africa", "Oceania", "North America", "South America"))
"""Regions of which `the largest in` can be widened to the world."""


def contradicts(sentence: str, edit: Edit, language: Language) -> bool:
    """Check that a sentence and its altered form cannot both be true; both can if the edit moves a bound."""
    return not is_bound(sentence, edit, language)


def alterations(
    sentence: str, page: PageText, names: NamePool, language: Language, rng: Random
) -> Mapping[AlterationKind, Edit]:
    """Return one edit of each kind that `sentence` admits and its page does not support.

    Args:
        sentence: Sentence of the page.
        page: Title and text of the page.
        names: Names of other pages, which can replace one of this page.
        language: Language of the sentence.
        rng: Chooses between places and values.
    """
    context = AlterationContext(sentence, page, names, language, rng)
    made: dict[AlterationKind, Edit] = {}
    for kind, makers in _MAKERS.items():
        one = context.chosen(edit for make in makers for edit in make(context))
        if one is not None:
            made[kind] = one
    return made


def _reworded(context: AlterationContext, kind: AlterationKind) -> Iterator[Edit]:
    """Yield what the rows of the lexicon make of a sentence; a capital at the start of the wording is kept."""
    for row in lexicon(context.language).rewordings.get(kind, ()):
        if row.unless.search(context.sentence):
            continue
        found = list(places(row.find, context.sentence))
        if row.places == "only" and len(found) > 1:
            continue
        for place in found[:1] if row.places == "first" else found:
            if place.within(row.context) or not row.before.search(place.before):
                continue
            after = row.words.get(place.text) or place.match.expand(row.put)
            if place.text[:1].isupper():
                after = after[:1].upper() + after[1:]
            yield context.edit(kind, place.start, place.end, after)


def _names(context: AlterationContext) -> Iterator[Edit]:
    """Yield other people, places and organisations of the same kind."""
    for name in names_in(context.sentence, context.language):
        other = context.names.other(name, context.page.folded, context.rng)
        if other is None or context.sentence.count(name.text) > 1:
            continue
        article = lexicon(context.language).patterns["article"].search(context.sentence[: name.start])
        start, new = name.start, other
        if article is not None:
            start = article.start()
            an = "an" if other[0] in "AEIOU" and not other.startswith(("Eu", "Uk", "Uni", "Ur")) else "a"
            new = f"{an if article[1].islower() else an.capitalize()} {other}"
        yield context.edit("name", start, name.end, new)


def _widest(context: AlterationContext) -> Iterator[Edit]:
    """Yield a superlative of a country or a continent as one of the world."""
    sentence, patterns = context.sentence, lexicon(context.language).patterns
    found = patterns["largest"].search(sentence)
    if (
        found is not None
        and not patterns["negative"].search(sentence)
        and found[2].removeprefix("the ") in _WIDE
        and not context.page.has("world")
        and "capital" not in sentence
    ):
        yield context.edit("scope", found.start(1), found.end(2), "in the world")


def _exchanged(context: AlterationContext) -> Iterator[Edit]:
    """Yield `A because B` as `B because A`, if both are whole clauses."""
    sentence, patterns = context.sentence, lexicon(context.language).patterns
    found = patterns["clauses"].match(sentence)
    if found is None or patterns["negative"].search(sentence):
        return
    if all(patterns["finite"].search(one) and not patterns["hanging"].search(one) for one in found.groups()):
        first, second = found[1], found[2]
        after = f"{second[0].upper()}{second[1:]} because {first[0].lower()}{first[1:]}"
        yield context.edit("causal", 0, len(sentence) - 1, after)


_MAKERS: Mapping[AlterationKind, Sequence[Callable[[AlterationContext], Iterable[Edit]]]] = {
    "number": (numbers,),
    "date": (dates,),
    "name": (_names,),
    "unit": (units, partial(_reworded, kind="unit")),
    "direction": (partial(_reworded, kind="direction"),),
    "negation": (partial(_reworded, kind="negation"),),
    "scope": (partial(_reworded, kind="scope"), _widest),
    "causal": (partial(_reworded, kind="causal"), _exchanged),
}
