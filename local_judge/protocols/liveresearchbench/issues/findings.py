"""The issues that a judge lists, and what code makes of each.

Invariant: all that the judge listed is there in its order; an issue counts only if every quotation of it occurs in the
report, no earlier one names the same places, and, for a missing citation, none covers it.
"""

from __future__ import annotations

from typing import Literal

from local_judge.claims.model import Quote
from local_judge.documents.model import Frozen
from local_judge.judge.failures import Failure
from local_judge.protocols.liveresearchbench.issues.table import Step

Metric = Literal["consistency", "citation"]

Fate = Literal["counted", "rejected", "covered", "repeated"]
"""`rejected`: a quotation does not occur in the report. `covered`: a citation covers the statement. `repeated`: an
earlier issue names the same places."""


class Issue(Frozen):
    """One issue as listed."""

    quoted: tuple[str, ...]
    """The judge's quotations: one, or the two sides of a contradiction."""
    reason: str
    fate: Fate
    quotes: tuple[Quote, ...] = ()
    """Where the report has them; none unless it has all of them."""
    of: int | None = None
    """Index of the issue that it repeats."""
    covered_by: tuple[str, ...] = ()
    """Ids of the citations that cover it."""


class IssueFindings(Frozen):
    """All issues of one kind in one report."""

    metric: Metric
    issues: tuple[Issue, ...] = ()
    limit: int
    """Most issues that could be listed."""
    table: tuple[Step, ...]
    failure: Failure | None = None
    """Why there is no list."""
    replies: tuple[str, ...] = ()
    """Ledger keys."""

    @property
    def full(self) -> bool:
        """Whether the list was as long as it could be, so that there may be more."""
        return len(self.issues) >= self.limit

    @property
    def n_failed(self) -> int:
        """The one question, where it has no answer."""
        return int(self.failure is not None)

    def count(self, fate: Fate) -> int:
        """How many issues met it."""
        return sum(issue.fate == fate for issue in self.issues)
