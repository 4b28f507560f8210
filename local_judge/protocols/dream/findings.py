"""What DREAM learns about one report.

Invariant: a metric has findings, under its name, exactly where it was asked for.
"""

from __future__ import annotations

from typing import Protocol

from local_judge.protocols.base import Findings
from local_judge.protocols.dream.authority.findings import AuthorityFindings
from local_judge.protocols.dream.citation.findings import CitationFindings
from local_judge.protocols.dream.factuality.findings import FactualityFindings
from local_judge.protocols.dream.key_information.findings import KeyInformationFindings
from local_judge.protocols.dream.reasoning.findings import ReasoningFindings
from local_judge.protocols.dream.settings import PARTS, Part
from local_judge.protocols.dream.writing.findings import WritingFindings


class Found(Protocol):
    """What one metric has found."""

    @property
    def n_failed(self) -> int:
        """Its questions without an answer."""
        ...


class DreamFindings(Findings):
    """The findings of each metric; None for one that was not run."""

    task: str | None = None
    """Id of the task; None where the report has none."""
    request: str | None = None
    writing: WritingFindings | None = None
    factuality: FactualityFindings | None = None
    citation: CitationFindings | None = None
    authority: AuthorityFindings | None = None
    key_information: KeyInformationFindings | None = None
    reasoning: ReasoningFindings | None = None

    def of(self, part: Part) -> Found | None:
        """The findings of one metric."""
        return getattr(self, part)

    @property
    def n_failed(self) -> int:
        """Questions of all metrics without an answer; those of the claim set are counted apart."""
        return sum(found.n_failed for part in PARTS if (found := self.of(part)) is not None)
