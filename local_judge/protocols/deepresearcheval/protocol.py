"""DeepResearchEval: the parts, each by itself.

Invariant: a part neither reads nor changes what another has found; judges give evidence, and code computes every
score.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel

from local_judge.agents.result import AgentResult, Wish
from local_judge.errors import ConfigError
from local_judge.protocols.asking import task_of
from local_judge.protocols.base import Bench, Case, Rated
from local_judge.protocols.deepresearcheval.facts.judging import judge_facts
from local_judge.protocols.deepresearcheval.findings import DreFindings
from local_judge.protocols.deepresearcheval.quality.judging import (
    judge_quality,
    lacks_dimensions,
)
from local_judge.protocols.deepresearcheval.scores import over, rated, score, together
from local_judge.protocols.deepresearcheval.settings import DreSettings, Part
from local_judge.protocols.scores import Profile, ScoreNode
from local_judge.tasks.model import Task

_DEFAULTS = DreSettings()


class DeepResearchEval:
    """Adaptive point-wise quality, and active fact-checking."""

    name: ClassVar[str] = "deepresearcheval"
    version: ClassVar[str] = "2"
    profiles: ClassVar[tuple[Profile, ...]] = ("paper", "upstream")
    findings = DreFindings
    settings = DreSettings

    def __init__(self, given: DreSettings = _DEFAULTS) -> None:
        self.given = given

    @property
    def needs_claims(self) -> bool:
        """Facts may take their statements from the claim set; else nothing does."""
        return "facts" in self.given.parts and self.given.facts.statements == "shared"

    @property
    def needs_snapshot(self) -> bool:
        """Facts are checked against one."""
        return "facts" in self.given.parts

    @property
    def without_task(self) -> str | None:
        """Facts need none."""
        return "--set deepresearcheval.parts=facts" if "quality" in self.given.parts else None

    def lacks(self, task: Task | None) -> str | None:
        """What a report's task has not that its parts need."""
        if "quality" not in self.given.parts:
            return None
        return "has no task; give --tasks" if task is None else lacks_dimensions(task, self.given.quality)

    def data_digest(self) -> None:
        """Its prompts cannot be replaced."""
        return

    async def examine(self, case: Case, bench: Bench) -> DreFindings:
        """What each part that is set finds; all questions about the report together.

        Raises:
            ConfigError: quality needs the task, or its dimensions, and they are not there.
            ExceptionGroup: of what its parts raise; a ConfigError where facts are to be checked without a snapshot.
        """
        lacking = self.lacks(case.task)
        if lacking is not None:
            raise ConfigError(f"deepresearcheval: report {case.id!r}: {lacking}")
        asked = self._asked(case, bench)
        async with asyncio.TaskGroup() as group:
            found = {part: group.create_task(asked[part]()) for part in self.given.parts}
        return DreFindings(
            case=case.id,
            document=case.report.id,
            task=case.task.id if case.task else None,
            request=case.task.prompt if case.task else None,
        ).model_copy(update={part: task.result() for part, task in found.items()})

    def _asked(self, case: Case, bench: Bench) -> Mapping[Part, Callable[[], Coroutine[Any, Any, BaseModel]]]:
        """How each part is examined."""
        return {
            "quality": lambda: self._quality(case, bench),
            "facts": lambda: judge_facts(case, bench, self.given.facts),
        }

    async def _quality(self, case: Case, bench: Bench) -> BaseModel:
        task = task_of(case, self.name)
        return await judge_quality(case.report, task, bench.judge, self.given.quality, bench.today)

    def score(self, findings: DreFindings, profile: Profile) -> tuple[ScoreNode, ...]:
        """One root for each part that was run."""
        return score(findings, profile)

    def together(self, findings: Sequence[DreFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        """The scores of several judges together."""
        return together(findings, profile)

    def over(
        self, findings: Sequence[DreFindings], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        """The scores of a system by one judge."""
        return over([(found,) for found in findings], profile, n_missing)

    def over_together(
        self, findings: Sequence[Sequence[DreFindings]], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        """The scores of a system by all judges together."""
        return over(findings, profile, n_missing)

    def wishes(self, findings: DreFindings) -> Sequence[Wish]:
        """What checking the facts of one report missed in the snapshot."""
        return findings.facts.wishes if findings.facts is not None else ()

    def runs(self, findings: DreFindings) -> Sequence[tuple[str, AgentResult[Any]]]:
        """The agents' runs on the statements of one report, by the statements' ids."""
        made = findings.facts.runs if findings.facts is not None else ()
        return [(", ".join(run.statements), run.result) for run in made]

    def rated(self, findings: DreFindings) -> tuple[Rated, ...]:
        """What judges can differ in."""
        return rated(findings)
