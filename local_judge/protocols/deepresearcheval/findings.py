"""What DeepResearchEval learns about one report.

Invariant: a part has findings exactly where it was asked for.
"""

from __future__ import annotations

from local_judge.protocols.base import Findings
from local_judge.protocols.deepresearcheval.quality.findings import QualityFindings


class DreFindings(Findings):
    """The findings of each part; None for one that was not run."""

    task: str
    """Its id."""
    request: str
    quality: QualityFindings | None = None

    @property
    def n_failed(self) -> int:
        """Questions of all parts without an answer."""
        parts = (self.quality,)
        return sum(part.n_failed for part in parts if part is not None)
