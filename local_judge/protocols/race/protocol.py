"""RACE: a report and a reference report scored side by side, by criteria made for the task.

Invariant: what a report is compared by and with is its task's; the judge gives scores of criteria and code computes all
else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import ClassVar

from local_judge.errors import ConfigError
from local_judge.protocols.base import Bench, Case, Rated
from local_judge.protocols.race.findings import RaceFindings
from local_judge.protocols.race.judging import judge_race
from local_judge.protocols.race.settings import RaceSettings
from local_judge.protocols.race.static import static_criteria
from local_judge.protocols.race.together import rated, together
from local_judge.protocols.race.tree import score
from local_judge.protocols.scores import Profile, ScoreNode
from local_judge.tasks.model import Task

_DEFAULTS = RaceSettings()


class Race:
    """RACE of DeepResearch Bench: reference-based, adaptive criteria, dynamic weights (section 3.1)."""

    name: ClassVar[str] = "race"
    version: ClassVar[str] = "2"
    profiles: ClassVar[tuple[Profile, ...]] = ("paper", "upstream")
    findings = RaceFindings
    settings = RaceSettings

    def __init__(self, given: RaceSettings = _DEFAULTS) -> None:
        self.given = given

    @property
    def needs_claims(self) -> bool:
        """It reads articles, and none of their sources."""
        return False

    @property
    def without_task(self) -> str | None:
        """No setting does without a task; see `lacks`."""
        return None

    def lacks(self, task: Task | None) -> str | None:
        """What a report's task has not that it is compared by or with, and where that may come from."""
        given = self.given
        if task is None:
            return "has no task; give --tasks"
        if given.mode != "vanilla" and given.criteria == "adaptive" and task.criteria is None:
            return (
                f"its task {task.id!r} has no criteria; give --criteria (`local-judge tasks criteria draft` makes "
                "them), or do without: --set race.criteria=static"
            )
        if given.mode == "reference" and not task.references:
            return (
                f"its task {task.id!r} has no reference report; give --references, or do without: "
                "--set race.mode=pointwise"
            )
        return None

    def data_digest(self) -> str | None:
        """Of the static criteria, where they are used. Raises ConfigError: their file cannot be used."""
        if self.given.criteria == "adaptive" or self.given.mode == "vanilla":
            return None
        return hashlib.sha256(
            static_criteria(self.given.criteria_file).model_dump_json().encode()
        ).hexdigest()

    async def examine(self, case: Case, bench: Bench) -> RaceFindings:
        """All comparisons of one report.

        Raises:
            ConfigError: its task lacks what the settings need, or the judge does not sample and should.
        """
        lacking = self.lacks(case.task)
        if lacking is not None or case.task is None:
            raise ConfigError(f"race: report {case.id!r}: {lacking}")
        return await judge_race(case.id, case.report, case.task, bench.judge, self.given)

    def score(self, findings: RaceFindings, profile: Profile) -> tuple[ScoreNode, ...]:
        """Four dimensions and the overall score, 0 to 100 (50: as good as the reference); noise and position bias."""
        return score(findings, profile)

    def together(self, findings: Sequence[RaceFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        """By the means of all judges' scores of each criterion."""
        return together(findings, profile)

    def rated(self, findings: RaceFindings) -> tuple[Rated, ...]:
        """Scores of criteria by dimension, and which article each judge prefers."""
        return rated(findings)
