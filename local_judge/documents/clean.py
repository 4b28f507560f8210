"""A report without its citations, so that a judge of its text does not see how much it cites.

Invariants: the text is the original with the named removals applied and nothing else; no word of the report goes, but
for what a reader has chosen to take for a citation; code, tables and lists keep their structure; the time taken grows
linearly with the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from local_judge.documents.cleaning.choices import Option
from local_judge.documents.cleaning.closing import Closing, Gap
from local_judge.documents.cleaning.lines import Lines
from local_judge.documents.cleaning.marks import Cut, find_marks
from local_judge.documents.cleaning.model import Cleaned, Removal, RemovalKind, applied
from local_judge.documents.cleaning.runs import Run, Runs
from local_judge.documents.cleaning.sections import Section, find_sections
from local_judge.documents.model import Document, Span

__all__ = ["Cleaned", "Removal", "RemovalKind", "clean", "clean_as_chosen"]


def clean(document: Document, *, chatter: bool = False) -> Cleaned:
    """The report's text without marks of citations, addresses, lists of references and footnotes.

    Args:
        document: A parsed report.
        chatter: Whether what stands before the report or around it (an agent's remarks, what an export put there)
            goes as well.
    """
    lines = Lines(document.text)
    items = Runs(document.text, find_marks(document), lines).grouped()
    return _without(document, lines, list(items), chatter=chatter)


def clean_as_chosen(document: Document, chosen: Sequence[Option], *, chatter: bool = False) -> Cleaned:
    """The report's text without what was chosen of its `stretches`, and without lists of references and footnotes.

    Args:
        document: A parsed report.
        chosen: One option of each of `cleaning.choices.stretches(document)`, in their order.
        chatter: As for `text clean`.
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
    """One removal for each mark of a run; what stands between two goes with the first."""
    start = gap.start
    for index, cut in enumerate(run.cuts):
        last = index + 1 == len(run.cuts)
        end = gap.end if last else run.cuts[index + 1].start
        yield _removal(text, start, end, cut.kind, gap.replacement if last else "")
        start = end


def _merged(marks: Iterator[Removal], sections: Sequence[Section], text: str) -> list[Removal]:
    """Both in order, each character in one removal at most."""
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
    """One section, behind what is removed already."""
    start = max(section.start, removed[-1].span.end if removed else 0)
    replacement = section.replacement
    if section.end == len(text):
        before = _bare_end(removed, start, text)
        replacement = replacement if before > 0 else ""
    if start < section.end:
        removed.append(_removal(text, start, section.end, section.kind, replacement))


def _bare_end(removed: list[Removal], start: int, text: str) -> int:
    """Where the text ends that stays before a last section: lines of marks above it leave no empty lines."""
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
