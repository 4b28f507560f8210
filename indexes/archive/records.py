"""WARC records read one after the other, or one at its place.

Invariant: whatever the file holds, reading ends in records that were whole and a `Damage` that says where it stopped;
no record costs more memory than `MAX_PAGE_BYTES`. A record that is wrong in itself, while the place of the next one is
known, can be passed over.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import os
import re
import zlib
from base64 import b32encode, b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

from indexes.archive.model import Headers, header
from indexes.archive.warc import head_bytes
from indexes.limits import MAX_PAGE_BYTES, is_gzip
from local_judge.base.files import open_file

_iterator: Any = importlib.import_module("warcio.archiveiterator")  # has no types
_readers: Any = importlib.import_module("warcio.bufferedreaders")
_exceptions: Any = importlib.import_module("warcio.exceptions")
logging.getLogger("warcio").addHandler(
    logging.NullHandler()
)  # it would print addresses of the file as they are
_STEP = 1 << 16
_LENGTH = re.compile(rb"^Content-Length:\s*(\d{1,15})\s*$", re.IGNORECASE | re.MULTILINE)
_EMPTY_LINE = re.compile(rb"\r\n\r\n|\n\n")  # one search for both, which ends at the first of them
_MOST_LINES = 5_000
"""Lines of both heads: real ones have a hundred, and one takes as long as a thousand bytes of a body."""
_LINE_ENDS = re.compile(rb"[\r\n]*")
_ONCE = ("content-length", "content-type", "warc-date", "warc-record-id", "warc-target-uri", "warc-type")
"""Fields that decide how a record is read; given twice, readers would differ in what it is."""
_CHUNK = re.compile(rb"[0-9A-Fa-f]{1,8}[ \t]*(?:;[^\r\n]*)?\r\n")
_LAST_CHUNK = re.compile(rb"(?:\r\n|\A)0+[ \t]*(?:;[^\r\n]*)?\r\n(?:[^\r\n]+\r\n)*(?:\r\n)?\Z")
_LAST = 8_192
"""Bytes of the end of a chunked body, which hold the last chunk with its trailers."""
_ALGORITHMS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
_HEAD_BYTES = 1 << 20
"""Most bytes of a record's own head and its HTTP head together."""


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
    """Bytes after the HTTP head, with chunked transfer encoding decoded."""
    too_large: bool
    """True if the payload is longer than `MAX_PAGE_BYTES`; it is then empty."""
    truncated: bool
    """True if the payload is only the beginning of what was to come: WARC-Truncated says so, the last chunk is missing,
    or Content-Length is larger."""

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
        """First HTTP header of this name (in lower case); '' if it is missing."""
        return header(self.headers, name) or ""


def read_records(
    path: Path, *, payloads: bool = True, skipped: Callable[[str], None] | None = None
) -> Iterator[Record]:
    """All records of a WARC file, plain or gzipped, in order.

    Args:
        path: the file.
        payloads: whether to keep the payloads; without, they are empty.
        skipped: told of each record that is passed over because it is wrong in itself; without, it is a Damage.

    Raises:
        Damage: after the last whole record.
    """
    try:
        with open_file(path) as file:
            yield from _records(file, path.name, payloads, skipped)
    except OSError as error:
        raise Damage(f"{path}: cannot be read ({error.strerror or error})") from None


def read_record(path: Path, offset: int) -> Record:
    """The record that begins at `offset`. Raises Damage."""
    try:
        with open_file(path) as file:
            file.seek(offset)
            for record in _records(file, path.name, True, None):
                return record
    except OSError as error:
        raise Damage(f"{path}: cannot be read ({error.strerror or error})") from None
    raise Damage(f"{path}: no record at {offset:,}")


def _records(
    file: IO[bytes], name: str, payloads: bool, skipped: Callable[[str], None] | None
) -> Iterator[Record]:
    begun = file.tell()
    gzipped = is_gzip(file.read(3))
    file.seek(begun)
    for offset, length, data, whole in _members(file, name) if gzipped else _plain(file, name):
        if not data.startswith(b"WARC/"):
            raise Damage(f"{name}: damaged from byte {offset:,} on (no WARC record)")
        try:
            for part in _split_records(data) if whole else (data,):
                yield _parse_record(part, name, payloads and whole, whole)._replace(
                    offset=offset, length=length
                )
        except _BadRecord as error:
            if skipped is None:
                raise Damage(f"{name}: damaged from byte {offset:,} on ({error})") from None
            skipped(f"{name}: the record at byte {offset:,} is left out ({error})")


class _BadRecord(Exception):
    """A record that is wrong in itself; the message says how in a few words."""


def _split_records(data: bytes) -> Iterator[bytes]:
    """The records of one gzip member, which is one as a rule, or the one record of a plain file."""
    begin = 0
    while begin < len(data):
        head = _end_of_head(data, begin)
        length = _LENGTH.search(data, begin, head)
        if not head or not data.startswith(b"WARC/", begin):
            raise _BadRecord("no WARC record")
        if length is None:
            raise _BadRecord("a record without its length")
        end = head + int(length[1])
        if end > len(data):
            raise _BadRecord("a record is cut off")
        ends = _LINE_ENDS.match(data, end)
        assert ends is not None
        if ends.end() == end < len(data):
            raise _BadRecord("a record is longer than it says")
        yield data[begin : ends.end()]
        begin = ends.end()


def _end_of_head(data: bytes, begin: int) -> int:
    """Return the end of the head that starts there, with its empty line; 0 if it does not end within `_HEAD_BYTES`."""
    end = _EMPTY_LINE.search(data, begin, begin + _HEAD_BYTES)
    return end.end() if end is not None else 0


