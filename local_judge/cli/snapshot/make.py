"""`local-judge snapshot import` and `export`: snapshots from existing pages and archives."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from indexes.archive.signing import read_public_key
from indexes.archive.wacz import Trust
from indexes.errors import ImportRefused, NotASnapshot, SnapshotMissing
from indexes.making.building import Progress
from indexes.making.exporting import export_wacz
from indexes.making.importing import import_archives, import_pages, merge_snapshots
from indexes.manifest import load_manifest
from indexes.snapshot import Snapshot
from local_judge.base.errors import one_line, plain
from local_judge.base.output import is_quiet
from local_judge.cli.options import AsJson
from local_judge.cli.output import print_json
from local_judge.cli.snapshot.look import show_info
from local_judge.reporting.progress import Lines

Out = Annotated[Path, typer.Argument(help="New snapshot directory.")]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Number of processes that extract texts.")]


def import_(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE...",
            help="A folder of pages with a pages.jsonl (url, file, …); a JSONL file of texts (url, text, …); WARC or "
            "WACZ files, or folders of these; or snapshots, which are merged.",
        ),
    ],
    out: Out,
    pages: Annotated[
        Path | None, typer.Option("--pages", help="Page list of a folder, if it is outside the folder.")
    ] = None,
    require_signature: Annotated[
        bool, typer.Option("--require-signature", help="Refuse archives without a valid signature.")
    ] = False,
    signed_by: Annotated[
        str | None,
        typer.Option(
            "--signed-by",
            metavar="PUBLICKEY",
            help="Refuse archives not signed with this key: a PEM file, or the key in base64.",
        ),
    ] = None,
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """Make a snapshot from pages, archives or snapshots that you already have."""
    source, merging = sources[0], any(map(_is_snapshot, sources))
    archives = [] if merging else [path for one in sources for path in _archives(one)]
    key = None if signed_by is None else read_public_key(signed_by)
    trust = Trust(require_signature or key is not None, key)
    if trust.required and not archives:
        raise ImportRefused(f"{source} is not an archive; only WACZ files have a signature")
    if len(sources) > 1 and not (merging or all(map(_archives, sources))):
        raise ImportRefused(f"{sources[1]}: only archives, or only snapshots, can be imported together")
    with page_bar() as progress:
        if merging:
            merge_snapshots(sources, out, progress=progress, workers=workers)
        elif archives:
            import_archives(archives, out, warn=_warn, progress=progress, workers=workers, trust=trust)
        elif source.is_file():
            import_pages(source.parent, out, pages=source, progress=progress, workers=workers)
        else:
            import_pages(source, out, pages=pages, progress=progress, workers=workers)
    show_info(Snapshot.open(out).info(), as_json)


def export(
    snapshot: Annotated[Path, typer.Argument(help="A snapshot directory.")],
    wacz: Annotated[Path, typer.Option("--wacz", help="The WACZ file to write.")],
    title: Annotated[str, typer.Option("--title", help="Title of the collection.")] = "",
    sign: Annotated[
        Path | None,
        typer.Option(
            "--sign", metavar="KEYFILE", help="Private ECDSA key in PEM format for signing the file."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a snapshot as one WACZ 1.1.1 file, which other web archive tools can open."""
    opened = Snapshot.open(snapshot)
    export_wacz(opened, wacz, title=title, key_file=sign)
    if as_json:
        written = {"file": str(wacz), "pages": len(opened), "bytes": wacz.stat().st_size}
        print_json({**written, "snapshot": opened.digest})
    else:
        print(plain(f"{wacz}: {len(opened)} pages, {wacz.stat().st_size:,} bytes; snapshot {opened.digest}"))


def _is_snapshot(path: Path) -> bool:
    try:
        load_manifest(path, check_digest=False)
    except (NotASnapshot, SnapshotMissing):
        return False
    return True


def _archives(source: Path) -> list[Path]:
    """Return the WARC and WACZ files of a source, or none if it is a page list or a folder with one."""
    suffixes = (".warc", ".warc.gz", ".wacz")
    if source.is_file():
        return [source] if source.name.lower().endswith(suffixes) else []
    if source.is_dir() and not (source / "pages.jsonl").exists():
        return sorted(path for path in source.iterdir() if path.name.lower().endswith(suffixes))
    if not source.exists():
        raise ImportRefused(
            f"nothing at {source}; give a folder of pages, a list of texts, or a WARC or WACZ file"
        )
    return []


def _warn(said: str) -> None:
    sys.stderr.write(f"local-judge: {one_line(said)}\n")


@contextmanager
def page_bar(unit: str = "pages", done: str = "extracted") -> Generator[Progress]:
    """Show progress on standard error after the first unit: a bar in a terminal, occasional lines elsewhere."""
    columns = (TextColumn(unit), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    bar = Bar(*columns, console=console, transient=True)
    task = bar.add_task(unit, total=None)
    lines = Lines(lambda: f"{bar.tasks[0].completed:.0f}/{bar.tasks[0].total or 0:.0f} {unit} {done}")
    with ExitStack() as display:

        def update(n_done: int, total: int) -> None:
            if bar.tasks[0].total is None:
                display.enter_context(bar if console.is_terminal and not is_quiet() else lines)
            bar.update(task, completed=n_done, total=total)

        yield update
