"""Detection and parsing of reference lists.

Invariant: a title alone makes no reference list, its content does; the text of an entry is a range of the report; no
entry gets a number or an address that is not written in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from indexes.urls import UrlError, identifier_url, normalise_url
from local_judge.documents.citation_forms import RAISED_DIGITS
from local_judge.documents.inline import scan
from local_judge.documents.markdown import Piece, RawBlock
from local_judge.documents.model import Span
from local_judge.documents.titles import Clarity, reference_title

_KEY = re.compile(
    r"(?:\*\*|__)?(?:"
    r"\\?[\[［](?P<note>\^)?(?P<bracket>\d{1,4}|[A-Za-z][\w.+-]{0,30}(?=\](?!\()))\\?[\]］](?P<colon>:)?"
    r"|【(?P<wide>\d{1,4})】"
    r"|(?P<plain>\d{1,3})(?:[.)](?=\s)|[.)](?=[^\d\s])|、|．)"
    r"|\((?P<round>\d{1,3})\)(?=\s)"
    r"|(?P<raised>[¹²³⁰⁴-⁹]{1,3})\s?"
    r"|<sup>(?P<sup>\d{1,3})</sup>"
    r"|(?P<bullet>[-*•–]\s)"
    r")"
)
_NOTE = re.compile(r"\[\^(?P<label>[^\[\]\s]{1,40})\]:")
_ADDRESS = re.compile(r"https?://|\bwww\.|doi ?:|doi\.org|arxiv ?:", re.IGNORECASE)
_DATED = re.compile(
    r"[(（](?:(?:19|20)\d\d|n\.d\.)[^()（）]{0,30}[)）]|[,，.。《》\s](?:19|20)\d\d[a-z]?(?:年|[.,;:，。；]|$)"
)
_CITING = re.compile(r"\S.*\[\d{1,4}\]\s*[.。]?$", re.DOTALL)
_LONGEST_ENTRY = 600
_PLACEHOLDER = re.compile(r"[\[(（【*_][^\n]{0,200}[\])）】*_]")
_HARD = ("  ", "\\")
_LONG_PROSE = 200


@dataclass(slots=True)
class Entry:
    """Entry of a reference list."""

    key: str | None
    note: bool
    """True for a footnote definition, `[^key]: …`."""
    section: int
    pieces: list[Piece] = field(default_factory=list[Piece])
    url: str | None = None
    original_url: str | None = None

    @property
    def span(self) -> Span:
        """Range from the first character of the entry to its last."""
        last = self.pieces[-1]
        return Span(start=self.pieces[0].source(0), end=last.source(len(last.flat) - 1) + 1)


@dataclass(frozen=True, slots=True)
class References:
    """Reference lists of a report."""

    blocks: tuple[RawBlock, ...]
    """Blocks of the report; a block within which a list begins is split."""
    listed: frozenset[int]
    """Indexes of the blocks of reference lists and footnote definitions."""
    entries: tuple[Entry, ...]
    sections: int


@dataclass(slots=True)
class _Unit:
    """Part of a block that may be one entry."""

    piece: Piece
    key: str | None
    form: str
    """Form of the key: `bracket`, `plain`, `bullet`, …; empty for a part that begins like prose."""
    note: bool
    has_address: bool
    level: int


def find_references(blocks: Sequence[RawBlock]) -> References:
    """Find the reference lists among a report's blocks, with their entries in order."""
    whole = _with_titles_apart(blocks)
    units = [_units(block) for block in whole]
    ranges = _titled(whole, units)
    taken = {index for first, last, _ in ranges for index in range(first, last)}
    ranges += _untitled(whole, units, taken)
    ranges.sort()
    listed = {index for first, last, _ in ranges for index in range(first, last)}
    entries: list[Entry] = []
    for section, (first, last, titled) in enumerate(ranges):
        entries.extend(_entries(units[first + titled : last], section))
    for index, found in enumerate(units):
        if index not in listed and found and all(unit.note for unit in found):
            listed.add(index)
            entries.extend(_entries([found], -1))
    entries.sort(key=lambda entry: entry.pieces[0].origins[0])
    for entry in entries:
        entry.url, entry.original_url = _address(entry)
    return References(tuple(whole), frozenset(listed), tuple(entries), len(ranges))


def web_address(written: str) -> str | None:
    """Return the normalised address of a URL, DOI or arXiv id; None if it is no web address."""
    try:
        return identifier_url(written) or normalise_url(written)
    except UrlError:
        return None


