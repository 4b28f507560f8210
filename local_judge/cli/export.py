"""`local-judge export`: the results of a run for papers, programs and the tools of published projects."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from local_judge.base.errors import ConfigError
from local_judge.cli.modified import AllowModified, print_found, write_marks
from local_judge.cli.options import PROFILE, AsJson, OneOfJudges, format_option
from local_judge.protocols.base import file_formats
from local_judge.reporting.exports import export_files, export_lines, list_rows
from local_judge.reporting.formats import FORMATS, export_results
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.node import Profile
from local_judge.terminal import safe


def export(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    out: Annotated[Path, typer.Argument(help="An empty or new folder.")],
    format: Annotated[
        str,
        format_option([*FORMATS, *file_formats()]),
    ],
    judge: OneOfJudges = None,
    profile: Annotated[Profile | None, PROFILE] = None,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Write results as tables, as a leaderboard, or for other tools.

    Formats: csv and parquet (all numbers, claims and items), markdown, latex and html (the leaderboard), inspect (for
    `inspect view`), or the name of a protocol (the files of its published project). The files of a
    project have the answers of one judge, and the numbers of the profile upstream.
    """
    store = RunStore(run)
    if format in FORMATS:
        written = export_results(store, out, format, judge, profile or "paper")
        data: dict[str, object] = {"files": written}
        listed = ", ".join(f"{safe(name)} ({FORMATS[format].unit(n)})" for name, n in written.items())
        lines = [f"{listed} in {safe(str(out))}"]
    elif profile not in (None, "upstream"):
        raise ConfigError(f"--profile {profile}: the files of {format} have the numbers of `upstream` only")
    else:
        exported = export_files(store, out, format, judge)
        lists = {found.name: list_rows(found) for found in exported.lists}
        data = {"files": list(exported.files), "lists": lists}
        lines = list(export_lines(exported, out))
    write_marks(out)
    print_found(data, lines, as_json)
