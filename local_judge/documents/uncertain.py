"""Decision on marks that ordinary text has as well: `word.1`, `word 1.`, `(1)`, `①`, `word[1]`, `law¹`.

Invariant: such a mark is a citation only if the report has a numbered list of sources, hardly cites it by clearer
marks, and its numbers run on as citations do: most are numbers of the list, and new ones mostly ascend. Without a
list, only numbers directly after full stops are counted, if there are many of them and they ascend.

Two forms need less. A bracket directly after a word is a citation unless the word looks like code. A digit raised after
a short word is one if it is the next new number of a report that cites by raised digits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

from local_judge.base.files import word_list
from local_judge.documents.addresses import is_registrable
from local_judge.documents.inline import Mark
from local_judge.documents.raised_digits import LOOSE

_LEAP = 10
"""Largest step between the numbers of new sources, for the forms that text has most often."""
_FEWEST = 5
"""Least number of sources that a report without a list names."""
_FEWEST_RAISED = 3
"""Least number of sources that a report names which cites only by digits raised after short words."""
_CONTAINER = re.compile(
    r"(?<![^\W\d_])(?:(?:lists?|arr(?:ay)?s?|vec(?:tor)?s?|matri(?:x|ces)|tensors?|tuples?|dict|args|argv|items|data|values"
    r"|elements|rows|cols|columns|buf(?:fer)?|params|nums|stack|queue)|[a-z]"
    r"|(?:variable|array|vector|matrix|parameter)s? [a-z]\w{0,40})$",
    re.IGNORECASE,
)
"""Text before an index: the name of a container, one letter, or a variable that is called one."""
_LAST_LABEL = re.compile(r"(?:https?://)?[^/]{1,255}?\.([a-z]{2,24})(?:[:/?#]|$)", re.IGNORECASE)
_FEWEST_HOSTED = 3
"""Least number of addresses without a scheme in a report that cites in no other way."""
_OF_SOURCES = {"ref", "refs"}


def _either(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


_NAMING = (word_list("local_judge.documents", "abbreviations_before_numbers") - _OF_SOURCES) | word_list(
    "local_judge.documents", "words_before_numbers"
)
NAMING = _either(_NAMING)
"""Words that a number names, also in brackets, `Equation (3)`, as a regular expression."""
NUMBERED = _either(_NAMING | word_list("local_judge.documents", "words_before_amounts"))
"""Words before a number that is no source, as a regular expression."""
_JOINING = re.compile(
    r"and|or|the|for|but|not|are|was|has|had|is|to|of|by|on|at|as|und|der|die|das|des|et|les|par|sur|que|por|con|via",
    re.IGNORECASE,
)
"""Short words that no citation follows."""
_WORD = re.compile(r"[^\W\d_]+")
_WORD_NUMBER = re.compile(r"([^\W\d_]+) \(?\d")


def settled(
    marks: Sequence[Sequence[Mark]],
    flats: Sequence[str],
    labels: frozenset[str],
    addresses: frozenset[str] = frozenset(),
) -> list[list[Mark]]:
    """Return the marks of each block without those that are no citations.

    Args:
        marks: Marks of each block.
        flats: Text of each block.
        labels: Keys of all reference entries.
        addresses: Addresses of all reference entries.
    """
    listed = {label for label in labels if label.isdigit()}
    placed = [
        (flat, mark)
        for flat, block in zip(flats, marks, strict=True)
        for mark in block
        if mark.style is not None and mark.style.lookup != "author"
    ]
    forms: dict[str, list[tuple[str, Mark]]] = {}
    for flat, mark in placed:
        form = _form(flat, mark)
        if not mark.certain or form in ("number[", "superscript"):
            forms.setdefault(form, []).append((flat, mark))
    sure = [
        *_without_indexes(forms.pop("number[", [])),
        *_raised([mark for _, mark in forms.pop("superscript", [])], listed),
        *(mark for _, mark in placed if mark.certain),
    ]
    sure += _hosted(
        forms.pop("bare_url", []), {*addresses, *(mark.target for mark in sure)}, cites=bool(labels or sure)
    )
    kept = set(map(id, sure))
    clear = {key for mark in sure for key in mark.keys}
    links = sum(mark.target != "" for _, mark in placed)
    if 5 * len(clear & listed) < len(listed):
        for form, found in forms.items():
            doubtful = _without_amounts(found) if form == "glued" else [mark for _, mark in found]
            if links < len(doubtful):
                kept.update(map(id, _running(doubtful, flats, listed, strict=form == "glued")))
    if not listed and not clear:
        kept.update(map(id, _without_list([mark for _, mark in forms.get("glued", ())], links)))
    return [[mark for mark in block if _is_sure(mark) or id(mark) in kept] for block in marks]


def _form(flat: str, mark: Mark) -> str:
    """Return the name of a mark's style with the bracket that it begins with."""
    sign = flat[mark.start].replace("（", "(")
    return mark.style.name + (sign if sign in "([" else "") if mark.style is not None else ""


def _is_sure(mark: Mark) -> bool:
    return mark.certain or mark.style is None or mark.style.lookup == "author"


