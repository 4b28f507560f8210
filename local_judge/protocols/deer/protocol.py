"""DEER: expert rubric, and verification of every claim.

Invariant: verification asks no judge by itself: the claim set has every verdict that its ten metrics need. The rubric's
questions are asked while the claim set is being made, since both share the report as prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from local_judge.errors import ConfigError
from local_judge.protocols.base import Bench, Case, Findings, Rated
from local_judge.protocols.deer.overall import score
from local_judge.protocols.deer.rubric.findings import RubricFindings
from local_judge.protocols.deer.rubric.judging import judge_rubric
from local_judge.protocols.deer.rubric.load import load_rubric, rubric_digest
from local_judge.protocols.deer.rubric.model import Rubric
from local_judge.protocols.deer.settings import DeerSettings
from local_judge.protocols.deer.together import Judged, rated, together
from local_judge.protocols.deer.verification.rows import Rows, rows_of
from local_judge.protocols.scores import Profile, ScoreNode

_DEFAULTS = DeerSettings()


class DeerFindings(Findings):
    """What DEER learns about one report; None for a part that was not run."""

    rows: Rows | None = None
    rubric: RubricFindings | None = None

    @property
    def n_failed(self) -> int:
        """Questions of the rubric without answer."""
        return sum(grade.status == "failed" for grade in self.rubric.grades) if self.rubric else 0


class Deer:
    """The seven dimensions of DEER: five by an expert rubric, two by verification of every claim (section 4)."""

    name: ClassVar[str] = "deer"
    version: ClassVar[str] = "4"
    profiles: ClassVar[tuple[Profile, ...]] = ("paper", "upstream")
    findings = DeerFindings
    settings = DeerSettings

    def __init__(self, given: DeerSettings = _DEFAULTS) -> None:
        self.given = given
        # Here, so that a faulty rubric ends a run before it begins.
        self._rubric: Rubric = load_rubric(Path(given.rubric) if given.rubric else None)

    @property
    def needs_claims(self) -> bool:
        """Verification does."""
        return "verification" in self.given.parts

    @property
    def without_task(self) -> str | None:
        """The rubric needs one: what a report should do, its task says."""
        return "--set deer.parts=[verification]" if "rubric" in self.given.parts else None

    def data_digest(self) -> str:
        """Of the rubric's texts."""
        return rubric_digest(self._rubric)

    async def examine(self, case: Case, bench: Bench) -> DeerFindings:
        """Grades of the rubric's items, and the rows of the report's claim set.

        Raises:
            ConfigError: the rubric is to be judged and the report has no task.
        """
        rubric = None
        if "rubric" in self.given.parts:
            if case.task is None:
                raise ConfigError(f"report {case.id!r} has no task, which DEER's rubric needs")
            rubric = await judge_rubric(case.report, case.task, bench.judge, self._rubric, self.given)
        rows = rows_of(await bench.claims(), case.report) if self.needs_claims else None
        return DeerFindings(case=case.id, document=case.report.id, rows=rows, rubric=rubric)

    def score(self, findings: DeerFindings, profile: Profile) -> tuple[ScoreNode, ...]:
        """The dimensions that were examined, and their mean, on scales that end at 10."""
        return score(findings.rows, findings.rubric, profile)

    def together(self, findings: Sequence[DeerFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        """By the votes of all judges on each claim and source, and the mean of their scores of each item."""
        return together([Judged(one.rows, one.rubric) for one in findings], profile)

    def rated(self, findings: DeerFindings) -> tuple[Rated, ...]:
        """Scores of items by dimension, whether they apply, verdicts on claims, the reliability of sources."""
        return rated(findings.rows, findings.rubric)
