"""Search queries for claims, and the passages that they find.

Invariants: every query passes `query_leakage.given_away`. Code checks the judge's queries; a claim without an accepted
query is asked for again, with the refused queries and the reasons; after that code makes a query of the claim's words
and marks it. The passages depend on queries, snapshot and settings alone. The passages of a call are in the order of
its claims and of their rank, each once, and claims are in one call only if they share pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Annotated, NamedTuple

from pydantic import Field

from local_judge.agents.actions import MOST_QUERIES, Search
from local_judge.agents.observations import PagePassage, SnapshotRequest
from local_judge.agents.toolbox import Toolbox
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.evidence import estimate_tokens
from local_judge.claims.model import Claim
from local_judge.judge.judge import Judge
from local_judge.prompts import Prompt, fence, fill, load_prompt
from local_judge.protocols.asking import evaluated_on
from local_judge.protocols.dream.factuality.findings import FactualitySettings, RefusedQuery, SearchQuery
from local_judge.protocols.dream.factuality.query_leakage import given_away, query_without_answer

template = partial(load_prompt, "local_judge.protocols.dream")

TOKENS_PER_QUERY = 50

Query = Annotated[str, Field(min_length=1, max_length=150)]


class Written(Frozen):
    """Queries of a judge for one claim."""

    queries: Annotated[list[Query], Field(min_length=1, max_length=MOST_QUERIES)]


@dataclass
class ClaimQueries:
    """Queries of one claim so far."""

    claim: Claim
    accepted: list[str] = field(default_factory=list[str])
    refused: list[RefusedQuery] = field(default_factory=list[RefusedQuery])
    failure: Failure | None = None
    """Failure of the last reply."""
    replies: list[str] = field(default_factory=list[str])

    def take(self, texts: Sequence[str], most: int) -> None:
        """Sort a reply's queries into accepted and refused ones."""
        for text in dict.fromkeys(" ".join(text.split()) for text in texts):
            why = given_away(text, self.claim.text)
            if why and text not in {query.text for query in self.refused}:
                self.refused.append(RefusedQuery(text=text, why=why))
            if text and not why and len(self.accepted) < most:
                self.accepted.append(text)

    @property
    def queries(self) -> tuple[SearchQuery, ...]:
        """Queries to search with; empty if every possible query gives something away."""
        if self.accepted:
            return tuple(SearchQuery(text=text) for text in self.accepted)
        made = None if self.failure is not None else query_without_answer(self.claim.text)
        return () if made is None else (SearchQuery(text=made, by="code"),)

    @property
    def why_none(self) -> Failure:
        """Failure of a claim without a query."""
        detail = f"claim {self.claim.id}: each query gives something away"
        return self.failure or Failure(kind="incomplete", detail=detail, attempts=len(self.replies))


async def write_queries(
    claims: Sequence[Claim], judge: Judge, today: date | None, settings: FactualitySettings
) -> list[ClaimQueries]:
    """Return queries for each claim, in order."""
    size = settings.claims_per_query_call
    calls = [claims[start : start + size] for start in range(0, len(claims), size)]
    written = await asyncio.gather(*(_written(call, judge, today, settings) for call in calls))
    return [one for call in written for one in call]


async def _written(
    claims: Sequence[Claim], judge: Judge, today: date | None, settings: FactualitySettings
) -> list[ClaimQueries]:
    asked = [ClaimQueries(claim) for claim in claims]
    for round in range(settings.rounds + 1):
        # Failed replies were asked for again within their round.
        left = [one for one in asked if not one.accepted and one.failure is None]
        if left:
            await _ask(left, judge, today, settings.queries_per_claim, round)
    return asked


async def _ask(asked: Sequence[ClaimQueries], judge: Judge, today: date | None, n: int, round: int) -> None:
    def prompt_for(indices: Sequence[int]) -> Prompt:
        return queries_prompt([asked[index] for index in indices], today, n)

    answers = await judge.ask_items(
        prompt_for, Written, len(asked), draw=round, max_tokens=TOKENS_PER_QUERY * n * len(asked) + 60
    )
    for one, answer in zip(asked, answers, strict=True):
        if isinstance(answer, Failure):
            one.failure = answer
        else:
            one.replies += answer.replies
            one.take(answer.value.queries, n)


