"""Captures read back from WARC files, those written here and those of other tools.

Invariant: what `ArchiveWriter` wrote reads back as it was; of a file by another tool, each answer that can be a page is
one capture, with the redirects that led to it in front, and what is only part of a page (images, scripts, styles) is
none. The same files give the same captures in the same order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

from indexes.archive.content import answer_of
from indexes.archive.model import Capture, Exchange, Imported, Outcome, Rendered, utc_seconds
from indexes.archive.records import Damage, Record, read_record, read_records
from indexes.archive.warc import OUTCOME, RENDERED, SOFTWARE, longest_head
from indexes.limits import MAX_GZIP_EXPANSION, MAX_PAGE_BYTES
from indexes.model import FoundBy, status_without_page
from indexes.urls import normalise_url
from local_judge.base.model import Frozen

_PAGE_TYPES = ("text/html", "application/xhtml+xml", "application/pdf", "text/plain", "text/markdown")
_MOST_HOPS = 20
_MOST_HOP_BYTES = 65_536
"""Maximum number of bytes kept of the body of another tool's redirect, which is never shown."""
_MOST_RECORDS = 200
_MOST_GROUP = 4 * MAX_PAGE_BYTES
_MOST_HEAD = 1 << 19
"""Bytes of a head as it is written, which is longer than as it was read: a record must be readable again."""
_ANSWERS = ("response", "revisit", "resource", "conversion")


class RecordRef(Frozen):
    """The record that a page is made of, wherever its archive lies."""

    id: str
    url: str
    """Its WARC-Target-URI."""
    at: str
    """Its WARC-Date."""
    digest: str
    """`sha256:` and hex of its block."""


class IndexEntry(NamedTuple):
    """Content of a CDXJ line about one record."""

    url: str
    at: str
    status: int
    media_type: str
    digest: str
    """Digest of the payload."""
    file: str
    offset: int
    length: int


class Stored(NamedTuple):
    """A capture with the places of its records."""

    capture: Capture
    content: RecordRef | None
    """The record that `content_of` takes its bytes from."""
    answers: tuple[str, ...]
    """`sha256:` and hex of the block of each record but requests, in order: all that came back."""
    entries: tuple[IndexEntry, ...]
    """Entries for the archive's index."""


Warn = Callable[[str], None]
"""Told, in one line, what was damaged or left out."""


def read_captures(
    files: Sequence[Path], warn: Warn, *, only: Sequence[str] | None = None
) -> Iterator[Stored]:
    """All captures of some WARC files, file after file.

    Args:
        files: in the order in which they count.
        warn: told of damage; what stands before it is still read.
        only: URLs of the pages, where another list says which these are (in files of other tools).
    """
    foreign: list[Path] = []
    for path in files:
        if _is_own(path):
            yield from _own(path, warn)
        else:
            foreign.append(path)
    if foreign:
        yield from _Foreign(foreign, warn, only).captures()


def _is_own(path: Path) -> bool:
    try:
        for record in read_records(path):
            return record.kind == "warcinfo" and f"software: {SOFTWARE}".encode() in record.payload
    except Damage:
        return False
    return False


def _own(path: Path, warn: Warn) -> Iterator[Stored]:
    group: list[Record] = []
    whole = True

    def note_skipped(message: str) -> None:
        nonlocal whole
        whole = False
        warn(message)

    try:
        for record in read_records(path, skipped=note_skipped):
            if record.kind == "metadata" and record.url.startswith(OUTCOME):
                try:
                    if not whole:
                        raise ValueError("a record of it was left out")
                    stored = _read_group(group, record)
                    normalise_url(stored.capture.url)
                except (ValueError, KeyError, TypeError, RecursionError, Damage) as error:
                    warn(f"{path.name}: the capture at byte {record.offset:,} is left out ({_line(error)})")
                else:
                    yield stored
                group, whole = [], True
            elif record.kind != "warcinfo":
                group.append(record)
                if len(group) > _MOST_RECORDS or sum(len(one.payload) for one in group) > _MOST_GROUP:
                    warn(f"{path.name}: records without an end from byte {group[0].offset:,} on are left out")
                    group = []
    except Damage as damage:
        warn(str(damage))


