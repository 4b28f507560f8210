"""`local-judge results diff`: comparison of two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.modified import AllowModified, print_found
from local_judge.cli.options import (
    SCORE,
    AsJson,
    OneOfJudges,
    ProfileName,
    Resamples,
    Seed,
    SomeProtocol,
    protocol_and_score,
)
from local_judge.cli.run_output import WithAllScores
from local_judge.reporting.differences import difference_parts
from local_judge.runs.results.comparison import run_difference
from local_judge.stats.estimate import DRAWS


def diff(
    first: Annotated[Path, typer.Argument(help="A run directory.")],
    second: Annotated[Path, typer.Argument(help="The run directory to compare with the first.")],
    again: Annotated[
        Path | None,
        typer.Option("--again", help="A repetition of the first run, which measures the judge's own noise."),
    ] = None,
    protocol: SomeProtocol = None,
    score: Annotated[str | None, SCORE] = None,
    all_scores: WithAllScores = False,
    profile: ProfileName = "paper",
    judge: OneOfJudges = None,
    shown: Annotated[
        int, typer.Option("--shown", min=0, help="Maximum number of changed verdicts and answers to print.")
    ] = 10,
    seed: Seed = 0,
    resamples: Resamples = DRAWS,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Compare two runs: scores with paired intervals, and verdicts and answers that changed."""
    protocol, score = protocol_and_score(protocol, score)
    found = run_difference(
        (first, second),
        again=again,
        protocol=protocol,
        score=score,
        profile=profile,
        all_scores=all_scores,
        judge=judge,
        seed=seed,
        draws=resamples,
    )
    print_found(found.model_dump(mode="json"), difference_parts(found, shown), as_json)
