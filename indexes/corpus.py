"""All chunks of a snapshot searched at once.

Invariant: a text is indexed once, at the place of the first page record that has it, whatever the number of its
addresses and captures; so the rows, and with them every tie, are the same whenever the same snapshot is indexed. A
search shows of each URL only the capture that a look-up would give on the same day, of several addresses with the same
text the first, and opens no connection but to an embedding server that it was given.
What is read of an index was compared with the manifest first: the files of the index by words when it is opened, those
of the index by meaning when it is first searched. Its arrays stay mapped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import model_validator

from indexes.errors import DigestMismatch
from indexes.manifest import PAGES, TEXTS
from indexes.model import Chunk, Page
from indexes.records import PageRecord, parse_record, text_at
from indexes.search.bm25 import Bm25Index, build_bm25
from indexes.search.dense import DenseIndex, DenseSettings, build_dense
from indexes.search.encoder import Encoder
from indexes.search.errors import IndexDamaged
from indexes.search.folder import INFO, holds_array
from indexes.search.fusion import FusionSettings
from indexes.search.model import ChunkText, IndexInfo, Mask
from indexes.search.quality import ranked_pages
from indexes.search.searcher import Mode, PairScorer, Reranking, Searcher
from indexes.search.weights import Bm25Settings
from indexes.text.chunk import make_chunks
from indexes.text.tokens import tokenise
from local_judge.base.files import open_file, read_file
from local_judge.base.model import Frozen

SEARCH = "search"
"""Folder of a snapshot's search indexes."""
BM25 = f"{SEARCH}/bm25"
DENSE = f"{SEARCH}/dense"
ROWS = f"{SEARCH}/pages.npy"
"""File with, for each chunk in order, the number of the first page record with its text, int32."""
COMMANDS = {"bm25": "snapshot index SNAP", "dense": "snapshot index SNAP --dense"}


class Filters(Frozen):
    """Filters of a search. Empty fields exclude nothing."""

    as_of: date | None = None
    """Only what was known by the end of this day (see `snapshot`)."""
    published_from: date | None = None
    """Only pages that say a date of publication on or after this day."""
    published_to: date | None = None
    hosts: tuple[str, ...] = ()
    """Hosts of the normalised URL, or parent domains: `example.org` also matches `news.example.org`."""
    languages: tuple[str, ...] = ()
    """ISO 639-1 codes, or `und`."""
    without_texts: tuple[str, ...] = ()
    """Digests of texts that are not to be found, under whatever address."""

    @model_validator(mode="after")
    def _can_match(self) -> Filters:
        for language in self.languages:
            if not re.fullmatch("[a-z]{2}|und", language):
                raise ValueError(f"{language!r} is no ISO 639-1 code such as en or zh")
        for host in self.hosts:
            if not re.fullmatch(r"[^\s/:@]+|\[[0-9a-fA-F:.]+\]", host):
                raise ValueError(
                    f"{host!r} is no host; give one such as example.org, without scheme and path"
                )
        if self.published_from and self.published_to and self.published_from > self.published_to:
            raise ValueError(
                f"published from {self.published_from} to {self.published_to}: no day lies between"
            )
        return self


class Hit(Frozen):
    """One chunk that was found."""

    rank: int
    """Rank, starting at 1."""
    score: float
    """Score on the scale of the mode; see `indexes.search`."""
    url: str
    """Normalised."""
    original_url: str
    """URL as cited."""
    title: str
    language: str
    published: str | None
    fetched: str | None
    text_digest: str
    """Digest of the page's text."""
    chunk: Chunk


class Pages(Protocol):
    """Interface that a snapshot offers to its search."""

    path: Path

    def records(self) -> Iterator[PageRecord]:
        """All, in order."""
        ...

    def record_at(self, number: int) -> PageRecord:
        """The record with this number, from 0."""
        ...

    def text_of(self, record: PageRecord) -> str:
        """The text of a record, checked against its digest."""
        ...

    def check_file(self, name: str) -> None:
        """Compare a file with the manifest. Raises DigestMismatch."""
        ...


