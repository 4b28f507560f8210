"""LiveResearchBench: metrics of a report, each by itself.

Invariant: a metric neither reads nor changes what another has found; judges give evidence, and code computes every
score.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel

from local_judge.protocols.base import Bench, Case, Contest, Rated
from local_judge.protocols.liveresearchbench.accuracy.judging import judge_accuracy
from local_judge.protocols.liveresearchbench.coverage.judging import judge_coverage
from local_judge.protocols.liveresearchbench.depth import (
    DepthFindings,
    depth_contests,
    depth_lacks,
    judge_depth,
    over_depth,
)
from local_judge.protocols.liveresearchbench.findings import LrbFindings
from local_judge.protocols.liveresearchbench.issues.judging import judge_issues
from local_judge.protocols.liveresearchbench.presentation.judging import judge_presentation
from local_judge.protocols.liveresearchbench.scores import rated, score, together
from local_judge.protocols.liveresearchbench.settings import LrbSettings, Part
from local_judge.protocols.scores import Profile, ScoreNode
from local_judge.tasks.model import Task

_DEFAULTS = LrbSettings()

WITHOUT_TASK: tuple[Part, ...] = ("presentation", "consistency", "citation")
"""The metrics that can do without a task: they read the report, and the request where there is one."""


class LiveResearchBench:
    """The metrics of LiveResearchBench's DeepEval (section 4)."""

    name: ClassVar[str] = "liveresearchbench"
    version: ClassVar[str] = "2"
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
        """The checklist that coverage goes by, or the report that depth compares with, where the task has none."""
        if task is None:
            return None
        if "coverage" in self.given.parts and task.checklist is None:
            others: list[Part] = [part for part in self.given.parts if part != "coverage"]
            without = f", or do without: --set {_parts(others)}" if others else ""
            return (
                f"its task {task.id!r} has no checklist; give --checklists (`local-judge tasks checklist draft` makes "
                f"them){without}"
            )
        return depth_lacks(task, self.given.depth) if "depth" in self.given.parts else None

    def data_digest(self) -> None:
        """Its prompts cannot be replaced."""
        return

    async def examine(self, case: Case, bench: Bench) -> LrbFindings:
        """What each metric that is set finds; all questions about the report together.

        Raises:
            ExceptionGroup: of what its metrics raise; a ConfigError where one needs the task, its checklist or a
                snapshot, and it is not there.
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
            "depth": lambda: judge_depth(case, bench, given.depth),
        }

    def score(self, findings: LrbFindings, profile: Profile) -> tuple[ScoreNode, ...]:
        """One root for each metric that was run: 0 to 100, and for citation accuracy a number of errors."""
        return score(findings, profile)

    def together(self, findings: Sequence[LrbFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        """The scores of several judges together."""
        return together(findings, profile)

    def over(
        self, findings: Sequence[LrbFindings], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        """Depth over all reports of a system, by one judge; all else is means of the reports' scores."""
        return self.over_together([(found,) for found in findings], profile, n_missing)

    def over_together(
        self, findings: Sequence[Sequence[LrbFindings]], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        """Depth over all reports of a system, the games of all judges together."""
        compared = [_depth(judges) for judges in findings]
        known = [judges for judges in compared if judges]
        return (over_depth(known, profile, n_missing),) if known else ()

    def contests(self, findings: Sequence[LrbFindings], profile: Profile) -> tuple[Contest, ...]:
        """The comparisons of analysis depth."""
        compared = _depth(findings)
        return depth_contests(compared, profile) if compared else ()

    def rated(self, findings: LrbFindings) -> tuple[Rated, ...]:
        """What judges can differ in."""
        return rated(findings)


def _depth(judges: Sequence[LrbFindings]) -> list[DepthFindings]:
    return [found.depth for found in judges if found.depth is not None]


def _parts(parts: Sequence[Part]) -> str:
    return f"liveresearchbench.parts=[{','.join(parts)}]"
