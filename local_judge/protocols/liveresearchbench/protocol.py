"""LiveResearchBench: metrics of one report, each by itself.

Invariant: a metric neither reads nor changes what another has found; judges give evidence, and code computes every
score.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel

from local_judge.protocols.base import Bench, Case, Rated
from local_judge.protocols.liveresearchbench.accuracy.judging import judge_accuracy
from local_judge.protocols.liveresearchbench.coverage.judging import judge_coverage
from local_judge.protocols.liveresearchbench.findings import LrbFindings
from local_judge.protocols.liveresearchbench.issues.judging import judge_issues
from local_judge.protocols.liveresearchbench.presentation.judging import judge_presentation
from local_judge.protocols.liveresearchbench.scores import rated, score, together
from local_judge.protocols.liveresearchbench.settings import LrbSettings, Part
from local_judge.protocols.scores import Profile, ScoreNode
from local_judge.tasks.model import Task

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
        return None if set(self.given.parts) <= set(WITHOUT_TASK) else f"--set {_parts(WITHOUT_TASK)}"

    def lacks(self, task: Task | None) -> str | None:
        """The checklist, where coverage is to be judged and the task has none."""
        if task is None or task.checklist is not None or "coverage" not in self.given.parts:
            return None
        others: list[Part] = [part for part in self.given.parts if part != "coverage"]
        without = f", or do without: --set {_parts(others)}" if others else ""
        return (
            f"its task {task.id!r} has no checklist; give --checklists (`local-judge tasks checklist draft` makes "
            f"them){without}"
        )

    def data_digest(self) -> None:
        """Its prompts cannot be replaced."""
        return

    async def examine(self, case: Case, bench: Bench) -> LrbFindings:
        """What each metric that is set finds; all questions about the report together.

        Raises:
            ConfigError: a metric needs the task, its checklist or a snapshot, and it is not there.
        """
        asked = self._asked(case, bench)
        async with asyncio.TaskGroup() as group:
            found = {part: group.create_task(asked[part]()) for part in self.given.parts}
        return LrbFindings(
            case=case.id,
            document=case.report.id,
            task=case.task.id if case.task else None,
            request=case.task.prompt if case.task else None,
        ).model_copy(update={part: task.result() for part, task in found.items()})

    def _asked(self, case: Case, bench: Bench) -> Mapping[Part, Callable[[], Coroutine[Any, Any, BaseModel]]]:
        """How each metric is examined."""
        given = self.given
        return {
            "presentation": lambda: judge_presentation(case, bench, given.presentation),
            "coverage": lambda: judge_coverage(case, bench, given.coverage),
            "consistency": lambda: judge_issues("consistency", case, bench, given.issues),
            "citation": lambda: judge_issues("citation", case, bench, given.issues),
            "accuracy": lambda: judge_accuracy(case, bench, given.accuracy),
        }

    def score(self, findings: LrbFindings, profile: Profile) -> tuple[ScoreNode, ...]:
        """One root for each metric that was run: 0 to 100, and for citation accuracy a number of errors."""
        return score(findings, profile)

    def together(self, findings: Sequence[LrbFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        """The scores of several judges together."""
        return together(findings, profile)

    def rated(self, findings: LrbFindings) -> tuple[Rated, ...]:
        """What judges can differ in."""
        return rated(findings)


def _parts(parts: Sequence[Part]) -> str:
    return f"liveresearchbench.parts=[{','.join(parts)}]"
