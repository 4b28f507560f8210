"""Report + claim set + snapshot -> its most salient claims, each with a label.

    batched   neutral queries for many claims in one call -> one search -> one call for claims that share passages
    agent     a loop of its own for each claim

A claim whose searches find no passage is unverifiable, and nobody is asked.

Invariant: the report's own citations play no part; what was searched for and not found is recorded as a wish.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from indexes.snapshot import Snapshot
from local_judge.agents.result import Wish, merged, wished
from local_judge.agents.toolbox import Toolbox
from local_judge.claims.model import Claim
from local_judge.errors import ConfigError
from local_judge.protocols.base import Bench, Case
from local_judge.protocols.dream.corpus import corpus_of
from local_judge.protocols.dream.factuality.by_agent import check_by_agent
from local_judge.protocols.dream.factuality.evidence import grouped, search
from local_judge.protocols.dream.factuality.findings import CheckedFact, FactualityFindings
from local_judge.protocols.dream.factuality.queries import Asked, write_queries
from local_judge.protocols.dream.factuality.selection import most_salient, verifiable
from local_judge.protocols.dream.factuality.settings import FactualitySettings
from local_judge.protocols.dream.factuality.verdicts import Ruled, rule

NOTHING_FOUND = "the search found no passage"


async def judge_factuality(case: Case, bench: Bench, settings: FactualitySettings) -> FactualityFindings:
    """The most salient claims of one report.

    Raises:
        ConfigError: there is no snapshot.
    """
    if bench.snapshot is None:
        raise ConfigError("dream: searching needs a snapshot; give --snapshot")
    claims = await bench.claims()
    known = verifiable(claims.claims)
    chosen = most_salient(known, settings.n_claims)
    check = _batched if settings.method == "batched" else _by_agents
    facts, wishes = await check(chosen, bench, bench.snapshot, settings)
    return FactualityFindings(
        method=settings.method,
        n_wanted=settings.n_claims,
        n_verifiable=len(known),
        n_lost=sum(len(failure.sentences) for failure in claims.extraction_failures),
        facts=tuple(facts),
        wishes=wishes,
    )


async def _by_agents(
    claims: Sequence[Claim], bench: Bench, snapshot: Snapshot, settings: FactualitySettings
) -> tuple[list[CheckedFact], tuple[Wish, ...]]:
    corpus = corpus_of(snapshot)
    facts = await asyncio.gather(
        *(check_by_agent(claim, bench.judge, snapshot, corpus, bench.today, settings) for claim in claims)
    )
    wishes = merged(wish for fact in facts if fact.run is not None for wish in fact.run.wishes)
    return list(facts), wishes


async def _batched(
    claims: Sequence[Claim], bench: Bench, snapshot: Snapshot, settings: FactualitySettings
) -> tuple[list[CheckedFact], tuple[Wish, ...]]:
    asked = await write_queries(claims, bench.judge, bench.today, settings)
    toolbox = Toolbox(snapshot, settings.tools, corpus=corpus_of(snapshot))
    found = [search(one.queries, toolbox, settings) if one.queries else None for one in asked]
    groups = grouped([one.passages if one else () for one in found], settings)
    required = settings.quotations == "required"
    ruled = await asyncio.gather(
        *(rule(group, claims, bench.judge, bench.today, required) for group in groups)
    )
    by_position = {
        position: one
        for group, some in zip(groups, ruled, strict=True)
        for position, one in zip(group.claims, some, strict=True)
    }
    facts = [_fact(one, by_position.get(position)) for position, one in enumerate(asked)]
    return facts, wished([request for one in found if one is not None for request in one.asked])


def _fact(asked: Asked, ruled: Ruled | None) -> CheckedFact:
    claim = asked.claim
    fact = CheckedFact(
        id=claim.id,
        text=claim.text,
        salient=claim.salient,
        queries=asked.queries,
        refused=tuple(asked.refused),
        replies=tuple(asked.replies),
    )
    if not asked.queries:
        return fact.model_copy(update={"failure": asked.why_none})
    if ruled is None:
        return fact.model_copy(update={"label": "unverifiable", "by": "code", "rationale": NOTHING_FOUND})
    replies = {"replies": (*asked.replies, *ruled.replies)}
    return fact.model_copy(update=ruled._asdict() | replies)
