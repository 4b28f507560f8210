"""What was found of a report's most salient claims.

Invariant: each claim that was chosen stands here once, with a label or with the failure in its place; a quotation
stands among the evidence only where code found it in a passage that the judge was shown.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from local_judge.agents.citations import Citation
from local_judge.agents.result import AgentResult, Wish
from local_judge.claims.model import Quote
from local_judge.documents.model import Frozen
from local_judge.judge.failures import Failure
from local_judge.protocols.dream.factuality.settings import Method

FactLabel = Literal["supported", "partially", "contradicted", "unverifiable"]


class AgentVerdict(Frozen):
    """What an agent finishes with; the evidence comes first."""

    supporting: Annotated[tuple[Citation, ...], Field(max_length=3)]
    opposing: Annotated[tuple[Citation, ...], Field(max_length=3)]
    rationale: Annotated[str, Field(max_length=400)]
    label: FactLabel


class NeutralQuery(Frozen):
    """A query that was searched with."""

    text: str
    by: Literal["judge", "code"] = "judge"
    """`code`: made of the claim's words, where no query of the judge was neutral."""


class RefusedQuery(Frozen):
    """A query of the judge that gave something of the claim away."""

    text: str
    why: tuple[str, ...]
    """The words that it gave away."""


class PassageShown(Frozen):
    """A stretch of a page that the judge was shown."""

    url: str
    text_digest: str
    start: int
    end: int


class Evidence(Frozen):
    """A quotation that occurs in a page."""

    url: str
    title: str = ""
    text_digest: str
    quote: Quote
    """Offsets into the page's text."""


class CheckedFact(Frozen):
    """One claim."""

    id: str
    text: str
    salient: bool | None
    queries: tuple[NeutralQuery, ...] = ()
    """Of an agent see its `run`."""
    refused: tuple[RefusedQuery, ...] = ()
    passages: tuple[PassageShown, ...] = ()
    """What the label rests on, with those that were shown for other claims in the same call."""
    label: FactLabel | None = None
    """None where there is no answer: see `failure`."""
    by: Literal["judge", "code"] = "judge"
    """`code`: the search found nothing, so that nothing could be asked."""
    supporting: tuple[Evidence, ...] = ()
    opposing: tuple[Evidence, ...] = ()
    rejected: tuple[str, ...] = ()
    """What the judge gave as quotations that occur in no passage."""
    rationale: str = ""
    failure: Failure | None = None
    replies: tuple[str, ...] = ()
    """Ledger keys of the replies with queries and label."""
    run: AgentResult[AgentVerdict] | None = None


class FactualityFindings(Frozen):
    """The claims of one report that were checked."""

    method: Method
    n_wanted: int
    """How many claims were to be checked."""
    n_verifiable: int
    """Different claims that can be verified, of which the most salient were chosen."""
    n_lost: int = 0
    """Sentences whose claims could not be had."""
    facts: tuple[CheckedFact, ...]
    """In reading order."""
    wishes: tuple[Wish, ...] = ()
    """What the snapshot lacked."""

    @property
    def n_failed(self) -> int:
        """Claims without a label; sentences are counted with the claim set."""
        return sum(fact.label is None for fact in self.facts)
