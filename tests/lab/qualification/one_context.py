"""The context of one part, on a judge by a script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from indexes.snapshot import Snapshot
from local_judge.judge.judge import Judge
from local_judge.lab.qualification.figures import Draws, figure
from local_judge.lab.qualification.model import Figure, Item
from local_judge.lab.qualification.part import AnyPart, PartContext
from local_judge.runs.execution.judges import JudgeSpec
from serving.presets import load_preset


def context_of(judge: Judge, snapshot: Snapshot, folder: Path) -> PartContext:
    """Without planted claims and reports."""
    return PartContext(judge, JudgeSpec(load_preset("qwen3-14b")), snapshot, (), (), folder, seed=0)


def figures_by_id(part: AnyPart, items: Sequence[Item]) -> dict[str, Figure]:
    """All figures of a part."""
    return {one.id: figure(one, items, Draws(50, 0)) for one in part.measures(items)}
