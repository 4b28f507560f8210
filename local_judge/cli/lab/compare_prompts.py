"""`local-judge lab compare-prompts`: runs with different prompts side by side."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from local_judge.base.errors import RunError
from local_judge.cli.modified import AllowModified, print_found
from local_judge.cli.options import (
    LABELS,
    SCORE,
    AsJson,
    ProfileName,
    Resamples,
    Seed,
    protocol_and_score,
)
from local_judge.lab.planting.commands import read_planted_flaws
from local_judge.lab.prompt_comparison import compare_prompts, comparison_parts
from local_judge.lab.prompt_people import RatedPrompts, rated_prompts
from local_judge.runs.proof.costs import Tokens, tokens_of
from local_judge.runs.proof.material import material_of_run
from local_judge.runs.results.joining import Method, Source
from local_judge.runs.results.labels import load_labels
from local_judge.runs.results.ratings import join, load_ratings
from local_judge.runs.results.scored import protocol_of, scored_reports
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.node import Profile
from local_judge.stats.estimate import DRAWS


def compare_prompts_of(
    first: Annotated[Path, typer.Argument(help="A run directory.")],
    second: Annotated[
        Path, typer.Argument(help="A run of the same judge on the same reports with other prompts.")
    ],
    flaws: Annotated[
        Path | None,
        typer.Option("--flaws", help="Folder of `lab plant` whose perturbed reports are in both runs."),
    ] = None,
    labels: Annotated[list[Path] | None, LABELS] = None,
    ratings: Annotated[
        Path | None,
        typer.Option("--ratings", help="People's ratings of the reports, in the format of `results agree`."),
    ] = None,
    score: Annotated[str, SCORE] = "overall",
    profile: ProfileName = "paper",
    seed: Seed = 0,
    resamples: Resamples = DRAWS,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Compare the prompts of two runs: scores, agreement, planted flaws, people's labels, tokens, failures."""
    runs = (first, second)
    found = compare_prompts(
        runs,
        [_tokens(run) for run in runs],
        read_planted_flaws(flaws) if flaws is not None else (),
        load_labels(labels) if labels else (),
        _rated(ratings, runs, score, profile, seed, resamples) if ratings is not None else (),
        profile=profile,
        seed=seed,
        draws=resamples,
    )
    print_found(found.model_dump(mode="json"), comparison_parts(found), as_json)


def _rated(
    ratings: Path, runs: tuple[Path, Path], score: str, profile: Profile, seed: int, draws: int
) -> tuple[RatedPrompts, ...]:
    """Return the agreement of a score of both runs with people's ratings."""
    protocol, path = protocol_and_score(None, score)
    path = path or score
    name = protocol_of(RunStore(runs[0]), protocol)
    methods = [
        (Method(run.name, (Source(run, None),)), scored_reports(run, name, profile, path)) for run in runs
    ]
    joined = join(load_ratings(ratings), methods)
    return rated_prompts(joined, name, path, seed=seed, draws=draws)


def _tokens(run: Path) -> Tokens | str:
    """Return the tokens of a run, or the reason why they are not known."""
    material = material_of_run(RunStore(run))
    try:
        return asyncio.run(tokens_of(material))
    except RunError as error:
        return str(error)
