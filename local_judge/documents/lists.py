"""Sections of a report that are reference lists.

Invariant: a list is recognised by its entries: by their keys and addresses, and by what the text cites. A title is a
hint: under a known one, less is asked of the entries.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from local_judge.documents.author_years import UNDATED
from local_judge.documents.entries import Unit, is_bare, is_title
from local_judge.documents.markdown import RawBlock
from local_judge.documents.titles import Clarity, reference_title

_DATED = re.compile(
    rf"[(（](?:(?:19|20)\d\d|{UNDATED})[^()（）]{{0,30}}[)）]|[,，.。《》\s](?:19|20)\d\d[a-z]?(?:年|[.,;:，。；]|$)"
)
_CITING = re.compile(r"\S.*\[\d{1,4}\]\s*[.。]?$", re.DOTALL)
_LONGEST_ENTRY = 600
_PLACEHOLDER = re.compile(r"[\[(（【*_][^\n]{0,200}[\])）】*_]")
_LONG_PROSE = 200
_LONGEST_KEY = 45
_LONGEST_FOOTER = 400
_CLOSING = re.compile(r"(?:</?[a-zA-Z][^<>]{0,100}>|\\end\{\w+\}|\s){1,10}")


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks `first` to `last` (excluded) of one list, with its title."""

    first: int
    last: int
    titled: bool = False
    """True if the first block is the title."""
    sure: bool = True
    """False for a list that counts only if the text cites it."""
    likely: bool = False
    """True for titles and addresses at the report's end: they count if no list is sure and the text cites no other
    address."""

    @property
    def blocks(self) -> range:
        """Indexes of the blocks."""
        return range(self.first, self.last)


def find_sections(blocks: Sequence[RawBlock], units: Sequence[list[Unit]]) -> list[Section]:
    """Return the sections that are or may be reference lists, in order."""
    sections = _titled(blocks, units)
    sections += _untitled(blocks, units, {index for section in sections for index in section.blocks})
    return sorted(sections, key=lambda section: section.first)


def _titled(blocks: Sequence[RawBlock], units: Sequence[list[Unit]]) -> list[Section]:
    """Return the sections with a known title."""
    ranges: list[Section] = []
    index = 0
    while index < len(blocks):
        clarity = _title_at(blocks[index])
        if clarity is not None:
            end = max(_section_end(blocks, units, index, clarity), _placeholder_end(blocks, units, index))
            if end > index:
                ranges.append(Section(index, end, titled=True))
                index = end
                continue
        index += 1
    return ranges


def _title_at(block: RawBlock) -> Clarity | None:
    if block.kind == "heading" or (block.kind in ("paragraph", "list_item") and "\n" not in block.piece.flat):
        return reference_title(block.piece.flat)
    return None


def _placeholder_end(blocks: Sequence[RawBlock], units: Sequence[list[Unit]], index: int) -> int:
    """Return the end of a section that is empty or a placeholder such as `[list follows]`; else `index`."""
    end = index + 1
    if (
        end < len(blocks)
        and _PLACEHOLDER.fullmatch(blocks[end].piece.flat)
        and not any(u.key for u in units[end])
    ):
        end += 1
    if end == len(blocks):
        return end if blocks[index].kind == "heading" else index
    return end if _title_at(blocks[end]) is not None else index


def _section_end(
    blocks: Sequence[RawBlock], units: Sequence[list[Unit]], title: int, clarity: Clarity
) -> int:
    """Return the first block after the list under this title; `title` itself if there is no list."""
    level = blocks[title].level if blocks[title].kind == "heading" else 0
    end, start = title, title + 1
    while start < len(blocks):
        stop = start
        while (
            stop < len(blocks)
            and blocks[stop].kind != "heading"
            and (stop == start or not _title_at(blocks[stop]))
        ):
            stop += 1
        kept = _list_end(blocks, units, start, stop, clarity)
        if kept == start < stop:
            break
        end = kept if kept > start else end
        if kept < stop or stop >= len(blocks) or blocks[stop].kind != "heading":
            break
        if not level or blocks[stop].level <= level or _title_at(blocks[stop]) is not None:
            break
        start = stop + 1
    return end


def _list_end(
    blocks: Sequence[RawBlock], units: Sequence[list[Unit]], start: int, stop: int, clarity: Clarity
) -> int:
    """Return the end of the reference list in the blocks from `start` to `stop`; `start` if there is none."""
    good = [index for index in range(start, stop) if _is_entry(units[index], clarity)]
    if not good or 2 * len(good) < good[-1] + 1 - start:
        return start
    end = good[-1] + 1
    if end + 1 == stop and blocks[end].kind == "paragraph" and len(blocks[end].piece.flat) < _LONG_PROSE:
        end += 1  # one short closing line, such as "All links were opened in May."
    return end


def _is_entry(units: Sequence[Unit], clarity: Clarity) -> bool:
    """Check whether at least half of a block's parts look like entries."""
    hits = sum(_is_clear(unit) if clarity == "clear" else _is_sure(unit) for unit in units)
    return bool(units) and 2 * hits >= len(units)


