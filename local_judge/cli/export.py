"""`local-judge export`: a run as the files of a published project, or its numbers as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.modified import AllowModified, print_found, write_marks
from local_judge.cli.options import PROFILE, AsJson, OneOfJudges, format_option
from local_judge.errors import ConfigError
from local_judge.protocols.base import file_formats
from local_judge.reporting.exports import export_csv, export_files, export_lines, list_rows
from local_judge.runs.store import RunStore
from local_judge.scoring.node import Profile
from local_judge.terminal import count, safe

CSV = "csv"


def export(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    out: Annotated[Path, typer.Argument(help="An empty or new folder.")],
    format: Annotated[
        str,
        format_option([CSV, *file_formats()]),
    ],
    judge: OneOfJudges = None,
    profile: Annotated[Profile | None, PROFILE] = None,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Write a run's results in a published project's format, or as CSV.

    The format csv has all numbers, one per row. The other formats have answers, which --profile does not change. If a
    run has several judges, csv has the ensemble's scores unless you name a judge; the other formats need one judge.
    """
    store = RunStore(run)
    if format == CSV:
        rows = export_csv(store, out, judge, profile or "paper")
        data: dict[str, object] = {"files": rows}
        listed = ", ".join(f"{name} ({count(n, 'row')})" for name, n in rows.items())
        lines = [f"{listed} in {safe(str(out))}"]
    elif profile is not None:
        raise ConfigError(
            f"--profile {profile}: the files of {format} hold answers, which no profile changes"
        )
    else:
        exported = export_files(store, out, format, judge)
        lists = {found.name: list_rows(found) for found in exported.lists}
        data = {"files": list(exported.files), "lists": lists}
        lines = list(export_lines(exported, out))
    write_marks(out)
    print_found(data, lines, as_json)
