"""Web searches for a snapshot: each query is sent once, its answer stored, and its first results fetched.

Invariant: an answer is on the disk before the next query is sent; the same call goes on where a killed or interrupted
one stopped, and no answered query is sent again. A query that the server did not answer is not stored as one without
results: the same call sends it again. The addresses to fetch follow from the stored searches alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from indexes.errors import FetchError, SnapshotExists
from indexes.fetch.crawl import Progress as FetchProgress
from indexes.fetch.searxng import NotAnswered, Searxng
from indexes.fetch.settings import FetchSettings
from indexes.making.building import Progress
from indexes.making.fetching import Fetched, fetch_snapshot
from indexes.making.staging import check_target, hold_lock
from indexes.snapshot import Snapshot
from indexes.websearch import (
    SEARCHES,
    WebSearch,
    append_search,
    found_pages,
    read_searches,
    render_search,
)
from local_judge.base.files import read_file

MOST_IN_A_ROW = 3
"""Consecutive queries without an answer after which the server is given up: its engines are blocked, or it is down."""


class Searched(NamedTuple):
    """Result of sending queries."""

    searches: tuple[WebSearch, ...]
    """A search for each answered query, in the order of the queries."""
    unanswered: Mapping[str, str]
    """Reason for each query without an answer. After `MOST_IN_A_ROW` of them, the rest is not sent."""


def searches_of(out: Path) -> Path:
    """Return the path of the searches for `out` until the snapshot is whole, next to it."""
    return out.parent / f".{out.name}.{SEARCHES}"


async def search_web(
    queries: Iterable[str], out: Path, server: Searxng, progress: Progress = lambda _done, _total: None
) -> Searched:
    """Send queries for the snapshot at `out`, except those that it or an interrupted run has answers to.

    Args:
        queries: with any repetitions.
        out: the snapshot directory that will be made, or was made.
        server: the search server.
        progress: told the number of queries done and their total, after each query.

    Raises:
        FetchError: the server answers no query as it is set up now.
        SnapshotExists: `out` is there and is no snapshot, or lacks queries.
        ImportRefused: another process makes `out`; stored searches cannot be read.
        OSError: an answer cannot be stored.
    """
    wanted = list(dict.fromkeys(queries))
    out.parent.mkdir(parents=True, exist_ok=True)
    path = searches_of(out)
    with hold_lock(out):
        whole = check_target(out) is not None
        found = _read_answers(out / SEARCHES if whole else _trim_last_line(path), server)
        missing = [query for query in wanted if query not in found]
        if whole and missing:
            raise SnapshotExists(
                f"{out} is whole and lacks {len(missing)} of these queries; search into another directory, and merge "
                f"the two"
            )
        unanswered: dict[str, str] = {}
        in_a_row = 0
        for done, query in enumerate(missing, start=len(wanted) - len(missing) + 1):
            try:
                found[query] = await server.search(query)
            except NotAnswered as error:
                unanswered[query] = str(error)
                in_a_row += 1
                if in_a_row == MOST_IN_A_ROW:
                    break
            else:
                append_search(path, found[query])
                in_a_row = 0
            progress(done, len(wanted))
    last = next(reversed(unanswered.values()), "")
    return Searched(
        tuple(found[query] for query in wanted if query in found),
        {query: unanswered.get(query, last) for query in wanted if query not in found},
    )


async def fetch_found(
    searches: Sequence[WebSearch],
    per_query: int,
    out: Path,
    settings: FetchSettings,
    *,
    base: Snapshot | None = None,
    fetched: FetchProgress = lambda _: None,
    built: Progress | None = None,
    workers: int = 1,
) -> Fetched:
    """Fetch the first results of searches into a snapshot, which then holds the searches too.

    Args:
        searches: from `search_web`, or a file of recorded ones.
        per_query: results to fetch of each search (see `websearch.found_pages`).
        out: the snapshot directory to make.
        settings: as in `fetch_snapshot`, like the following.
        base: an earlier snapshot.
        fetched: told how far fetching is.
        built: told how far extraction is.
        workers: processes that extract.

    Raises:
        FetchError: no search has a result; or as `fetch_snapshot`, which can also raise others.
    """
    found = found_pages(searches, per_query)
    if not found:
        raise FetchError("no search has a result, so there is nothing to fetch")
    done = await fetch_snapshot(
        found,
        out,
        settings,
        found_by=found,
        notes={SEARCHES: "".join(map(render_search, searches))},
        base=base,
        fetched=fetched,
        built=built,
        workers=workers,
    )
    if done.manifest is not None:
        searches_of(out).unlink(missing_ok=True)
    return done


def _read_answers(path: Path, server: Searxng) -> dict[str, WebSearch]:
    """Return the stored answers to queries with the same engines and language; the last one of each query."""
    asked = (server.engines, server.language)
    stored = [one for one in (read_searches(path) if path.exists() else ()) if one.answered]
    return {one.query: one for one in stored if (one.asked_engines, one.language) == asked}


def _trim_last_line(path: Path) -> Path:
    """Remove a last line that a killed process has not finished, and return the path. Raises FetchError for a link."""
    if path.is_symlink():
        raise FetchError(f"{path}: a link; remove it and search again")
    data = read_file(path) if path.exists() else b""
    if data and not data.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(data.rfind(b"\n") + 1)
    return path
