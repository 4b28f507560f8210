"""A snapshot opened for reading.

Invariant: nothing is returned that was not checked. Opening compares the manifest with its own digest, the size of
every file but the search indexes', and the page records byte for byte; a page's text is compared with its digest
whenever it is read, a raw page with its, and the files of a search index before they are searched (`corpus`). `verify`
compares every byte of everything.

One URL may have several captures, at different times. A look-up gives the latest that has a text, or the latest if none
has one. With `as_of` a day, of those only that were fetched by then; if there is none, of those that say that they were
published by then and name no later change.

A URL without captures of its own is looked for among the addresses under which others were met. If these captures
differ and do not all say when they were fetched, it names none of them.
"""

from __future__ import annotations

import mmap
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from typing import Any

from pydantic_core import from_json

from indexes.archive.captures import IndexEntry, RecordRef, exchange_of
from indexes.archive.cdxj import INDEX, Cdxj
from indexes.archive.content import undone
from indexes.archive.model import Exchange
from indexes.archive.records import Damage, read_record
from indexes.archive.warc import FOLDER
from indexes.corpus import SEARCH, Corpus, describe
from indexes.errors import DigestMismatch, NotASnapshot
from indexes.limits import GzipRefused
from indexes.manifest import PAGES, TEXTS, Manifest, hash_file, load_manifest, sha256
from indexes.model import Chunk, Page, Passage
from indexes.rank import Bm25Ranker, DenseRanker, Ranker, RankerName, best_passages
from indexes.records import PageRecord, parse_record, text_at
from indexes.search.encoder import Encoder
from indexes.search.fusion import FusionSettings
from indexes.search.searcher import PairScorer
from indexes.text.chunk import make_chunks
from indexes.urls import normalise_url
from local_judge.base.files import open_file
from local_judge.base.model import Frozen

NOT_THERE = "not among the pages"
"""Reason of a page that a snapshot does not have."""


class DateRange(Frozen):
    """First and last of some days or times; None where none is known.

    Examples:
        >>> Snapshot.open("snapshot").info().fetched
        DateRange(first='2025-02-03T09:12:49Z', last='2025-02-03T09:12:49Z', known=1)
    """

    first: str | None
    last: str | None
    known: int


class SnapshotInfo(Frozen):
    """Statistics of a snapshot.

    Examples:
        >>> info = Snapshot.open("snapshot").info()
        >>> info.n_pages, info.statuses
        (2, {'dead': 1, 'ok': 1})
    """

    digest: str
    format_version: int
    n_pages: int
    """Captures: a URL that was fetched at two times counts twice."""
    n_urls: int
    statuses: dict[str, int]
    media_types: dict[str, int]
    """Media types of the `ok` pages; the next two fields refer to these too."""
    languages: dict[str, int]
    hosts: dict[str, int]
    """The most frequent ones, at most `MOST_HOSTS`."""
    n_hosts: int
    fetched: DateRange
    published: DateRange
    n_chunks: int
    text_bytes: int
    """Each different text once, like raw bytes."""
    raw_bytes: int
    """Bytes of the pages from which the texts were extracted."""
    stored_bytes: int
    """All files but the manifest."""
    extractor: dict[str, str]
    indexes: dict[str, Any]
    """Descriptions of its search indexes, by kind."""


MOST_HOSTS = 20


