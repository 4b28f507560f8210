"""Scanner for the inline marks of a block: code, images, tags, and possible citations.

Invariant: marks do not overlap and are in reading order, `flat[mark.start:mark.end]` is the mark as written, and the
time is linear in the length of any text.

The scan jumps between characters that may begin a mark and tries the forms that begin with them; `citation_styles`
defines the forms of citations.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

from local_judge.documents.citation_forms import TAG, Found, Reader, Text, destination
from local_judge.documents.citation_styles import STYLES, CitationStyle

Markup = Literal["code", "image", "tag"]


@dataclass(frozen=True, slots=True)
class Mark:
    """Range of a block that is not plain words: a possible citation, if it has a style, else markup."""

    kind: CitationStyle | Markup
    start: int
    end: int
    keys: tuple[str, ...] = ()
    """Keys named by the mark: numbers, a footnote's label, `Kim 2024`."""
    target: str = ""
    """Address as written."""
    shown: str = ""
    """Text of a link."""
    certain: bool = True
    """False for `(Kim, 2024)`, which is a citation only in a report that cites by author and year."""

    @property
    def style(self) -> CitationStyle | None:
        """Style of a citation; None for markup."""
        return self.kind if isinstance(self.kind, CitationStyle) else None


def scan(flat: str, labels: frozenset[str] = frozenset()) -> list[Mark]:
    """Return all marks of one block.

    Args:
        flat: Text of a `Piece`.
        labels: Keys of all reference entries. An ambiguous bracket, superscript or year (`[sic]`, `m²`, `[2020]`) is a
            mark only if an entry has that key.
    """
    text = Text(flat, labels)
    marks: list[Mark] = []
    position = 0
    while (opening := _OPENING.search(flat, position)) is not None:
        start, position = opening.span()
        for kind, read in _FORMS[(opening.lastindex or 1) - 1]:
            found = read(text, start)
            if found is not None:
                begin = start if found.start is None else found.start
                marks.append(
                    Mark(kind, begin, found.end, found.keys, found.target, found.shown, found.certain)
                )
                position = text.floor = found.end
                break
    return marks


def _code(text: Text, start: int) -> Found | None:
    length = 1
    while text.flat.startswith("`", start + length):
        length += 1
    places = text.ticks.get(length, [])  # an escaped backtick leaves a shorter run
    after = bisect_right(places, start)
    return Found(places[after] + length) if after < len(places) else None


def _image(text: Text, start: int) -> Found | None:
    close = text.closing.get(start + 1)
    target = destination(text.flat, close + 1) if close is not None else None
    return Found(target[1]) if target is not None else None


def _comment(text: Text, start: int) -> Found | None:
    if text.last_comment_end < start or not text.flat.startswith("<!--", start):
        return None
    return Found(text.flat.index("-->", start) + 3)


def _tag(text: Text, start: int) -> Found | None:
    match = TAG.match(text.flat, start)
    return Found(match.end()) if match is not None else None


_MARKUP: tuple[tuple[str, Markup, Reader], ...] = (
    ("`+", "code", _code),
    (r"!(?=\[)", "image", _image),
    ("<", "tag", _comment),
    ("<", "tag", _tag),
)


def _by_opening() -> dict[str, list[tuple[CitationStyle | Markup, Reader]]]:
    forms: dict[str, list[tuple[CitationStyle | Markup, Reader]]] = {}
    for style in STYLES.values():
        for form in style.forms:
            forms.setdefault(form.opens, []).append((style, form.read))
    for opens, markup, read in _MARKUP:
        forms.setdefault(opens, []).append((markup, read))
    return forms


_OPENINGS = _by_opening()
_OPENING = re.compile("|".join(f"({opens})" for opens in _OPENINGS))
_FORMS = list(_OPENINGS.values())
