"""What of a report could be citation, and what taking it away would leave: a reader's choice, within bounds.

Invariant: a stretch of the body goes only if it may name a source by its form: a mark that `find_marks` knows, brackets
that hold a name with a year or are introduced as a source, a line that is. Whatever is chosen, every other word stays.
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
    """One way to read a stretch."""

    letters: str
    """Those that stay of it, as `letters` gives them."""
    items: tuple[Run | Cut, ...]
    """What is taken away."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the text that may be citation: `text[start:end]`."""

    start: int
    end: int
    block: int | None
    """The block of the body that holds it whole; None where there is none, so that nobody is asked."""
    options: tuple[Option, ...]
    """With different letters, what is rather meant first."""
    default: Option
    """What code does."""


def letters(text: str) -> str:
    """Letters and digits alone, of any script: what words consist of."""
    return "".join(character for character in text if character.isalnum())


def stretches(document: Document) -> list[Stretch]:
    """All of a report, in order and without overlap."""
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
    """A mark that code knows: it goes, or stays, or only the words of its links stay."""
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
    # "(see [1])" that is read as "(see)": what only introduces a mark goes with it.
    introduction = Option(_left(text, start, end, [Run((cut,), cut.start, cut.end) for cut in own]), (item,))
    options = [default, _words_of(text, start, end, own), introduction, kept]
    return Stretch(start, end, block, _different(options), default)


def _words_of(text: str, start: int, end: int, cuts: Sequence[Cut]) -> Option:
    """Of a run the words of its links stay; other marks go with what stands between them and a neighbour."""
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
    """The letters that stay of `text[start:end]` without some of its marks."""
    parts: list[str] = []
    for item in items:
        parts += [text[start : item.start], item.kept if isinstance(item, Cut) else ""]
        start = item.end
    return letters("".join([*parts, text[start:end]]))


def _of_source(document: Document, block: int, start: int, end: int, inner: Sequence[Stretch]) -> Stretch:
    """Brackets or a line that code leaves, with the marks in them that it takes."""
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
    """Brackets and lines that may name a source, in order: block, start, end."""
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
