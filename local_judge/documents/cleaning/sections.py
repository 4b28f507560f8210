"""Lists of references, footnotes and chatter, as ranges of whole lines.

Invariant: a range contains all lines of its blocks and no line of any other block; one empty line remains in its place,
and no horizontal rule that would separate nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from local_judge.documents.cleaning.model import Lines, RemovalKind
from local_judge.documents.model import Block, Document
from local_judge.documents.titles import reference_title

_BLANK = re.compile(r"\s*")
_RULE = re.compile(r"[ \t]{0,3}(?:-[ \t]*){3,}|[ \t]{0,3}(?:\*[ \t]*){3,}|[ \t]{0,3}(?:_[ \t]*){3,}")
_UNDERLINE = re.compile(r"[ \t]{0,3}(?:=+|-+)[ \t]*(?:\r?\n|$)")
_LONGEST_RULE = 200
_LONGEST_SUMMARY = 1000


@dataclass(frozen=True, slots=True)
class Section:
    """Whole lines to remove: `text[start:end]`."""

    start: int
    end: int
    kind: RemovalKind
    replacement: str


def find_sections(document: Document, lines: Lines, *, chatter: bool) -> list[Section]:
    """Return the ranges, in order."""
    sections = [
        _section(document.text, lines, first, last, kind)
        for first, last, kind in _runs(document, chatter=chatter)
    ]
    apart: list[Section] = []
    for section in sections:
        if apart and section.start < apart[-1].end:  # both include the gap between them
            section = Section(apart[-1].end, section.end, section.kind, section.replacement)
        apart.append(section)
    return apart


def _runs(document: Document, *, chatter: bool) -> Iterator[tuple[Block, Block, RemovalKind]]:
    """Yield the first and last block of each run of blocks to remove."""
    announced = _announced(document)
    notes = frozenset(reference.span.start for reference in document.references if reference.section < 0)
    run: tuple[Block, Block, RemovalKind] | None = None
    for block in document.blocks:
        kind = "reference_section" if block.index in announced else _kind(block, notes, chatter=chatter)
        if run is not None and kind == run[2]:
            run = (run[0], block, run[2])
            continue
        if run is not None:
            yield run
        run = (block, block, kind) if kind is not None else None
    if run is not None:
        yield run


def _announced(document: Document) -> frozenset[int]:
    """Return the blocks under a clear title that describe the sources in a few sentences without listing any.

    The parser treats them as text, but a judge who must not see a report's sources must not see them either.
    """
    cited = {sentence.block for sentence in document.sentences if sentence.citations}
    found: set[int] = set()
    section: list[Block] | None = None
    begun = False
    for block in document.blocks:
        if block.role == "body" and block.kind != "heading":
            begun = begun or section is None
            if section is not None:
                section.append(block)
            continue
        found.update(_if_short(section, cited))
        named = block.kind == "heading" and reference_title(block.text) == "clear"
        section = [block] if block.role == "body" and named and begun else None
    found.update(_if_short(section, cited))
    return frozenset(found)


def _if_short(section: list[Block] | None, cited: set[int]) -> list[int]:
    if section is None or any(block.index in cited or block.kind == "code" for block in section):
        return []
    if sum(len(block.text) for block in section) > _LONGEST_SUMMARY:
        return []
    return [block.index for block in section]


def _kind(block: Block, notes: frozenset[int], *, chatter: bool) -> RemovalKind | None:
    if block.role == "references":
        return "footnote" if block.span.start in notes else "reference_section"
    return "chatter" if chatter and block.role == "preamble" else None


def _section(text: str, lines: Lines, first: Block, last: Block, kind: RemovalKind) -> Section:
    start, end = lines.start(first.span.start), lines.next(last.span.end - 1)
    if last.kind == "heading" and (underline := _UNDERLINE.match(text, end)):
        end = underline.end()
    blank = _BLANK.match(text, end)
    assert blank is not None
    after = blank.end()
    end = lines.start(after) if after < len(text) else after
    rule = _rule_before(text, lines, start)
    if rule is not None and (after == len(text) or _is_rule(text, end, lines)):
        start = rule
    if after < len(text):
        return Section(start, end, kind, "")
    start = len(text[:start].rstrip())
    return Section(start, end, kind, "\n" if start and text.endswith("\n") else "")


def _is_rule(text: str, start: int, lines: Lines) -> bool:
    end = lines.next(start)
    return end - start <= _LONGEST_RULE and _RULE.fullmatch(text[start:end].rstrip()) is not None


def _rule_before(text: str, lines: Lines, start: int) -> int | None:
    """Return the start of the horizontal rule directly above these lines; None if there is none."""
    position = start
    while position > 0 and text[position - 1].isspace():
        position -= 1
    if position == 0:
        return None
    rule = lines.start(position - 1)
    return rule if _is_rule(text, rule, lines) else None
