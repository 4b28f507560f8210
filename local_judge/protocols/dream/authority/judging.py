"""Report -> the domains that it cites, each with its score.

Invariant: a prompt holds a domain and nothing of the report, the task or the day: one judgement of a domain is that of
all reports, systems and runs, which the ledger answers again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from local_judge.documents.model import Document
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, load_prompt
from local_judge.protocols.base import Bench, Case
from local_judge.protocols.dream.authority.domains import domain_of, shown
from local_judge.protocols.dream.authority.findings import AuthorityFindings, CitedDomain
from local_judge.protocols.dream.authority.ratings import GivenRating
from local_judge.protocols.dream.numbers import no_boolean

template = partial(load_prompt, "local_judge.protocols.dream")

REPLY_TOKENS = 160
"""Limit of a reply: 300 characters and a number."""


class Rating(BaseModel):
    """A judge's answer about one domain."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rationale: Annotated[str, Field(max_length=300)]
    score: Annotated[int, Field(ge=1, le=10), BeforeValidator(no_boolean)]


async def judge_authority(case: Case, bench: Bench, given: Mapping[str, GivenRating]) -> AuthorityFindings:
    """The domains of one report's citations.

    Args:
        case: the report.
        bench: the judge.
        given: ratings by people, by domain.
    """
    cited = cited_domains(case.report)
    domains = await asyncio.gather(
        *(_rated(domain, urls, bench.judge, given.get(domain)) for domain, urls in cited.items())
    )
    return AuthorityFindings(
        domains=tuple(domains),
        n_unresolved=sum(citation.url is None for citation in case.report.citations),
    )


def cited_domains(document: Document) -> dict[str, tuple[str, ...]]:
    """The addresses that citations lead to, by domain, both in the order of their first citation."""
    found: dict[str, dict[str, None]] = {}
    for citation in document.citations:
        if citation.url is not None:
            found.setdefault(domain_of(citation.url), {})[citation.url] = None
    return {domain: tuple(urls) for domain, urls in found.items()}


def authority_prompt(domain: str) -> Prompt:
    """The question about one domain. What is said of the scale comes first: all domains share that."""
    return Prompt(
        shared=template("authority"), own=fence(shown(domain), "Domain:"), prefix_key="dream:authority"
    )


async def _rated(domain: str, urls: tuple[str, ...], judge: Judge, given: GivenRating | None) -> CitedDomain:
    if given is not None:
        return CitedDomain(domain=domain, urls=urls, score=given.score, by="file", rationale=given.note)
    told = await judge.ask(authority_prompt(domain), Rating, max_tokens=REPLY_TOKENS)
    if isinstance(told, Failure):
        return CitedDomain(domain=domain, urls=urls, failure=told)
    answer = told.value
    return CitedDomain(
        domain=domain, urls=urls, score=answer.score, rationale=answer.rationale, replies=told.replies
    )
