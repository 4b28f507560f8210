"""What DeepResearchEval learns about one report.

Invariant: a part has findings exactly where it was asked for.
"""

from __future__ import annotations

from local_judge.protocols.base import Findings
from local_judge.protocols.deepresearcheval.facts.findings import FactsFindings
from local_judge.protocols.deepresearcheval.quality.findings import QualityFindings


class DreFindings(Findings):
    """The findings of each part; None for one that was not run."""

    task: str | None = None
    """Its id; None where the report has none."""
    request: str | None = None
    quality: QualityFindings | None = None
    facts: FactsFindings | None = None

    @property
    def n_failed(self) -> int:
        """Questions of all parts without an answer."""
        parts = (self.quality, self.facts)
        return sum(part.n_failed for part in parts if part is not None)
