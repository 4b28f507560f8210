"""A part's context on a scripted judge, and what a part finds on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from indexes.snapshot import Snapshot
from local_judge.judge.judge import Judge
from local_judge.lab.labelled.model import planted_claims
from local_judge.lab.planting.model import PlantedClaim
from local_judge.lab.qualification.figures import Draws, figure
from local_judge.lab.qualification.model import Figure, Item, Unmeasured
from local_judge.lab.qualification.part import AnyPart, PartContext
from local_judge.runs.execution.judges import JudgeSpec
from local_judge.runs.planning.inputs import RawReport
from serving.presets import load_preset


def context_of(
    judge: Judge,
    snapshot: Snapshot,
    folder: Path,
    claims: Sequence[PlantedClaim] = (),
    reports: Sequence[RawReport] = (),
    seed: int = 1,
) -> PartContext:
    """As `parts_run.ask_parts` makes one, without an engine of its own."""
    return PartContext(
        judge,
        JudgeSpec(load_preset("qwen3-14b")),
        snapshot,
        planted_claims(claims),
        reports,
        folder,
        seed=seed,
    )


def figures(
    part: AnyPart, items: Sequence[Item], unmeasured: Sequence[Unmeasured] = (), draws: int = 0
) -> dict[str, Figure]:
    """All figures of a part by id."""
    return {one.id: figure(one, items, Draws(draws, 0), unmeasured) for one in part.measures(items)}
