"""Verification by groups: up to 20 claims of a page in one call, with quotations and rationales.

Invariant: each claim of a group gets exactly one label from the menu, or a failure; a quotation is kept only if it
occurs in the page, and one that does not is kept apart, so that it can be counted and shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Generic, NamedTuple, TypeVar

from pydantic import Field

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import PageEvidence
from local_judge.claims.model import Claim, Label, Verdict
from local_judge.claims.quotes import CheckedQuote, QuoteFinder
from local_judge.judge.judge import Judge
from local_judge.prompts import Prompt, fence, fill, load_prompt

template = partial(load_prompt, "local_judge.claims")

REPLY_TOKENS_PER_CLAIM = 260


class Finding(Frozen):
    """A judge's finding for one statement about a page; each kind of question has its own subclass."""

    quote: str


class TerseFinding(Finding):
    """A judge's finding for one claim, without a rationale. The quotation comes first: evidence before verdict."""

    quote: Annotated[str, Field(max_length=400)]
    label: Label


class FullFinding(Finding):
    """A judge's finding for one claim."""

    quote: Annotated[str, Field(max_length=600)]
    rationale: Annotated[str, Field(max_length=400)]
    label: Label


def verification_prompt(page_evidence: PageEvidence, claims: Sequence[Claim], form: str) -> Prompt:
    """Page first, then the instructions, then the claims."""
    listed = "\n".join(f"{number}. {claim.text}" for number, claim in enumerate(claims, 1))
    name = "verify" if form == "full" else "verify_terse"
    return Prompt(
        shared=page_evidence.shared,
        own=fill(template(name), {"count": str(len(claims)), "claims": fence(listed, "Claims:")}),
        prefix_key=page_evidence.prefix_key,
    )


async def verify_grouped(
    page_evidence: PageEvidence, claims: Sequence[Claim], judge: Judge, config: ClaimsConfig
) -> tuple[Verdict, ...]:
    """Return one verdict per claim, in order."""
    found = await ask_grouped(
        page_evidence,
        claims,
        judge,
        lambda asked: verification_prompt(page_evidence, asked, config.form),
        FullFinding if config.form == "full" else TerseFinding,
    )
    return tuple(_verdict(claim, page_evidence, one) for claim, one in zip(claims, found, strict=True))


def _verdict(
    claim: Claim, page_evidence: PageEvidence, found: Found[FullFinding | TerseFinding] | Failure
) -> Verdict:
    verdict = partial(
        Verdict, claim=claim.id, url=page_evidence.page.url, evidence=page_evidence.evidence, method="grouped"
    )
    if isinstance(found, Failure):
        return verdict(label=None, failure=found)
    return verdict(
        label=found.finding.label,
        quote=found.checked.quote,
        quote_rejected=found.checked.rejected,
        rationale=found.finding.rationale if isinstance(found.finding, FullFinding) else "",
        replies=found.replies,
    )


F = TypeVar("F", bound=Finding)


class Found(NamedTuple, Generic[F]):
    """A judge's finding with what came of its quotation."""

    finding: F
    checked: CheckedQuote
    replies: tuple[str, ...]
    """Ledger keys."""


async def ask_grouped(
    page_evidence: PageEvidence,
    claims: Sequence[Claim],
    judge: Judge,
    prompt: Callable[[Sequence[Claim]], Prompt],
    kind: type[F],
) -> list[Found[F] | Failure]:
    """Return one finding, or a failure, for each claim about a page, in order; quotations are looked up in the page."""
    finder = QuoteFinder(page_evidence.page.text, page_evidence.page.title)
    answers = await judge.ask_items(
        lambda indices: prompt([claims[index] for index in indices]),
        kind,
        len(claims),
        max_tokens=REPLY_TOKENS_PER_CLAIM * len(claims),
    )
    return [
        answer
        if isinstance(answer, Failure)
        else Found(answer.value, finder.check(answer.value.quote), answer.replies)
        for answer in answers
    ]