def index_words(folder: Path, settings: Bm25Settings | None = None) -> IndexInfo:
    """Build the BM25 index, and the table of rows, of a snapshot's page records and texts.

    Args:
        folder: the snapshot, whole or in the making.
        settings: of the formula and of the terms.
    """
    (folder / SEARCH).mkdir(exist_ok=True)
    part = folder / f"{ROWS}.part"
    with part.open("wb") as rows:
        written = 0
        # The header is written again when the number of rows is known: both take 128 bytes.
        np.lib.format.write_array_header_1_0(rows, _header(0))

        def count_chunks() -> Iterator[ChunkText]:
            nonlocal written
            for number, chunk in chunk_stream(folder):
                rows.write(int(number).to_bytes(4, "little"))
                written += 1
                yield chunk

        info = build_bm25(count_chunks(), folder / BM25, settings)
        rows.seek(0)
        np.lib.format.write_array_header_1_0(rows, _header(written))
    part.replace(folder / ROWS)
    return info


def index_meanings(folder: Path, encoder: Encoder, settings: DenseSettings | None = None) -> IndexInfo:
    """Build the dense index of a snapshot. Raises as `build_dense` does."""
    return build_dense((chunk for _, chunk in chunk_stream(folder)), folder / DENSE, encoder, settings)


def chunk_stream(folder: Path) -> Iterator[tuple[int, ChunkText]]:
    """Every chunk with the number of the first page record that has its text, in order of row.

    Raises DigestMismatch for a text that is not the one that its record names.
    """
    seen: set[str] = set()
    with open_file(folder / PAGES) as lines, open_file(folder / TEXTS) as texts:
        for number, line in enumerate(lines):
            record = parse_record(line, f"{folder / PAGES}:{number + 1}")
            if not record.text_digest or record.text_digest in seen:
                continue
            seen.add(record.text_digest)
            text = text_at(texts, record, folder)
            for chunk in make_chunks(text, record.text_digest, record.chunks):
                yield number, ChunkText(chunk.id, record.language, chunk.text)


def _header(n: int) -> dict[str, Any]:
    return {"descr": "<i4", "fortran_order": False, "shape": (n,)}


class _PageTable(NamedTuple):
    """Fields that filters need of each page record, by number."""

    urls: list[str]
    hosts: list[str]
    languages: list[str]
    fetched: list[str]
    """Day; '' where none is said."""
    published: list[str]
    known_from: list[str]
    """See `PageRecord.known_from`; '' where none is said."""
    digests: list[str]
    """Digests of the texts; '' for a record without one."""
    ok: npt.NDArray[np.bool_]
    n_chunks: list[int]
    """0 of a record whose text an earlier one has."""
    groups: list[tuple[int, int]]
    """First and last + 1 number of the captures of each URL that has several."""
    doubles: dict[str, list[int]]
    """Text digest -> numbers of the records that share the text, if there are several."""


class _View(NamedTuple):
    """Texts that a search with given filters may find."""

    allowed: npt.NDArray[np.bool_]
    """Flag per number of the first record with a text: True if the text may be found."""
    shown: dict[int, int]
    """First record with a text -> the record that is shown for it, where these may differ."""


