"""Possible citations of a report, and the options of removing them, from which a judge chooses.

Invariant: only text whose form may name a source can be removed: a mark found by `find_marks`, brackets that contain a
name with a year or are introduced as a source, or a line introduced as a source. Every other word stays.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from local_judge.documents.cleaning.marks import Cut, find_marks
from local_judge.documents.cleaning.model import Lines
from local_judge.documents.cleaning.runs import Run, Runs
from local_judge.documents.inline import scan
from local_judge.documents.model import Block, Document

_CUE = (
    r"(?:(?:data |primary )?sources?|see(?: also)?|cf\.?|references?|refs?\.?|citations?|adapted from|retrieved from"
    r"|available at|(?:资料|数据|信息|引用)?(?:来源|來源)|参见|详见|引自|出处)"
)
_BRACKETED = re.compile(
    r"(?<![\]!\\A-Za-z0-9_])(?:\([^()\n]{3,160}\)|（[^（）\n]{3,160}）|\[[^\[\]\n]{3,160}\](?![(\[:])|【[^【】\n]{3,160}】)"
)
_INTRODUCED = re.compile(rf"{_CUE}[*_]{{0,3}}(?:\s?[:：]|[\s,，])", re.IGNORECASE)
_DATED = re.compile(
    r"(?:[A-ZÀ-ÖØ-ÞĀ-Ž《“\"][^\n]*|[\u4e00-\u9fff][^\n]*[,，]\s?)(?<!\d)(?:1[5-9]|20)\d\d(?!\d)"
)
_MEASURED = re.compile(r"[%％‰$€£¥=<>]|\d[.,]\d")
_SOURCE_LINE = re.compile(
    rf"^[ \t>]*(?:[-*+•][ \t]+)?[*_]{{0,3}}{_CUE}[*_]{{0,3}}\s?[:：][^\n]{{1,400}}$",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Option:
    """One way to clean a stretch."""

    letters: str
    """Letters and digits that stay, as returned by `letters`."""
    items: tuple[Run | Cut, ...]
    """Marks to remove."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Range `text[start:end]` that may be a citation."""

    start: int
    end: int
    block: int | None
    """Index of the block of the body that contains it; None, if no single block does, leaves the choice to code."""
    options: tuple[Option, ...]
    """Options with different letters, the more likely first."""
    default: Option
    """Choice of code."""


def letters(text: str) -> str:
    """Return only the letters and digits of a text, of any script."""
    return "".join(character for character in text if character.isalnum())


def stretches(document: Document) -> list[Stretch]:
    """Return all possible citations of a report, in order and without overlap."""
    text, cuts = document.text, find_marks(document)
    known = {(cut.start, cut.end): cut for cut in cuts}
    found = [_of_code(document, item, known) for item in Runs(text, cuts, Lines(text)).grouped()]
    starts = [stretch.start for stretch in found]
    merged: list[Stretch] = []
    position = 0
    for block, start, end in _named(document):
        first = bisect_right(starts, start - 1)
        last = bisect_right(starts, end - 1)
        inner = found[first:last]
        before = found[first - 1].end if first else 0
        if before > start or any(one.end > end or one.block is None for one in inner) or first < position:
            continue
        if inner and (inner[0].start, inner[-1].end) == (start, end):
            continue
        merged += [*found[position:first], _of_source(document, block, start, end, inner)]
        position = last
    return merged + found[position:]


def _of_code(document: Document, item: Run | Cut, known: dict[tuple[int, int], Cut]) -> Stretch:
    """Return the options of a known mark: it is removed, it stays, or only the words of its links stay."""
    text, start, end = document.text, item.start, item.end
    block = _holder(document, start, end)
    kept = Option(letters(text[start:end]), ())
    if isinstance(item, Cut):
        default = Option(letters(item.kept), (item,))
        whole = Run((replace(item, kind="marker", kept=""),), start, end)
        options = [default, kept] if item.exact else [default, Option("", (whole,)), kept]
        return Stretch(start, end, block, _different(options), default)
    default = Option("", (item,))
    own = [known[cut.start, cut.end] for cut in item.cuts]
    # "(see [1])" without its mark is "(see)": the introducing words are removed with the mark.
    introduction = Option(_left(text, start, end, [Run((cut,), cut.start, cut.end) for cut in own]), (item,))
    options = [default, _words_of(text, start, end, own), introduction, kept]
    return Stretch(start, end, block, _different(options), default)


def _words_of(text: str, start: int, end: int, cuts: Sequence[Cut]) -> Option:
    """Return the option in which the words of links stay; other marks go with the text up to a neighbour."""
    items: list[Run | Cut] = []
    for index, cut in enumerate(cuts):
        if cut.kind == "link":
            items.append(cut)
            continue
        first = cuts[index - 1].end if index else cut.start
        last = cuts[1].start if not index and len(cuts) > 1 else cut.end
        items.append(Run((cut,), first, last))
    return Option(_left(text, start, end, items), tuple(items))


def _left(text: str, start: int, end: int, items: Sequence[Run | Cut]) -> str:
    """Return the letters of `text[start:end]` without some of its marks."""
    parts: list[str] = []
    for item in items:
        parts += [text[start : item.start], item.kept if isinstance(item, Cut) else ""]
        start = item.end
    return letters("".join([*parts, text[start:end]]))


def _of_source(document: Document, block: int, start: int, end: int, inner: Sequence[Stretch]) -> Stretch:
    """Return the options of brackets or a line that code keeps, except for the marks in them."""
    items = [item for stretch in inner for item in stretch.default.items]
    default = Option(_left(document.text, start, end, items), tuple(items))
    gone = Option("", (Run((Cut(start, end, "marker"),), start, end),))
    kept = Option(letters(document.text[start:end]), ())
    return Stretch(start, end, block, _different([default, gone, kept]), default)


def _different(options: Sequence[Option]) -> tuple[Option, ...]:
    by_letters: dict[str, Option] = {}
    for option in options:
        by_letters.setdefault(option.letters, option)
    return tuple(by_letters.values())


def _holder(document: Document, start: int, end: int) -> int | None:
    index = bisect_right(document.blocks, start, key=lambda block: block.span.start) - 1
    block = document.blocks[index] if index >= 0 else None
    if block is None or block.role != "body" or end > block.span.end:
        return None
    return index


def _named(document: Document) -> Iterator[tuple[int, int, int]]:
    """Yield the brackets and lines that may name a source, in order, as block, start and end."""
    for index, block in enumerate(document.blocks):
        if block.role == "body" and block.kind not in ("code", "html", "heading"):
            for start, end in _named_in(document.text, block):
                yield index, block.span.start + start, block.span.start + end


def _named_in(text: str, block: Block) -> Iterator[tuple[int, int]]:
    source = text[block.span.start : block.span.end]
    protected = [(mark.start, mark.end) for mark in scan(source) if mark.kind in ("code", "image")]
    lines = [match.span() for match in _SOURCE_LINE.finditer(source) if block.kind != "table_row"]
    brackets = [
        match.span()
        for match in _BRACKETED.finditer(source)
        if _may_name(match.group()[1:-1].strip())
        and not any(start <= match.start() and match.end() <= end for start, end in lines)
    ]
    for start, end in sorted([*lines, *brackets]):
        if not any(begin < end and start < stop for begin, stop in protected):
            yield start, end


def _may_name(content: str) -> bool:
    if _INTRODUCED.match(content) is not None:
        return True
    return _DATED.match(content) is not None and _MEASURED.search(content) is None