def _plain(file: IO[bytes], name: str) -> Iterator[tuple[int, int, bytes, bool]]:
    """The same as `_members` of a file that is not packed."""
    while True:
        offset = file.tell()
        head = bytearray()
        while not head.endswith((b"\r\n\r\n", b"\n\n")):
            line = file.readline(_HEAD_BYTES)
            head += line if head else line.lstrip(b"\r\n")
            if not line and not head:
                return
            if not line or len(head) >= _HEAD_BYTES or not head.startswith(b"WARC/"[: len(head)]):
                raise Damage(f"{name}: damaged from byte {offset:,} on (no WARC record)")
        length = _LENGTH.search(head)
        if length is None:
            raise Damage(f"{name}: damaged from byte {offset:,} on (a record without its length)")
        size = int(length[1])
        kept = min(size, MAX_PAGE_BYTES + _HEAD_BYTES)
        block = file.read(kept)
        file.seek(size - kept, os.SEEK_CUR)
        tail = file.read(4)
        if len(block) < kept or not tail.startswith((b"\r\n", b"\n")):
            raise Damage(f"{name}: damaged from byte {offset:,} on (a record is cut off)")
        file.seek(-len(tail) + (4 if tail == b"\r\n\r\n" else min(2, len(tail))), os.SEEK_CUR)
        yield offset, file.tell() - offset, bytes(head) + block + tail, kept == size


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


def _parse_record(data: bytes, name: str, payloads: bool, whole: bool) -> Record:
    head = _end_of_head(data, 0)
    http = _end_of_head(data, head)
    if not head or (b"msgtype=" in data[:head] and not http):
        raise _BadRecord("a head without an end")
    if data.count(b"\n", 0, max(head, http)) > _MOST_LINES:
        raise _BadRecord(f"a head of more than {_MOST_LINES:,} lines")
    try:
        found = next(_iterator.WARCIterator(BytesIO(data)))
        record = _record(found, name, payloads, whole, http - head, memoryview(data)[head:])
    except (
        _exceptions.ArchiveLoadFailed,
        StopIteration,
        EOFError,
        ValueError,
        OverflowError,
        AttributeError,
    ) as error:
        raise _BadRecord(" ".join(str(error).split())[:200] or type(error).__name__) from None
    if whole:
        block = memoryview(data)[head : head + int(record.fields["content-length"])]
        if not _has_digest(block, record.fields.get("warc-block-digest", "")):
            raise _BadRecord("its block has another digest than WARC-Block-Digest")
    return record


def _has_digest(block: memoryview, expected: str) -> bool:
    """Check whether a block has the digest that its record states, as base32, hex or base64.

    True for an algorithm or a form that is not known here: what cannot be compared is no damage.
    """
    algorithm, _, value = expected.partition(":")
    algorithm = algorithm.strip().lower().replace("-", "")
    if algorithm not in _ALGORITHMS:
        return True
    digest = hashlib.new(algorithm, block, usedforsecurity=False).digest()
    value = value.strip().rstrip("=")
    base64 = [encode(digest).decode().rstrip("=") for encode in (b64encode, urlsafe_b64encode)]
    forms = [b32encode(digest).decode().rstrip("="), digest.hex().upper()]
    known = any(len(value) == len(form) for form in (*forms, *base64))
    return not known or value.upper() in forms or value in base64


def _record(found: Any, name: str, payloads: bool, whole: bool, http: int, block: memoryview) -> Record:
    """Return the record that warcio `found`.

    Args:
        found: the record.
        name: the file's.
        payloads: see `read_records`.
        whole: whether all of the record is there.
        http: size of the HTTP head, which warcio gives in characters.
        block: the record's block, and what stands behind it.
    """
    named = [(str(key).lower(), str(value)) for key, value in found.rec_headers.headers]
    fields = dict(named)
    for once in _ONCE:
        if sum(key == once for key, _ in named) > 1:
            raise ValueError(f"{once} stands twice")
    declared = fields.get("content-length", "")
    if not declared.isdecimal() or len(declared) > 15:
        raise EOFError("a record without its length")
    status, reason, headers, head = 0, "", (), 0
    if found.http_headers is not None:
        head = http
        headers = tuple((str(key), str(value)) for key, value in found.http_headers.headers)
        if found.rec_type in ("response", "revisit"):
            line = str(found.http_headers.statusline).split(" ", 1)
            status = int(line[0]) if line[0].isdigit() and len(line[0]) == 3 else 0
            reason = line[1] if len(line) > 1 else ""
    stream: Any = found.raw_stream
    body = block[head : int(declared)]
    length = header(headers, "content-length") or ""
    truncated = "warc-truncated" in fields or (length.isdecimal() and len(body) < int(length[:15]))
    if any(key.lower() == "transfer-encoding" and "chunked" in value.lower() for key, value in headers):
        stream = _readers.ChunkedDataReader(stream)
        truncated = "warc-truncated" in fields or _lacks_last_chunk(bytes(body[:64]), bytes(body[-_LAST:]))
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
        truncated=truncated,
    )


def _lacks_last_chunk(first: bytes, last: bytes) -> bool:
    """Check whether a body that is in chunks, and not only called so, ends before the chunk of size 0."""
    return _CHUNK.match(first) is not None and _LAST_CHUNK.search(last) is None


def _read(stream: Any) -> bytes:
    parts: list[bytes] = []
    while part := stream.read(_STEP):
        parts.append(part)
    return b"".join(parts)
