"""`local-judge clean`: reports without their citations."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from local_judge.documents.cleaning.diff import unified_diff
from local_judge.errors import InputError
from local_judge.reporting.tables import plain, stdout
from local_judge.runs.clean import CleanedReport, clean_reports, write_cleaned
from local_judge.runs.inputs import load_reports

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def clean(
    reports: Annotated[
        list[Path], typer.Argument(help="Reports: Markdown or text files, folders of them, or JSONL files.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the texts here: a file `*.jsonl`, or a folder of one file each."),
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print what changes as a unified diff.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the removals, one JSON object for each report.")
    ] = False,
    chatter: Annotated[
        bool, typer.Option("--chatter", help="Also remove an agent's remarks and wrappers around the report.")
    ] = False,
) -> None:
    """Remove citation marks, addresses and lists of references from reports, and nothing else."""
    if diff and as_json:
        raise InputError("--diff and --json exclude each other")
    loaded = load_reports(reports)
    if len(loaded) > 1 and not (out or diff or as_json):
        raise InputError(
            f"{len(loaded)} reports: say with --out where to write them, or ask for --diff or --json"
        )
    done: list[CleanedReport] = []
    for item in clean_reports(loaded, chatter=chatter):
        if isinstance(item, CleanedReport):
            done.append(item)
        else:
            sys.stderr.write(f"local-judge: {plain(f'{item[0].place}: {item[1]}')}\n")
    if out is not None:
        write_cleaned(out, done, reports)
    for item in done:
        if as_json:
            removed = [removal.model_dump(mode="json") for removal in item.cleaned.removed]
            print(json.dumps({"id": item.report.id, "removed": removed}, ensure_ascii=False))
        elif diff:
            _print_diff(item)
        elif out is None:
            _print_text(item.cleaned.text)
    if len(done) < len(loaded):
        raise SystemExit(1)


def _print_diff(item: CleanedReport) -> None:
    console = stdout()
    for line in unified_diff(item.original, item.cleaned, item.report.id):
        style = "bold" if line.startswith(("--- ", "+++ ")) else _STYLES.get(line[0], "")
        console.print(Text(plain(line), style=style), soft_wrap=True)


def _print_text(text: str) -> None:
    """As it is into a file or a pipe; on a terminal without control characters."""
    if sys.stdout.isatty():
        text = "\n".join(map(plain, text.split("\n")))
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
