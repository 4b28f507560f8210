"""`local-judge import`: judgements of a published project as a run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.options import said
from local_judge.reporting.tables import run_summary, stdout
from local_judge.runs.importing import import_deepresearcheval, import_fact
from local_judge.runs.records import load_run_scores, load_scores
from local_judge.runs.store import RunStore


class Format(StrEnum):
    """Whose file is read."""

    deepresearcheval = "deepresearcheval"
    fact = "fact"


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            help="A `validated.jsonl` of FACT; of DeepResearchEval's facts a `task_ID.json`, or their folder."
        ),
    ],
    out: Annotated[Path, typer.Argument(help="The run directory: empty or new.")],
    format: Annotated[Format, typer.Option("--format", help="Whose file it is.")] = Format.fact,
    system: Annotated[
        str | None,
        typer.Option(
            "--system",
            help="The agent that wrote the reports; else, for DeepResearchEval, the folder's name.",
        ),
    ] = None,
) -> None:
    """Make a run of what a published project has judged: to show, score, compare with people and export it."""
    store = RunStore(out)
    read = {Format.fact: import_fact, Format.deepresearcheval: import_deepresearcheval}[format]
    records = read(file, store, None if system is None else said("--system", system))
    stdout().print(run_summary(records, load_scores(store, [format]), load_run_scores(store, [format])))
