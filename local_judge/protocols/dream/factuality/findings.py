"""Settings and findings of factuality.

Invariant: each chosen claim occurs once, with a label or a failure. A quotation is evidence only if code found it in a
passage that the judge was shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from local_judge.agents.actions import MOST_PASSAGES, MOST_QUERIES
from local_judge.agents.citations import Citation
from local_judge.agents.observations import PagePassage
from local_judge.agents.result import AgentLimits, AgentResult, EvidenceGap
from local_judge.agents.toolbox import ToolSettings
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.model import Quote
from local_judge.protocols.metric import MetricFindings

Method = Literal["batched", "agent"]


class FactualitySettings(Frozen):
    """Settings of factuality."""

    n_claims: int = Field(default=30, ge=1, le=200)
    """Number of verifiable claims to check: those most salient for the request."""
    method: Method = "batched"
    """`batched`: queries for many claims in one call, one search, one call for claims that share passages. `agent`: one
    agent per claim that searches and reads, at ten times the cost."""
    queries_per_claim: int = Field(default=2, ge=1, le=MOST_QUERIES)
    """Search queries per claim."""
    claims_per_query_call: int = Field(default=10, ge=1, le=30)
    """Claims for which one call writes queries."""
    rounds: int = Field(default=2, ge=0, le=5)
    """Further questions to a judge for the claims whose queries all gave something away, before code makes a query."""
    passages_per_query: int = Field(default=4, ge=1, le=MOST_PASSAGES)
    """Passages shown per query."""
    evidence_tokens: int = Field(default=3000, ge=200)
    """Tokens of the passages in one call, estimated (see `claims.evidence.estimate_tokens`)."""
    claims_per_call: int = Field(default=4, ge=1, le=20)
    """Claims with shared passages that are judged in one call."""
    quotations: Literal["required", "optional"] = "required"
    """`required`: a label other than unverifiable rests on a quotation that occurs in the passages, or is a failure."""
    tools: ToolSettings = ToolSettings()
    """Search settings; the choice of tools applies to agents only."""
    limits: AgentLimits = AgentLimits()
    """Limits of one agent."""


FactLabel = Literal["supported", "partially", "contradicted", "unverifiable"]


class AgentVerdict(Frozen):
    """Answer of an agent; the evidence comes first."""

    supporting: Annotated[tuple[Citation, ...], Field(max_length=3)]
    opposing: Annotated[tuple[Citation, ...], Field(max_length=3)]
    rationale: Annotated[str, Field(max_length=400)]
    label: FactLabel


class SearchQuery(Frozen):
    """Query of a search, which gives nothing of the claim away."""

    text: str
    by: Literal["judge", "code"] = "judge"
    """`code`: made of the claim's words, because every query of the judge gave something away."""


class RefusedQuery(Frozen):
    """Query of the judge that gave something of the claim away."""

    text: str
    why: tuple[str, ...]
    """Words that it gave away."""


class PassageLocation(Frozen):
    """Range of a page that the judge was shown."""

    url: str
    text_digest: str
    start: int
    end: int


def passages_of(shown: Iterable[PagePassage]) -> tuple[PassageLocation, ...]:
    """Return the locations of passages, each once."""
    return tuple(
        dict.fromkeys(
            PassageLocation(url=one.url, text_digest=one.text_digest, start=one.start, end=one.end)
            for one in shown
        )
    )


class Evidence(Frozen):
    """Quotation that occurs in a page."""

    url: str
    title: str = ""
    text_digest: str
    quote: Quote
    """Quotation with offsets into the page's text."""


class CheckedFact(Frozen):
    """One checked claim."""

    id: str
    """Id of the claim."""
    text: str
    salient: bool | None
    queries: tuple[SearchQuery, ...] = ()
    """Queries of the batched method; for those of an agent see `run`."""
    refused: tuple[RefusedQuery, ...] = ()
    """Refused queries: `text`, `why`."""
    passages: tuple[PassageLocation, ...] = ()
    """Passages shown for the label, including those of other claims in the same call."""
    label: FactLabel | None = None
    """None without an answer: see `failure`."""
    by: Literal["judge", "code"] = "judge"
    """`code`: the search found nothing, so the judge was not asked."""
    supporting: tuple[Evidence, ...] = ()
    """Quotations of the pages for the claim, with their offsets."""
    opposing: tuple[Evidence, ...] = ()
    """Quotations of the pages against the claim, with their offsets."""
    rejected: tuple[str, ...] = ()
    """Quotations of the judge that occur in no passage."""
    rationale: str = ""
    """Reason given by the judge."""
    failure: Failure | None = None
    """Reason why there is no label."""
    replies: tuple[str, ...] = ()
    """Ledger keys of the replies with queries and label."""
    run: AgentResult[AgentVerdict] | None = None
    """Run of the agent, if an agent checked the claim."""


class FactualityFindings(MetricFindings):
    """Checked claims of one report."""

    method: Method
    n_wanted: int
    """Number of claims to check."""
    n_verifiable: int
    """Number of different verifiable claims, from which the most salient were chosen."""
    n_lost: int = 0
    """Sentences whose claims are unknown."""
    most_lost: int = 0
    """Largest number of claims that they may have."""
    known: float = 1.0
    """Share of the sentences whose claims are known."""
    facts: tuple[CheckedFact, ...]
    """Claims in reading order."""
    choice: tuple[str, ...] = ()
    """Ledger keys of the replies that chose the claims; none if no judge was asked."""
    evidence_gaps: tuple[EvidenceGap, ...] = ()
    """Requests that the snapshot could not answer."""

    @property
    def n_failed(self) -> int:
        """Number of claims without a label; sentences are counted with the claim set."""
        return sum(fact.label is None for fact in self.facts)
