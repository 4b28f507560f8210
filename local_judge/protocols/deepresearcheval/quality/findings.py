"""What a judge said of each criterion of a task's dimensions."""

from __future__ import annotations

from local_judge.documents.model import Frozen


class QualityFindings(Frozen):
    """The criteria of one report."""

    @property
    def n_failed(self) -> int:
        """Criteria without an answer."""
        return 0
