"""Recorded web searches: the queries, and the results that a search engine returned.

Invariant: a file of searches is read line by line and every line is checked; equal searches give equal bytes. The pages
that a search names, with query and rank, follow from the file and the number of results per query alone.

One JSON object a line: see `WebSearch`. `snapshot search-web` writes the file, and results of any other engine can be
written in the same form.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from pydantic import Field, ValidationError, field_validator

from indexes.archive.model import utc_seconds
from indexes.errors import ImportRefused
from indexes.manifest import canonical
from indexes.model import FoundBy
from indexes.urls import UrlError, normalise_url
from local_judge.base.files import open_file
from local_judge.base.model import Frozen
from local_judge.base.problems import first_problem
from local_judge.base.strict_json import strict_json

SEARCHES = "searches.jsonl"
"""File in a snapshot with the searches that named its pages. Not part of the digest: the page records repeat them."""
LONGEST_QUERY = 1_000
"""Maximum characters of a query."""
MOST_RESULTS = 100
"""Maximum number of results that are kept of one search."""
_LONGEST_LINE = 10_000_000
"""Bytes of a line: 100 results with addresses of 65,536 characters fit."""


class WebResult(Frozen):
    """Result of a search."""

    rank: int = Field(ge=1)
    """Position among the results, from 1."""
    url: str
    """URL as the engine returned it."""
    engines: tuple[str, ...] = ()
    """Engines that returned it, by name."""


class WebSearch(Frozen):
    """Answer to one query."""

    query: str = Field(min_length=1, max_length=LONGEST_QUERY)
    """Query as given."""
    at: str
    """Time of the search, ISO 8601."""
    asked_engines: tuple[str, ...] = ()
    """Engines that were asked; empty for the server's own choice."""
    language: str = ""
    """Language that was asked for; empty for the server's own choice."""
    results: tuple[WebResult, ...] = Field(default=(), max_length=MOST_RESULTS)
    """Results by rank."""
    failures: tuple[str, ...] = ()
    """Engines that did not answer, each with the reason; or the reason why the server gave no answer."""

    @property
    def answered(self) -> bool:
        """True if the absence of results means that nothing was found."""
        return bool(self.results) or not self.failures

    @field_validator("at")
    @classmethod
    def _a_time(cls, at: str) -> str:
        return utc_seconds(at)

    @field_validator("results")
    @classmethod
    def _by_rank(cls, results: tuple[WebResult, ...]) -> tuple[WebResult, ...]:
        ranks = [result.rank for result in results]
        if any(later <= earlier for earlier, later in pairwise(ranks)):
            raise ValueError("must be in order of `rank`, each rank once")
        return results


def read_searches(path: Path) -> Iterator[WebSearch]:
    """Yield the searches of a file, in its order.

    Raises:
        ImportRefused: the file cannot be read, or a line is not a search; names the line.
    """
    try:
        with open_file(path) as file:
            number = 0
            while line := file.readline(_LONGEST_LINE + 1):
                number += 1
                if line.strip():
                    yield _parse_search(line, f"{path}:{number}")
    except OSError as error:
        raise ImportRefused(f"{path} cannot be read: {error.strerror or error}") from None


def _parse_search(line: bytes, place: str) -> WebSearch:
    if len(line) > _LONGEST_LINE:
        raise ImportRefused(f"{place}: a line of more than {_LONGEST_LINE:,} bytes")
    try:
        strict_json(line)  # refuses repeated keys
        return WebSearch.model_validate_json(line, strict=True)
    except ValidationError as error:
        raise ImportRefused(f"{place}: {first_problem(error, 'the line', WebSearch)}") from None
    except (ValueError, RecursionError):
        raise ImportRefused(f"{place}: not JSON") from None


def render_search(search: WebSearch) -> str:
    """Return a search as one line of its file."""
    return canonical(search.model_dump()) + "\n"


def merged_searches(paths: Iterable[Path]) -> str:
    """Return the searches of several files as one, each once, by time and query.

    Raises:
        ImportRefused: as `read_searches`.
    """
    lines = {
        render_search(search): (search.at, search.query) for path in paths for search in read_searches(path)
    }
    return "".join(sorted(lines, key=lambda line: (lines[line], line)))


def append_search(path: Path, search: WebSearch) -> None:
    """Append a search to a file; it is on the disk when this returns. Raises OSError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o644), "ab") as file:
        file.write(render_search(search).encode())
        file.flush()
        os.fsync(file.fileno())


def found_pages(searches: Iterable[WebSearch], k: int) -> dict[str, tuple[FoundBy, ...]]:
    """Return the URLs of the first `k` usable results of each search, with the searches that named them.

    A result is usable if its URL is an http or https address that no earlier result of the same search has.

    Returns:
        URL as returned first -> searches in their order. URLs that are the same once normalised are one.
    """
    spellings: dict[str, str] = {}
    named: dict[str, dict[FoundBy, None]] = {}
    for search in searches:
        taken: set[str] = set()
        for result in search.results:
            try:
                key = normalise_url(result.url)
            except UrlError:
                continue
            if len(taken) == k or key in taken:
                continue
            taken.add(key)
            spellings.setdefault(key, result.url.strip())
            found = FoundBy(query=search.query, rank=result.rank, engines=result.engines, at=search.at)
            named.setdefault(key, {})[found] = None
    return {spellings[key]: tuple(found) for key, found in named.items()}
