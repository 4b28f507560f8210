"""`pages.jsonl` of a snapshot: one record a capture, in order of URL and time, texts apart.

Invariant: a record holds all that a `Page` holds but its text, and says where in the text file the text lies and which
record of the archive it was taken from. It says nothing of where that record lies on disk, so the same captures give
the same bytes however they were packed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, field_validator

from indexes.archive.captures import RecordRef
from indexes.errors import DigestMismatch, NotASnapshot
from indexes.manifest import canonical, sha256
from indexes.model import FoundBy, Page, SourceStatus
from local_judge.base.model import Frozen
from local_judge.base.problems import first_problem


class PageRecord(Frozen):
    """One line of a snapshot's `pages.jsonl`."""

    url: str
    """Normalised URL."""
    original_url: str
    """URL as given."""
    aliases: tuple[str, ...] = ()
    """Normalised URLs that were met on the way to the page: redirects, and where they led."""
    final_url: str = ""
    """URL after redirects."""
    status: SourceStatus
    """Status of the page."""
    reason: str = ""
    """Reason for the status, in words."""
    http_status: int | None = None
    title: str = ""
    """Title of the page."""
    media_type: str = ""
    language: str = ""
    fetched: str | None = None
    """Time of the capture."""
    published: str | None = None
    """Publication day that the page gives."""
    raw_digest: str = ""
    """Digest of the bytes that the text was extracted from, without content encoding."""
    raw_size: int = 0
    """Number of these bytes."""
    record: RecordRef | None = None
    """Archive record with these bytes: id, URL, time, SHA-256 of its block."""
    answers: tuple[str, ...] = ()
    """`sha256:` and hex of the block of every record of the capture but requests, in order."""
    text_digest: str = ""
    """SHA-256 of the text."""
    offset: int = Field(default=0, ge=0)
    """Offset of the text's first byte in the text file."""
    size: int = Field(default=0, ge=0)
    """Bytes of the text in UTF-8."""
    chunks: tuple[tuple[int, int], ...] = ()
    """Character offsets `[start, end)` into the text."""
    found_by: tuple[FoundBy, ...] = ()
    """Web searches that named the URL; left out of the file if there are none."""
    changed: str | None = None
    """Day of the last change that the page gives; left out of the file if it gives none."""
    truncated: bool = False
    """True if only the beginning of the page was stored; left out of the file if not."""

    @field_validator("url")
    @classmethod
    def _an_address(cls, url: str) -> str:
        urlsplit(url)
        return url

    @field_validator("chunks")
    @classmethod
    def _in_order(cls, chunks: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        if any(not 0 <= start <= end for start, end in chunks):
            raise ValueError("a chunk that is no stretch of a text")
        return chunks

    @property
    def known_from(self) -> str | None:
        """Day from which the page vouches for its text: its publication, or a later change; None if it gives none."""
        return max(self.published, self.changed or "") if self.published else None

    @property
    def host(self) -> str:
        """Host of the normalised URL."""
        return urlsplit(self.url).hostname or ""

    def page(self, text: str) -> Page:
        """This record with its text."""
        return Page(
            url=self.url,
            original_url=self.original_url,
            status=self.status,
            reason=self.reason,
            title=self.title,
            text=text,
            text_digest=self.text_digest,
            raw_digest=self.raw_digest,
            media_type=self.media_type,
            language=self.language,
            fetched=self.fetched,
            published=self.published,
            changed=self.changed,
            final_url=self.final_url,
            http_status=self.http_status,
            record_digest="" if self.record is None else self.record.digest,
            found_by=self.found_by,
            truncated=self.truncated,
        )


def render_record(record: PageRecord) -> bytes:
    """One line of `pages.jsonl`."""
    empty = {name for name in ("found_by", "changed", "truncated") if not getattr(record, name)}
    return (canonical(record.model_dump(exclude=empty)) + "\n").encode()


def parse_record(line: bytes, place: str) -> PageRecord:
    """Parse the output of `render_record`. Raises NotASnapshot, which names the place."""
    try:
        return PageRecord.model_validate_json(line, strict=True)
    except ValidationError as error:
        raise NotASnapshot(f"{place}: {first_problem(error, 'the line')}; make the snapshot again") from None


def parse_records(data: bytes, place: str) -> Iterator[PageRecord]:
    """All records of a file, each when it is asked for. Raises NotASnapshot, which names `place` and the line."""
    if data and not data.endswith(b"\n"):
        raise NotASnapshot(f"{place}: its last line has no end; make the snapshot again")
    for number, line in enumerate(data.splitlines(), start=1):
        yield parse_record(line, f"{place}:{number}")


def text_at(texts: BinaryIO, record: PageRecord, folder: Path) -> str:
    """The text of a record. Raises DigestMismatch if the file of texts holds another at its place."""
    altered = f"{folder}: the text of {record.url} was altered; run `snapshot verify`"
    if record.offset + record.size > os.fstat(texts.fileno()).st_size:
        raise DigestMismatch(altered)
    texts.seek(record.offset)
    data = texts.read(record.size)
    if sha256(data) != record.text_digest:
        raise DigestMismatch(altered)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise DigestMismatch(f"{folder}: the text of {record.url} is not UTF-8") from None
