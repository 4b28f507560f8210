"""Detection and parsing of reference lists.

Invariant: a title alone makes no reference list, its content does; the text of an entry is a range of the report; no
entry gets a number or an address that is not written in it, except for `ibid.`, and no image is an entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise, zip_longest

from indexes.urls import UrlError, identifier_url, normalise_url
from local_judge.documents.addresses import schemeless, unwrapped
from local_judge.documents.author_years import is_again, labels_of, works_of
from local_judge.documents.entries import ADDRESS, Unit, divide, is_title
from local_judge.documents.inline import Mark, scan
from local_judge.documents.lists import Section, find_sections, is_dated
from local_judge.documents.markdown import Piece, RawBlock
from local_judge.documents.model import Span
from local_judge.documents.titles import reference_title
from local_judge.documents.uncertain import settled

_LONGEST_ADDRESS_LINE = 300
_IMAGE = re.compile(r"!\[[^\[\]\n]{0,200}\]\[([^\[\]\n]{1,60})\]")
_DATA = re.compile(r"\[[^\[\]\n]{1,60}\]:\s?<?data:")
_ANCHOR = re.compile(r"(?:\b(?:id|name)\s?=\s?[\"']?|\{#)([^\s\"'<>{}]{1,60})")


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
    def names(self) -> list[str]:
        """Keys that marks of the entry may name: its own, and its anchors such as `#ref1`."""
        anchors = chain.from_iterable(_ANCHOR.findall(piece.flat) for piece in self.pieces)
        return [*([self.key] if self.key is not None else ()), *(f"#{anchor}" for anchor in anchors)]

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
    marks: list[list[Mark]]
    """Marks of each block outside the lists."""


def find_references(blocks: Sequence[RawBlock], beside: frozenset[str] = frozenset()) -> References:
    """Find the reference lists among a report's blocks, with their entries in order, and the marks that cite.

    Args:
        blocks: Blocks of the report.
        beside: Keys of sources that accompany the text.
    """
    whole = [part for block in blocks for part in _cut_at_list(block)]
    units = divide(whole)
    images = _drop_images(whole, units)
    sections = find_sections(whole, units)
    found = _read(whole, units, sections, images, beside)
    sure = any(section.sure for section in sections)
    owned = {key for section in sections if section.sure for key in _keys(section, units)}
    cited = frozenset(_cited(found.marks)) - owned
    linked = {mark.target for mark in chain.from_iterable(found.marks) if mark.target}
    repeated = {entry.section for entry in found.entries if entry.original_url in linked}
    kept = [
        section
        for number, section in enumerate(sections)
        if section.sure
        or _is_cited(_keys(section, units), cited)
        or (section.likely and not sure and (not linked or number in repeated))
        or _names_authors(section, units, found.marks)
    ]
    return found if len(kept) == len(sections) else _read(whole, units, kept, images, beside)


def _read(
    blocks: Sequence[RawBlock],
    units: Sequence[list[Unit]],
    sections: Sequence[Section],
    images: set[int],
    beside: frozenset[str],
) -> References:
    """Read the entries of these sections, and the marks in the other blocks."""
    listed = images.union(*(section.blocks for section in sections))
    entries: list[Entry] = []
    for number, section in enumerate(sections):
        entries.extend(_entries(units[section.first + section.titled : section.last], number))
    for index, parts in enumerate(units):
        if index not in listed and parts and all(unit.note for unit in parts):
            listed.add(index)
            entries.extend(_entries([parts], -1))
    entries.sort(key=lambda entry: entry.pieces[0].origins[0])
    for entry in entries:
        entry.url, entry.original_url = _address(entry)
    for before, entry in pairwise(entries):
        if entry.url is None and is_again(entry.pieces[0].flat):
            entry.url, entry.original_url = before.url, before.original_url
    labels = beside.union(*(entry.names + works_of(entry.pieces[0].flat) for entry in entries))
    flats = [block.piece.flat for block in blocks]
    marks = [
        scan(flat, labels) if index not in listed and blocks[index].kind != "code" else []
        for index, flat in enumerate(flats)
    ]
    addresses = {entry.url for entry in entries if entry.url is not None}
    return References(
        tuple(blocks), frozenset(listed), tuple(entries), settled(marks, flats, labels, frozenset(addresses))
    )


def _cited(marks: Sequence[Sequence[Mark]]) -> Iterator[str]:
    """Yield the keys of all marks that name entries."""
    for mark in chain.from_iterable(marks):
        if mark.style and mark.style.lookup != "address":
            yield from mark.keys


def _is_cited(keys: set[str], cited: frozenset[str]) -> bool:
    """Check whether the text cites a list: a fifth of its keys, and half of what it cites and no sure list has."""
    named = len(cited & keys)
    return named > 0 and 5 * named >= len(keys) and 2 * named >= len(cited)


def _names_authors(section: Section, units: Sequence[list[Unit]], marks: Sequence[Sequence[Mark]]) -> bool:
    """Check whether the text names most entries of a list by author and year."""
    named = {
        label
        for mark in chain.from_iterable(marks)
        if mark.style is not None and mark.style.lookup == "author"
        for key in mark.keys
        for label in labels_of(key)
    }
    listed = list(chain.from_iterable(units[section.first + section.titled : section.last]))
    return 2 * sum(not named.isdisjoint(works_of(unit.piece.flat)) for unit in listed) > len(listed) > 1


def _keys(section: Section, units: Sequence[list[Unit]]) -> set[str]:
    return {
        unit.key for parts in units[section.first : section.last] for unit in parts if unit.key is not None
    }


def _drop_images(blocks: Sequence[RawBlock], units: list[list[Unit]]) -> set[int]:
    """Drop the definitions of images, `[image1]: <data:…>`; return the blocks that contain nothing else."""
    images = {label for block in blocks for label in _IMAGE.findall(block.piece.flat)}
    dropped: set[int] = set()
    for index, parts in enumerate(units):
        units[index] = [u for u in parts if u.key not in images and not _DATA.match(u.piece.flat)]
        if parts and not units[index]:
            dropped.add(index)
    return dropped


def web_address(written: str) -> str | None:
    """Return the normalised address of a URL, DOI or arXiv id; None if it is no web address."""
    try:
        return identifier_url(written) or normalise_url(written)
    except UrlError:
        return None


def _address(entry: Entry) -> tuple[str | None, str | None]:
    texts = [unwrapped(piece.flat) for piece in entry.pieces]
    targets = [mark.target for text in texts for mark in scan(text) if mark.target]
    for target in (*targets, *filter(None, map(schemeless, texts))):
        url = web_address(target)
        if url is not None:
            return url, target
    return None, None


def _cut_at_list(block: RawBlock) -> list[RawBlock]:
    """Split a block in which entries follow a title or prose without an empty line between them."""
    flat = block.piece.flat
    if block.kind not in ("paragraph", "list_item", "html") or "\n" not in flat:
        return [block]
    (units,) = divide([block])
    entries: list[Unit] = []
    while units and units[-1].key is not None:
        entries.append(units.pop())
    start = entries[-1].start if entries else 0
    above = flat[:start].rstrip()
    title = above.rpartition("\n")[2]
    opening = flat.partition("\n")[0]
    if start and reference_title(title) is not None:
        cuts = (len(above) - len(title), start)
    elif reference_title(opening) is not None:
        cuts = (0, len(opening))
    elif start and is_title(above):
        return [block]
    elif start and len(entries) > 1 and 2 * sum(unit.has_address for unit in entries) >= len(entries):
        cuts = (len(above) - len(title) if is_title(title) else start, start)
    else:
        return [block]
    parts: list[RawBlock] = []
    for begin, end in pairwise((0, *cuts, len(flat))):
        text = flat[begin:end]
        begin += len(text) - len(text.lstrip())
        end = begin + len(text.strip())
        if begin < end and begin < cuts[0]:
            parts.append(RawBlock(block.kind, block.piece.cut(begin, end), block.level, block.marker))
        elif begin < end:
            parts.append(RawBlock("paragraph", block.piece.cut(begin, end)))
    return parts


def _entries(blocks: Sequence[Sequence[Unit]], section: int) -> list[Entry]:
    """Return the entries of one section."""
    entries: list[Entry] = []
    keyed = any(unit.key is not None for units in blocks for unit in units)
    level = 0
    parts = list(chain.from_iterable(blocks))
    for unit, following in zip_longest(parts, parts[1:]):
        if unit.heading and not unit.has_address and (following is None or following.key is not None):
            continue  # the title of a group
        if entries and _carries_on(unit, entries[-1], level, keyed):
            entries[-1].pieces.append(unit.piece)
            continue
        if following is None and unit.form == "" and entries and all(part.form for part in parts[:-1]):
            continue  # a closing line, such as "Written by an agent, https://agent.example"
        if unit.key is None and not unit.has_address and (keyed or (unit.form == "" and not is_dated(unit))):
            continue
        deeper = following is not None and following.level > unit.level
        if (
            unit.form == "bullet"
            and not unit.has_address
            and (unit.piece.flat.endswith((":", "：")) or (deeper and not is_dated(unit)))
        ):
            continue  # the title of a group
        entries.append(Entry(unit.key, unit.note, section, [unit.piece]))
        level = unit.level
    return entries


def _carries_on(unit: Unit, entry: Entry, level: int, keyed: bool) -> bool:
    """Check whether a part continues the entry before it: a deeper item, or its address on a line of its own."""
    if unit.key is not None:
        return False
    if unit.level > level and entry.key is not None:
        return True
    return (
        keyed
        and unit.form == ""
        and unit.has_address
        and len(unit.piece.flat) <= _LONGEST_ADDRESS_LINE
        and not any(
            ADDRESS.search(piece.flat) and unit.piece.flat.strip("<>") not in piece.flat
            for piece in entry.pieces
        )
    )