class Corpus:
    """The search over one snapshot. Make one with `Snapshot.corpus`.

    Args:
        pages: the snapshot.
        encoder: of the dense index's queries; default: the packaged MiniLM.
        fusion: of the mode `fused`.
        scorer: a cross-encoder that reorders the first `depth` hits.
        depth: see `scorer`.

    Raises:
        IndexDamaged: an index is not whole.
    """

    def __init__(
        self,
        pages: Pages,
        *,
        encoder: Encoder | None = None,
        fusion: FusionSettings | None = None,
        scorer: PairScorer | None = None,
        depth: int = 50,
    ) -> None:
        self._pages = pages
        folder = pages.path
        self._bm25 = self._dense = None
        if (folder / BM25).is_dir():
            self._check("bm25", ROWS, *_names(folder, BM25))
            self._bm25 = Bm25Index.open(folder / BM25)
        if (folder / DENSE).is_dir():
            self._check("dense", ROWS, f"{DENSE}/{INFO}")
            self._dense = DenseIndex.open(
                folder / DENSE, encoder, check=lambda: self._check("dense", *_names(folder, DENSE))
            )
        reranking = None if scorer is None else Reranking(scorer, self._texts, depth)
        self._searcher = Searcher(
            self._bm25, self._dense, fusion=fusion, reranking=reranking, commands=COMMANDS
        )

    def _check(self, kind: str, *names: str) -> None:
        """Compare files of an index with the manifest."""
        try:
            for name in names:
                self._pages.check_file(name)
        except DigestMismatch as error:
            raise IndexDamaged(f"{error}; make it again with `{COMMANDS[kind]}`") from None

    @property
    def infos(self) -> dict[str, IndexInfo]:
        """Descriptions of the indexes, by kind."""
        found = {"bm25": self._bm25, "dense": self._dense}
        return {kind: index.info for kind, index in found.items() if index is not None}

    def search(
        self, queries: Sequence[str], k: int, mode: Mode = "bm25", filters: Filters | None = None
    ) -> list[list[Hit]]:
        """The best `k` chunks for each query, best first.

        Ties are in order of URL and time of the first page with the text, and of place in the page.

        Args:
            queries: ranked in one batch.
            k: at least 1.
            mode: `bm25`, `dense` or `fused`.
            filters: what may be found; without, every URL's latest text.

        Returns:
            One list a query, in the order of `queries`.

        Raises:
            IndexMissing: an index that the mode needs is not there; the message names the command that makes it.
            IndexMismatch, MissingExtra, EncoderError: see `indexes.search`.
            DigestMismatch: a text is not the one that its record names.
        """
        view = self._view(filters or Filters())
        ranked = self._searcher.search(queries, k, mode, self._mask(view))
        found: list[list[Hit]] = []
        for one in ranked:
            pairs = zip(one.rows.tolist(), one.scores.tolist(), strict=True)
            found.append(
                [self._hit(rank, row, score, view) for rank, (row, score) in enumerate(pairs, start=1)]
            )
        return found

    def rarity(self, query: str) -> dict[str, float]:
        """Return the weight of each distinct word of a query (`Bm25Index.rarity`); 1 for each without a BM25 index."""
        if self._bm25 is None:
            return dict.fromkeys(tokenise(query), 1.0)
        return self._bm25.rarity(query)

    def search_pages(
        self, queries: Sequence[str], k: int, mode: Mode = "bm25", filters: Filters | None = None
    ) -> list[list[str]]:
        """URLs of the pages of the best `k` chunks for each query, a page at the place of its best chunk.

        The same chunks as `search` finds, so that what is measured is what is used. Arguments and errors are those of
        `search`.
        """
        view = self._view(filters or Filters())
        ranked = self._searcher.search(queries, k, mode, self._mask(view))
        return [ranked_pages(one, lambda row: self._table.urls[self._number(row, view)]) for one in ranked]

    def shown_as(self, page: Page) -> str:
        """The URL under which a search without filters finds a page's text."""
        numbers = self._table.doubles.get(page.text_digest)
        number = None if numbers is None else self._whole_view.shown.get(numbers[0])
        return page.url if number is None else self._table.urls[number]

    def _view(self, filters: Filters) -> _View:
        return self._whole_view if filters == Filters() else _view(self._table, filters)

    @cached_property
    def _whole_view(self) -> _View:
        return _view(self._table, Filters())

    def _mask(self, view: _View) -> Mask | None:
        """One boolean a chunk; None where everything may be found."""
        if view is self._whole_view and not self._table.groups and not self._table.doubles:
            return None
        return view.allowed[self._rows]

    def _number(self, row: int, view: _View) -> int:
        """The number of the page record that is shown for a chunk."""
        first = int(self._rows[row])
        return view.shown.get(first, first)

    @cached_property
    def _rows(self) -> npt.NDArray[np.int32]:
        try:
            wanted = np.repeat(np.arange(len(self._table.urls), dtype=np.int32), self._table.n_chunks)
            path, n = self._pages.path / ROWS, len(wanted)
            if any(info.n_chunks != n for info in self.infos.values()) or not holds_array(path, np.int32, n):
                raise ValueError("rows of other pages")
            rows: npt.NDArray[np.int32] = np.load(path, mmap_mode="r", allow_pickle=False)
            if not np.array_equal(rows, wanted):
                raise ValueError("rows of other pages")
            return rows
        except (OSError, ValueError):
            raise IndexDamaged(
                f"{self._pages.path / ROWS} cannot be read; make it with `{COMMANDS['bm25']}`"
            ) from None

    @cached_property
    def _table(self) -> _PageTable:
        urls: list[str] = []
        hosts: list[str] = []
        languages: list[str] = []
        fetched: list[str] = []
        published: list[str] = []
        known_from: list[str] = []
        digests: list[str] = []
        ok: list[bool] = []
        n_chunks: list[int] = []
        groups: list[tuple[int, int]] = []
        texts: dict[str, list[int]] = {}
        for _, captures in groupby(self._pages.records(), key=lambda record: record.url):
            first = len(ok)
            for record in captures:
                urls.append(record.url)
                hosts.append(record.host)
                languages.append(record.language)
                fetched.append((record.fetched or "")[:10])
                published.append(record.published or "")
                known_from.append(record.known_from or "")
                digests.append(record.text_digest)
                is_first = record.text_digest and record.text_digest not in texts
                n_chunks.append(len(record.chunks) if is_first else 0)
                if record.text_digest:
                    texts.setdefault(record.text_digest, []).append(len(ok))
                ok.append(record.status == "ok")
            if len(ok) - first > 1:
                groups.append((first, len(ok)))
        doubles = {digest: numbers for digest, numbers in texts.items() if len(numbers) > 1}
        known = np.array(ok, np.bool_)
        return _PageTable(
            urls, hosts, languages, fetched, published, known_from, digests, known, n_chunks, groups, doubles
        )

    def _hit(self, rank: int, row: int, score: float, view: _View) -> Hit:
        record = self._pages.record_at(self._number(row, view))
        return Hit(
            rank=rank,
            score=round(score, 6),
            url=record.url,
            original_url=record.original_url,
            title=record.title,
            language=record.language,
            published=record.published,
            fetched=record.fetched,
            text_digest=record.text_digest,
            chunk=self._chunk(row),
        )

    def _chunk(self, row: int) -> Chunk:
        number = int(self._rows[row])
        record = self._pages.record_at(number)
        first = int(np.searchsorted(self._rows, number))
        start, end = record.chunks[row - first]
        text = self._pages.text_of(record)
        [chunk] = make_chunks(text, record.text_digest, [(start, end)])
        return chunk

    def _texts(self, rows: Sequence[int]) -> list[str]:
        return [self._chunk(row).text for row in rows]


