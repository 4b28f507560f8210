"""LiveResearchBench: six metrics of one report, each by itself.

Invariant: a metric neither reads nor changes what another has found; judges give evidence, and code computes every
score.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar

from local_judge.protocols.base import Bench, Case
from local_judge.protocols.liveresearchbench.findings import LrbFindings
from local_judge.protocols.liveresearchbench.settings import LrbSettings, Part
from local_judge.protocols.scores import Profile, ScoreNode
from serving.types import Frozen

_DEFAULTS = LrbSettings()

WITHOUT_TASK: tuple[Part, ...] = ("presentation", "consistency", "citation")
"""The metrics that read the report alone."""


class LiveResearchBench:
    """The metrics of LiveResearchBench's DeepEval (section 4)."""

    name: ClassVar[str] = "liveresearchbench"
    version: ClassVar[str] = "1"
    profiles: ClassVar[tuple[Profile, ...]] = ("paper", "upstream")
    findings = LrbFindings
    settings = LrbSettings

    def __init__(self, given: LrbSettings = _DEFAULTS) -> None:
        self.given = given

    @property
    def needs_claims(self) -> bool:
        """Citation accuracy does."""
        return "accuracy" in self.given.parts

    @property
    def without_task(self) -> str | None:
        """Half of the metrics need none."""
        if set(self.given.parts) <= set(WITHOUT_TASK):
            return None
        return f"--set liveresearchbench.parts=[{','.join(WITHOUT_TASK)}]"

    def data_digest(self) -> None:
        """Its prompts cannot be replaced."""
        return

    async def examine(self, case: Case, bench: Bench) -> LrbFindings:
        """What each metric that is set finds; all questions about the report together."""
        asked: Mapping[Part, Callable[[], Awaitable[Frozen]]] = {}
        async with asyncio.TaskGroup() as group:
            found = {part: group.create_task(_awaited(asked[part]())) for part in self.given.parts}
        return LrbFindings.model_validate(
            {
                "case": case.id,
                "document": case.report.id,
                "task": case.task.id if case.task else None,
                **{part: task.result() for part, task in found.items()},
            }
        )

    def score(self, findings: LrbFindings, profile: Profile) -> tuple[ScoreNode, ...]:
        """One root for each metric that was run, in the paper's order."""
        return ()


async def _awaited(found: Awaitable[Frozen]) -> Frozen:
    return await found
