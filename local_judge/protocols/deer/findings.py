"""DEER's findings about one report: its claims as rows, and the grades of its rubric."""

from __future__ import annotations

from local_judge.protocols.base import Findings
from local_judge.protocols.deer.rubric.model import RubricFindings
from local_judge.protocols.deer.verification.rows import Rows


class DeerFindings(Findings):
    """DEER's findings about one report; None for a part that was not run."""

    rows: Rows | None = None
    rubric: RubricFindings | None = None

    @property
    def n_failed(self) -> int:
        """Questions of the rubric without answer."""
        return sum(grade.status == "failed" for grade in self.rubric.grades) if self.rubric else 0
