"""Texts that a run was derived from: reports, cited pages and excerpts of them, prompts and replies.

Invariant: a text is used only if its digest is the one that the run recorded. A text that is not at hand is missing on
the page and never replaced by another.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from indexes.errors import SnapshotError
from indexes.model import Page
from indexes.snapshot import Snapshot
from local_judge.base.errors import RunError, UserError
from local_judge.base.model import Frozen
from local_judge.claims.model import Evidence, Quote
from local_judge.documents import document_id
from local_judge.ledger.errors import LedgerError
from local_judge.ledger.ledger import Ledger, Trace
from local_judge.runs.planning.inputs import load_reports
from local_judge.runs.planning.run_file import RunFile
from local_judge.runs.proof.material import NOWHERE, Places, recorded_file, snapshot_places
from local_judge.runs.storage.manifest import read_manifest
from local_judge.runs.storage.store import RunStore

AROUND = 400
"""Characters of a page shown before and after a quotation."""
SHOWN_EVIDENCE = 800
"""Characters of the evidence shown where there is no quotation."""
RECENT = 256
"""Pages kept in memory: the claims of a report cite the same ones."""


class Excerpt(Frozen):
    """Part of a page's text."""

    start: int
    """Offset in the page's text, in characters."""
    text: str
    before: bool
    after: bool
    """Text that is not shown precedes or follows."""
    marks: tuple[tuple[int, int], ...] = ()
    """Ranges of quotations within the excerpt."""


class Sources:
    """Texts of one run."""

    def __init__(self, store: RunStore, places: Places = NOWHERE) -> None:
        """Find the texts.

        Raises:
            RunError: the given snapshot is not the run's, or the given ledger cannot be read.
        """
        manifest = read_manifest(store)
        found = RunFile()
        with suppress(RunError):  # a run that was imported
            found = recorded_file(manifest)
        self._reports = _report_texts(store, places.reports or found.reports)
        self.snapshot = _snapshot(store, manifest.get("snapshot"), places.snapshot, found.snapshot)
        self.ledger = _ledger(places.ledger, (store.ledger, found.ledger))
        self._page = lru_cache(RECENT)(self._look_up)

    def report(self, document: str | None) -> str | None:
        """Return the text of a report by the id of its document; None if it is not at hand."""
        return self._reports.get(document or "")

    def page(self, url: str, text_digest: str | None = None) -> tuple[str, str] | None:
        """Return title and text of a page; None if it is not at hand, or its text has another digest."""
        page = self._page(url)
        return (page.title, page.text) if page and text_digest in (None, page.text_digest) else None

    def _look_up(self, url: str) -> Page | None:
        """Return a page with text."""
        if self.snapshot is not None:
            with suppress(SnapshotError):
                page = self.snapshot.page(url)
                return page if page.text else None
        return None

    def call(self, key: str) -> Trace | None:
        """Return a reply with its prompt; None if it is not at hand or damaged."""
        if self.ledger is None:
            return None
        with suppress(LedgerError):
            return self.ledger.reply(key)
        return None

    def close(self) -> None:
        """Close the ledger."""
        if self.ledger is not None:
            self.ledger.close()


def _report_texts(store: RunStore, paths: Iterable[Path]) -> dict[str, str]:
    """Return the texts of the run's reports by the ids of their documents."""
    wanted = {report.get("sha256") for report in store.inputs()}
    found: dict[str, str] = {}
    for path in paths:
        with suppress(UserError, OSError):
            for report in load_reports([path]):
                if report.digest() in wanted:
                    text = report.content.decode("utf-8", "replace").lstrip("\ufeff")
                    found[document_id(text, report.sources)] = text
    return found


def _snapshot(store: RunStore, digest: str | None, given: Path | None, found: Path | None) -> Snapshot | None:
    if given is not None:
        try:
            snapshot = Snapshot.open(given)
        except SnapshotError as error:
            raise RunError(str(error)) from None
        if snapshot.digest != digest:
            raise RunError(f"--snapshot {given}: not the snapshot of {store.root}, whose digest is {digest}")
        return snapshot
    for path in snapshot_places(found, store):
        with suppress(SnapshotError, OSError):
            snapshot = Snapshot.open(path)
            if snapshot.digest == digest:
                return snapshot
    return None


def _ledger(given: Path | None, possible: Iterable[Path | None]) -> Ledger | None:
    if given is not None:
        if not given.is_file():
            raise RunError(f"--ledger {given}: no such file")
        return Ledger.open(given, read_only=True)
    for path in possible:
        if path is not None and path.is_file():
            with suppress(LedgerError):
                return Ledger.open(path, read_only=True)
    return None


class Units:
    """Conversion of character offsets of one text to UTF-16 code units."""

    def __init__(self, text: str) -> None:
        self._wide = (
            [] if text.isascii() else [place for place, letter in enumerate(text) if letter > "\uffff"]
        )

    def __call__(self, offset: int) -> int:
        """Return the offset in code units."""
        return offset + bisect_left(self._wide, offset)


def excerpt_of(text: str, quote: Quote | None, evidence: Evidence | None) -> Excerpt | None:
    """Return the part of a page around a quotation, or the start of what the judge was shown."""
    if quote is not None and not quote.in_title and text[quote.start : quote.end]:
        start, end = max(0, quote.start - AROUND), min(len(text), quote.end + AROUND)
        mark = [(quote.start, quote.end)]
    else:
        start = _first_shown(evidence)
        end = min(len(text), start + SHOWN_EVIDENCE)
        mark = []
    part = text[start:end]
    units = Units(part)
    return Excerpt(
        start=start,
        text=part,
        before=start > 0,
        after=end < len(text),
        marks=tuple((units(first - start), units(last - start)) for first, last in mark),
    )


def _first_shown(evidence: Evidence | None) -> int:
    """Return the offset of the first passage that the judge was shown."""
    if evidence is None:
        return 0
    if evidence.stretches:
        return evidence.stretches[0][0]
    # A chunk's id ends in its range: `<digest>:<start>-<end>`.
    return min((int(chunk.rpartition(":")[2].partition("-")[0]) for chunk in evidence.chunks), default=0)