def _view(table: _PageTable, filters: Filters) -> _View:
    allowed = _find_allowed(table, filters)
    shown: dict[int, int] = {}
    for numbers in table.doubles.values():
        found = next((number for number in numbers if allowed[number]), None)
        allowed[numbers] = False
        if found is not None:
            allowed[numbers[0]] = True
            shown[numbers[0]] = found
    return _View(allowed, shown)


def _find_allowed(table: _PageTable, filters: Filters) -> npt.NDArray[np.bool_]:
    """Return the page records that may be found, by number."""
    allowed = table.ok.copy()
    if filters.as_of is not None:
        day = filters.as_of.isoformat()
        by_fetch = _where("" < fetched <= day for fetched in table.fetched)
        known = by_fetch | _where("" < known_from <= day for known_from in table.known_from)
        for first, end in table.groups:  # a date of publication counts only where no capture was made by then
            if by_fetch[first:end].any():
                known[first:end] = by_fetch[first:end]
        allowed &= known
    # Of what is known by then, each URL's last text; before the other filters, which must not bring an older one back.
    for first, end in table.groups:
        last = np.flatnonzero(allowed[first:end])[-1:] + first
        allowed[first:end] = False
        allowed[last] = True
    if filters.published_from is not None:
        day = filters.published_from.isoformat()
        allowed &= _where(published >= day for published in table.published)
    if filters.published_to is not None:
        day = filters.published_to.isoformat()
        allowed &= _where("" < published <= day for published in table.published)
    if filters.hosts:
        wanted = tuple(host.lower().removeprefix("www.") for host in filters.hosts)
        below = tuple(f".{host}" for host in wanted)
        allowed &= _where(host in wanted or host.endswith(below) for host in table.hosts)
    if filters.languages:
        allowed &= _where(language in filters.languages for language in table.languages)
    if filters.without_texts:
        allowed &= _where(digest not in filters.without_texts for digest in table.digests)
    return allowed


def _names(folder: Path, index: str) -> list[str]:
    """The files of an index, by their names in the snapshot; what a file system hides there is none of them."""
    paths = (path for path in (folder / index).iterdir() if not path.name.startswith("."))
    return sorted(path.relative_to(folder).as_posix() for path in paths)


def _where(tests: Iterable[bool]) -> npt.NDArray[np.bool_]:
    return np.fromiter(tests, np.bool_)


def describe(folder: Path) -> dict[str, Any]:
    """Return the descriptions of the indexes of a snapshot by kind, without opening an index. Raises IndexDamaged."""
    found: dict[str, Any] = {}
    for kind, place in (("bm25", BM25), ("dense", DENSE)):
        path = folder / place / INFO
        if path.is_file():
            try:
                data = json.loads(read_file(path))
                found[kind] = {name: value for name, value in data.items() if name != "files"}
            except (ValueError, AttributeError, RecursionError):
                raise IndexDamaged(
                    f"{path} is not the description of an index; make it again with `{COMMANDS[kind]}`"
                ) from None
    return found
