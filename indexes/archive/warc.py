"""Captures written as WARC 1.1 records.

Invariant: each record is one gzip member, with SHA-256 digests of its block and its payload; the records of a capture
stand together and end with a metadata record that says how it ended, so that a capture without that record was never
finished. The records are a function of the capture: ids come from contents, and no clock is read.

The metadata record has the target `urn:outcome:` + URL and a JSON block: `url` (as cited), `fetched` (null where not
known), `outcome`, `reason`, `records`, the ids of the capture's records in order, and `found_by` for a URL that web
searches named.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import quote, urlsplit
from uuid import UUID

from indexes.archive.model import Capture, Exchange, Headers

FOLDER = "archive"
FILE_BYTES = 1 << 30
"""A file that has passed this many bytes is followed by another one."""
OUTCOME = "urn:outcome:"
RENDERED = "urn:rendered:"
SOFTWARE = "frozen-web-snapshot"
"""Software name in the warcinfo record: in a file that names it, each capture ends with a metadata record."""
UNKNOWN_DATE = "1970-01-01T00:00:00Z"
"""WARC demands a date; the outcome says `fetched: null` if it is missing."""
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"

_FILE_NAME = re.compile(r"data-\d{5,9}\.warc\.gz", re.ASCII)

_writer: Any = importlib.import_module("warcio.warcwriter")  # has no types
_headers: Any = importlib.import_module("warcio.statusandheaders")


class Position(NamedTuple):
    """Position of the next record."""

    file: str
    offset: int


class ArchiveWriter:
    """Appends captures to the files of a folder.

    Args:
        folder: made if need be.
        resume: go on from here; what stands behind it was not finished and is cut off.
    """

    def __init__(self, folder: Path, *, resume: Position | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._number = 0
        self._about, self._count = "", 0
        """What the ids of records are made from: the capture, and how many records of it were written."""
        if resume is not None:
            self._number = int(resume.file.removeprefix("data-").partition(".")[0])
            for later in archive_paths(folder):
                if later.name > resume.file:
                    later.unlink()
        self._file = (folder / file_name(self._number)).open("r+b" if resume is not None else "xb")
        self._file.truncate(resume.offset if resume is not None else 0)
        self._file.seek(0, os.SEEK_END)
        self._warc: Any = _writer.WARCWriter(self._file, gzip=True, warc_version="WARC/1.1")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the file. Idempotent."""
        self._file.close()

    @property
    def position(self) -> Position:
        """Return the position at which the next capture will start."""
        return Position(file_name(self._number), self._file.tell())

    def write(self, capture: Capture, *, durable: bool = False) -> None:
        """Append one capture.

        Args:
            capture: all that is known of one URL.
            durable: whether to wait until the bytes are on the disk.
        """
        if self._file.tell() >= FILE_BYTES:
            self._file.close()
            self._number += 1
            self._file = (self._folder / file_name(self._number)).open("xb")
            self._warc = _writer.WARCWriter(self._file, gzip=True, warc_version="WARC/1.1")
        date = capture.fetched or (capture.exchanges[0].at if capture.exchanges else UNKNOWN_DATE)
        if self._file.tell() == 0:
            self._about, self._count = file_name(self._number), 0
            fields = f"software: {SOFTWARE}\r\nformat: WARC File Format 1.1\r\n".encode()
            self._record("warcinfo", None, date, fields, "application/warc-fields")
        self._about, self._count = f"{capture.url} {capture.fetched}", 0
        ids: list[str] = []
        for exchange in capture.exchanges:
            ids.append(self._response(exchange))
            self._request(exchange, ids[-1])
        if capture.rendered is not None:
            rendered = capture.rendered
            ids.append(
                self._record(
                    "conversion",
                    RENDERED + rendered.url,
                    rendered.at,
                    rendered.html,
                    "text/html; charset=utf-8",
                    {"WARC-Refers-To": ids[-1]} if ids else {},
                    extra={"X-Renderer": rendered.renderer},
                )
            )
        if capture.imported is not None:
            imported = capture.imported
            headers = {"X-File-Name": imported.name, "X-Title": imported.title}
            extra = {name: value for name, value in headers.items() if value} | _truncation(
                imported.truncated
            )
            ids.append(
                self._record("resource", imported.url, date, imported.data, imported.media_type, extra=extra)
            )
        outcome: dict[str, Any] = {
            "url": capture.url,
            "fetched": capture.fetched,
            "outcome": capture.outcome,
            "reason": capture.reason,
            "records": ids,
        }
        if capture.found_by:
            outcome["found_by"] = [one.model_dump(mode="json") for one in capture.found_by]
        block = json.dumps(outcome, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")
        self._record("metadata", OUTCOME + capture.url, date, block, "application/json")
        self._file.flush()
        if durable:
            os.fsync(self._file.fileno())

    def _response(self, exchange: Exchange) -> str:
        head = _response_head(exchange)
        more = {"WARC-IP-Address": exchange.ip} if exchange.ip else {}
        more |= _truncation(exchange.truncated)
        if exchange.status == 304:
            more |= {"WARC-Profile": NOT_MODIFIED}
        return self._record(
            "revisit" if exchange.status == 304 else "response",
            exchange.url,
            exchange.at,
            exchange.body,
            "application/http; msgtype=response",
            more,
            head=head,
        )

    def _request(self, exchange: Exchange, response: str) -> None:
        head = _request_head(exchange)
        self._record(
            "request",
            exchange.url,
            exchange.at,
            b"",
            "application/http; msgtype=request",
            {"WARC-Concurrent-To": response},
            head=head,
        )

    def _record(
        self,
        kind: str,
        target: str | None,
        date: str,
        payload: bytes,
        content_type: str,
        more: Mapping[str, str] | None = None,
        *,
        head: bytes = b"",
        extra: Mapping[str, str] | None = None,
    ) -> str:
        """Write one record and return its id."""
        digest = block_digest(head, payload)
        self._count += 1
        record_id = _record_id(f"{self._about} {self._count} {kind} {target} {date} {digest}")
        fields = {
            "WARC-Type": kind,
            "WARC-Record-ID": record_id,
            "WARC-Date": date,
            **({"WARC-Target-URI": one_line(target)} if target is not None else {}),
            **(more or {}),
            **(extra or {}),
            "WARC-Block-Digest": digest,
            "WARC-Payload-Digest": block_digest(b"", payload),
            "Content-Type": content_type,
        }
        record: Any = self._warc.create_warc_record(
            target or "",
            kind,
            payload=BytesIO(head + payload),
            length=len(head) + len(payload),
            warc_content_type=content_type,
            warc_headers=_headers.StatusAndHeaders(
                "", [(k, one_line(v)) for k, v in fields.items()], "WARC/1.1"
            ),
        )
        self._warc.write_record(record)
        return record_id


def _truncation(truncated: bool) -> dict[str, str]:
    return {"WARC-Truncated": "unspecified"} if truncated else {}


def longest_head(capture: Capture) -> int:
    """Bytes of the longest of the heads and header fields that a capture is written with."""
    heads = [
        len(head(exchange)) for exchange in capture.exchanges for head in (_response_head, _request_head)
    ]
    title = capture.imported.title if capture.imported is not None else ""
    return max([*heads, len(title.encode("utf-8", "replace"))])


def _response_head(exchange: Exchange) -> bytes:
    return head_bytes(f"HTTP/1.1 {exchange.status} {exchange.reason}".rstrip(), exchange.headers)


def _request_head(exchange: Exchange) -> bytes:
    parts = urlsplit(exchange.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return head_bytes(f"GET {target} HTTP/1.1", exchange.request_headers)


def file_name(number: int) -> str:
    """Name of the archive's file with this number."""
    return f"data-{number:05d}.warc.gz"


def archive_paths(folder: Path) -> list[Path]:
    """The files in a folder that are named so, in order."""
    return sorted(path for path in folder.glob("data-*.warc.gz") if _FILE_NAME.fullmatch(path.name))


def _record_id(seed: str) -> str:
    hexadecimal = hashlib.sha256(seed.encode("utf-8", "replace")).hexdigest()
    return f"<urn:uuid:{UUID(hexadecimal[:32], version=5)}>"


def block_digest(head: bytes, payload: bytes) -> str:
    """Return a digest as WARC writes it: `sha256:` and lower-case hex."""
    hasher = hashlib.sha256(head)
    hasher.update(payload)
    return f"sha256:{hasher.hexdigest()}"


def head_bytes(first_line: str, headers: Headers) -> bytes:
    """An HTTP head up to the empty line, in ASCII: other characters are percent-encoded, as RFC 8187 does."""
    lines = [_ascii(first_line), *(f"{_ascii(name)}: {_ascii(value)}" for name, value in headers if name)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


def _ascii(text: str) -> str:
    return quote(one_line(text).strip(), safe=_PRINTABLE, errors="replace")


_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))


def one_line(text: str) -> str:
    """`text` without line ends and NUL, which would end a header."""
    return text.translate(_BREAKS)


_BREAKS = str.maketrans({"\r": " ", "\n": " ", "\0": " "})