def _address(entry: Entry) -> tuple[str | None, str | None]:
    for piece in entry.pieces:
        for mark in scan(piece.flat):
            url = web_address(mark.target) if mark.target else None
            if url is not None:
                return url, mark.target
    return None, None


def _with_titles_apart(blocks: Sequence[RawBlock]) -> list[RawBlock]:
    """Split blocks in which entries follow a title without an empty line between them."""
    return [part for block in blocks for part in _cut_at_title(block)]


def _cut_at_title(block: RawBlock) -> list[RawBlock]:
    flat = block.piece.flat
    lines = flat.split("\n") if block.kind in ("paragraph", "list_item") else []
    position = 0
    for number, line in enumerate(lines[:-1]):
        if reference_title(line) is not None and (number == 0 or _KEY.match(lines[number + 1].strip())):
            after = position + len(line) + 1
            after += len(flat[after:]) - len(flat[after:].lstrip())
            head = flat[:position].rstrip()
            parts = (
                [RawBlock(block.kind, block.piece.cut(0, len(head)), block.level, block.marker)]
                if head
                else []
            )
            title = position + len(line) - len(line.lstrip())
            parts.append(RawBlock("paragraph", block.piece.cut(title, title + len(line.strip()))))
            parts.append(RawBlock("paragraph", block.piece.cut(after, len(flat))))
            return parts
        position += len(line) + 1
    return [block]


def _units(block: RawBlock) -> list[_Unit]:
    if block.kind in ("heading", "code"):
        return []
    if block.kind in ("table_row", "table_header"):
        return [_row_unit(block)]
    piece = block.piece
    cuts: list[tuple[int, str | None, str, bool]] = []
    position = 0
    current_has_address = False
    previous_hard = False
    keyed = False
    for number, line in enumerate(piece.flat.split("\n")):
        bare = line.lstrip()
        key, form, note = _key(bare)
        if number == 0 and block.kind == "list_item" and form != "bracket":
            key, form = (str(int(block.marker)), "plain") if block.marker.isdigit() else (None, "bullet")
        has_address = _ADDRESS.search(line) is not None
        fresh = (
            number == 0
            or form != ""
            or (
                not keyed
                and block.kind != "list_item"
                and (current_has_address or (previous_hard and not _opens_with_address(bare)))
            )
        )
        if fresh and bare:
            cuts.append((position + len(line) - len(bare), key, form, note))
            current_has_address, keyed = has_address, form != ""
        else:
            current_has_address = current_has_address or has_address
        previous_hard = line.endswith(_HARD)
        position += len(line) + 1
    units: list[_Unit] = []
    for index, (start, key, form, note) in enumerate(cuts):
        end = cuts[index + 1][0] if index + 1 < len(cuts) else len(piece.flat)
        end = start + len(piece.flat[start:end].rstrip())
        flat = piece.flat[start:end]
        units.append(_Unit(piece.cut(start, end), key, form, note, bool(_ADDRESS.search(flat)), block.level))
    return units


def _opens_with_address(line: str) -> bool:
    return _ADDRESS.match(line.lstrip("<([")) is not None


def _row_unit(block: RawBlock) -> _Unit:
    cell = block.piece.flat.strip("| ").partition("|")[0].strip(" []")
    key = str(int(cell)) if cell.isascii() and cell.isdigit() and len(cell) < 5 else None
    form = "row" if block.kind == "table_row" else ""
    return _Unit(block.piece, key, form, False, _ADDRESS.search(block.piece.flat) is not None, 0)


def _key(line: str) -> tuple[str | None, str, bool]:
    """Return the key at the start of a line, its form, and whether it is a footnote's."""
    note = _NOTE.match(line)
    if note is not None:
        return _number(note["label"]), "bracket", True
    match = _KEY.match(line)
    if match is None:
        return None, "", False
    if match["bullet"]:
        return None, "bullet", False
    if match["bracket"] or match["wide"]:
        return _number(match["bracket"] or match["wide"]), "bracket", False
    digits = match["plain"] or match["round"] or match["sup"] or match["raised"].translate(RAISED_DIGITS)
    return _number(digits), "plain", False


def _number(key: str) -> str:
    return str(int(key)) if key.isascii() and key.isdigit() else key


def _titled(blocks: Sequence[RawBlock], units: Sequence[list[_Unit]]) -> list[tuple[int, int, bool]]:
    """Return the reference sections with a title, as ranges of blocks that start with the title."""
    ranges: list[tuple[int, int, bool]] = []
    index = 0
    while index < len(blocks):
        clarity = _title_at(blocks[index])
        if clarity is not None:
            end = max(_section_end(blocks, units, index, clarity), _placeholder_end(blocks, units, index))
            if end > index:
                ranges.append((index, end, True))
                index = end
                continue
        index += 1
    return ranges


