"""URLs that a snapshot needs: those in reports, tasks and lists, and those that agents missed.

Invariant: URLs are as written, each spelling once, in the order of the input; the fetcher decides which spellings are
the same URL. An unreadable report is listed and not fatal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from indexes.urls import UrlError, normalise_url
from local_judge.agents.result import read_evidence_gaps
from local_judge.base.errors import InputError, not_json
from local_judge.base.rows import read_jsonl, read_text
from local_judge.documents import Document, UnreadableReport, parse_report
from local_judge.runs.planning.inputs import load_reports
from local_judge.tasks.layouts import SOURCES


class Unreadable(NamedTuple):
    """Report that no URL could be collected from."""

    place: str
    reason: str


class Cited(NamedTuple):
    """Collected URLs and queries."""

    urls: tuple[str, ...]
    unreadable: tuple[Unreadable, ...]
    queries: tuple[str, ...] = ()
    """Queries of agents without a result; they name no URL to fetch."""


def collect_urls(
    reports: Sequence[Path] = (),
    tasks: Sequence[Path] = (),
    lists: Sequence[Path] = (),
    evidence_gaps: Sequence[Path] = (),
) -> Cited:
    """Return the URLs of reports, task files, lists and evidence gaps, each spelling once, in that order.

    Args:
        reports: files and folders that `inputs.load_reports` reads.
        tasks: JSON or JSONL files of any form; URLs in all their texts count.
        lists: files with one URL per line; blank lines and lines that begin with `#` are skipped.
        evidence_gaps: files of evidence gaps, or directories of runs.

    Raises:
        InputError: a file cannot be read or is invalid; or only evidence gaps without a URL were given.
    """
    if not (reports or tasks or lists or evidence_gaps):
        raise InputError("no report, task file or list of URLs was given; name at least one")
    urls: dict[str, None] = {}
    unreadable: list[Unreadable] = []
    if reports:
        for report in load_reports(reports):
            try:
                urls.update(dict.fromkeys(_cited(report.parse())))
            except UnreadableReport as error:
                unreadable.append(Unreadable(report.place, str(error)))
            urls.update(dict.fromkeys(_listed_beside(report.place)))
    for path in tasks:
        for row in _rows(path):
            urls.update(dict.fromkeys(_in_value(row)))
    for path in lists:
        urls.update(dict.fromkeys(_lines(path)))
    missed = [gap for path in evidence_gaps for gap in read_evidence_gaps(path)]
    urls.update({gap.url: None for gap in missed if gap.url is not None})
    queries = dict.fromkeys(gap.query for gap in missed if gap.query is not None)
    if evidence_gaps and not urls:
        noun = "query" if len(queries) == 1 else "queries"
        raise InputError(
            f"{evidence_gaps[0]}: lists no missing page, only {len(queries)} {noun}; search for them with "
            "`snapshot search-web`"
        )
    return Cited(tuple(urls), tuple(unreadable), tuple(queries))


def _cited(document: Document) -> Iterator[str]:
    """Yield every URL that a report cites or lists."""
    for one in (*document.citations, *document.references):
        if one.url is not None:
            yield _fetchable(one.original_url, one.url)


def _fetchable(written: str | None, normalised: str) -> str:
    """Return the URL as written, unless that is a DOI or an arXiv number."""
    return written if written is not None and _is_address(written) else normalised


def _is_address(text: str) -> bool:
    try:
        normalise_url(text)
    except UrlError:
        return False
    return True


def _listed_beside(place: str) -> Iterator[str]:
    """Yield the sources that a report of DeepResearchEval lists beside its text."""
    path = Path(place)
    if path.suffix.lower() != ".json":
        return
    data: Any = _load(path)
    try:
        sources = data["entries"][0][SOURCES]
    except (KeyError, IndexError, TypeError):
        return
    yield from _in_value(sources)


def _rows(path: Path) -> Iterator[object]:
    if path.suffix.lower() == ".jsonl":
        for _, row in read_jsonl(path):
            yield row
    else:
        yield _load(path)


def _load(path: Path) -> object:
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {not_json(error)}") from None


def _in_value(value: object) -> Iterator[str]:
    """Yield the URLs in the texts of a JSON value, in order."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield from _in_text(one)
        elif isinstance(one, dict):
            waiting.extend(reversed(list(cast("dict[str, object]", one).values())))
        elif isinstance(one, list):
            waiting.extend(reversed(cast("list[object]", one)))


def _in_text(text: str) -> Iterator[str]:
    """Yield the text itself, if it is a URL, or the URLs in it."""
    if not any(mark in text.lower() for mark in ("://", "www.", "doi", "arxiv")):
        return
    if not any(character.isspace() for character in text.strip()) and _is_address(text):
        yield text.strip()
        return
    try:
        yield from _cited(parse_report(text))
    except UnreadableReport:  # a field of symbols contains no URL
        return


def _lines(path: Path) -> Iterator[str]:
    for line in read_text(path).splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip()
