"""DREAM: metrics of a report, each by itself.

Invariant: a metric neither reads nor changes what another has found; judges give evidence, and code computes every
score.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

from local_judge.agents.result import Wish
from local_judge.protocols.base import Bench, Case, Rated
from local_judge.protocols.dream.authority.judging import judge_authority
from local_judge.protocols.dream.authority.ratings import ratings_digest, read_ratings
from local_judge.protocols.dream.citation.judging import judge_citation
from local_judge.protocols.dream.factuality.judging import judge_factuality
from local_judge.protocols.dream.findings import DreamFindings
from local_judge.protocols.dream.key_information.judging import judge_key_information
from local_judge.protocols.dream.reasoning.judging import judge_reasoning
from local_judge.protocols.dream.scores import over, rated, score
from local_judge.protocols.dream.settings import DreamSettings, Part
from local_judge.protocols.dream.writing.judging import judge_writing
from local_judge.protocols.scores import Profile, ScoreNode
from local_judge.tasks.model import Task

_DEFAULTS = DreamSettings()

WITHOUT_TASK: tuple[Part, ...] = ("writing", "factuality", "citation", "authority")
"""The metrics that read no task."""

BY_PLAN: tuple[Part, ...] = ("key_information", "reasoning")
"""The metrics that go by the plan of the task."""

CLAIMS: frozenset[Part] = frozenset({"factuality", "citation"})
"""The metrics that read the claim set."""

PAGES: frozenset[Part] = CLAIMS
"""The metrics that read pages."""


class Dream:
    """The metrics of DREAM (section 3, appendix C). No code of it is published, so there is no profile of any."""

    name: ClassVar[str] = "dream"
    version: ClassVar[str] = "2"
    profiles: ClassVar[tuple[Profile, ...]] = ("paper",)
    findings = DreamFindings
    settings = DreamSettings

    def __init__(self, given: DreamSettings = _DEFAULTS) -> None:
        self.given = given
        # Here, so that a faulty file ends a run before it begins.
        file = given.authority.ratings_file
        self._ratings = read_ratings(Path(file)) if file is not None else {}

    @property
    def needs_claims(self) -> bool:
        """Where a metric that was chosen reads claims."""
        return not CLAIMS.isdisjoint(self.given.parts)

    @property
    def needs_snapshot(self) -> bool:
        """Where a metric that was chosen reads pages."""
        searches = "reasoning" in self.given.parts and self.given.reasoning.search
        return searches or not PAGES.isdisjoint(self.given.parts)

    @property
    def without_task(self) -> str | None:
        """The setting under which no task is needed, where one is."""
        return None if set(self.given.parts) <= set(WITHOUT_TASK) else f"--set {_parts(WITHOUT_TASK)}"

    def lacks(self, task: Task | None) -> str | None:
        """The plan that two of the metrics go by, where the task has none."""
        wanted = [part for part in self.given.parts if part in BY_PLAN]
        if task is None or task.plan is not None or not wanted:
            return None
        others: list[Part] = [part for part in self.given.parts if part not in BY_PLAN]
        without = f", or do without: --set {_parts(others)}" if others else ""
        return f"its task {task.id!r} has no plan; give --plans (`local-judge tasks plan draft` makes them){without}"

    def data_digest(self) -> str | None:
        """Of the ratings that were given; its prompts cannot be replaced."""
        return ratings_digest(self._ratings) if self._ratings else None

    async def examine(self, case: Case, bench: Bench) -> DreamFindings:
        """What each metric that is set finds; all questions about the report together.

        Raises:
            ExceptionGroup: of what its metrics raise; a ConfigError where one needs a task or a snapshot, and it is
                not there.
        """
        asked = self._asked(case, bench)
        async with asyncio.TaskGroup() as group:
            found = {part: group.create_task(asked[part]()) for part in self.given.parts}
        return DreamFindings(
            case=case.id,
            document=case.report.id,
            task=case.task.id if case.task else None,
            request=case.task.prompt if case.task else None,
        ).model_copy(update={part: task.result() for part, task in found.items()})

    def _asked(self, case: Case, bench: Bench) -> Mapping[Part, Callable[[], Coroutine[Any, Any, BaseModel]]]:
        """How each metric is examined."""
        given = self.given
        return {
            "writing": lambda: judge_writing(case, bench, given.writing),
            "factuality": lambda: judge_factuality(case, bench, given.factuality),
            "citation": lambda: judge_citation(case, bench, given.citation),
            "authority": lambda: judge_authority(case, bench, self._ratings),
            "key_information": lambda: judge_key_information(case, bench, given.key_information),
            "reasoning": lambda: judge_reasoning(case, bench, given.reasoning),
        }

    def score(self, findings: DreamFindings, profile: Profile) -> tuple[ScoreNode, ...]:
        """One root for each metric that was run, 0 to 100."""
        return score([findings])

    def together(self, findings: Sequence[DreamFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        """The scores of several judges together."""
        return score(findings)

    def over(
        self, findings: Sequence[DreamFindings], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        """The metrics over all reports of a system that are no means of the reports' scores, by one judge."""
        return over([(found,) for found in findings], n_missing)

    def over_together(
        self, findings: Sequence[Sequence[DreamFindings]], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        """The same by all judges together."""
        return over(findings, n_missing)

    def wishes(self, findings: DreamFindings) -> Sequence[Wish]:
        """What the snapshot lacked where it was searched and read."""
        parts = (findings.factuality, findings.reasoning)
        return tuple(wish for found in parts if found is not None for wish in found.wishes)

    def rated(self, findings: DreamFindings) -> tuple[Rated, ...]:
        """What judges can differ in."""
        return rated(findings)


def _parts(parts: Sequence[Part]) -> str:
    return f"dream.parts=[{','.join(parts)}]"