def _title_at(block: RawBlock) -> Clarity | None:
    if block.kind == "heading" or (block.kind in ("paragraph", "list_item") and "\n" not in block.piece.flat):
        return reference_title(block.piece.flat)
    return None


def _placeholder_end(blocks: Sequence[RawBlock], units: Sequence[list[_Unit]], index: int) -> int:
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
    blocks: Sequence[RawBlock], units: Sequence[list[_Unit]], title: int, clarity: Clarity
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
    blocks: Sequence[RawBlock], units: Sequence[list[_Unit]], start: int, stop: int, clarity: Clarity
) -> int:
    """Return the end of the reference list in the blocks from `start` to `stop`; `start` if there is none."""
    good = [index for index in range(start, stop) if _is_entry(units[index], clarity)]
    if not good or 2 * len(good) < good[-1] + 1 - start:
        return start
    end = good[-1] + 1
    if end + 1 == stop and blocks[end].kind == "paragraph" and len(blocks[end].piece.flat) < _LONG_PROSE:
        end += 1  # one short closing line, such as "All links were opened in May."
    return end


def _is_entry(units: Sequence[_Unit], clarity: Clarity) -> bool:
    """Check whether at least half of a block's parts look like entries."""
    hits = sum(_is_clear(unit) if clarity == "clear" else _is_sure(unit) for unit in units)
    return bool(units) and 2 * hits >= len(units)


def _is_clear(unit: _Unit) -> bool:
    """Check whether a part may be an entry under a clear title."""
    if unit.has_address or unit.note or unit.form == "bracket":
        return True
    if _CITING.match(unit.piece.flat):  # it cites another list, as a statement of the report does
        return False
    return unit.form != "" or _is_dated(unit)


def _is_sure(unit: _Unit) -> bool:
    """Check whether a part is an entry under any title: it has a key or an address, and cites no other entry."""
    if unit.note or unit.form == "bracket":
        return True
    if unit.form == "row" or _CITING.match(unit.piece.flat):
        return False
    return unit.has_address or (unit.form != "" and _is_dated(unit))


def _is_dated(unit: _Unit) -> bool:
    return len(unit.piece.flat) <= _LONGEST_ENTRY and _DATED.search(unit.piece.flat) is not None


def _untitled(
    blocks: Sequence[RawBlock], units: Sequence[list[_Unit]], taken: set[int]
) -> list[tuple[int, int, bool]]:
    """Return the runs of two or more entries `[n] … address` without a title."""
    ranges: list[tuple[int, int, bool]] = []
    start = 0
    while start < len(blocks):
        stop, count = start, 0
        while stop < len(blocks) and stop not in taken and _is_keyed_list(units[stop]):
            count += len(units[stop])
            stop += 1
        if count >= 2 or (count == 1 and blocks[start].piece.flat.partition("]")[2].startswith(":")):
            ranges.append((start, stop, False))
        start = max(stop, start + 1)
    return ranges


def _is_keyed_list(units: Sequence[_Unit]) -> bool:
    return bool(units) and all(u.form == "bracket" and u.key and not u.note and u.has_address for u in units)


def _entries(blocks: Sequence[Sequence[_Unit]], section: int) -> list[Entry]:
    """Return the entries of one section."""
    entries: list[Entry] = []
    keyed = any(unit.key is not None for units in blocks for unit in units)
    level = 0
    for units in blocks:
        for unit in units:
            if entries and _carries_on(unit, entries[-1], level, keyed):
                entries[-1].pieces.append(unit.piece)
                continue
            if (
                unit.key is None
                and not unit.has_address
                and (keyed or (unit.form == "" and not _is_dated(unit)))
            ):
                continue
            if unit.form == "bullet" and not unit.has_address and unit.piece.flat.endswith((":", "：")):
                continue
            entries.append(Entry(unit.key, unit.note, section, [unit.piece]))
            level = unit.level
    return entries


def _carries_on(unit: _Unit, entry: Entry, level: int, keyed: bool) -> bool:
    """Check whether a part continues the entry before it: a deeper item, or an address on its own line."""
    if unit.key is not None:
        return False
    if unit.level > level and entry.key is not None:
        return True
    alone = _opens_with_address(unit.piece.flat) and " " not in unit.piece.flat.strip()
    return keyed and unit.form == "" and alone and not any(_ADDRESS.search(p.flat) for p in entry.pieces)
