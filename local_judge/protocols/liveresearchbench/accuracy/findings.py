"""What was found of the pages that a report cites.

Invariant: each cited address stands here once, with its status; each claim and address once, with its label or with the
failure that left it open. What the labels mean for the score is decided by `scores`.
"""

from __future__ import annotations

from indexes.model import SourceStatus
from local_judge.claims.model import Label, Quote
from local_judge.documents.model import Frozen
from local_judge.judge.failures import Failure


class CitedPage(Frozen):
    """One address."""

    url: str
    """Normalised."""
    status: SourceStatus
    reason: str = ""
    on_topic: bool | None = None
    """Whether its opening fits the task; None where there is no text, or no answer."""
    probability: float | None = None
    """P(on topic)."""
    failure: Failure | None = None
    """Why there is no answer."""
    reply: str = ""
    """Ledger key."""


class CitedClaim(Frozen):
    """One claim against one address that it cites."""

    claim: str
    """Its id; that of the sentence where the claims of that are not known."""
    text: str
    url: str
    label: Label | None = None
    """None where it was not judged: the page has no text, or see `failure`."""
    quote: Quote | None = None
    rationale: str = ""
    failure: Failure | None = None
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class AccuracyFindings(Frozen):
    """All cited pages of one report."""

    pages: tuple[CitedPage, ...]
    """In the order of their first citation."""
    claims: tuple[CitedClaim, ...]
    """In reading order."""
    n_unresolved: int = 0
    """Citations that lead to no address: they are no error here (see presentation, p4)."""

    @property
    def n_failed(self) -> int:
        """Pages of which it is not known whether they are on topic; verdicts are counted with the claim set."""
        return sum(page.failure is not None for page in self.pages)
