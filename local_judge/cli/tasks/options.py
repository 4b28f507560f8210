"""Arguments and options that the commands on tasks share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TasksPath = Annotated[
    Path,
    typer.Argument(
        help="Tasks: a JSONL file, LiveResearchBench's dataset (CSV or JSONL), or a folder in DEER's layout."
    ),
]
OpenDates = Annotated[
    bool,
    typer.Option(
        "--open-dates", help="Keep the questions of the dataset that leave dates open, for `run --date`."
    ),
]
OutPath = Annotated[Path, typer.Option("--out", help="The file to write; the same command continues it.")]
Replies = Annotated[
    Path | None, typer.Option("--ledger", help="Keep the judge's replies here instead of beside --out.")
]
FilePath = Annotated[
    Path, typer.Argument(metavar="FILE", help="A file that `draft` has written, or a person.")
]
OneTask = Annotated[str | None, typer.Option("--task", help="Only this task, by id.")]
Reviewer = Annotated[str, typer.Option("--reviewer", help="Who decides; kept with each row.")]
Accept = Annotated[bool, typer.Option("--accept", help="Accept what is asked for, without asking.")]
Reject = Annotated[bool, typer.Option("--reject", help="Reject it, without asking.")]
Edit = Annotated[bool, typer.Option("--edit", help="Open it in $EDITOR and accept what is saved.")]
