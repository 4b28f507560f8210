"""`local-judge import`: judgements of a published project as a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.options import AsJson, SystemName, format_option, said
from local_judge.cli.output import print_json
from local_judge.cli.run_output import Results, print_results
from local_judge.reporting.run_tables import TableOptions
from local_judge.runs.execution.importing import AUTO, import_files, readable_formats
from local_judge.runs.storage.store import RunStore

FORMATS = readable_formats()


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="; ".join(f"{one.title}: {one.reads}" for one in FORMATS.values())
            + ". Several files or folders, or a folder of such folders: one system each.",
        ),
    ],
    out: Annotated[Path, typer.Argument(help="The run directory: empty or new.")],
    format: Annotated[str, format_option([AUTO, *FORMATS])] = AUTO,
    system: SystemName = None,
    as_json: AsJson = False,
) -> None:
    """Make a run from judgements in the format of a published project."""
    store = RunStore(out)
    records = import_files(files, store, format, None if system is None else said("--system", system))
    found = Results.load(store, records)
    if as_json:
        print_json(found.as_json())
    else:
        print_results(found, TableOptions())
