"""A snapshot opened for reading.

Invariant: nothing is returned that was not checked. Opening compares the manifest with its own digest, every
file's size, and the page records byte for byte; a page's text is compared with its digest whenever it is
read, a raw page with its. `verify` compares every byte of everything.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from indexes.chunk import make_chunks
from indexes.dense import DenseRanker
from indexes.errors import DigestMismatch
from indexes.manifest import PAGES, TEXTS, Manifest, load_manifest, sha256
from indexes.model import Chunk, Frozen, Page, Passage
from indexes.rank import Bm25Ranker, Ranker, RankerName, best_passages
from indexes.raw import read_raw
from indexes.records import PageRecord, parse_records
from indexes.urls import normalise_url


class SnapshotInfo(Frozen):
    """What a snapshot holds, in numbers."""

    digest: str
    format_version: int
    n_pages: int
    statuses: dict[str, int]
    media_types: dict[str, int]
    """Of the pages that are `ok`."""
    n_chunks: int
    text_bytes: int
    raw_bytes: int
    """Decompressed, each different page once."""
    stored_bytes: int
    """All files but the manifest."""
    extractor: dict[str, str]


class Snapshot:
    """A frozen set of pages. Make one with `Snapshot.open`."""

    def __init__(self, path: Path, manifest: Manifest, records: Sequence[PageRecord]) -> None:
        self.path = path
        self.manifest = manifest
        self._records = tuple(records)
        self._by_url = {alias: record for record in self._records for alias in record.aliases}
        self._by_url.update({record.url: record for record in self._records})
        self._spans = {record.text_digest: record.chunks for record in self._records if record.text_digest}
        self._dense: DenseRanker | None = None

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
            try:
                size = (path / entry.path).stat().st_size
            except OSError:
                raise DigestMismatch(f"{path}: {entry.path} is missing; run `snapshot verify`") from None
            if size != entry.size:
                raise DigestMismatch(
                    f"{path}: {entry.path} has {size:,} bytes, not {entry.size:,}; run `snapshot verify`"
                )
        digests = {entry.path: entry.sha256 for entry in manifest.files}
        data = (path / PAGES).read_bytes() if PAGES in digests else b""
        if digests.get(PAGES) != sha256(data) or TEXTS not in digests:
            raise DigestMismatch(f"{path}: {PAGES} is not the file of the manifest; run `snapshot verify`")
        return cls(path, manifest, parse_records(data, str(path / PAGES)))

    @property
    def digest(self) -> str:
        """The one digest over settings and contents."""
        return self.manifest.digest

    def __len__(self) -> int:
        return len(self._records)

    def page(self, url: str) -> Page:
        """The page of a URL in any form, or of a URL that was redirected to it.

        Returns:
            The page; with status `not_in_snapshot` where there is none.

        Raises:
            DigestMismatch: the stored text is not the one that was imported.
        """
        try:
            wanted = normalise_url(url)
        except ValueError as error:
            return Page(url=url, original_url=url, status="not_in_snapshot", reason=f"not a URL: {error}")
        record = self._by_url.get(wanted)
        if record is None:
            return Page(url=wanted, original_url=url, status="not_in_snapshot", reason="not among the pages")
        return self._load(record)

    def pages(self) -> Iterator[Page]:
        """All pages in order of URL, each read when it is asked for."""
        return map(self._load, self._records)

    def raw(self, page: Page) -> bytes:
        """The bytes of a page as they were imported; empty where none were kept. Raises DigestMismatch."""
        return read_raw(self.path, page.raw_digest) if page.raw_digest else b""

    def chunks(self, page: Page) -> tuple[Chunk, ...]:
        """The chunks of one of this snapshot's pages, in order. KeyError for a page of another one."""
        if not page.text:
            return ()
        return make_chunks(page.text, page.text_digest, self._spans[page.text_digest])

    def passages(
        self, page: Page, queries: Sequence[str], k: int, ranker: RankerName = "bm25"
    ) -> list[list[Passage]]:
        """The best `k` chunks of a page for each query, best first, ties in page order.

        Args:
            page: a page of this snapshot.
            queries: ranked in one batch.
            k: at least 1; a page with fewer chunks gives all of them.
            ranker: `bm25`, or `dense` (needs the extra of that name).

        Returns:
            One list a query, in the order of `queries`; empty lists for a page without text.

        Raises:
            MissingExtra: `dense` is not installed.
        """
        return best_passages(self._ranker(ranker), self.chunks(page), queries, k)

    def info(self) -> SnapshotInfo:
        """What it holds, in numbers, from the records alone."""
        types: dict[str, int] = {}
        for record in self._records:
            if record.status == "ok":
                types[record.media_type] = types.get(record.media_type, 0) + 1
        return SnapshotInfo(
            digest=self.digest,
            format_version=self.manifest.format_version,
            n_pages=len(self._records),
            statuses=self.manifest.statuses,
            media_types=dict(sorted(types.items())),
            n_chunks=sum(len(record.chunks) for record in self._records),
            text_bytes=sum({record.text_digest: record.size for record in self._records}.values()),
            raw_bytes=sum({record.raw_digest: record.raw_size for record in self._records}.values()),
            stored_bytes=sum(entry.size for entry in self.manifest.files),
            extractor=self.manifest.settings.extractor,
        )

    def _ranker(self, name: RankerName) -> Ranker:
        if name == "bm25":
            return Bm25Ranker()
        if self._dense is None:
            self._dense = DenseRanker()
        return self._dense

    def _load(self, record: PageRecord) -> Page:
        if not record.text_digest:
            return record.page("")
        # Opened anew each time, so that any number of threads may read.
        with (self.path / TEXTS).open("rb") as texts:
            texts.seek(record.offset, os.SEEK_SET)
            data = texts.read(record.size)
        if sha256(data) != record.text_digest:
            raise DigestMismatch(f"{self.path}: the text of {record.url} was altered; run `snapshot verify`")
        return record.page(data.decode())
