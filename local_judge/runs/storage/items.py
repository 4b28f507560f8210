"""Items of a run: the claim set of a report, and each protocol's findings about it, as lines of JSON.

    claims.jsonl, findings/deer.jsonl      one line per report, in input order
    claims.index, findings/deer.index      for each of these lines: KEY OFFSET LENGTH SHA256, in fixed width
    journal.jsonl                          of an unfinished run: one line per report with all of its items

Invariants: an item is read alone and checked by its own digest, so a changed byte is named by its report; an index
follows from its file; the journal only grows, and a line that was cut off or altered is no line. Neither the number of
items nor their size changes the memory that reading or writing one takes.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import time
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol, Self

from pydantic import BaseModel

from local_judge.base.files import MOST_JSON, each_line, open_file

FAILED = b'"attempts":'
"""Key of every failure in the JSON of an item. Inside a text its quotation marks would be escaped."""

_CASE = re.compile(rb'\{"case":("(?:[^"\\]|\\.)*"),')
"""Start of a line: the id of the report."""
_KEY, _WIDTH = 16, 16 + 1 + 15 + 1 + 12 + 1 + 64 + 1
"""Widths of a key and of a line of an index."""
_PLACE = re.compile(rb"([0-9a-f]{16}) (\d{15}) (\d{12}) ([0-9a-f]{64})\n")


def digest_of(content: bytes) -> str:
    """Return the SHA-256 in hex digits."""
    return hashlib.sha256(content).hexdigest()


def file_key(case_id: str) -> str:
    """Return the key of a report: the first 16 hex digits of the SHA-256 of its id."""
    return hashlib.sha256(case_id.encode("utf-8", "surrogatepass")).hexdigest()[:_KEY]


def claims_file(judge: str | None) -> str:
    """Return the name of the file of claim sets; `judge` is None for the only judge."""
    return "claims.jsonl" if judge is None else f"claims/{judge}.jsonl"


def findings_file(protocol: str, judge: str | None) -> str:
    """Return the name of the file of a protocol's findings; `judge` is None for the only judge."""
    return f"findings/{protocol}" + (".jsonl" if judge is None else f"/{judge}.jsonl")


def is_item_file(name: str) -> bool:
    """Check whether a file of this name consists of items."""
    return name.endswith(".jsonl") and (
        name == claims_file(None) or name.startswith(("claims/", "findings/"))
    )


def index_of(name: str) -> str:
    """Return the name of the index of a file of items."""
    return name.removesuffix(".jsonl") + ".index"


def line_of(case: str, item: BaseModel) -> bytes:
    """Return an item as a line without its end; it begins with the id of the report."""
    said = item.model_dump_json()
    if "case" not in type(item).model_fields:
        said = f'{{"case":{json.dumps(case)},{said[1:]}'
    return said.encode()


def item_json(line: bytes, model: type[BaseModel]) -> bytes:
    """Return the JSON of an item from its line."""
    found = None if "case" in model.model_fields else _CASE.match(line)
    return line if found is None else b"{" + line[found.end() :]


def case_of(line: bytes) -> str | None:
    """Return the id of the report that a line is about; None if it cannot be read."""
    found = _CASE.match(line)
    try:
        return None if found is None else json.loads(found[1])
    except ValueError:
        return None


class Place(NamedTuple):
    """Place of an item in its file."""

    key: str
    offset: int
    length: int
    """Number of bytes, without the end of the line."""
    sha256: str

    def line(self) -> bytes:
        """Return the line of the index."""
        return f"{self.key} {self.offset:015} {self.length:012} {self.sha256}\n".encode()


class Index:
    """Places of the items of one file, in its order."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        """Bytes of the index."""
        self._next = 0

    @classmethod
    def of(cls, path: Path, inside: Path | None = None) -> Index:
        """Return the index that follows from a file of items; lines without an id are left out."""
        places: list[bytes] = []
        with open_file(path, inside=inside) as file:
            start = 0
            for line in each_line(file, path):
                said, case = line.rstrip(b"\n"), case_of(line)
                if case is not None:
                    places.append(Place(file_key(case), start, len(said), digest_of(said)).line())
                start += len(line)
        return cls(b"".join(places))

    def __len__(self) -> int:
        return len(self.content) // _WIDTH

    def __iter__(self) -> Iterator[Place]:
        return (self._at(start) for start in range(0, len(self.content), _WIDTH))

    def find(self, key: str) -> Place | None:
        """Return the place of a report's item; readers that ask in the order of the file find it at once."""
        wanted, start = key.encode(), self._next
        if self.content[start : start + _KEY] != wanted:
            start = self.content.find(wanted)
            while start % _WIDTH and start >= 0:  # within a digest
                start = self.content.find(wanted, start + 1)
        if start < 0:
            return None
        self._next = start + _WIDTH
        return self._at(start)

    def _at(self, start: int) -> Place:
        said = self.content[start : start + _WIDTH]
        found = _PLACE.fullmatch(said)
        if found is None:
            raise OSError(errno.EINVAL, f"not an index ({said[:20]!r})")
        return Place(found[1].decode(), int(found[2]), int(found[3]), found[4].decode())


