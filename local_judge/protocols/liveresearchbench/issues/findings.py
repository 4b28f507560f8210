"""The issues that a judge lists, and what code makes of each.

Invariant: all that the judge listed is there in its order; an issue counts only if every quotation of it occurs in the
report, no earlier one names the same places, and its statement has the citation that it says is misplaced, or none that
covers it.
"""

from __future__ import annotations

from typing import Literal

from local_judge.claims.model import Quote
from local_judge.documents.model import Frozen
from local_judge.judge.failures import Failure
from local_judge.protocols.liveresearchbench.issues.table import Step

Metric = Literal["consistency", "citation"]

Fate = Literal["counted", "rejected", "covered", "repeated"]
"""`rejected`: a quotation does not occur in the report. On citations also: it is of no sentence, or the citation called
misplaced is not with the statement, which another covers. `covered`: a citation covers a statement that is said to have
none. `repeated`: an earlier issue names the same places."""


class Issue(Frozen):
    """One issue as listed."""

    quoted: tuple[str, ...]
    """The judge's quotations: one, or the two sides of a contradiction."""
    cited: str = ""
    """The citation that the judge says is misplaced, as it gave it; empty where it says that none is there."""
    reason: str
    fate: Fate
    quotes: tuple[Quote, ...] = ()
    """Where the report has them; none unless it has all of them."""
    of: int | None = None
    """Index of the issue that it repeats."""
    covered_by: tuple[str, ...] = ()
    """Ids of the citations that cover it."""
    misplaced: tuple[str, ...] = ()
    """Ids of the misplaced citation where it stands with the statement; none for a citation that is missing."""


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

    @property
    def n_misplaced(self) -> int:
        """Those of the issues that count which are misplaced citations; the others are missing ones."""
        return sum(issue.fate == "counted" and bool(issue.misplaced) for issue in self.issues)