def _read_group(group: Sequence[Record], outcome: Record) -> Stored:
    fields: dict[str, Any] = json.loads(outcome.payload)
    requests = {
        record.fields.get("warc-concurrent-to"): record for record in group if record.kind == "request"
    }
    exchanges = tuple(
        exchange_of(record, requests.get(record.id))
        for record in group
        if record.kind in ("response", "revisit")
    )
    rendered = next((record for record in group if record.kind == "conversion"), None)
    imported = next((record for record in group if record.kind == "resource"), None)
    capture = Capture(
        url=fields["url"],
        fetched=None if fields["fetched"] is None else utc_seconds(fields["fetched"]),
        outcome=fields["outcome"],
        reason=fields["reason"],
        exchanges=exchanges,
        rendered=None if rendered is None else _read_rendered(rendered),
        imported=None if imported is None else _read_imported(imported),
        found_by=tuple(FoundBy.model_validate(one) for one in fields.get("found_by", ())),
    )
    content = rendered or imported
    if content is None:
        answer = answer_of(capture)
        answers = [record for record in group if record.kind in ("response", "revisit")]
        content = next((r for r, e in zip(answers, exchanges, strict=True) if e is answer), None)
    _check_heads(capture)
    return Stored(capture, None if content is None else _ref(content), _answers(group), _entries(group))


def _check_heads(capture: Capture) -> None:
    """Raises Damage for a capture that could not be read again once it is written."""
    if longest_head(capture) > _MOST_HEAD:
        raise Damage(f"a head of more than {_MOST_HEAD:,} bytes as it is written")


def exchange_of(record: Record, request: Record | None = None) -> Exchange:
    """The exchange of a response or revisit record."""
    return Exchange(
        url=record.url,
        at=record.date,
        status=record.status,
        reason=record.reason,
        request_headers=() if request is None else request.headers,
        headers=record.headers,
        body=record.payload,
        ip=record.fields.get("warc-ip-address"),
        truncated=record.truncated,
    )


def _read_rendered(record: Record) -> Rendered:
    return Rendered(
        url=record.url.removeprefix(RENDERED),
        at=record.date,
        html=record.payload,
        renderer=record.fields.get("x-renderer", ""),
    )


def _read_imported(record: Record) -> Imported:
    return Imported(
        url=record.url,
        data=record.payload,
        media_type=record.fields.get("content-type", "application/octet-stream"),
        name=record.fields.get("x-file-name", ""),
        title=record.fields.get("x-title", ""),
        truncated=record.truncated,
    )


def _ref(record: Record) -> RecordRef:
    return RecordRef(id=record.id, url=record.url, at=record.date, digest=record.block_digest)


def _answers(group: Sequence[Record]) -> tuple[str, ...]:
    return tuple(record.block_digest for record in group if record.kind in _ANSWERS)


def _entries(group: Sequence[Record]) -> tuple[IndexEntry, ...]:
    return tuple(
        IndexEntry(
            url=record.url,
            at=record.date,
            status=record.status or 200,
            media_type="warc/revisit" if record.kind == "revisit" else _media_type(record),
            digest=record.payload_digest,
            file=record.file,
            offset=record.offset,
            length=record.length,
        )
        for record in group
        if record.kind in _ANSWERS
    )


def _media_type(record: Record) -> str:
    value = record.header("content-type") if record.status else record.fields.get("content-type", "")
    return value.split(";")[0].strip().lower()


class _Place(NamedTuple):
    """Position of a record in another tool's file."""

    path: Path
    offset: int
    url: str
    id: str


def _read_again(place: _Place) -> Record:
    """The record at a place that was noted. Raises Damage."""
    record = read_record(place.path, place.offset)
    if (record.url, record.id) != (place.url, place.id):
        raise Damage(f"a record that it needs shares a gzip member of {place.path.name} with others")
    return record


