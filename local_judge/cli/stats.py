"""`local-judge stats`: what the scores of many reports say together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.modified import AllowModified, marked, print_marks
from local_judge.cli.options import AsJson, OneOfJudges
from local_judge.protocols.scores import Profile
from local_judge.reporting.stats import LengthRow, left_out, length_table
from local_judge.reporting.tables import safe, stdout
from local_judge.runs.measures import Measure, score_columns
from local_judge.stats.length import DRAWS, LEAST, Observation, length_bias

app = typer.Typer(help="Statistics over the reports of runs.", no_args_is_help=True)


@app.callback()
def statistics() -> None:
    """Statistics over the reports of runs."""


@app.command()
def length(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run directories; a report counts once.")
    ],
    protocol: Annotated[str, typer.Option("--protocol", help="Whose scores.")] = "deer",
    profile: Annotated[Profile, typer.Option("--profile", help="By which formulas.")] = "paper",
    score: Annotated[
        str | None,
        typer.Option(
            "--score", help="One score by its id or path (`integrity`, `a/b/c`); default: all roots."
        ),
    ] = None,
    measure: Annotated[Measure, typer.Option("--measure", help="How length is measured.")] = "words",
    judge: OneOfJudges = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the bootstrap.")] = 0,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Whether longer reports score higher: correlation of score and length, overall, within tasks, and per task."""
    columns = score_columns(runs, protocol, profile, score, measure, judge)
    rows = [
        LengthRow(
            score="/".join(column.path),
            bias=length_bias(
                [Observation(one.id, one.task, one.length, one.score) for one in column.measured], seed=seed
            ),
            n_reports=column.n_reports,
            n_null=column.n_null,
            n_unscored=column.n_unscored,
            n_unmeasured=column.n_unmeasured,
        )
        for column in columns
    ]
    if as_json:
        said = {
            "protocol": protocol,
            "profile": profile,
            "measure": measure,
            "judge": judge,
            "runs": [str(run) for run in runs],
        }
        scores = [{**row._asdict(), "bias": row.bias.model_dump(mode="json")} for row in rows]
        print(json.dumps(marked({**said, "scores": scores}), ensure_ascii=False))
        return
    print_marks()
    console = stdout()
    by = f", judge {safe(judge)}" if judge is not None else ""
    title = f"{safe(protocol)} ({profile} profile{by}): score and length in {measure}"
    console.print(length_table(rows, title, measure, by_task=score is not None))
    console.print(f"95% bootstrap intervals of {DRAWS:,} draws, seed {seed}; df: degrees of freedom of p")
    for row in rows:
        said = left_out(row)
        if said:
            console.print(safe(said))
    few = {task: n for row in rows for task, n in row.bias.too_few}
    if few and score is not None:
        listed = ", ".join(f"{safe(task, 40)} ({n})" for task, n in sorted(few.items()))
        console.print(f"tasks with fewer than {LEAST} reports, not by themselves: {listed}")
