"""`local-judge results stats`: statistics over the scores of many reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from local_judge.base.output import shorten
from local_judge.cli.modified import AllowModified, marked, print_marks
from local_judge.cli.options import (
    SCORE,
    AsJson,
    OneOfJudges,
    ProfileName,
    Resamples,
    RunsDiffer,
    Seed,
    SomeProtocol,
    protocol_and_score,
    refuse,
)
from local_judge.cli.output import print_json
from local_judge.reporting.stats import (
    LengthRow,
    StabilityRow,
    length_notes,
    length_table,
    pairs_table,
    stability_json,
    stability_notes,
    stability_table,
)
from local_judge.runs.results.joining import Differ
from local_judge.runs.results.side_by_side import Measure, judged_runs, score_columns
from local_judge.scoring.node import Profile
from local_judge.stats.agreement.stability import stability_of_judges
from local_judge.stats.estimate import DRAWS as STABILITY_DRAWS
from local_judge.stats.length import DRAWS, LEAST, Observation, length_bias
from local_judge.terminal import safe, stdout


def stats(
    kind: Annotated[
        Literal["length", "stability"],
        typer.Argument(metavar="KIND", help="Kind of statistic: length or stability."),
    ],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    protocol: SomeProtocol = None,
    profile: ProfileName = "paper",
    score: Annotated[str | None, SCORE] = None,
    measure: Annotated[
        Measure | None, typer.Option("--measure", help="Of length: unit of length.", show_default="words")
    ] = None,
    judge: OneOfJudges = None,
    differ: RunsDiffer = None,
    seed: Seed = 0,
    resamples: Resamples = STABILITY_DRAWS,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Compute a statistic of runs: bias by length, or stability of judges.

    length: correlation of scores with the length of reports: overall, within tasks, and per task.
    stability: agreement of judges on scores and order: Kendall's W, correlations, alpha, ICC. Of a run with several
    judges, or several runs on the same reports.
    """
    of_stability = {"--differ": differ is not None, "--resamples": resamples != STABILITY_DRAWS}
    protocol, score = protocol_and_score(protocol, score)
    if kind == "length":
        refuse(of_stability, kind)
        _print_length(runs, protocol or "deer", profile, score, measure or "words", judge, seed, as_json)
    else:
        refuse({"--measure": measure is not None, "--judge": judge is not None}, kind)
        _print_stability(runs, protocol, profile, score, differ, seed, resamples, as_json)


def _print_length(
    runs: Sequence[Path],
    protocol: str,
    profile: Profile,
    score: str | None,
    measure: Measure,
    judge: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Print correlations of scores with the length of reports."""
    columns = score_columns(runs, protocol, profile, score, measure, judge)
    rows = [
        LengthRow(
            score="/".join(column.path),
            bias=length_bias(
                [Observation(one.id, one.task, one.length, one.score) for one in column.measured], seed=seed
            ),
            coverage=column.coverage,
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
        scores = [
            {
                **row._asdict(),
                "bias": row.bias.model_dump(mode="json"),
                "coverage": row.coverage._asdict(),
            }
            for row in rows
        ]
        print_json(marked({**said, "scores": scores}))
        return
    print_marks()
    console = stdout()
    by = f", judge {judge}" if judge is not None else ""
    title = f"{protocol} ({profile} profile{by}): score and length in {measure}"
    console.print(length_table(rows, title, measure, by_task=score is not None))
    console.print(f"95% bootstrap intervals of {DRAWS:,} draws, seed {seed}; df: degrees of freedom of p")
    for row in rows:
        for line in length_notes(row):
            console.print(safe(line))
    few = {task: n for row in rows for task, n in row.bias.too_few}
    if few and score is not None:
        listed = ", ".join(f"{safe(task, 40)} ({n})" for task, n in sorted(few.items()))
        console.print(f"tasks with fewer than {LEAST} reports, not listed separately: {listed}")


def _print_stability(
    runs: Sequence[Path],
    protocol: str | None,
    profile: Profile,
    score: str | None,
    differ: Differ | None,
    seed: int,
    resamples: int,
    as_json: bool,
) -> None:
    """Print whether judges give reports the same scores and order."""
    judged = judged_runs(runs, protocol, profile, score, differ)
    rows = [
        StabilityRow(
            "/".join(column.path),
            stability_of_judges(column.reports, judged.judges, seed=seed, draws=resamples),
            len(column.reports),
            column.coverage,
        )
        for column in judged.columns
    ]
    if as_json:
        said = {
            "protocol": judged.protocol,
            "profile": profile,
            "judges": list(judged.judges),
            "runs": [str(run) for run in runs],
            "seed": seed,
            "resamples": resamples,
        }
        print_json(marked(said | {"scores": [stability_json(row) for row in rows]}))
        return
    print_marks()
    console = stdout()
    names = ", ".join(shorten(judge, 30) for judge in judged.judges)
    console.print(stability_table(rows, f"{judged.protocol} ({profile} profile): agreement of {names}"))
    if score is not None:
        for row in rows:
            console.print(pairs_table(row))
    console.print(f"95% bootstrap intervals over tasks of {resamples:,} draws, seed {seed}")
    if judged.reason:
        console.print(judged.reason)
    for row in rows:
        for line in stability_notes(row):
            console.print(line)
