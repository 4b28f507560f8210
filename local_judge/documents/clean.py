"""Removal of a report's citations, so that a judge of its text does not see how much it cites.

Invariants: the text is the original with the listed removals applied. No word of the report is removed, except for
citations chosen by a judge. Code, tables and lists keep their structure, words stay separate, and a line break is
removed only with a line that contains nothing but marks. The time is linear in the length of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from local_judge.documents.cleaning.choices import Option
from local_judge.documents.cleaning.marks import Cut, find_marks
from local_judge.documents.cleaning.model import (
    PREFIX,
    Cleaned,
    Lines,
    Removal,
    RemovalKind,
    applied,
    blanks_after,
    blanks_before,
)
from local_judge.documents.cleaning.runs import CUES, ENDS, Run, Runs
from local_judge.documents.cleaning.sections import Section, find_sections
from local_judge.documents.model import Document, Span

__all__ = ["Cleaned", "Removal", "RemovalKind", "clean", "clean_as_chosen"]

_CLOSERS = ".,;:!?)]}。，；：！？、）】》〉」』”’％%"
_OPENERS = "([{（【《〈「『“‘"
_SEPARATORS = ",，、;；"
_CUE = re.compile(rf"(?:[*_]{{0,3}}{CUES}[*_]{{0,3}})[^\S\r\n]*$", re.IGNORECASE)
_DASH = re.compile(r"(?<=\S)[^\S\r\n]+(?:-{1,3}|[–—→>])$|(?<=[^\s—])——$")
_LONGEST_CUE = 60
_HARD_BREAK = re.compile(r"(?: {2,}|[^\S\r\n]*\\)(?=\r?\n[^\S\r\n]*\S)")
_LINE_END = re.compile(r"[^\S\r\n]*\\?(?:$|[\r\n])")
_ENDING = re.compile(r"[.。;；]?[^\S\r\n]*(?:$|[\r\n])")
_EMPHASIS = re.compile(r"[*_]{1,3}")
_INDENT = re.compile(r"[ \t>]*")


def clean(document: Document, *, chatter: bool = False) -> Cleaned:
    """Remove citation marks, addresses, lists of references and footnotes.

    Args:
        document: Parsed report.
        chatter: Whether to remove text before and around the report as well (an agent's remarks, an export's frame).
    """
    lines = Lines(document.text)
    items = Runs(document.text, find_marks(document), lines).grouped()
    return _without(document, lines, list(items), chatter=chatter)


def clean_as_chosen(document: Document, chosen: Sequence[Option], *, chatter: bool = False) -> Cleaned:
    """Remove the chosen citations, lists of references and footnotes.

    Args:
        document: Parsed report.
        chosen: One option of each of `cleaning.choices.stretches(document)`, in order.
        chatter: See `clean`.
    """
    items = [item for option in chosen for item in option.items]
    return _without(document, Lines(document.text), items, chatter=chatter)


def _without(document: Document, lines: Lines, items: Sequence[Run | Cut], *, chatter: bool) -> Cleaned:
    sections = find_sections(document, lines, chatter=chatter)
    removed = tuple(_merged(_marks(document, lines, items), sections, document.text))
    return Cleaned(text=applied(document.text, removed), removed=removed)


def _marks(document: Document, lines: Lines, items: Sequence[Run | Cut]) -> Iterator[Removal]:
    text = document.text
    starts = [block.span.start for block in document.blocks]
    closing = Closing(text, lines)
    floor = 0
    for index, item in enumerate(items):
        if isinstance(item, Cut):
            yield _removal(text, item.start, item.end, item.kind, item.kept)
            floor = item.end
            continue
        limit = items[index + 1].start if index + 1 < len(items) else len(text)
        block = document.blocks[bisect_right(starts, item.cuts[0].start) - 1]
        gap = closing.close(item, floor, limit, in_row=block.kind in ("table_row", "table_header"))
        yield from _divided(text, item, gap)
        floor = gap.end


def _divided(text: str, run: Run, gap: Gap) -> Iterator[Removal]:
    """Yield one removal for each mark of a run; text between two marks belongs to the first."""
    start = gap.start
    for index, cut in enumerate(run.cuts):
        last = index + 1 == len(run.cuts)
        end = gap.end if last else run.cuts[index + 1].start
        yield _removal(text, start, end, cut.kind, gap.replacement if last else "")
        start = end


def _merged(marks: Iterator[Removal], sections: Sequence[Section], text: str) -> list[Removal]:
    """Merge marks and sections, in order and without overlap."""
    removed: list[Removal] = []
    pending = list(sections)[::-1]
    for mark in marks:
        while pending and pending[-1].start <= mark.span.start:
            _append(removed, pending.pop(), text)
        if not removed or mark.span.start >= removed[-1].span.end:
            removed.append(mark)
    for section in reversed(pending):
        _append(removed, section, text)
    return removed


def _append(removed: list[Removal], section: Section, text: str) -> None:
    """Append a section, without the part that is already removed."""
    start = max(section.start, removed[-1].span.end if removed else 0)
    replacement = section.replacement
    if section.end == len(text):
        before = _bare_end(removed, start, text)
        replacement = replacement if before > 0 else ""
    if start < section.end:
        removed.append(_removal(text, start, section.end, section.kind, replacement))


def _bare_end(removed: list[Removal], start: int, text: str) -> int:
    """Return the end of the text before a final section, and remove empty lines that lines of marks leave above it."""
    index = len(removed) - 1
    while index >= 0 and removed[index].span.end == start and not removed[index].replacement:
        floor = removed[index - 1].span.end if index else 0
        first = removed[index].span.start
        start = floor + len(text[floor:first].rstrip())
        if start < first:
            removed[index] = _removal(text, start, removed[index].span.end, removed[index].kind, "")
        index -= 1
    return start


def _removal(text: str, start: int, end: int, kind: RemovalKind, replacement: str) -> Removal:
    return Removal(span=Span(start=start, end=end), kind=kind, text=text[start:end], replacement=replacement)


@dataclass(frozen=True, slots=True)
class Gap:
    """Range `text[start:end]` to remove, and its replacement."""

    start: int
    end: int
    replacement: str = ""


class Closing:
    """White space and punctuation around the marks of one text.

    Only blanks, a separator that belongs to the mark, and words that only introduce a source are removed with a mark.
    """

    def __init__(self, text: str, lines: Lines) -> None:
        self._text = text
        self._lines = lines

    def close(self, run: Run, floor: int, limit: int, *, in_row: bool) -> Gap:
        """Return the range to remove for a run.

        Args:
            run: Marks to remove.
            floor: End of the previous gap.
            limit: Start of the next mark.
            in_row: Whether the run is in a table, whose cells stay.
        """
        start, end = run.start, run.end
        if run.exact:
            return Gap(start, end)
        if not in_row:
            start = self._introduced(start, end, floor)
            whole = self._whole_line(start, end, floor, limit)
            if whole is not None:
                return whole
        start, end = self._unseparated(start, end, floor, limit)
        return self._closed(start, end, floor, limit)

    def _introduced(self, start: int, end: int, floor: int) -> int:
        """Return the start of the words that only introduce these marks: `Source: …` up to the end of the line."""
        if _ENDING.match(self._text, blanks_after(self._text, end, len(self._text))) is None:
            return start
        low = max(floor, self._lines.start(start))
        cue = _CUE.search(self._text, max(low, start - _LONGEST_CUE), start)
        if cue is not None:
            before = blanks_before(self._text, cue.start(), low)
            if self._lines.opens(cue.start()) or (before > low and self._text[before - 1] in ENDS):
                return cue.start()
        dash = _DASH.search(self._text, max(low, start - _LONGEST_CUE), blanks_before(self._text, start, low))
        return start if dash is None or self._lines.opens(dash.end()) else dash.start()

    def _whole_line(self, start: int, end: int, floor: int, limit: int) -> Gap | None:
        """Return the whole line if it contains nothing else, with an empty line if two would follow each other."""
        text, lines = self._text, self._lines
        first = lines.start(start)
        tail = _ENDING.match(text, blanks_after(self._text, end, limit))
        if first < floor or not lines.opens(start) or tail is None:
            return None
        after = lines.next(max(end - 1, tail.start()))
        if after > limit or self._has_children(first, start, after):
            return None
        empty_before = first == 0 or not text[lines.start(first - 1) : first].strip()
        if empty_before:
            while after < limit and not text[after : lines.next(after)].strip():
                after = lines.next(after)
        if after == len(text):
            first = max(floor, len(text[:first].rstrip()) if empty_before else first)
            return Gap(first, after, "\n" if first > 0 and text.endswith("\n") and empty_before else "")
        return Gap(first, after)

    def _has_children(self, first: int, start: int, after: int) -> bool:
        """Check whether the line begins a list item with nested lines."""
        if not self._text[first:start].strip(" \t>"):
            return False
        own, deeper = _INDENT.match(self._text, first), _INDENT.match(self._text, after)
        assert own is not None and deeper is not None
        return len(deeper.group()) > len(own.group()) and PREFIX.match(self._text, after) is not None

    def _unseparated(self, start: int, end: int, floor: int, limit: int) -> tuple[int, int]:
        """Add the separator that would otherwise precede another one or the end of a sentence."""
        text = self._text
        before, after = blanks_before(self._text, start, floor), blanks_after(self._text, end, limit)
        left = text[before - 1] if before > floor else ""
        right = text[after] if after < limit else ""
        if not left or not right:
            return start, end
        if left in _SEPARATORS and right in ENDS + _SEPARATORS:
            return before - 1, end
        doubled = left in ".。" and right == left
        if doubled and left not in (text[before - 2 : before - 1], text[after + 1 : after + 2]):
            return start, after + 1
        return start, end

    def _closed(self, start: int, end: int, floor: int, limit: int) -> Gap:
        text = self._text
        before, after = blanks_before(self._text, start, floor), blanks_after(self._text, end, limit)
        if self._lines.opens(start):
            return Gap(start, after)
        if _LINE_END.match(text, after) is not None or after == len(text):
            hard = _HARD_BREAK.match(text, end)
            return Gap(before, end if hard is not None else after)
        left, right = text[before - 1 : before], text[after : after + 1]
        if right in _CLOSERS and not (
            right in ".:" and text[after + 1 : after + 2].isalnum() and after > end
        ):
            return Gap(before, after)
        if self._closes_emphasis(after) and after == end:
            return Gap(before, after)
        if left in _OPENERS or (_is_wide(left) and _is_wide(right)):
            return Gap(before, after)
        if before < start and after > end:
            return Gap(before, end)
        if before < start or after > end:
            return Gap(start, end)
        return Gap(start, end, " " if _would_grow(left, right) else "")

    def _closes_emphasis(self, offset: int) -> bool:
        """Check whether emphasis ends here: `**so [1]**` must not become `**so **`."""
        match = _EMPHASIS.match(self._text, offset)
        return match is not None and not self._text[match.end() : match.end() + 1].isalnum()


def _is_wide(character: str) -> bool:
    """Check whether a character belongs to a script without blanks between words."""
    return character >= "\u2e80"


def _would_grow(left: str, right: str) -> bool:
    """Check whether two characters would form one word, or a word with a full stop in it, without the mark."""
    if left in "*_" and right == left:
        return True
    if _is_wide(left) or _is_wide(right) or not right.isalnum():
        return False
    return left.isalnum() or left in ENDS + ',;:)%"”'