class _Foreign:
    """Files of other tools, read twice: first what leads where, then the pages."""

    def __init__(self, files: Sequence[Path], warn: Warn, only: Sequence[str] | None) -> None:
        self._files = files
        self._warn = warn
        self._only = None if only is None else set(only)
        self._redirects: dict[str, tuple[str, _Place]] = {}
        """From a URL: where to, and the record that says so."""
        self._bodies: dict[str, _Place] = {}
        """Payload digest as the file states it: the record that holds it."""
        self._told: set[str] = set()
        stored = sum(path.stat().st_size for path in files if path.is_file())
        self._repeated = max(_MOST_GROUP, MAX_GZIP_EXPANSION * stored)
        """How many more bytes of bodies and hops that stand elsewhere may be given."""
        # Many pages may share a hop or a body; each is read again only when others came between.
        self._hop = lru_cache(maxsize=256)(self._read_hop)
        self._body = lru_cache(maxsize=2)(_read_again)

    def captures(self) -> Iterator[Stored]:
        self._survey()
        sources: dict[str, list[str]] = {}
        for source in self._redirects:
            sources.setdefault(self._end_of(source), []).append(source)
        ends = None if self._only is None else {self._end_of(url) for url in self._only}
        for path in self._files:
            n_lost = 0
            for record in self._records(path, payloads=True):
                if ends is not None and record.url not in ends:
                    continue
                n_lost += self._is_lost(record)
                if self._is_page(record):
                    try:
                        stored = self._page(record, sources.get(record.url, []))
                    except Damage as damage:
                        self._leave_out(record, damage)
                    else:
                        yield stored
            if n_lost:
                self._say(
                    f"{path.name}: left out: revisits of pages that are in none of these files: {n_lost:,}"
                )

    def _survey(self) -> None:
        """Read the files for what leads where, and for the bodies that revisits refer to."""
        wanted: set[str] = set()
        for path in self._files:
            for record in self._records(path, payloads=False):
                location = record.header("location")
                digest = record.fields.get("warc-payload-digest", "")
                place = _Place(path, record.offset, record.url, record.id)
                if record.kind == "response" and 300 <= record.status < 400 and location:
                    try:
                        target = urljoin(record.url, location)
                    except ValueError:
                        continue
                    self._redirects.setdefault(record.url, (target, place))
                elif record.kind == "response" and digest:
                    self._bodies.setdefault(digest, place)
                elif record.kind == "revisit":
                    wanted.add(digest)
        self._bodies = {digest: self._bodies[digest] for digest in wanted if digest in self._bodies}

    def _records(self, path: Path, *, payloads: bool) -> Iterator[Record]:
        try:
            for record in read_records(path, payloads=payloads, skipped=self._say):
                if not record.url.startswith(("http://", "https://")):
                    continue
                try:
                    normalise_url(record.url)
                    yield record._replace(date=_date(record.date))
                except ValueError as error:
                    self._leave_out(record, error)
        except Damage as damage:
            self._say(str(damage))

    def _leave_out(self, record: Record, error: Exception) -> None:
        self._say(f"{record.file}: the record at byte {record.offset:,} is left out ({_line(error)})")

    def _say(self, message: str) -> None:
        """Warn once, though each file is read twice."""
        if message not in self._told:
            self._told.add(message)
            self._warn(message)

    def _end_of(self, url: str) -> str:
        for _ in range(_MOST_HOPS):
            if url not in self._redirects:
                break
            url = self._redirects[url][0]
        return url

    def _hops_of(self, record: Record, sources: Sequence[str]) -> Iterator[Record]:
        for url in sources:
            try:
                hop = self._hop(url)
                self._repeat(hop)
                yield hop
            except Damage as damage:
                self._say(
                    f"{record.file}: a redirect to the record at byte {record.offset:,} is left out ({damage})"
                )

    def _read_hop(self, url: str) -> Record:
        record = _read_again(self._redirects[url][1])
        return record._replace(payload=record.payload[:_MOST_HOP_BYTES])

    def _repeat(self, record: Record) -> None:
        """Count a record that is given once more. Raises Damage when there are too many for the size of the files."""
        self._repeated -= len(record.payload)
        if self._repeated < 0:
            raise Damage("what it refers to was repeated too often for the size of the files")

    def _is_lost(self, record: Record) -> bool:
        """Check whether a record refers to a possible page that is in none of the files."""
        if record.kind != "revisit" or 300 <= record.status < 400:
            return False
        known = record.fields.get("warc-payload-digest", "") in self._bodies
        return not known and _media_type(record) in (*_PAGE_TYPES, "", "application/http")

    def _is_page(self, record: Record) -> bool:
        if record.kind == "resource":
            return _media_type(record) in _PAGE_TYPES
        if record.kind == "revisit":
            return record.fields.get("warc-payload-digest", "") in self._bodies
        media_type = _media_type(record)
        readable = media_type in _PAGE_TYPES or (not media_type and record.url.endswith("/"))
        return (
            record.kind == "response"
            and readable
            and not (300 <= record.status < 400 and record.status != 304)
        )

    def _page(self, record: Record, sources: Sequence[str]) -> Stored:
        hops = list(self._hops_of(record, sources[:_MOST_HOPS]))
        if record.kind == "revisit":
            held = self._body(self._bodies[record.fields.get("warc-payload-digest", "")])
            self._repeat(held)
            record = held._replace(url=record.url, date=record.date, id=record.id)
        group = [*hops, record]
        outcome, reason = _outcome(record)
        resource = record.kind == "resource"
        capture = Capture(
            url=record.url,
            fetched=record.date or None,
            outcome=outcome,
            reason=reason,
            exchanges=tuple(exchange_of(one) for one in group if one.kind != "resource"),
            imported=_read_imported(record) if resource else None,
        )
        _check_heads(capture)
        return Stored(capture, _ref(record), _answers(group), _entries(group))


def _outcome(record: Record) -> tuple[Outcome, str]:
    if record.too_large:
        return "unsupported_type", "the answer is larger than a page may be"
    if record.kind == "resource" or 200 <= record.status < 300:
        return "page", ""
    return status_without_page(record.status), f"HTTP {record.status}"


def _date(written: str) -> str:
    """A WARC-Date to the second; WARC 1.1 allows it to be as short as a year. ValueError if it is none."""
    if not written:
        return ""
    return utc_seconds(written + {4: "-01-01", 7: "-01"}.get(len(written), ""))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