class Snapshot:
    """A frozen set of pages. Make one with `Snapshot.open`; any number of threads may read.

    Examples:
        >>> snapshot = Snapshot.open("snapshot")
        >>> page = snapshot.page("https://plant.example/lake")
        >>> page.status
        'ok'
        >>> [[best]] = snapshot.passages(page, ["capacity of the heat pump"], k=1)
        >>> best.chunk.text
        'The heat pump has a capacity of 6.2 megawatts.'
    """

    def __init__(self, path: Path, manifest: Manifest, lines: Any) -> None:
        self.path = path
        self.manifest = manifest
        self._lines = lines
        self._rows: dict[str, tuple[int, ...]] = {}
        """URL: where the lines of its captures begin, in their order."""
        self._met: dict[str, tuple[int, ...]] = {}
        """The same of captures that were met under a name which has none of its own."""
        self._starts = array("Q")
        """Where each line begins."""
        self._dense: DenseRanker | None = None
        self._checked: set[str] = set()
        self._read_names()

    @classmethod
    def open(cls, path: Path | str) -> Snapshot:
        """Open a snapshot directory.

        Raises:
            SnapshotMissing, NotASnapshot, SnapshotTooNew: see `manifest.load_manifest`.
            DigestMismatch: the manifest, a file's size or the page records are not what the manifest says.
        """
        path = Path(path)
        manifest = load_manifest(path)
        for entry in manifest.files:
            if entry.path.startswith(f"{SEARCH}/"):
                continue  # compared when it is searched
            try:
                file = (path / entry.path).stat()
            except OSError:
                raise DigestMismatch(f"{path}: {entry.path} is missing; run `snapshot verify`") from None
            if not S_ISREG(file.st_mode):
                raise DigestMismatch(f"{path}: {entry.path} is no regular file; run `snapshot verify`")
            if file.st_size != entry.size:
                raise DigestMismatch(
                    f"{path}: {entry.path} has {file.st_size:,} bytes, not {entry.size:,}; run `snapshot verify`"
                )
        digests = {entry.path: entry.sha256 for entry in manifest.files}
        lines = _map_file(path / PAGES) if PAGES in digests else b""
        if digests.get(PAGES) != sha256(lines) or TEXTS not in digests:
            raise DigestMismatch(f"{path}: {PAGES} is not the file of the manifest; run `snapshot verify`")
        return cls(path, manifest, lines)

    @property
    def digest(self) -> str:
        """The one digest over settings and contents."""
        return self.manifest.digest

    def __len__(self) -> int:
        return len(self._starts)

    def page(self, url: str, *, as_of: date | None = None) -> Page:
        """The page of a URL in any form, or of a URL that was redirected to it.

        Args:
            url: as written.
            as_of: only what was known by the end of this day (see the module).

        Returns:
            The page; with status `not_in_snapshot` if it is missing.

        Raises:
            DigestMismatch: the stored text is not the one that was taken from the page.
        """
        try:
            wanted = normalise_url(url)
        except ValueError as error:
            return Page(url=url, original_url=url, status="not_in_snapshot", reason=f"not a URL: {error}")
        captures = [self._record(row) for row in self._rows.get(wanted) or self._met.get(wanted, ())]
        reason = NOT_THERE
        if captures and wanted not in self._rows:
            captures = sorted(captures, key=lambda record: record.fetched or "")
            if _differ(captures) and not all(record.fetched for record in captures):
                captures, reason = [], "several pages were met under this address"
        if captures and as_of is not None:
            captures, reason = known_by(captures, as_of), f"not known by {as_of}"
        if not captures:
            return Page(url=wanted, original_url=url, status="not_in_snapshot", reason=reason)
        return self._load(latest(captures))

    def pages(self) -> Iterator[Page]:
        """All pages in order of URL and time, each read when it is asked for."""
        return map(self._load, self.records())

    def records(self) -> Iterator[PageRecord]:
        """All page records in order of URL and time, without texts."""
        return map(self._record, self._starts)

    def record_at(self, number: int) -> PageRecord:
        """The record with this number, from 0, in the same order. Raises IndexError."""
        return self._record(self._starts[number])

    def text_of(self, record: PageRecord) -> str:
        """The text of a record; '' where it has none.

        Raises:
            DigestMismatch: it is not the one that was taken from the page.
        """
        if not record.text_digest:
            return ""
        # Opened again each time, so that any number of threads may read.
        with open_file(self.path / TEXTS) as texts:
            return text_at(texts, record, self.path)

    def check_file(self, name: str) -> None:
        """Compare a file with the manifest, byte for byte; once, however often it is asked for.

        Raises:
            DigestMismatch: it cannot be read, or is not the file that the manifest names.
        """
        if name in self._checked:
            return
        named = {entry.path: entry.sha256 for entry in self.manifest.files}
        try:
            found = hash_file(self.path / name).sha256
        except OSError as error:
            raise DigestMismatch(f"{self.path / name} cannot be read ({error.strerror or error})") from None
        if found != named.get(name):
            raise DigestMismatch(f"{self.path / name} is not the file of the manifest")
        self._checked.add(name)

    def corpus(
        self,
        *,
        encoder: Encoder | None = None,
        fusion: FusionSettings | None = None,
        scorer: PairScorer | None = None,
        depth: int = 50,
    ) -> Corpus:
        """The search over all chunks; see `corpus.Corpus` for arguments and errors."""
        return Corpus(self, encoder=encoder, fusion=fusion, scorer=scorer, depth=depth)

    def raw(self, page: Page) -> bytes:
        """The bytes that a page's text was taken from; empty where there are none. Raises DigestMismatch."""
        if not page.raw_digest:
            return b""
        for row in self._rows.get(page.url, ()):
            record = self._record(row)
            if (record.raw_digest, record.fetched) == (page.raw_digest, page.fetched) and record.record:
                data = self._read_archived(record.record)
                if sha256(data) == page.raw_digest:
                    return data
        raise DigestMismatch(f"{self.path}: the archive does not hold {page.url}; run `snapshot verify`")

    def exchange(self, url: str) -> Exchange | None:
        """The latest answer with status 200 that the archive holds for a URL exactly as it was requested.

        Raises:
            DigestMismatch: the archive is damaged.
        """
        for entry in reversed(list(self._index.find(url))):
            if entry.status == 200:
                self.check_file(f"{FOLDER}/{entry.file}")
                try:
                    record = read_record(self._file_of(entry), entry.offset)
                except Damage as error:
                    raise DigestMismatch(f"{self.path}: {error}; run `snapshot verify`") from None
                if record.kind == "response" and not record.too_large:
                    return exchange_of(record)
        return None

    def chunks(self, page: Page) -> tuple[Chunk, ...]:
        """The chunks of one of this snapshot's pages, in order. KeyError for a page of another one."""
        if not page.text:
            return ()
        for row in self._rows[page.url]:
            record = self._record(row)
            if record.text_digest == page.text_digest:
                return make_chunks(page.text, page.text_digest, record.chunks)
        raise KeyError(page.url)

    def passages(
        self,
        page: Page,
        queries: Sequence[str],
        k: int,
        ranker: RankerName = "bm25",
        chunks: Sequence[Chunk] | None = None,
    ) -> list[list[Passage]]:
        """The best `k` chunks of a page for each query, best first, ties in page order.

        Args:
            page: a page of this snapshot.
            queries: ranked in one batch.
            k: at least 1; a page with fewer chunks gives all of them.
            ranker: `bm25`, or `dense` (needs the extra of that name).
            chunks: stretches of the page to rank, in page order; by default its own chunks.

        Returns:
            One list a query, in the order of `queries`; empty lists for a page without text.

        Raises:
            MissingExtra: `dense` is not installed.
        """
        ranked = self.chunks(page) if chunks is None else chunks
        return best_passages(self._ranker(ranker), ranked, queries, k)

    def info(self) -> SnapshotInfo:
        """Compute its statistics from the records alone."""
        types: Counter[str] = Counter()
        languages: Counter[str] = Counter()
        hosts: Counter[str] = Counter()
        fetched: list[str] = []
        published: list[str] = []
        texts: dict[str, int] = {}
        raws: dict[str, int] = {}
        urls: set[str] = set()
        n_chunks = 0
        for record in self.records():
            urls.add(record.url)
            texts[record.text_digest] = record.size
            raws[record.raw_digest] = record.raw_size
            n_chunks += len(record.chunks)
            fetched += [record.fetched] if record.fetched else []
            if record.status == "ok":
                types[record.media_type] += 1
                languages[record.language] += 1
                hosts[record.host] += 1
                published += [record.published] if record.published else []
        return SnapshotInfo(
            digest=self.digest,
            format_version=self.manifest.format_version,
            n_pages=len(self),
            n_urls=len(urls),
            statuses=self.manifest.statuses,
            media_types=_counts(types),
            languages=_counts(languages),
            hosts=dict(sorted(hosts.items(), key=lambda item: (-item[1], item[0]))[:MOST_HOSTS]),
            n_hosts=len(hosts),
            fetched=_range(fetched),
            published=_range(published),
            n_chunks=n_chunks,
            text_bytes=sum(texts.values()),
            raw_bytes=sum(raws.values()),
            stored_bytes=sum(entry.size for entry in self.manifest.files),
            extractor=self.manifest.settings.extractor,
            indexes=describe(self.path),
        )

    def _ranker(self, name: RankerName) -> Ranker:
        if name == "bm25":
            return Bm25Ranker()
        if self._dense is None:
            self._dense = DenseRanker()
        return self._dense

    @cached_property
    def _index(self) -> Cdxj:
        self.check_file(INDEX)
        return Cdxj(self.path / INDEX)

    def _file_of(self, entry: IndexEntry) -> Path:
        """The file of the archive that a line of the index names. Raises DigestMismatch for any other."""
        if f"{FOLDER}/{entry.file}" not in {named.path for named in self.manifest.files}:
            raise DigestMismatch(f"{self.path / INDEX} names {entry.file[:200]!r}; run `snapshot verify`")
        return self.path / FOLDER / entry.file

    def _read_archived(self, reference: RecordRef) -> bytes:
        """The content of a record of the archive."""
        for entry in self._index.find(reference.url, reference.at):
            try:
                record = read_record(self._file_of(entry), entry.offset)
                if record.id == reference.id and record.block_digest == reference.digest:
                    return undone(record.payload, record.header("content-encoding"))[0]
            except (Damage, GzipRefused) as error:
                raise DigestMismatch(f"{self.path}: {error}; run `snapshot verify`") from None
        raise DigestMismatch(f"{self.path}: the archive has no record {reference.id}; run `snapshot verify`")

    def _read_names(self) -> None:
        """Return the line positions of each URL and alias; reads every line once and keeps no record."""
        rows: dict[str, list[int]] = {}
        met: dict[str, list[int]] = {}
        row = 0
        while row < len(self._lines):
            end = self._lines.find(b"\n", row)
            try:
                if end < 0:
                    raise ValueError("a line without an end")
                data = from_json(self._lines[row:end])
                rows.setdefault(data["url"], []).append(row)
                for name in data["aliases"]:
                    met.setdefault(name, []).append(row)
            except (ValueError, KeyError, TypeError):
                raise NotASnapshot(
                    f"{self.path / PAGES}: line {len(self._starts) + 1} is no record"
                ) from None
            self._starts.append(row)
            row = end + 1
        self._rows = {name: tuple(found) for name, found in rows.items()}
        self._met = {name: tuple(found) for name, found in met.items() if name not in rows}

    def _record(self, row: int) -> PageRecord:
        end = self._lines.find(b"\n", row)
        return parse_record(self._lines[row:end], f"{self.path / PAGES}: byte {row}")

    def _load(self, record: PageRecord) -> Page:
        return record.page(self.text_of(record))


