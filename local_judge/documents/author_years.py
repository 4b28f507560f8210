"""Reader of citations by author and year.

Invariant: a work of which an entry has the author and the year is read wherever a bracket names it. Without an entry a
bracket is read as a whole or not at all, so that `(founded in Berlin, 2019)` is none, and a single name with a year is
marked as uncertain.
"""

from __future__ import annotations

import re
from itertools import dropwhile

from local_judge.base.files import word_list
from local_judge.documents.mark_text import Found, Text

_PARTICLE = r"(?:van|von|de|der|den|di|du|la|le|al|el|bin|ibn)[ -]|d['’]"
_NAME = rf"(?<![\w-])(?:{_PARTICLE}){{0,2}}[A-ZÀ-ÖØ-ÞĀ-Ž][\w'’‑-]{{1,30}}"
_MORE = (
    r"(?:,? et al\.?|,? (?:and|&) (?:colleagues|co-?(?:workers|authors)|others)|,? u\. ?a\.| y col(?:s|aboradores)?\.?"
    rf"|(?:, {_NAME}){{0,4}},? (?:and|&|und|et|y) {_NAME})"
)
UNDATED = r"(?:n\.d|o\.J|s\.[df])\.|(?i:in press|forthcoming|im Druck|im Erscheinen|sous presse|à paraître|en prensa)"
_YEAR = rf"(?:(?:1[5-9]|20)\d\d[a-z]?|{UNDATED})"
_YEARS_OF_NAME = rf"(?P<years>{_YEAR}(?:, {_YEAR}){{0,4}})"
_PLACE = r"(?:[,:] ?(?:[^\W\d_]{1,5}\. ?|§ ?)?\d{1,4}(?:[-–]\d{1,4})?(?: ?ff?\.)?)?"
_SEE = r"(?:(?:see(?: also)?|e\.g\.|cf\.|also|in|vgl\.|siehe|voir|véase),? )?"
_LATIN = re.compile(rf"\s?{_SEE}(?P<name>{_NAME})(?P<more>{_MORE})?,? {_YEARS_OF_NAME}{_PLACE}\s?")
_HAN = re.compile(
    rf"\s?(?P<name>[\u4e00-\u9fff]{{2,3}}?)(?P<more>等人?"
    rf"|[和与][\u4e00-\u9fff]{{2,3}})?[,，] ?(?P<years>{_YEAR})年?\s?"
)
_SMALL = "a-zß-öø-ÿа-яё"
_LISTED = re.compile(
    rf"\s?(?:[{_SMALL}][{_SMALL}.]{{0,15}}[,:]? ){{0,6}}"
    rf"(?P<name>(?:{_PARTICLE}){{0,2}}[^\W\d_{_SMALL}][^;()\d\n]{{0,80}}?)(?:, [A-Z][a-z]{{2,8}}\.?)?[,，]? ?"
    rf"{_YEARS_OF_NAME}(?:{_PLACE}|, [A-Z][a-z]{{2,8}}(?: \d{{1,2}})?|, (?:for|für|pour|para|per) [^\d;()]{{1,60}})\s?"
)
"""Citation that needs an entry: `World Health Organization, 2023`, `but see A. Kim/B. Lee, May 2024`."""
_NARRATIVE = re.compile(
    rf"(?P<name>(?:{_NAME} (?:(?:of|for|the|on|du|des|für) )?){{0,6}}{_NAME})"
    rf"(?P<more>{_MORE}|(?:'s|’s))?\s?$|(?P<han>[\u4e00-\u9fff]{{2,3}})等人?\s?$"
)
_CHAIN = re.compile(
    rf"(?:(?:{_NAME}|[A-Z]\.|and|&|und|et|y|al\.?|of|for|the|on|du|des|für),? ){{0,10}}(?:{_NAME}|al\.)(?:'s|’s)?\s?$"
)
"""Names before a year in brackets: `the World Health Organization (2023)`."""
_NAME_BEFORE = re.compile(rf"({_NAME}) $")
_ONLY_YEARS = re.compile(rf"\s?({_YEAR}(?:[,;] ?{_YEAR}){{0,4}}){_PLACE}\s?")
_CLOSE = re.compile(r"(?<!\[)([^()（）\n]{4,300})[)）]|(?<=\[)([^()（）\[\]\n]{4,300})\](?![(:\[])")
_YEARS = re.compile(_YEAR)
_FIRST_AUTHOR = re.compile(
    r"(?:[\[(（]?\^?\d{1,4}[\])）.、:]{0,2}\s*|[-*•]\s+)?[*_]{0,2}"
    rf"(?:(?:{_PARTICLE}){{0,2}}|(?:[A-Z]\.[ -]?){{1,3}})"
    r"(?P<name>[^\W\d_a-z\u4e00-\u9fff][\w'’‑-]+|[\u4e00-\u9fff]{2,6}?(?=[,，.、等・（(他 ]))"
)
_WHOLE = re.compile(
    r"[\w'’‑-]+(?: (?!(?:and|et|und|y|al)\b)[\w'’‑-]+){0,10}(?=[.,（]| ?\(| (?:and|&|et|und|y)\b)"
)
_FORENAME = re.compile(rf"(?:{_PARTICLE}|[A-Z]\.[ -]?)+", re.IGNORECASE)
_JOINED = re.compile(r"\s*(?:[,，&/·・、\[]|\b(?:and|und|et|y|e|og|och|en|и|та|외)\b|[和与等他]|['’]s\b)")
_ENTRY_YEAR = re.compile(rf"(?<!\d){_YEAR}(?!\d)")
_NO_AUTHORS = word_list("local_judge.documents", "no_authors")
_DATED = re.compile(rf"([^;；]{{2,200}}?)(?<!\d){_YEAR}(?=年?\s*(?:[,，:;；#]|$))")
"""Text of a bracket before a year that ends a part of it."""
_PROPER = re.compile(rf"[^\W\d_{_SMALL}][\w'’‑-]+|[“„«\"*_]\w")
"""Word that may be a name, or the beginning of a title."""

