"""`local-judge snapshot info`, `page` and `verify`: inspection of snapshots."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, cast, get_args

import typer
from rich.table import Table

from indexes.compare import compare
from indexes.model import Page, SourceStatus
from indexes.search.searcher import Mode
from indexes.snapshot import NOT_THERE, Snapshot, SnapshotInfo
from indexes.verify import verify as verify_bytes
from local_judge.base.errors import plain
from local_judge.base.output import NONE
from local_judge.cli.options import AsJson, chosen
from local_judge.cli.output import print_json
from local_judge.terminal import safe, stdout

SnapshotPath = Annotated[Path, typer.Argument(help="A snapshot directory.")]
AsOf = Annotated[
    datetime | None,
    typer.Option(
        "--as-of",
        formats=["%Y-%m-%d"],
        help="Use only captures fetched by this day or, if a page has none, published and not changed after it.",
    ),
]
SearchMode = Annotated[
    Mode, typer.Option("--mode", help="Search mode: by words (bm25), by meaning (dense) or both (fused).")
]


def info(
    snapshot: SnapshotPath,
    other: Annotated[
        Path | None,
        typer.Argument(help="Another snapshot: list the pages and settings in which they differ."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe a snapshot, or the differences of two. The exit code is 1 if two differ.

    A description has the pages by status, languages, hosts, dates and sizes.
    """
    if other is None:
        show_info(Snapshot.open(snapshot).info(), as_json)
    else:
        _show_differences(Snapshot.open(snapshot), Snapshot.open(other), as_json)


def _show_differences(first: Snapshot, second: Snapshot, as_json: bool) -> None:
    found = compare(first, second)
    if as_json:
        print_json(found)
    else:
        for setting in found.settings:
            print(plain(setting))
        for one in found.pages:
            sides = f"{one.first or '-'} -> {one.second or '-'}"
            print(plain(f"{one.kind:8} {sides:24} {one.url}"))
        kinds = Counter(one.kind for one in found.pages)
        counts = ", ".join(f"{kind} {kinds[kind]}" for kind in sorted(kinds))
        same = "the same snapshot" if found.equal else f"{len(found.pages)} pages differ ({counts})"
        print(f"{same}: {found.first[:12]} and {found.second[:12]}")
    if not found.equal:
        raise SystemExit(1)


def page(
    snapshot: SnapshotPath,
    url: Annotated[
        str | None,
        typer.Argument(
            help="URL of the page, in any form or before redirection.", show_default="list all pages"
        ),
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the text (the default).")] = False,
    html: Annotated[bool, typer.Option("--html", help="Print the page's archived bytes.")] = False,
    status: Annotated[
        list[str] | None,
        typer.Option("--status", help="Without URL: list only pages with this status; repeatable."),
    ] = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """List the pages, or print one: its text, its archived bytes, or its complete record."""
    if url is None:
        if text or html or as_of is not None:
            raise typer.BadParameter("--text, --html and --as-of need the URL of a page")
        _list_pages(
            Snapshot.open(snapshot), chosen("--status", status, get_args(SourceStatus)) or (), as_json
        )
        return
    if status:
        raise typer.BadParameter("--status lists pages: leave out the URL")
    if text + html + as_json > 1:
        raise typer.BadParameter("give one of --text, --html and --json")
    opened = Snapshot.open(snapshot)
    found = opened.page(url, as_of=day(as_of))
    if as_json:
        print_json(_described(opened, found))
    elif html:
        _print_bytes(opened.raw(found))
    elif found.status == "ok":
        _print_bytes(found.text.encode() + b"\n")
    if found.status != "ok":
        sys.stderr.write(f"local-judge: {plain(_why_no_text(found))}\n")
        raise SystemExit(1)


LISTED = {
    "url", "original_url", "aliases", "status", "reason", "title", "language", "fetched", "published", "changed",
    "truncated", "found_by",
}  # fmt: skip
"""Fields of a page in a list."""


def _list_pages(snapshot: Snapshot, statuses: Collection[str], as_json: bool) -> None:
    """Print a line for each page: status, address as cited, and the reason if there is no text."""
    for record in snapshot.records():
        if statuses and record.status not in statuses:
            continue
        if as_json:
            print_json(record.model_dump(mode="json", include=LISTED))
        else:
            why = f"  ({record.reason})" if record.reason else ""
            print(plain(f"{record.status:16} {record.original_url}{why}"))


def verify(snapshot: SnapshotPath, as_json: AsJson = False) -> None:
    """Rehash every byte of a snapshot and check that its pages, texts and archive agree."""
    report = verify_bytes(snapshot)
    if as_json:
        print_json(report)
    else:
        for problem in report.problems:
            print(plain(f"{problem.path}: {problem.detail}"))
        digest = f"digest {report.digest}" if report.ok else f"not confirmed: digest {report.digest}"
        print(f"{report.n_files} files, {len(report.problems)} wrong; {digest}")
    if not report.ok:
        raise SystemExit(1)


def day(given: datetime | None) -> date | None:
    """Return the day of `--as-of`."""
    return None if given is None else given.replace(tzinfo=UTC).date()


def show_info(description: SnapshotInfo, as_json: bool) -> None:
    """Print the description of a snapshot."""
    if as_json:
        print_json(description)
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for key, entry in description.model_dump(mode="json").items():
        table.add_row(key, safe(_in_words(entry)))
    stdout().print(table)


def _in_words(entry: object) -> str:
    """Return an entry of a description in one line: of nested entries, only their names."""
    if isinstance(entry, dict):
        entries = cast("dict[str, object]", entry).items()
        return ", ".join(key if isinstance(one, dict) else f"{key} {_in_words(one)}" for key, one in entries)
    if entry is None:
        return NONE
    return f"{entry:,}" if isinstance(entry, int) else str(entry)


def _why_no_text(page: Page) -> str:
    if page.status != "not_in_snapshot":
        return f"{page.url}: {page.status}: {page.reason}"
    why = "" if page.reason == NOT_THERE else f" ({page.reason})"
    return f"{page.url} is not in the snapshot{why}; `local-judge snapshot page` lists its URLs"


def _described(snapshot: Snapshot, page: Page) -> dict[str, object]:
    chunks = snapshot.chunks(page) if page.status == "ok" else ()
    said = page.model_dump(mode="json")
    return {**said, "chunks": [{"id": chunk.id, "start": chunk.start, "end": chunk.end} for chunk in chunks]}


def _print_bytes(data: bytes) -> None:
    """Write bytes unchanged to a file or a pipe, and without control characters to a terminal."""
    if sys.stdout.isatty():
        for line in data.decode("utf-8", "replace").splitlines():
            print(plain(line))
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