def known_by(captures: Sequence[PageRecord], day: date) -> list[PageRecord]:
    """Return the captures of one URL that were fetched by the end of a day, or else those that vouch for it.

    Examples:
        >>> captures = list(Snapshot.open("snapshot").records())
        >>> [record.url for record in known_by(captures, date(2025, 2, 28))]
        ['https://plant.example/lake']
    """
    end = day.isoformat()
    fetched = [record for record in captures if record.fetched and record.fetched[:10] <= end]
    return fetched or [record for record in captures if record.known_from and record.known_from <= end]


def _differ(captures: Sequence[PageRecord]) -> bool:
    return len({(record.status, record.raw_digest) for record in captures}) > 1


def latest(captures: Sequence[PageRecord]) -> PageRecord:
    """Return the last capture of one URL that has a text, or else the last.

    Examples:
        >>> latest(list(Snapshot.open("snapshot").records())).status
        'ok'
    """
    return next((record for record in reversed(captures) if record.status == "ok"), captures[-1])


def _counts(counter: Counter[str]) -> dict[str, int]:
    return {key: counter[key] for key in sorted(counter)}


def _range(values: Sequence[str]) -> DateRange:
    return DateRange(first=min(values, default=None), last=max(values, default=None), known=len(values))


def _map_file(path: Path) -> Any:
    """A file's bytes, mapped into memory."""
    with open_file(path) as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""