class ItemFile:
    """Finished file of items.

    Args:
        path: the file.
        index: its index.
        inside: folder that the file must be in after links are resolved.
    """

    def __init__(self, path: Path, index: Index, inside: Path | None = None) -> None:
        self.index = index
        self._file = open_file(path, inside=inside)
        weakref.finalize(self, self._file.close)

    def read(self, place: Place) -> bytes | None:
        """Return an item; None if it differs from its digest."""
        if place.length > MOST_JSON:
            return None
        line = os.pread(self._file.fileno(), place.length, place.offset)
        return line if digest_of(line) == place.sha256 else None


class _Sink(Protocol):
    def write(self, content: bytes, /) -> object: ...


class ItemWriter:
    """Writer of a file of items, through files that its caller opens and closes."""

    def __init__(self, items: _Sink, index: _Sink) -> None:
        self._items, self._index, self._offset = items, index, 0

    def add(self, key: str, line: bytes) -> None:
        """Add an item."""
        self._items.write(line + b"\n")
        self._index.write(Place(key, self._offset, len(line), digest_of(line)).line())
        self._offset += len(line) + 1


class JournalLine(NamedTuple):
    """One report in a journal."""

    key: str
    record: bytes
    """Its line of `cases.jsonl`, as JSON."""
    complete: bool
    """False if something about the report failed, so that a continued run evaluates it again."""
    written: float
    """Seconds since 1970."""


class Journal:
    """Items of an unfinished run, in the order in which reports were completed.

    The first line is a header. The others have fields that tabs separate, which JSON does not contain: the SHA-256 of
    the rest of the line, `done` or `open`, the time, the report's key, its record, and name and JSON of each item.
    """

    SYNC_SECONDS = 1.0
    """Longest time for which lines may be lost with the machine; their replies stay in the ledger."""

    def __init__(self, path: Path) -> None:
        self._path = path
        opened = open_file(path, inside=path.parent)
        self._file = opened.fileno()
        self._finalizers: list[weakref.finalize[..., Self]] = [weakref.finalize(self, opened.close)]
        self._writer = -1
        self._places: dict[str, tuple[int, int]] = {}
        self._end = 0
        self._synced = 0.0

    @classmethod
    def new(cls, path: Path, header: bytes) -> Journal:
        """Return a journal with nothing but a header, in a new file that is open for writing."""
        path.write_bytes(header + b"\n")
        made = cls(path)
        made._end = len(header) + 1
        made.write_on()
        return made

    def write_on(self) -> None:
        """Open the file for writing, after the last whole line that was read."""
        self._writer = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._finalizers.append(weakref.finalize(self, os.close, self._writer))
        os.ftruncate(self._writer, self._end)

    def move(self, path: Path) -> None:
        """Rename the file, after its content is on the disk."""
        os.fsync(self._writer)
        self._path = self._path.replace(path)

    def close(self) -> None:
        """Close the file."""
        for finalizer in self._finalizers:
            finalizer()

    def header(self) -> bytes:
        """Return the first line without its end; empty without one."""
        said = os.pread(self._file, 4096, 0)
        return said.partition(b"\n")[0] if b"\n" in said else b""

    def read(self) -> Iterator[JournalLine]:
        """Yield the whole lines added since the last call; a later line about a report replaces an earlier one."""
        self._end = self._end or len(self.header()) + 1
        with open(self._file, "rb", closefd=False) as file:
            file.seek(self._end)
            for line in each_line(file, self._path):
                if not line.endswith(b"\n"):
                    break  # cut off, or not written to its end yet
                start, self._end = self._end, self._end + len(line)
                digest, _, said = line[:-1].partition(b"\t")
                fields = said.split(b"\t", 4)
                if digest == digest_of(said).encode() and len(fields) >= 4:
                    state, written, key, record, *_ = fields
                    self._places[key.decode()] = (start, len(line) - 1)
                    yield JournalLine(key.decode(), record, state == b"done", float(written))

    def add(self, key: str, record: BaseModel, items: Mapping[str, bytes], *, complete: bool) -> None:
        """Add a report."""
        said = record.model_dump_json(exclude_defaults=True).encode()
        fields = [b"done" if complete else b"open", str(int(time.time())).encode(), key.encode(), said]
        fields += [part for name, line in items.items() for part in (name.encode(), line)]
        said = b"\t".join(fields)
        line = digest_of(said).encode() + b"\t" + said + b"\n"
        written = 0
        while written < len(line):
            written += os.write(self._writer, line[written:])
        self._places[key] = (self._end, len(line) - 1)
        self._end += len(line)
        if time.monotonic() > self._synced + self.SYNC_SECONDS:
            os.fsync(self._writer)
            self._synced = time.monotonic()

    def items(self, key: str) -> dict[str, bytes]:
        """Return the items of a report by the names of their files; none of an unknown report."""
        if key not in self._places:
            return {}
        start, length = self._places[key]
        _, _, _, _, _, *parts = os.pread(self._file, length, start).split(b"\t")
        return {name.decode(): line for name, line in zip(parts[::2], parts[1::2], strict=True)}
