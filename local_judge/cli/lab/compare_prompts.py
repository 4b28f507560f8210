"""`local-judge lab compare-prompts`: runs with different prompts side by side."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.bundle import material_of_run
from local_judge.cli.modified import AllowModified, print_found
from local_judge.cli.options import AsJson, ProfileName, Resamples, Seed
from local_judge.errors import RunError
from local_judge.lab.planting.commands import read_planted_flaws
from local_judge.lab.prompt_comparison import compare_prompts, comparison_parts
from local_judge.runs.costs import Tokens, tokens_of
from local_judge.runs.store import RunStore
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
    profile: ProfileName = "paper",
    seed: Seed = 0,
    resamples: Resamples = DRAWS,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Compare the prompts of two runs: scores, agreement, reactions to planted flaws, tokens, failures."""
    found = compare_prompts(
        (first, second),
        [_tokens(run) for run in (first, second)],
        read_planted_flaws(flaws) if flaws is not None else (),
        profile=profile,
        seed=seed,
        draws=resamples,
    )
    print_found(found.model_dump(mode="json"), comparison_parts(found), as_json)


def _tokens(run: Path) -> Tokens | str:
    """Return the tokens of a run, or the reason why they are not known."""
    material = material_of_run(RunStore(run), (), None, None, None)
    try:
        return asyncio.run(tokens_of(material))
    except RunError as error:
        return str(error)
