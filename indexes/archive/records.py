"""WARC records read one after the other, or one at its place.

Invariant: whatever the file holds, reading ends in records that were whole and a `Damage` that says where it stopped;
no record costs more memory than `MAX_PAGE_BYTES`.
"""

from __future__ import annotations

import hashlib
import importlib
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

from indexes.archive.model import Headers
from indexes.archive.warc import head_bytes
from indexes.limits import MAX_PAGE_BYTES, is_gzip

_iterator: Any = importlib.import_module("warcio.archiveiterator")  # has no types
_readers: Any = importlib.import_module("warcio.bufferedreaders")
_exceptions: Any = importlib.import_module("warcio.exceptions")
_STEP = 1 << 16
_HEAD_BYTES = 1 << 20
"""Of a record's own head and its HTTP head together."""


class Damage(Exception):
    """A file that is no WARC, or is cut or altered from some place on; the message is one line."""


class Record(NamedTuple):
    """One WARC record."""

    file: str
    offset: int
    length: int
    """Bytes as stored."""
    kind: str
    """WARC-Type."""
    id: str
    url: str
    """WARC-Target-URI; empty for warcinfo."""
    date: str
    fields: dict[str, str]
    """All WARC header fields, names in lower case."""
    status: int
    """HTTP status; 0 for what is no HTTP response."""
    reason: str
    headers: Headers
    """HTTP headers."""
    payload: bytes
    """What follows the HTTP head; chunked transfer encoding is undone."""
    too_large: bool
    """Whether the payload is longer than `MAX_PAGE_BYTES`; it is then empty."""

    @property
    def payload_digest(self) -> str:
        """`sha256:` and hex, of the payload."""
        return f"sha256:{hashlib.sha256(self.payload).hexdigest()}"

    @property
    def block_digest(self) -> str:
        """The same of the whole block, HTTP head included, as `warc.ArchiveWriter` writes it."""
        first = f"HTTP/1.1 {self.status} {self.reason}".rstrip()
        head = head_bytes(first, self.headers) if self.status else b""
        return f"sha256:{hashlib.sha256(head + self.payload).hexdigest()}"

    def header(self, name: str) -> str:
        """First HTTP header of this name; '' where there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")


def read_records(path: Path, *, payloads: bool = True) -> Iterator[Record]:
    """All records of a WARC file, plain or gzipped, in order.

    Args:
        path: the file.
        payloads: whether to keep the payloads; without, they are empty.

    Raises:
        Damage: after the last whole record.
    """
    try:
        with path.open("rb") as file:
            yield from _records(file, path.name, payloads)
    except OSError as error:
        raise Damage(f"{path}: cannot be read ({error.strerror or error})") from None


def read_record(path: Path, offset: int) -> Record:
    """The record that begins at `offset`. Raises Damage."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            for record in _records(file, path.name, True):
                return record
    except OSError as error:
        raise Damage(f"{path}: cannot be read ({error.strerror or error})") from None
    raise Damage(f"{path}: no record at {offset:,}")


def _records(file: IO[bytes], name: str, payloads: bool) -> Iterator[Record]:
    begun = file.tell()
    gzipped = is_gzip(file.read(3))
    file.seek(begun)
    if not gzipped:
        yield from _parsed(file, name, payloads, begun, None)
        return
    for offset, length, data, whole in _members(file, name):
        yield from _parsed(BytesIO(data), name, payloads and whole, offset, length, whole)


def _members(file: IO[bytes], name: str) -> Iterator[tuple[int, int, bytes, bool]]:
    """Offset, stored length, contents, and whether these are all, of each gzip member."""
    offset = file.tell()
    rest = b""
    while True:
        member = zlib.decompressobj(wbits=31)
        parts: list[bytes] = []
        stored = kept = 0
        while not member.eof:
            rest = rest or file.read(_STEP)
            if not rest:
                if stored == 0:
                    return
                raise Damage(f"{name}: damaged from byte {offset:,} on (a record is cut off)")
            before = len(rest)
            try:
                part = member.decompress(rest, _STEP)
            except zlib.error as error:
                raise Damage(f"{name}: damaged from byte {offset:,} on ({error})") from None
            rest = member.unused_data if member.eof else member.unconsumed_tail
            stored += before - len(rest)
            kept += len(part)
            if kept <= MAX_PAGE_BYTES + _HEAD_BYTES:
                parts.append(part)
        yield offset, stored, b"".join(parts), kept <= MAX_PAGE_BYTES + _HEAD_BYTES
        offset += stored


def _parsed(
    file: IO[bytes], name: str, payloads: bool, begun: int, length: int | None, whole: bool = True
) -> Iterator[Record]:
    """The records of a plain file, or those of one gzip member, which is one record as a rule."""
    reader: Any = _iterator.WARCIterator(file)
    at = begun
    try:
        for found in reader:
            record = _record(found, name, payloads, whole)
            if length is None:
                at = int(reader.get_record_offset())
                yield record._replace(offset=at, length=int(reader.get_record_length()))
                at += int(reader.get_record_length())
            else:
                yield record._replace(offset=begun, length=length)
    except (_exceptions.ArchiveLoadFailed, EOFError, ValueError) as error:
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise Damage(f"{name}: damaged from byte {at:,} on ({why})") from None


def _record(found: Any, name: str, payloads: bool, whole: bool) -> Record:
    fields = {str(key).lower(): str(value) for key, value in found.rec_headers.headers}
    declared = fields.get("content-length", "")
    if not declared.isdigit():
        raise EOFError("a record without its length")
    status, reason, headers, head = 0, "", (), 0
    if found.http_headers is not None:
        head = int(found.http_headers.total_len)
        headers = tuple((str(key), str(value)) for key, value in found.http_headers.headers)
        if found.rec_type in ("response", "revisit"):
            line = str(found.http_headers.statusline).split(" ", 1)
            status = int(line[0]) if line[0].isdigit() and len(line[0]) == 3 else 0
            reason = line[1] if len(line) > 1 else ""
    stream: Any = found.raw_stream
    if any(key.lower() == "transfer-encoding" and "chunked" in value.lower() for key, value in headers):
        stream = _readers.ChunkedDataReader(stream)
        headers = tuple((key, value) for key, value in headers if key.lower() != "transfer-encoding")
    large = not whole or int(declared) - head > MAX_PAGE_BYTES
    payload = b"" if large or not payloads else _read(stream)
    if payloads and stream is found.raw_stream and not large and len(payload) + head < int(declared):
        raise EOFError("a record is cut off")
    return Record(
        file=name,
        offset=0,
        length=0,
        kind=str(found.rec_type or ""),
        id=fields.get("warc-record-id", ""),
        url=fields.get("warc-target-uri", "").strip("<>"),
        date=fields.get("warc-date", ""),
        fields=fields,
        status=status,
        reason=reason,
        headers=headers,
        payload=payload,
        too_large=large,
    )


def _read(stream: Any) -> bytes:
    parts: list[bytes] = []
    while part := stream.read(_STEP):
        parts.append(part)
    return b"".join(parts)
