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

from local_judge.documents.addresses import TAG, destination
from local_judge.documents.citation_styles import STYLES, CitationStyle
from local_judge.documents.mark_text import Found, Reader, Text

Markup = Literal["code", "image", "tag"]


@dataclass(frozen=True, slots=True)
class Mark:
    """Range of a block that is not plain words: a possible citation, if it has a style, else markup or a formula."""

    kind: CitationStyle | Markup
    start: int
    end: int
    keys: tuple[str, ...] = ()
    """Keys named by the mark: numbers, a footnote's label, `Kim 2024`."""
    target: str = ""
    """Address as written, without escapes."""
    shown: str = ""
    """Text as `Found.shown`."""
    certain: bool = True
    """False for a form that ordinary text has as well: `(Kim, 2024)`, `(1)`, `word.1`. The whole report decides."""

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
    if close is None:
        return None
    if text.closing.get(start + 2) == close - 1:  # ![[image.png]]
        return Found(close + 1)
    label = text.closing.get(close + 1)
    if label is not None:  # ![alt][image1]
        return Found(label + 1)
    target = destination(text.flat, close + 1)
    return Found(target[1]) if target is not None else None


def _escaped_formula(text: Text, start: int) -> Found | None:
    r"""Read `\(x = 1\)` or `\[x = 1\]`, but not `\[1\]`."""
    closing = {"(": "\\)", "[": "\\]"}.get(text.flat[start + 1 : start + 2])
    end = text.flat.find(closing, start + 2, start + _LONGEST_FORMULA) if closing is not None else -1
    formula = text.flat[start + 2 : max(end, 0)]
    return Found(end + 2) if _FORMULA.search(formula) and not _LINK.search(formula) else None


def _formula(text: Text, start: int) -> Found | None:
    """Read `$x = 1$` or `$$x = 1$$`, but not the amounts of "$5 to $6"."""
    flat = text.flat
    if flat.startswith("$$", start):
        end = flat.find("$$", start + 2, start + _LONGEST_FORMULA)
        return Found(end + 2) if end > start + 2 else None
    match = _DOLLARS.match(flat, start)
    if match is None or flat[max(0, start - 1) : start].isalnum():
        return None
    words = _TEX_TEXT.sub("", match.group(1))
    amount = words[:1].isdigit() and words[-1:].isalpha() and words[-1:].isupper()
    return None if amount or _PROSE.search(words) else Found(match.end())


def _hidden(text: Text, start: int) -> Found | None:
    """Read an element that is not shown, with its content."""
    match = HIDDEN.match(text.flat, start)
    end = text.close_of(match["name"], match.end(), _LONGEST_HIDDEN) if match is not None else -1
    return Found(end + len(match["name"]) + 3) if match is not None and end >= 0 else None


def _comment(text: Text, start: int) -> Found | None:
    if text.last_comment_end < start or not text.flat.startswith("<!--", start):
        return None
    return Found(text.flat.index("-->", start) + 3)


def _division(text: Text, start: int) -> Found | None:
    """Read a line that begins or ends a division of pandoc: `::: {#ref-kim .csl-entry}`."""
    match = _DIVISION.match(text.flat, start)
    return Found(match.end()) if match is not None else None


def _tag(text: Text, start: int) -> Found | None:
    match = TAG.match(text.flat, start)
    return Found(match.end()) if match is not None else None


HIDDEN = re.compile(
    r"<(?P<name>[a-z]{1,10})\s[^<>]{0,400}style\s?=\s?[\"'][^\"'<>]{0,200}display\s?:\s?none[^<>]{0,400}>",
    re.IGNORECASE,
)
"""Opening tag of an element that is not shown."""
_DIVISION = re.compile(r"(?m:^):{3,20}[ \t]*(?:\{[^{}\n]{0,400}\}|[\w-]{1,60})?[ \t]*:{0,20}(?m:$)")
_LONGEST_HIDDEN = 20_000
_LONGEST_FORMULA = 2000
_FORMULA = re.compile(r"\\[A-Za-z]|[=^_<>]")
_LINK = re.compile(r"\]\(|https?:")
_DOLLARS = re.compile(r"\$(?=\S)((?:[^$\\\n]|\\.|\n(?!\n)){1,400})(?<=\S)\$(?!\d)")
_TEX_TEXT = re.compile(r"\\[a-zA-Z]+(?:\{[^{}]{0,80}\})?")
_PROSE = re.compile(r"[^\W\d_]{2,}[ ,;:]+[^\W\d_]{2,}|[。，；]|\. ")

_MARKUP: tuple[tuple[str, Markup, Reader], ...] = (
    ("`+", "code", _code),
    (r"!(?=\[)", "image", _image),
    (r"\$", "code", _formula),
    (r"\\(?s:.)", "code", _escaped_formula),
    (":(?=::)", "tag", _division),
    ("<", "tag", _hidden),
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
# Letters that begin no form are skipped first, which takes a third of the time.
_OPENING = re.compile(
    r"(?=[^\sbegi-vx-zBEGI-VX-Z\u3040-\u9fff])(?:" + "|".join(f"({opens})" for opens in _OPENINGS) + ")"
)
_FORMS = list(_OPENINGS.values())
