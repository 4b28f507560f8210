"""`pages.jsonl` of a folder of pages: which URL is in which file.

Invariant: every line is checked before a page is read, a file name can only name a regular file inside the
folder, and no more than one line is held at a time.

One JSON object a line, the whole plain or gzipped:

    url        as cited; http or https
    file       its file in the folder; may be absent where `text` holds the page, or `status` says that there is none
    text       the text of the page itself, where there is no file
    title      of such a text
    final_url  where the URL led, if it was redirected: another name of the page
    fetched    ISO 8601 time
    status     an HTTP status, or one of ok, dead, blocked, unavailable, empty, unsupported_type;
               default ok
    reason     why it is not ok, in words

Other keys, such as a reference text, are ignored.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from indexes.archive.model import utc_seconds
from indexes.errors import ImportRefused
from indexes.limits import MAX_PAGE_BYTES, is_gzip
from indexes.model import SourceStatus, status_without_page
from indexes.urls import normalise_url, shown_url
from local_judge.base.files import open_file
from local_judge.base.model import Frozen
from local_judge.base.problems import first_problem
from local_judge.base.strict_json import strict_json

_LONGEST_LINE = 2 * MAX_PAGE_BYTES
_MOST_BLANK = 1_000_000
"""Empty lines of a list: a thousand of them pack into one byte."""


class PageLine(BaseModel):
    """One line as written."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    url: str
    """Cited URL, `http` or `https`."""
    file: str | None = None
    """Path of the page in the folder: HTML, Markdown, plain text or PDF, also as `.gz`. Omitted if the line has
    `text` or the page is missing."""
    text: str | None = None
    """Text of the page, if it has no file."""
    title: str = Field(default="", max_length=10_000)
    """Title of the page, if it has no file."""
    final_url: str | None = None
    """URL after redirects."""
    fetched: str | None = None
    """Time of the fetch, ISO 8601."""
    status: int | Literal["ok", "dead", "blocked", "unavailable", "empty", "unsupported_type"] = "ok"
    """HTTP status, or the status of the page."""
    reason: str = ""
    """Reason in words for another status than `ok`."""

    @field_validator("fetched")
    @classmethod
    def _a_time(cls, value: str | None) -> str | None:
        if value is not None:
            return utc_seconds(value)
        return value

    @field_validator("title")
    @classmethod
    def _writable(cls, value: str) -> str:
        return value.encode("utf-8", "replace").decode()


class PageEntry(Frozen):
    """One page to import."""

    line: int
    url: str
    """Normalised."""
    original_url: str
    final_url: str | None
    """Normalised; None where it is the URL itself."""
    file: str | None
    text: str | None
    title: str
    fetched: str | None
    """ISO 8601 in UTC, to the second."""
    status: SourceStatus
    """Status that is known without reading the file; `ok` means that the file is to be read."""
    reason: str


def read_page_list(path: Path, folder: Path) -> Iterator[PageEntry]:
    """The entries of a page list, line after line.

    Raises:
        ImportRefused: the list cannot be read or holds no page, or a line is wrong; names file and line.
    """
    if not folder.is_dir():
        raise ImportRefused(f"no folder at {folder}; give the folder that holds the pages")
    root = folder.resolve()
    found = False
    try:
        with open_file(path) as plain:
            packed = is_gzip(plain.read(3))
            plain.seek(0)
            with gzip.open(plain) if packed else nullcontext(plain) as lines:
                for number, line in enumerate(_lines(lines, path), start=1):
                    if line.strip():
                        found = True
                        yield _entry(line, number, f"{path}:{number}", root)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ImportRefused(f"cannot read the page list {path}: {reason}") from None
    if not found:
        raise ImportRefused(f"{path} names no page; each line is an object with url and file")


def _lines(file: BinaryIO | gzip.GzipFile, path: Path) -> Iterator[bytes]:
    number = blank = 0
    while line := file.readline(_LONGEST_LINE):
        number += 1
        blank += not line.strip()
        if blank > _MOST_BLANK:
            raise ImportRefused(f"{path}: more than {_MOST_BLANK:,} empty lines; is it a page list?")
        if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
            raise ImportRefused(
                f"{path}:{number}: the line is longer than {_LONGEST_LINE:,} bytes; keep pages in files"
            )
        yield line


def _entry(line: bytes, number: int, place: str, root: Path) -> PageEntry:
    try:
        parsed = PageLine.model_validate(strict_json(line.decode("utf-8-sig")))
    except ValidationError as error:
        raise ImportRefused(f"{place}: {first_problem(error, 'the line')}") from None
    except (ValueError, RecursionError) as error:
        raise ImportRefused(f"{place}: not JSON in UTF-8 ({error})") from None
    url = _normalise(parsed.url, place)
    final = _normalise(parsed.final_url, place) if parsed.final_url else None
    status, reason = _status(parsed)
    if parsed.file is None and parsed.text is None and status == "ok":
        raise ImportRefused(
            f"{place}: an ok page needs a file or a text; give one, or the status that explains why not"
        )
    if parsed.file is not None:
        _check_file(parsed.file, place, root)
    return PageEntry(
        line=number,
        url=url,
        original_url=parsed.url,
        final_url=final if final != url else None,
        file=parsed.file,
        text=parsed.text if parsed.file is None else None,
        title=parsed.title,
        fetched=parsed.fetched,
        status=status,
        reason=reason,
    )


def _status(parsed: PageLine) -> tuple[SourceStatus, str]:
    if isinstance(parsed.status, str):
        return parsed.status, parsed.reason
    if 200 <= parsed.status < 300:
        return "ok", parsed.reason
    reason = parsed.reason or f"HTTP {parsed.status}"
    return status_without_page(parsed.status), reason


def _normalise(url: str, place: str) -> str:
    try:
        if not url.strip().lower().startswith(("http://", "https://")):
            raise ValueError("not http or https")
        return normalise_url(url)
    except ValueError as error:
        raise ImportRefused(f"{place}: url {shown_url(url)!r}: {error}") from None


def _check_file(name: str, place: str, root: Path) -> None:
    shown = name[:200]
    if not name or "\0" in name or Path(name).is_absolute() or ".." in Path(name).parts:
        raise ImportRefused(f"{place}: file {shown!r} leaves the folder; names are relative to {root}")
    path = root / name
    try:
        if not path.resolve().is_relative_to(root):
            raise ImportRefused(f"{place}: file {shown!r} is a link that leaves the folder {root}")
        there = path.is_file()
    except (OSError, UnicodeEncodeError):  # a name that no file can have
        there = False
    if not there:
        raise ImportRefused(f"{place}: no file {shown!r} in {root}")