def _is_clear(unit: Unit) -> bool:
    """Check whether a part may be an entry under a clear title."""
    if unit.has_address or unit.note or unit.form == "bracket":
        return True
    if _CITING.match(unit.piece.flat):  # it cites another list, as a statement of the report does
        return False
    return unit.form != "" or is_dated(unit)


def _is_sure(unit: Unit) -> bool:
    """Check whether a part is an entry under any title: it has a key or an address, and cites no other entry."""
    if unit.note or unit.form == "bracket":
        return True
    if unit.form == "row" or _CITING.match(unit.piece.flat):
        return False
    return unit.has_address or (unit.form != "" and is_dated(unit))


def is_dated(unit: Unit) -> bool:
    """Check whether a part is short and contains a year as entries do."""
    return len(unit.piece.flat) <= _LONGEST_ENTRY and _DATED.search(unit.piece.flat) is not None


def _untitled(blocks: Sequence[RawBlock], units: Sequence[list[Unit]], taken: set[int]) -> list[Section]:
    """Return the runs of entries of which most have an address.

    Runs of `[n] … address` are sure, others count if the text cites them. At the end, entries that are only titles and
    addresses are likely a list in any case; before it, they must be such to count at all.
    """
    runs: list[tuple[int, int]] = []
    start = 0
    while start < len(blocks):
        end, stop = _run(blocks, units, start, taken)
        if end > start:
            runs.append((start, end))
        start = max(stop, start + 1)
    sections: list[Section] = []
    listed = taken | {index for run in runs for index in range(*run)}
    prose = [
        0 if index in listed or block.kind == "heading" else len(block.piece.flat)
        for index, block in enumerate(blocks)
    ]
    after = sum(prose)
    before = list(accumulate(prose, initial=0))
    for first, last in runs:
        parts = [unit for index in range(first, last) for unit in units[index] if _has_source(unit)]
        bare = 5 * sum(is_bare(part.piece.flat) for part in parts) >= 4 * len(parts)
        first -= first > 0 and blocks[first - 1].kind == "table_header"
        titled = _has_title(blocks, first, taken)
        ends = after - before[last] < _LONGEST_FOOTER and before[first - titled] > 0
        keyed = parts[0].key is not None or any(unit.key is not None for unit in units[first])
        likely = bare and ends and (titled or len(parts) > 2)
        sure = all(_is_explicit(unit) for index in range(first, last) for unit in units[index])
        if sure or likely or (keyed and (bare or ends)):
            sections.append(Section(first - titled, last, titled, sure, likely))
    return sections


def _run(
    blocks: Sequence[RawBlock], units: Sequence[list[Unit]], start: int, taken: set[int]
) -> tuple[int, int]:
    """Return the end of the list that begins with this block, `start` if there is none, and where the search ended."""
    run: list[Unit] = []
    end = stop = start
    while stop < len(blocks) and stop not in taken and _goes_on(blocks[stop], units[stop], run):
        run.extend(units[stop])
        if any(_has_source(unit) or unit.heading for unit in units[stop]):
            end = stop + 1
        stop += 1
    entries = sum(unit.key is not None for unit in run) or len(run)
    addressed = sum(_has_source(unit) for unit in run)
    definition = len(run) == 1 and run[0].form == "bracket" and "]:" in run[0].piece.flat[:_LONGEST_KEY]
    return (end if 2 * addressed >= entries > 1 or (addressed and definition) else start), stop


def _has_source(unit: Unit) -> bool:
    return unit.has_address or unit.piece.flat.startswith("\\bibitem")


def _is_explicit(unit: Unit) -> bool:
    return unit.form == "bracket" and _has_source(unit)


def _goes_on(block: RawBlock, parts: Sequence[Unit], run: Sequence[Unit]) -> bool:
    """Check whether a block continues a run of entries, or begins one."""
    if not parts:
        return bool(run) and block.kind != "heading" and _CLOSING.fullmatch(block.piece.flat) is not None
    first, lowest = parts[0].key, run[0].key if run else None
    if all(unit.key is not None and not unit.note for unit in parts):
        numbers = [int(key) for key in (lowest, first) if key is not None and key.isdigit()]
        again = parts[0].form != "bracket" and len(numbers) == 2 and numbers[1] <= numbers[0]
        short = len(block.piece.flat) <= _LONGEST_ENTRY * len(parts)
        return not again and short and (not run or lowest is not None)
    if lowest is None:
        return all(unit.form == "bullet" and unit.has_address for unit in parts)
    fresh = not run[-1].has_address or block.piece.flat.strip("<>") in run[-1].piece.flat
    deeper = parts[0].level > run[0].level or (fresh and parts[0].has_address)
    return first is None and deeper and len(block.piece.flat) <= _LONGEST_ENTRY


def _has_title(blocks: Sequence[RawBlock], first: int, taken: set[int]) -> bool:
    """Check whether the block above a list is its title."""
    if first == 0 or first - 1 in taken:
        return False
    above = blocks[first - 1]
    flat = above.piece.flat
    return above.kind == "heading" or (
        above.kind in ("paragraph", "html") and ("\n" not in flat or above.kind == "html") and is_title(flat)
    )
