"""`local-judge snapshot search-web`: pages that no report cites, found by a web search.

Invariants: queries go to the one search server that the user names, and results come back as data: the fetcher's rules
decide which of them are requested. The searches are stored, so that the snapshot can be made again without a server,
and every page names the query, rank, engines and time that led to it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from indexes.fetch.faults import one_line
from indexes.fetch.searxng import Searxng
from indexes.fetch.settings import FetchSettings
from indexes.making.searching import Searched, fetch_found, search_web, searches_of
from indexes.snapshot import Snapshot
from indexes.websearch import LONGEST_QUERY, read_searches
from local_judge.agents.result import read_evidence_gaps
from local_judge.base.errors import InputError, plain
from local_judge.base.output import count
from local_judge.cli.options import QUERIES, AsJson
from local_judge.cli.output import print_json
from local_judge.cli.snapshot.fetch import (
    Base,
    FetchOptions,
    Out,
    Wishes,
    fetch_displays,
    resumable,
    show_fetch,
)
from local_judge.cli.snapshot.make import Workers, page_bar
from local_judge.cli.snapshot.search import query_lines


def search_web_(
    out: Out,
    options: FetchOptions,
    searxng: Annotated[
        str | None,
        typer.Option("--searxng", help="SearXNG server to send the queries to, http://HOST:PORT."),
    ] = None,
    queries: Annotated[list[Path] | None, QUERIES] = None,
    evidence_gaps: Wishes = None,
    results: Annotated[
        list[Path] | None,
        typer.Option("--results", help="Recorded searches to use instead of a server; repeatable."),
    ] = None,
    per_query: Annotated[
        int, typer.Option("--per-query", min=1, help="Maximum number of results fetched per query.")
    ] = 5,
    engine: Annotated[
        list[str] | None,
        typer.Option("--engine", help="Search engine of the server to use; repeatable. Default: its choice."),
    ] = None,
    search_language: Annotated[
        str, typer.Option("--search-language", help="Language of the results, such as de.")
    ] = "",
    base: Base = None,
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """Search the web for queries, and fetch the first results into a snapshot."""
    if (searxng is None) == (results is None):
        raise typer.BadParameter("give either --searxng or --results")
    if results and (queries or evidence_gaps or engine or search_language):
        raise typer.BadParameter("--results has queries and results of its own; give no options of a search")
    settings = options.settings()
    earlier = None if base is None else Snapshot.open(base)
    with resumable(out):
        if searxng is None:
            searches = [search for path in results or () for search in read_searches(path)]
        else:
            asked = _queries(queries or (), evidence_gaps or ())
            found = asyncio.run(_search(asked, out, searxng, settings, engine or (), search_language))
            if found.unanswered:
                _leave_unanswered(found, out, as_json)
            searches = list(found.searches)
        with fetch_displays() as (fetched, built):
            fetching = fetch_found(
                searches,
                per_query,
                out,
                settings,
                base=earlier,
                fetched=fetched,
                built=built,
                workers=workers,
            )
            done = asyncio.run(fetching)
    n_results = sum(len(search.results) for search in searches)
    for search in searches:
        if not search.results:
            why = f" ({', '.join(search.failures)})" if search.failures else ""
            sys.stderr.write(f"No result: {plain(search.query)}{plain(why)}\n")
    if not as_json:
        print(f"{count(len(searches), 'query', 'queries')} with {count(n_results, 'result')}")
    show_fetch(done, out, as_json, queries=len(searches), results=n_results)


def _leave_unanswered(found: Searched, out: Path, as_json: bool) -> NoReturn:
    """Print how many queries have no answer and why, and exit with code 3."""
    n_answered, n_missing = len(found.searches), len(found.unanswered)
    if as_json:
        counts = {"queries": n_answered + n_missing, "unanswered": dict(found.unanswered)}
        print_json({"snapshot": None, **counts})
    reasons = list(dict.fromkeys(found.unanswered.values()))[:3]
    without = f"; with --results {searches_of(out)} it goes on without them" if n_answered else ""
    sys.stderr.write(
        plain(
            f"Missing: {n_missing} of {count(n_answered + n_missing, 'query', 'queries')} have no answer "
            f"({'; '.join(reasons)}). The same command asks again{without}."
        )
        + "\n"
    )
    raise SystemExit(3)


def _queries(files: Sequence[Path], evidence_gaps: Sequence[Path]) -> list[str]:
    """Return the queries of files and evidence gaps, each once and on one line.

    Raises:
        InputError: there is none, or one is too long.
        QueriesRefused: a file of queries is invalid.
    """
    written = [query for path in files for query in query_lines(path)]
    missed = [gap for path in evidence_gaps for gap in read_evidence_gaps(path)]
    written += [gap.query for gap in missed if gap.query is not None]
    found = dict.fromkeys(one_line(query, LONGEST_QUERY + 1) for query in written)
    found.pop("", None)
    for query in found:
        if len(query) > LONGEST_QUERY:
            raise InputError(f"a query of more than {LONGEST_QUERY:,} characters: {query[:60]!r}")
    if not found:
        raise InputError("no query to search for; give --queries, or --evidence-gaps with queries in them")
    return list(found)


async def _search(
    queries: Sequence[str],
    out: Path,
    url: str,
    settings: FetchSettings,
    engines: Sequence[str],
    language: str,
) -> Searched:
    server = Searxng(url, settings, engines=engines, language=language)
    try:
        with page_bar("queries", "answered") as progress:
            return await search_web(queries, out, server, progress)
    finally:
        await server.aclose()
