"""Which of a report's claims are checked, how, and what was found of them.

Invariant: each claim that was chosen stands here once, with a label or with the failure in its place; a quotation
stands among the evidence only where code found it in a passage that the judge was shown.
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
from local_judge.claims.model import Quote
from local_judge.judge.failures import Failure
from local_judge.protocols.metric import MetricFindings
from serving.types import Frozen

Method = Literal["batched", "agent"]


class FactualitySettings(Frozen):
    """Which claims are checked, and how."""

    n_claims: int = Field(default=30, ge=1, le=200)
    """The most salient of the claims that can be verified."""
    method: Method = "batched"
    """`batched`: queries for many claims in one call, one search, one call for claims that share passages. `agent`: for
    each claim an agent searches and reads by itself, which costs ten times as much."""
    queries_per_claim: int = Field(default=2, ge=1, le=MOST_QUERIES)
    claims_per_query_call: int = Field(default=10, ge=1, le=30)
    """Claims for which one call writes queries."""
    rounds: int = Field(default=2, ge=0, le=5)
    """How often a judge is asked again for the claims whose queries all gave something away, before code makes one."""
    passages_per_query: int = Field(default=4, ge=1, le=MOST_PASSAGES)
    evidence_tokens: int = Field(default=3000, ge=200)
    """Of the passages in one call, in estimated tokens (see `claims.evidence.estimate_tokens`)."""
    claims_per_call: int = Field(default=4, ge=1, le=20)
    """Claims judged in one call, where they share passages."""
    quotations: Literal["required", "optional"] = "required"
    """`required`: a label other than unverifiable rests on a quotation that occurs in the passages, or is a failure."""
    tools: ToolSettings = ToolSettings()
    """How the snapshot is searched; which tools there are concerns agents alone."""
    limits: AgentLimits = AgentLimits()
    """Of one agent."""


FactLabel = Literal["supported", "partially", "contradicted", "unverifiable"]


class AgentVerdict(Frozen):
    """What an agent finishes with; the evidence comes first."""

    supporting: Annotated[tuple[Citation, ...], Field(max_length=3)]
    opposing: Annotated[tuple[Citation, ...], Field(max_length=3)]
    rationale: Annotated[str, Field(max_length=400)]
    label: FactLabel


class SearchQuery(Frozen):
    """A query that was searched with: it gives nothing of the claim away."""

    text: str
    by: Literal["judge", "code"] = "judge"
    """`code`: made of the claim's words, where each query of the judge gave something away."""


class RefusedQuery(Frozen):
    """A query of the judge that gave something of the claim away."""

    text: str
    why: tuple[str, ...]
    """The words that it gave away."""


class PassageLocation(Frozen):
    """A stretch of a page that the judge was shown."""

    url: str
    text_digest: str
    start: int
    end: int


def passages_of(shown: Iterable[PagePassage]) -> tuple[PassageLocation, ...]:
    """Where passages stand, each once."""
    return tuple(
        dict.fromkeys(
            PassageLocation(url=one.url, text_digest=one.text_digest, start=one.start, end=one.end)
            for one in shown
        )
    )


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
    queries: tuple[SearchQuery, ...] = ()
    """Of an agent see its `run`."""
    refused: tuple[RefusedQuery, ...] = ()
    passages: tuple[PassageLocation, ...] = ()
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


class FactualityFindings(MetricFindings):
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
    evidence_gaps: tuple[EvidenceGap, ...] = ()
    """What the snapshot lacked."""

    @property
    def n_failed(self) -> int:
        """Claims without a label; sentences are counted with the claim set."""
        return sum(fact.label is None for fact in self.facts)
