"""`local-judge results rank`: ranking of systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.modified import AllowModified, marked, print_marks
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
from local_judge.cli.output import print_json
from local_judge.reporting.differences import system_difference_parts, system_differences
from local_judge.reporting.ranking import ranking_json, ranking_notes, ranking_table
from local_judge.runs.results.attributes import open_runs
from local_judge.runs.results.ranking import by_scores, compared
from local_judge.stats.estimate import DRAWS
from local_judge.stats.ranking import rank_systems
from local_judge.terminal import stdout


def rank(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    protocol: SomeProtocol = None,
    profile: ProfileName = "paper",
    score: Annotated[str | None, SCORE] = None,
    judge: OneOfJudges = None,
    seed: Seed = 0,
    resamples: Resamples = DRAWS,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Rank systems by pairwise comparisons or scores: Bradley-Terry strengths and win rates.

    With --score, the report with the higher score wins, and the mean differences of all pairs of systems of one run are
    printed. A run with results of several protocols needs --protocol.
    """
    protocol, score = protocol_and_score(protocol, score)
    matches = (
        compared(runs, protocol, profile, judge)
        if score is None
        else by_scores(runs, protocol, profile, score, judge)
    )
    found = rank_systems(matches.matches, seed=seed, draws=resamples)
    differences = (
        system_differences(
            open_runs(runs, judge)[0],
            profile,
            protocol=matches.protocol,
            score=score,
            seed=seed,
            draws=resamples,
        )
        if score is not None and len(runs) == 1
        else ()
    )
    if as_json:
        said = {
            "protocol": matches.protocol,
            "profile": profile,
            "score": score,
            "judge": judge,
            "runs": [str(run) for run in runs],
        }
        pairs = [one.model_dump(mode="json") for one in differences]
        print_json(marked(said | ranking_json(found, matches) | {"differences": pairs}))
        return
    print_marks()
    console = stdout()
    by = f"score {score}" if score is not None else "reports compared"
    whose = f", judge {judge}" if judge is not None else ""
    console.print(
        ranking_table(found, f"{matches.protocol} ({profile} profile{whose}): {by}", matches.scores)
    )
    for line in ranking_notes(found, matches):
        console.print(line)
    for part in system_difference_parts(differences) if differences else ():
        console.print(part)
