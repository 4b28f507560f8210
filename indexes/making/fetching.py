"""Cited addresses made into a snapshot: fetched once, then built.

Invariant: what was fetched is kept whatever happens; the same call goes on where a killed or interrupted one stopped,
and the snapshot stands only when every address has an outcome.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from indexes.archive.model import Capture, Exchange
from indexes.archive.warc import FOLDER
from indexes.errors import FetchError, SnapshotExists
from indexes.fetch.crawl import FetchReport, fetch_pages, plan
from indexes.fetch.crawl import Progress as FetchProgress
from indexes.fetch.resolver import Resolver
from indexes.fetch.settings import FetchSettings
from indexes.fetch.state import FetchState
from indexes.making.building import Progress, build
from indexes.making.staging import check_target, publish, stage
from indexes.manifest import PAGES, Manifest, database_of
from indexes.model import FoundBy
from indexes.records import parse_record
from indexes.snapshot import Snapshot
from indexes.urls import normalise_url

FETCH = "fetch.json"
"""File in the snapshot that lists the settings of the fetch. Not part of the digest."""


class Fetched(NamedTuple):
    """Result of a fetch."""

    report: FetchReport
    manifest: Manifest | None
    """None where addresses failed by a fault of ours: the rest is kept, and the same call tries these again."""


async def fetch_snapshot(
    urls: Iterable[str],
    out: Path,
    settings: FetchSettings,
    *,
    found_by: Mapping[str, Sequence[FoundBy]] | None = None,
    notes: Mapping[str, str] | None = None,
    base: Snapshot | None = None,
    fetched: FetchProgress = lambda _: None,
    built: Progress | None = None,
    workers: int = 1,
    resolver: Resolver | None = None,
) -> Fetched:
    """Fetch addresses into a snapshot at `out`, or go on with one that was begun there.

    Args:
        urls: as cited, in any order, with any repetitions.
        out: the snapshot directory to make. A whole one that has all the addresses is left alone.
        settings: bounds and manners.
        found_by: web searches that named an address, by the address in any form; stored with its page.
        notes: further files of text in the snapshot, by name; not part of its digest.
        base: an earlier snapshot; what it has is asked for only if it was changed since.
        fetched: told how far fetching is.
        built: told how far extraction is, afterwards.
        workers: processes that extract.
        resolver: looks names up; by default the operating system.

    Raises:
        SnapshotExists: `out` is there and lacks some of the addresses, or is no snapshot.
        FetchError: no address was given, the browser cannot be used, or what was begun there is not what it says.
        ImportRefused: another process fetches into `out`, or the disk is full.
    """
    wanted = list(urls)
    named = {normalise_url(url): tuple(searches) for url, searches in (found_by or {}).items()}
    if not plan(wanted).by_host:
        raise FetchError("no http or https address among those given; nothing to fetch")
    standing = check_target(Path(out))
    if standing is not None:
        return Fetched(await _complete(wanted, Path(out), settings), standing)
    database = database_of(Path(out))
    with stage(Path(out), resumable=lambda _: database.exists()) as part:
        if not (part / FOLDER).exists():
            database.unlink(missing_ok=True)  # of an archive that was removed
        with FetchState(part, database) as state:
            state.note_settings(settings.model_dump_json())
            report = await fetch_pages(
                wanted,
                settings,
                store=lambda capture: state.store(_whole(capture, base, named)),
                done=frozenset(state.done),
                previous=_no_previous if base is None else base.exchange,
                progress=fetched,
                resolver=resolver,
            )
            if report.failed:
                return Fetched(report, None)
            done, used = state.done, state.settings
        text = json.dumps(used, sort_keys=True, indent=1) + "\n"
        manifest = build(
            part, total=len(done), progress=built, workers=workers, notes={FETCH: text, **(notes or {})}
        )
        with (part / PAGES).open("rb") as lines:
            lacking = done - {parse_record(line, str(part / PAGES)).url for line in lines}
        if lacking:
            raise FetchError(
                f"{part} does not hold {len(lacking):,} of the addresses that {database} calls fetched; remove both "
                f"and fetch again"
            )
        publish(part, Path(out), manifest)
        database.unlink()
    return Fetched(report, manifest)


async def _complete(urls: list[str], out: Path, settings: FetchSettings) -> FetchReport:
    """The report of a snapshot that is whole already."""
    snapshot = Snapshot.open(out)
    done = {record.url for record in snapshot.records()}
    lacking = plan(urls, done).by_host
    if lacking:
        count = sum(len(cited) for cited in lacking.values())
        raise SnapshotExists(
            f"{out} is whole and lacks {count} of these addresses; fetch into another directory (--base {out} asks "
            f"again only for what was changed), and merge the two"
        )
    return await fetch_pages(urls, settings, store=_never, done=done)


def _whole(capture: Capture, base: Snapshot | None, named: Mapping[str, tuple[FoundBy, ...]]) -> Capture:
    """A capture with the searches that named it.

    An earlier answer stands in front of each "not modified", so that the archive needs no other.
    """
    exchanges: list[Exchange] = []
    for exchange in capture.exchanges:
        earlier = base.exchange(exchange.url) if base is not None and exchange.status == 304 else None
        exchanges += [exchange] if earlier is None else [earlier, exchange]
    found_by = named.get(normalise_url(capture.url), ())
    return capture.model_copy(update={"exchanges": tuple(exchanges), "found_by": found_by})


def _no_previous(_: str) -> Exchange | None:
    return None


def _never(_: object) -> None:
    raise AssertionError("nothing was to be fetched")
