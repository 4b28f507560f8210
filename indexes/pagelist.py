"""`pages.jsonl` of a folder of pages: which URL is in which file.

Invariant: every line is checked before a page is read, a file name can only name a regular file inside the
folder, and the result is in order of normalised URL whatever the order of the lines.

One JSON object a line:

    url        as cited; http or https
    file       its file in the folder; may be absent where `status` says that there is no page
    final_url  where the URL led, if it was redirected: another name of the page
    fetched    ISO 8601 time
    status     an HTTP status, or one of ok, dead, blocked, empty, unsupported_type; default ok
    reason     why it is not ok, in words

Other keys, such as a reference text, are ignored.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from indexes.errors import ImportRefused
from indexes.model import Frozen, SourceStatus
from indexes.urls import normalise_url

BLOCKED_STATUSES = frozenset({401, 402, 403, 407, 418, 429, 451})
"""HTTP statuses by which a server refuses this reader and not the page."""


class PageLine(BaseModel):
    """One line as written."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    url: str
    file: str | None = None
    final_url: str | None = None
    fetched: str | None = None
    status: int | Literal["ok", "dead", "blocked", "empty", "unsupported_type"] = "ok"
    reason: str = ""

    @field_validator("fetched")
    @classmethod
    def _a_time(cls, value: str | None) -> str | None:
        if value is not None:
            datetime.fromisoformat(value)
        return value


class PageEntry(Frozen):
    """One page to import."""

    line: int
    url: str
    """Normalised."""
    original_url: str
    final_url: str | None
    """Normalised; None where it is the URL itself."""
    file: str | None
    fetched: str | None
    status: SourceStatus
    """What is known without reading the file: `ok` means that it should be read."""
    reason: str


def read_page_list(path: Path, folder: Path) -> list[PageEntry]:
    """Read and check a page list.

    Returns:
        Entries in order of `(url, original_url, fetched, file)`.

    Raises:
        ImportRefused: the list cannot be read or holds no page, or a line is wrong; names file and line.
    """
    if not folder.is_dir():
        raise ImportRefused(f"no folder at {folder}; give the folder that holds the pages")
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ImportRefused(f"cannot read the page list {path}: {error.strerror or error}") from None
    root = folder.resolve()
    entries: list[PageEntry] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            entries.append(_entry(line, number, f"{path}:{number}", root))
    if not entries:
        raise ImportRefused(f"{path} names no page; each line is an object with url and file")
    return sorted(entries, key=lambda e: (e.url, e.original_url, e.fetched or "", e.file or "", e.line))


def _entry(line: bytes, number: int, place: str, root: Path) -> PageEntry:
    try:
        parsed = PageLine.model_validate(json.loads(line.decode("utf-8-sig")))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"][:1]) or "the line"
        raise ImportRefused(f"{place}: {field}: {first['msg']}") from None
    except (ValueError, RecursionError) as error:
        raise ImportRefused(f"{place}: not JSON in UTF-8 ({error})") from None
    url = _normalised(parsed.url, place)
    final = _normalised(parsed.final_url, place) if parsed.final_url else None
    status, reason = _status(parsed)
    if parsed.file is None and status == "ok":
        raise ImportRefused(
            f"{place}: an ok page needs a file; name one, or give the status that explains why not"
        )
    if parsed.file is not None:
        _check_file(parsed.file, place, root)
    return PageEntry(
        line=number,
        url=url,
        original_url=parsed.url,
        final_url=final if final != url else None,
        file=parsed.file,
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
    return ("blocked" if parsed.status in BLOCKED_STATUSES else "dead"), reason


def _normalised(url: str, place: str) -> str:
    try:
        if not url.strip().lower().startswith(("http://", "https://")):
            raise ValueError("not http or https")
        return normalise_url(url)
    except ValueError as error:
        raise ImportRefused(f"{place}: url {url[:200]!r}: {error}") from None


def _check_file(name: str, place: str, root: Path) -> None:
    if not name or "\0" in name or Path(name).is_absolute() or ".." in Path(name).parts:
        raise ImportRefused(f"{place}: file {name[:200]!r} leaves the folder; names are relative to {root}")
    path = root / name
    if not path.resolve().is_relative_to(root):
        raise ImportRefused(f"{place}: file {name!r} is a link that leaves the folder {root}")
    if not path.is_file():
        raise ImportRefused(f"{place}: no file {name!r} in {root}")
