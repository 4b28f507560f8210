"""`local-judge snapshot`: the frozen web."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from indexes.importing import import_pages
from indexes.snapshot import Snapshot, SnapshotInfo
from indexes.verify import verify as verify_bytes
from local_judge.cli.options import AsJson
from local_judge.reporting.tables import plain, safe, stdout

app = typer.Typer(help="Import, describe and verify snapshots of the web.", no_args_is_help=True)
SnapshotPath = Annotated[Path, typer.Argument(help="A snapshot directory.")]


@app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="A folder of pages with a pages.jsonl (url, file, …).")],
    out: Annotated[Path, typer.Argument(help="The snapshot directory to make.")],
    pages: Annotated[
        Path | None, typer.Option("--pages", help="The page list, if it is not in the folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a snapshot of a folder of HTML, Markdown, text and PDF files."""
    columns = (TextColumn("pages"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("pages", total=None)
        import_pages(
            folder,
            out,
            pages=pages,
            progress=lambda n, total: progress.update(task, completed=n, total=total),
        )
    _show(Snapshot.open(out).info(), as_json)


@app.command()
def info(snapshot: SnapshotPath, as_json: AsJson = False) -> None:
    """Describe a snapshot."""
    _show(Snapshot.open(snapshot).info(), as_json)


@app.command()
def verify(snapshot: SnapshotPath, as_json: AsJson = False) -> None:
    """Hash every byte of a snapshot again and compare it with the manifest."""
    report = verify_bytes(snapshot)
    if as_json:
        print(report.model_dump_json())
    else:
        for problem in report.problems:
            print(plain(f"{problem.path}: {problem.kind}: {problem.detail}"))
        print(f"{report.n_files} files, {len(report.problems)} wrong; digest {report.digest}")
    if not report.ok:
        raise SystemExit(1)


def _show(description: SnapshotInfo, as_json: bool) -> None:
    if as_json:
        print(description.model_dump_json())
        return
    table = Table(show_header=False, show_edge=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for key, entry in description.model_dump(mode="json").items():
        table.add_row(key, safe(entry if isinstance(entry, str) else json.dumps(entry)))
    stdout().print(table)
