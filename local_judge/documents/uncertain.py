"""Decision on marks that ordinary text has as well: `word.1`, `word 1.`, `(1)`, `①`.

Invariant: such a mark is a citation only if the report has a numbered list of sources, hardly cites it by clearer
marks, and its numbers run on as citations do: most are numbers of the list, and new ones mostly ascend. Without a
list, only numbers directly after full stops are counted, if there are many of them and they ascend.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

from local_judge.documents.inline import Mark

_LEAP = 10
"""Largest step between the numbers of new sources, for the forms that text has most often."""
_FEWEST = 5
"""Least number of sources that a report without a list names."""
NUMBERED = (
    r"(?:tab(?:les?|elle|la)?|figs?|figur(?:es?|a)|eqs?|equations?|steps?|phases?|sections?|sec|chapters?|ch"
    r"|vol(?:ume)?|parts?|levels?|stages?|versions?|types?|articles?|art|paragraphs?|para|abs(?:atz)?|clauses?|appendix"
    r"|annex|options?|scenarios?|cases?|tiers?|class|grade|ranks?|score|ages?|day|week|month|year|goal|group|model|item"
    r"|nos?|point|rules?|questions?|objective|pages?|january|february|march|april|may|june"
    r"|july|august|september|october|november|december|from|than|least|most|over|about|only|nearly|almost|around|between"
    r"|under|into|with|equals?|top|the|and|for|was|are|has|had|per|via|but|not|von|und|bis|mit|der|die|das|den|des|les"
    r"|par|sur|que|por|con|del|los|las|van|met|het|dan|kapitel|abschnitt|schritt|stufe|étape|chapitre|paso|capítulo"
    r"|图|表|式|步骤|阶段|第)"
)
"""Words before a number that is no source, as a regular expression."""
_NUMBERED = re.compile(NUMBERED, re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_WORD_NUMBER = re.compile(r"([^\W\d_]+) \(?\d")


def settled(
    marks: Sequence[Sequence[Mark]], flats: Sequence[str], labels: frozenset[str]
) -> list[list[Mark]]:
    """Return the marks of each block without those that are no citations.

    Args:
        marks: Marks of each block.
        flats: Text of each block.
        labels: Keys of all reference entries.
    """
    listed = {label for label in labels if label.isdigit()}
    doubtful: dict[str, list[Mark]] = {}
    clear: set[str] = set()
    links = 0
    for flat, block in zip(flats, marks, strict=True):
        for mark in block:
            if mark.style is None or mark.style.lookup == "author":
                continue
            links += mark.style.lookup == "address"
            if mark.certain:
                clear.update(mark.keys)
            else:
                sign = "(" if flat[mark.start] in "(（" else ""
                doubtful.setdefault(mark.style.name + sign, []).append(mark)
    kept: set[int] = set()
    if 5 * len(clear & listed) < len(listed):
        for form, found in doubtful.items():
            if links < len(found):
                kept.update(map(id, _running(found, flats, listed, strict=form == "glued")))
    if not listed and not clear:
        kept.update(map(id, _without_list(doubtful.get("glued", []), links)))
    return [[mark for mark in block if _is_sure(mark) or id(mark) in kept] for block in marks]


def _is_sure(mark: Mark) -> bool:
    return mark.certain or mark.style is None or mark.style.lookup == "author"


def _running(found: Sequence[Mark], flats: Sequence[str], listed: set[str], *, strict: bool) -> list[Mark]:
    """Return the marks that are citations: none if their numbers do not run on."""
    glued = [mark for mark in found if strict and not mark.shown]
    if glued and _runs_on(glued, listed, least=2, share=0.2, backs=0.5):
        return _ascending([m for m in _unnumbered(found, flats) if not _is_name(m)], listed)
    others = [mark for mark in found if mark.shown or not strict]
    names = sum(map(_is_name, others))
    if 2 * names <= len(others):  # else nouns are capitalised, as in German
        others = [mark for mark in others if not _is_name(mark)]
    kept = _ascending(_unnumbered(others, flats), listed)
    return kept if kept and _runs_on(kept, listed, least=3, share=0.5, backs=0.2) else []


def _without_list(found: Sequence[Mark], links: int) -> list[Mark]:
    """Return the numbers after full stops of a report that lost its list, if they run on from the first."""
    glued = [mark for mark in found if not mark.shown]
    named = {key for mark in glued for key in mark.keys}
    runs = links < len(glued) and len(named) >= _FEWEST and max(map(int, named)) <= 3 * len(named)
    return glued if runs and _runs_on(glued, named, least=_FEWEST, share=0, backs=0.2) else []


def _runs_on(found: Sequence[Mark], listed: set[str], *, least: int, share: float, backs: float) -> bool:
    """Check whether most numbers are of the list, cover this share of it, and few new ones go back."""
    known = [key for mark in found for key in mark.keys if key in listed]
    new = [int(key) for key in dict.fromkeys(known)]
    descents = sum(number < top for number, top in zip(new, accumulate(new, max), strict=True))
    return (
        5 * len(known) >= 4 * sum(len(mark.keys) for mark in found)
        and len(new) >= max(min(least, len(listed)), share * len(listed))
        and descents <= backs * len(new)
    )


def _unnumbered(found: Sequence[Mark], flats: Sequence[str]) -> list[Mark]:
    """Leave out the numbers of a word that numbers things, such as `Table 2`."""
    keys: dict[str, set[str]] = {}
    for mark in found:
        if mark.shown:
            keys.setdefault(mark.shown, set()).update(mark.keys)
    uses = Counter(_WORD.findall("\n".join(flats))) if keys else Counter[str]()
    before_numbers = Counter(word for flat in flats for word in _WORD_NUMBER.findall(flat)) if keys else uses
    numbering = {
        word
        for word, named in keys.items()
        if _NUMBERED.fullmatch(word) or (len(named) > 1 and 0 < uses[word] <= 2 * before_numbers[word])
    }
    return [mark for mark in found if mark.shown not in numbering]


def _is_name(mark: Mark) -> bool:
    """Check whether a number ends a name: one digit directly after a capitalised word, as in `World War 2`."""
    return mark.shown[:1].isupper() and mark.shown.isalpha() and len(mark.keys[0]) == 1


def _ascending(found: Iterable[Mark], listed: set[str]) -> list[Mark]:
    """Return the marks of the list whose number is known already, ascends a little, or follows a full stop."""
    kept: list[Mark] = []
    seen: set[str] = set()
    top = 0
    for mark in found:
        new = [int(key) for key in mark.keys if key not in seen]
        if not all(key in listed for key in mark.keys):
            continue
        if new and (mark.shown or mark.style is None) and not top < max(new) <= top + _LEAP:
            continue
        kept.append(mark)
        seen.update(mark.keys)
        top = max(top, *new) if new else top
    return kept
