"""Unified diff of a cleaning.

Invariant: it is made from the removals and not by comparing texts, so that it shows exactly what was removed, in time
linear in the length of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from local_judge.documents.cleaning.model import Cleaned, Removal, applied
from local_judge.documents.model import Span

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
CONTEXT = 3
"""Number of unchanged lines shown around a change."""


@dataclass(frozen=True, slots=True)
class _Change:
    """Original lines `[first, last)` and their replacement."""

    first: int
    last: int
    now: tuple[str, ...]


def unified_diff(text: str, cleaned: Cleaned, name: str) -> Iterator[str]:
    """Yield the lines of a unified diff for `patch`, without line ends; none if nothing was removed.

    Args:
        text: Original text.
        cleaned: Result of the cleaning.
        name: Name of the original in the header.
    """
    lines = _LINE.findall(text)
    changes = list(_changes(text, lines, cleaned.removed))
    if changes:
        yield from (f"--- {name}", f"+++ {name} (cleaned)")
    shift = 0
    for hunk in _hunks(changes):
        first, last = max(0, hunk[0].first - CONTEXT), min(len(lines), hunk[-1].last + CONTEXT)
        growth = sum(len(change.now) - (change.last - change.first) for change in hunk)
        yield f"@@ -{_range(first, last - first)} +{_range(first + shift, last - first + growth)} @@"
        shift += growth
        position = first
        for change in hunk:
            yield from _shown(" ", lines[position : change.first])
            yield from _shown("-", lines[change.first : change.last])
            yield from _shown("+", change.now)
            position = change.last
        yield from _shown(" ", lines[position:last])


def _changes(text: str, lines: Sequence[str], removed: Sequence[Removal]) -> Iterator[_Change]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    group: list[Removal] = []
    first = last = 0
    for removal in removed:
        begin = bisect_right(starts, removal.span.start) - 1
        if group and begin >= last:
            yield _change(text, starts, first, last, group)
            group = []
        if not group:
            first = begin
        group.append(removal)
        # After a removed line end, the next line moves up into this line and changes too.
        last = min(bisect_right(starts, removal.span.end - 1), len(lines))
        if removal.span.end == starts[last] and (removal.span.start > starts[begin] or removal.replacement):
            last = min(last + 1, len(lines))
    if group:
        yield _change(text, starts, first, last, group)


def _change(text: str, starts: Sequence[int], first: int, last: int, group: Sequence[Removal]) -> _Change:
    start, end = starts[first], starts[last]
    moved = [
        removal.model_copy(
            update={"span": Span(start=removal.span.start - start, end=removal.span.end - start)}
        )
        for removal in group
    ]
    now = _LINE.findall(applied(text[start:end], moved))
    same = 0  # a removal that starts at the end of a line leaves that line unchanged
    for line, (begin, stop) in zip(now, pairwise(starts[first : last + 1]), strict=False):
        if line != text[begin:stop]:
            break
        same += 1
    return _Change(first + same, last, tuple(now[same:]))


def _hunks(changes: Sequence[_Change]) -> Iterator[list[_Change]]:
    hunk: list[_Change] = []
    for change in changes:
        if hunk and change.first - hunk[-1].last > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _range(first: int, count: int) -> str:
    """Format a range of lines: counted from 1; an empty range starts at the line before it."""
    return f"{first + 1 if count else first},{count}"


def _shown(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield sign + line.rstrip("\r\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"