def queries_prompt(asked: Sequence[ClaimQueries], today: date | None, n: int) -> Prompt:
    """Return the prompt for some claims; the part that is the same for all comes first."""
    lines: list[str] = []
    for number, one in enumerate(asked, 1):
        lines.append(f"{number}. {one.claim.text}")
        lines += [f"   refused: {query.text} (holds: {', '.join(query.why)})" for query in one.refused]
    own = fill(
        template("queries_batch"),
        {
            "count": str(len(asked)),
            "claims": fence("\n".join(lines), "Claims:"),
            "today": evaluated_on(today).strip() or "The day is not given.",
        },
    )
    return Prompt(shared=fill(template("queries"), {"n": str(n)}), own=own, prefix_key=f"dream:queries:{n}")


class Retrieved(NamedTuple):
    """Passages found by one claim's queries."""

    passages: tuple[PagePassage, ...]
    """Passages within `evidence_tokens`, best first."""
    asked: tuple[SnapshotRequest, ...]


def search(queries: Sequence[SearchQuery], toolbox: Toolbox, settings: FactualitySettings) -> Retrieved:
    """Return the passages of all queries of a claim: the best of each in turn, then the second, and so on."""
    texts = tuple(query.text for query in queries)
    observation = toolbox.run(Search(tool="search", queries=texts, k=settings.passages_per_query))
    ranks: dict[int, int] = {}
    order: list[tuple[int, int, PagePassage]] = []
    for shown in observation.shown:
        query = shown.query or 0
        ranks[query] = ranks.get(query, 0) + 1
        order.append((ranks[query], query, shown.model_copy(update={"query": None, "score": None})))
    kept: list[PagePassage] = []
    spent = 0
    for _, _, shown in sorted(order, key=lambda one: one[:2]):
        cost = tokens_of(shown)
        if kept and spent + cost > settings.evidence_tokens:
            continue
        kept.append(shown)
        spent += cost
    return Retrieved(tuple(kept), observation.asked)


def tokens_of(shown: PagePassage) -> int:
    """Estimate the tokens of a passage as it is shown."""
    return estimate_tokens(shown.text) + estimate_tokens(shown.title) + estimate_tokens(shown.url) + 20


class Group(NamedTuple):
    """Claims that are judged in one call."""

    claims: tuple[int, ...]
    """Positions of the claims."""
    passages: tuple[PagePassage, ...]


Located = dict[tuple[str, str, int, int], PagePassage]
"""Passages by URL, text and offsets."""


def grouped(found: Sequence[Sequence[PagePassage]], settings: FactualitySettings) -> list[Group]:
    """Divide the claims that found passages into calls.

    A claim joins the group with which it shares most passages, among the groups that have room for it and at least half
    of its pages. If there is none, it begins a group.
    """
    groups: list[tuple[list[int], Located]] = []
    for position, passages in enumerate(found):
        own: Located = {
            (passage.url, passage.text_digest, passage.start, passage.end): passage for passage in passages
        }
        fits = [group for group in groups if _fits(*group, own, settings)]
        if fits:
            claims, shown = max(fits, key=lambda group: len(group[1].keys() & own.keys()))
            claims.append(position)
            shown |= {location: one for location, one in own.items() if location not in shown}
        elif own:
            groups.append(([position], own))
    return [Group(tuple(claims), tuple(shown.values())) for claims, shown in groups]


def _fits(claims: Sequence[int], shown: Located, own: Located, settings: FactualitySettings) -> bool:
    pages = {one.url for one in own.values()}
    shared = pages & {one.url for one in shown.values()}
    return (
        bool(own)
        and len(claims) < settings.claims_per_call
        and 2 * len(shared) >= len(pages)
        and sum(map(tokens_of, (shown | own).values())) <= settings.evidence_tokens
    )
