"""What was found of a report's claims and of what they cite.

Invariant: each different claim that can be checked stands here once, whether it is cited or not, with each source that
it cites once; what was left out is counted by the reason.
"""

from __future__ import annotations

from typing import Literal

from indexes.model import SourceStatus
from local_judge.claims.model import Label, Quote
from local_judge.documents.model import Frozen
from local_judge.judge.failures import Failure
from local_judge.protocols.dream.citation.settings import Unit, Unsettled

Outcome = Literal["supported", "partial", "neutral", "contradicted", "unverifiable", "failed"]
"""The paper's five labels, and none. `neutral`: the page is read and says nothing that settles the claim.
`unverifiable`: the source is dead, blocked or empty, or has no address. `failed`: the judge gave no verdict, or the
page could not be shown to it: nobody fetched it, or its type cannot be read."""


class CheckedSource(Frozen):
    """One source of a claim."""

    url: str | None
    """Normalised; None for citations that lead to no address."""
    status: SourceStatus | None
    outcome: Outcome
    label: Label | None = None
    """Of the claim set's verdict, where there is one."""
    quote: Quote | None = None
    quote_rejected: str | None = None
    """What the judge gave as a quotation that does not occur in the page."""
    rationale: str = ""
    failure: Failure | None = None
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class CheckedClaim(Frozen):
    """One claim that can be checked, and what it cites; nothing where it is not cited."""

    id: str
    text: str
    repeats: tuple[str, ...] = ()
    """Ids of claims in the same words, whose sources stand here too."""
    sources: tuple[CheckedSource, ...] = ()


class CitationFindings(Frozen):
    """All claims of one report that can be checked."""

    unit: Unit
    unsettled: Unsettled = "neutral"
    """How CF counts `neutral` (see `settings`), like `unit`; the outcomes here are the same with either value."""
    recovered: bool
    """Whether recovered citations count (see `settings`)."""
    claims: tuple[CheckedClaim, ...]
    """In reading order."""
    n_recaps: int = 0
    """Claims left out: they repeat, sum up or announce parts of the report."""
    n_own: int = 0
    """Claims left out: common knowledge, definitions, the author's own reasoning and advice."""
    n_uncheckable: int = 0
    """Claims left out: no source could prove them right or wrong."""
    lost_cited: int = 0
    """Sentences with citations whose claims could not be had."""
    lost_uncited: int = 0
    """Sentences without citations whose claims could not be had."""

    @property
    def n_failed(self) -> int:
        """None of its own: verdicts and sentences are counted with the claim set."""
        return 0