_SAME = r"(?:ibid(?:em)?|ebd|ebenda|там же|同上|id(?=[.*_]))(?!\w)[*_.]*"
_AGAIN = re.compile(rf"[\[(（][*_\s]*{_SAME}(?:,? [^\[\]()\n]{{1,40}})?\s?[\])）]", re.IGNORECASE)
_ENTRY_AGAIN = re.compile(rf"\W*(?:\w{{1,5}}[\]:.)>\s]+)?[*_\s]*{_SAME}", re.IGNORECASE)
AGAIN = "ibid"
"""Key of a mark that names the same source as the mark before it."""


def names_work(content: str) -> bool:
    """Check whether the text of a bracket has a name before a year, as citations of any form do."""
    return any(
        name not in _NO_AUTHORS for match in _DATED.finditer(content) for name in _PROPER.findall(match[1])
    )


def again(text: Text, start: int) -> Found | None:
    """Read `(ibid., p. 4)`."""
    match = _AGAIN.match(text.flat, start)
    return Found(match.end(), (AGAIN,)) if match is not None else None


def is_again(entry: str) -> bool:
    """Check whether an entry names the same source as the entry before it: `2. Ibid., p. 4`."""
    return _ENTRY_AGAIN.match(entry) is not None


def author_years(text: Text, bracket: int) -> Found | None:
    """Read the author-year citation whose opening bracket is at `bracket`; its keys are such as `Kim 2024`.

    A square bracket, and a bracket with other text, name works of entries only.
    """
    close = _CLOSE.match(text.flat, bracket + 1)
    content = close[1] or close[2] if close is not None else ""
    if close is None or _YEARS.search(content) is None:
        return None
    strict = close[1] is not None
    years = _ONLY_YEARS.fullmatch(content)
    if years is not None:
        return _narrative(text, bracket, close.end(), years[1], strict=strict)
    keys: list[str] = []
    named: list[re.Match[str]] = []
    certain, whole = False, True
    for part in re.finditer(r"[^;；]+", content):
        match = _LATIN.fullmatch(part[0]) or _HAN.fullmatch(part[0])
        listed = match or _LISTED.fullmatch(part[0])
        works = _listed(listed["name"], listed["years"], text.labels, part=True) if listed is not None else []
        if match is not None and not works and strict and match["name"] not in _NO_AUTHORS:
            works = _works(match["name"], match["years"])
        if works:
            keys.extend(works)
            named.append(part)
            certain = certain or (match is not None and match["more"] is not None)
        else:
            whole = False
    if whole:
        return Found(close.end(), tuple(keys), certain=certain)
    keys = [key for key in keys if not text.labels.isdisjoint(labels_of(key))]
    if not keys:
        return None
    start = bracket + 1 + named[0].end() - len(named[0][0].lstrip())
    return Found(bracket + 1 + named[-1].end(), tuple(keys), certain=False, start=start)


