"""The index of an archive: which record of which file answers for a URL.

Invariant: one line a record, `<key> <14 digits of its time> <JSON>`, sorted by bytes, so that a record is found by
bisection without reading the rest. The key is the URL with its host turned round (`org,example)/path?query`).
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes, urlsplit

from indexes.archive.captures import IndexEntry
from indexes.archive.warc import RENDERED
from indexes.errors import DigestMismatch
from local_judge.base.files import open_file

INDEX = "indexes/index.cdxj"

_NOT_DIGIT = re.compile(r"\D")
_SLASHES = re.compile("//+")
_WWW = re.compile(r"^www\d*\.")


def sort_key(url: str) -> str:
    """The key of a URL, in the form that tools for web archives look up ("SURT").

    Host reversed, without `www.` and default port; path and query in lower case, percent-encodings undone where they
    need not be, runs of slashes as one, the query's parameters in order.
    """
    prefix = RENDERED if url.startswith(RENDERED) else ""
    try:
        parts = urlsplit(url.removeprefix(prefix))
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return prefix + _canonical(url)
    host = _WWW.sub("", host) or host
    reversed_host = host if ":" in host else ",".join(reversed(host.split(".")))
    number = f":{port}" if port not in (None, 80, 443) else ""
    path = _SLASHES.sub("/", _canonical(parts.path)).rstrip("/") or "/"
    query = "&".join(sorted(_canonical(parts.query).split("&")))
    return f"{prefix}{_canonical(reversed_host)}{number}){path}{'?' + query if query else ''}"


def timestamp(at: str) -> str:
    """`2026-01-31T12:00:00Z` as `20260131120000`."""
    return _NOT_DIGIT.sub("", at.partition(".")[0])[:14].ljust(14, "0")


def _time(digits: str) -> str:
    day, time = digits[:8], digits[8:]
    return f"{day[:4]}-{day[4:6]}-{day[6:]}T{time[:2]}:{time[2:4]}:{time[4:6]}Z"


def render_line(entry: IndexEntry) -> str:
    """One line, with its line end."""
    fields = {
        "url": entry.url,
        "mime": entry.media_type,
        "status": str(entry.status),
        "digest": entry.digest,
        "length": str(entry.length),
        "offset": str(entry.offset),
        "filename": entry.file,
    }
    text = json.dumps(fields, ensure_ascii=True)
    return f"{sort_key(entry.url)} {timestamp(entry.at)} {text}\n"


class Cdxj:
    """An index file opened for looking up. `find` may be called from any thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with open_file(path) as file:
            self._empty = path.stat().st_size == 0
            self._data: Any = b"" if self._empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def find(self, url: str, at: str | None = None) -> Iterator[IndexEntry]:
        """The records of a URL, at one time or at any, in order of time.

        Raises:
            DigestMismatch: a line that cannot be read.
        """
        wanted = f"{sort_key(url)} {'' if at is None else timestamp(at) + ' '}".encode()
        place = self._first_not_before(wanted)
        while self._data[place : place + len(wanted)] == wanted:
            end = self._data.find(b"\n", place)
            entry = self._parse(self._data[place : end if end >= 0 else len(self._data)])
            if entry.url == url:
                yield entry
            place = end + 1 if end >= 0 else len(self._data)

    def _first_not_before(self, wanted: bytes) -> int:
        low, high = 0, len(self._data)
        while low < high:
            middle = (low + high) // 2
            start = self._data.rfind(b"\n", low, middle) + 1 or low
            end = self._data.find(b"\n", start)
            end = end if end >= 0 else len(self._data)
            if self._data[start:end] < wanted:
                low = end + 1
            else:
                high = start
        return min(low, len(self._data))

    def _parse(self, line: bytes) -> IndexEntry:
        try:
            _, at, fields = line.split(b" ", 2)
            data: dict[str, Any] = json.loads(fields)
            if not 0 <= int(data["offset"]) < 1 << 62:
                raise ValueError("no place in a file")
            return IndexEntry(
                url=str(data["url"]),
                at=_time(at.decode()),
                status=int(data["status"]),
                media_type=str(data["mime"]),
                digest=str(data["digest"]),
                file=str(data["filename"]),
                offset=int(data["offset"]),
                length=int(data["length"]),
            )
        except (ValueError, KeyError, IndexError, TypeError, RecursionError):
            raise DigestMismatch(f"{self._path}: a line cannot be read; run `snapshot verify`") from None


def _canonical(text: str) -> str:
    return quote(unquote_to_bytes(text), safe=_AS_IT_IS).lower()


_AS_IT_IS = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in "%#")
