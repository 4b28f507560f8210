"""What LiveResearchBench learns about one report.

Invariant: a metric has findings exactly where it was asked for.
"""

from __future__ import annotations

from local_judge.protocols.base import Findings
from local_judge.protocols.liveresearchbench.accuracy.findings import AccuracyFindings
from local_judge.protocols.liveresearchbench.coverage.findings import CoverageFindings
from local_judge.protocols.liveresearchbench.depth.findings import DepthFindings
from local_judge.protocols.liveresearchbench.issues.findings import IssueFindings
from local_judge.protocols.liveresearchbench.presentation.findings import PresentationFindings


class LrbFindings(Findings):
    """The findings of each metric; None for one that was not run."""

    task: str | None = None
    """Id of the task; None where the report has none."""
    request: str | None = None
    presentation: PresentationFindings | None = None
    coverage: CoverageFindings | None = None
    consistency: IssueFindings | None = None
    citation: IssueFindings | None = None
    accuracy: AccuracyFindings | None = None
    depth: DepthFindings | None = None

    @property
    def n_failed(self) -> int:
        """Questions of all metrics without an answer; those of the claim set are counted apart."""
        parts = (self.presentation, self.coverage, self.consistency, self.citation, self.accuracy, self.depth)
        return sum(part.n_failed for part in parts if part is not None)