def _without_indexes(brackets: Sequence[tuple[str, Mark]]) -> list[Mark]:
    """Return the brackets that are no indexes of code.

    A word looks like code if it names a container or several of its elements: `list[1]`, `costs[1] + costs[2]`. It is
    a word of the text nevertheless if the report mostly cites so, and has few marks apart from words.
    """
    glued = [(flat, mark) for flat, mark in brackets if not mark.certain]
    apart = [mark for _, mark in brackets if mark.certain]
    keys: dict[tuple[int, str], set[tuple[str, ...]]] = {}
    for flat, mark in glued:
        keys.setdefault((id(flat), mark.shown), set()).add(mark.keys)
    prose = [
        mark
        for flat, mark in glued
        if len(keys[id(flat), mark.shown]) == 1
        and not _CONTAINER.search(flat, max(0, mark.start - 60), mark.start)
    ]
    n_code = len(glued) - len(prose)
    strict = n_code > len(prose) or len(apart) >= max(3, len(glued))
    return apart + (prose if strict else [mark for _, mark in glued])


def _hosted(found: Sequence[tuple[str, Mark]], addresses: set[str], *, cites: bool) -> list[Mark]:
    """Return the addresses without a scheme, in a report that cites or has several.

    Their last label has two or three letters, or is that of another address, unlike `payment.created/updated`. Two
    that close brackets, `(see lakes.energy/winter)`, suffice in a report that cites in no other way.
    """
    labels = {label[1] for label in map(_LAST_LABEL.match, addresses) if label is not None}
    kept: list[Mark] = []
    for _, mark in found:
        label = _LAST_LABEL.match(mark.target)
        if label is not None and (len(label[1]) <= 3 or label[1] in labels):
            kept.append(mark)
    if cites or len(kept) >= _FEWEST_HOSTED:
        return kept
    enclosed = [mark for flat, mark in found if flat[mark.end : mark.end + 1] in (")", "]", "）")]
    hosts = {mark.target.split("/")[2] for mark in enclosed}
    return enclosed if len(hosts) > 1 and all(map(is_registrable, hosts)) else []


def _without_amounts(found: Sequence[tuple[str, Mark]]) -> list[Mark]:
    """Return the marks without the few numbers before a full stop, `paid 3.`, of a report whose marks follow it."""
    others = [
        mark
        for flat, mark in found
        if not mark.shown or flat[mark.start - 1] != " " or flat[mark.end : mark.end + 1] not in tuple(".!?")
    ]
    return others if len(others) >= 3 * (len(found) - len(others)) else [mark for _, mark in found]


def _raised(found: Sequence[Mark], listed: set[str]) -> list[Mark]:
    """Return the raised numbers after short words that each name the next source, if the report cites so."""
    kept: list[Mark] = []
    seen: set[str] = set()
    top = 0
    for mark in found:
        new = [int(key) for key in mark.keys if key in listed and key not in seen]
        if not mark.certain and (_JOINING.fullmatch(mark.shown) or not new or min(new) != top + 1):
            continue
        kept.append(mark)
        seen.update(mark.keys)
        top = max(top, *new) if new else top
    certain = [mark for mark in kept if mark.certain]
    return kept if certain or len(seen) >= min(_FEWEST_RAISED, len(listed)) else []


def _running(found: Sequence[Mark], flats: Sequence[str], listed: set[str], *, strict: bool) -> list[Mark]:
    """Return the marks that are citations: none if their numbers do not run on."""
    glued = [mark for mark in found if strict and not mark.shown]
    if glued and _runs_on(glued, listed, least=2, share=0.2, backs=0.5):
        kept = _ascending(
            [m for m in _unnumbered(found, flats, NUMBERED) if not _is_name(m) and m.shown != LOOSE], listed
        )
        return kept + _filling(found, kept, listed)
    others = [mark for mark in found if (mark.shown or not strict) and mark.shown != LOOSE]
    names = sum(map(_is_name, others))
    if strict and 2 * names <= len(others):  # else nouns are capitalised, as in German
        others = [mark for mark in others if not _is_name(mark)]
    kept = _ascending(_unnumbered(others, flats, NUMBERED if strict else NAMING), listed)
    if not (kept and _runs_on(kept, listed, least=3, share=0.5, backs=0.2)):
        return []
    return kept if strict else kept + _filling(found, kept, listed)


def _filling(found: Sequence[Mark], kept: Sequence[Mark], listed: set[str]) -> list[Mark]:
    """Return the loose numbers that the other marks skip: the 2 between the marks of 1 and 3."""
    others = set(map(id, kept))
    named = {key for mark in kept for key in mark.keys}
    filling: list[Mark] = []
    top = 0
    for mark in found:
        number = int(mark.keys[0])
        if id(mark) in others:
            top = max(top, *map(int, mark.keys))
        elif (
            mark.shown == LOOSE
            and number == top + 1
            and str(number) not in named
            and str(number + 1) in named
        ):
            filling.append(mark)
            top = number
    return filling


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


def _unnumbered(found: Sequence[Mark], flats: Sequence[str], words: str) -> list[Mark]:
    """Leave out the numbers of a word that numbers things: one of `words`, or one that numbers mostly follow."""
    keys: dict[str, set[tuple[str, ...]]] = {}
    for mark in found:
        if len(mark.keys) == 1:
            keys.setdefault(mark.shown, set()).add(mark.keys)
    uses = Counter(_WORD.findall("\n".join(flats))) if keys else Counter[str]()
    before_numbers = Counter(word for flat in flats for word in _WORD_NUMBER.findall(flat)) if keys else uses
    numbering = {
        word
        for word, named in keys.items()
        if re.fullmatch(words, word, re.IGNORECASE)
        or (len(named) > 1 and 0 < uses[word] <= 2 * before_numbers[word])
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
