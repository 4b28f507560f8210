"""DEER: verification of every claim.

Invariant: asks no judge by itself: the claim set has every verdict that its ten metrics need.
"""

from __future__ import annotations

from typing import ClassVar

from local_judge.protocols.base import Bench, Case, Findings
from local_judge.protocols.deer.overall import score
from local_judge.protocols.deer.rubric.findings import RubricFindings
from local_judge.protocols.deer.verification.rows import Rows, rows_of
from local_judge.protocols.scores import Profile, ScoreNode


class DeerFindings(Findings):
    """What DEER learns about one report."""

    rows: Rows | None
    """None where no claims were verified."""
    rubric: RubricFindings | None = None
    """None where no rubric was judged."""


class Deer:
    """Information verification of DEER (section 4.2): Integrity and Sufficiency."""

    name: ClassVar[str] = "deer"
    version: ClassVar[str] = "1"
    profiles: ClassVar[tuple[Profile, ...]] = ("paper", "upstream")
    findings = DeerFindings

    async def examine(self, case: Case, bench: Bench) -> DeerFindings:
        """The rows of the report's claim set."""
        return DeerFindings(case=case.id, document=case.report.id, rows=rows_of(bench.claims, case.report))

    def score(self, findings: DeerFindings, profile: Profile) -> tuple[ScoreNode, ...]:
        """The dimensions that were evaluated, and the overall score where a rubric was judged."""
        return score(findings.rows, findings.rubric, profile)