def _narrative(text: Text, bracket: int, end: int, years: str, *, strict: bool) -> Found | None:
    """Read `Kim et al. (2024)`, from the first name."""
    floor = max(text.floor, bracket - 120)
    chain = _CHAIN.search(text.flat, floor, bracket)
    names = chain[0] if chain is not None else ""
    for word in re.finditer(r"(?<![\w'’-])[^\W\d_]", names):
        before = _NAME_BEFORE.search(names, 0, word.start())
        part = before is None or before[1] in _NO_AUTHORS
        works = _listed(names[word.start() :], years, text.labels, part=part)
        if works:
            several = _JOINED.search(names, word.start()) is not None
            start = bracket - len(names) + word.start()
            return Found(end, tuple(works), certain=several, start=start, shown=names[word.start() :])
    match = _NARRATIVE.search(text.flat, floor, bracket) if strict else None
    if match is None:
        return None
    name = " ".join(dropwhile(_NO_AUTHORS.__contains__, (match["name"] or match["han"]).split()))
    name, more = re.sub(r"['’]s$", "", name), match["more"]
    certain = match["han"] is not None or (more is not None and more not in ("'s", "’s"))
    start = text.flat.index(name, match.start())
    return Found(end, tuple(_works(name, years)), shown=name, certain=certain, start=start) if name else None


def _works(name: str, years: str) -> list[str]:
    return [f"{name} {year}" for year in _YEARS.findall(years)]


def _listed(names: str, years: str, labels: frozenset[str], *, part: bool) -> list[str]:
    """Return the works that names with years cite, if an entry has one; its author is all the names, or the first.

    Args:
        names: Names as written.
        years: Years as written.
        labels: Keys of all reference entries.
        part: True if the names may be a part of an entry's name.
    """
    whole = names.strip(' ,“”"*_')
    first = _JOINED.split(whole)[0]
    for name in (whole, first, _FORENAME.sub("", first, count=1)):
        works = _works(name, years)
        if any(label in labels for work in works for label in labels_of(work)[: 1 + part]):
            return works
    return []


def labels_of(work: str) -> tuple[str, str]:
    """Return the labels, which no bracket contains, of a citation's key as the name of an author and as its part."""
    label = "\n".join(work.lower().rsplit(" ", 1))
    return label, f"{label}\n"


def works_of(entry: str) -> list[str]:
    """Return the labels of an entry: each name that may stand for its author, with each of its years.

    The names are the surname, the whole name (`world health organization`) and its initials, or the first two letters
    of a Chinese or Japanese name; and as parts the first word of several, and the second of two.
    """
    opening = _FIRST_AUTHOR.match(entry)
    if opening is None:
        return []
    names, parts = [opening["name"]], list[str]()
    whole = _WHOLE.match(entry, opening.start("name"))
    if "\u4e00" <= names[0][0] <= "\u9fff":
        names.append(names[0][:2])
    elif whole is not None and " " in whole[0]:
        words = whole[0].split()
        if not all(word.isupper() and len(word) <= 3 for word in words[1:]):
            parts = [*names, *(words[1:] if len(words) == 2 else ())]
            names = []
        names += [whole[0], "".join(word[0] for word in words if word[0].isupper())]
    years = dict.fromkeys(_ENTRY_YEAR.findall(entry)[:8])
    return [
        labels_of(f"{name} {year}")[place]
        for place, written in enumerate((names, parts))
        for name in written
        if len(name) > 1
        for year in years
    ]
