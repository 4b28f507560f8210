"""Verification by groups: up to 20 claims of a page in one call, with quotations and rationales.

Invariant: each claim of a group gets exactly one label from the menu, or a failure; a quotation is kept only if it
occurs in the page, and one that does not is kept apart, so that it can be counted and shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import Exhibit
from local_judge.claims.model import Claim, Label, Verdict
from local_judge.claims.quotes import QuoteFinder
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, fill, load_prompt

template = partial(load_prompt, "local_judge.claims")

REPLY_TOKENS_PER_CLAIM = 260


class TerseFinding(BaseModel):
    """A judge's finding for one claim, without a rationale. The quotation comes first: evidence before verdict."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quote: Annotated[str, Field(max_length=400)]
    label: Label


class FullFinding(BaseModel):
    """A judge's finding for one claim."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quote: Annotated[str, Field(max_length=600)]
    rationale: Annotated[str, Field(max_length=400)]
    label: Label


def verification_prompt(exhibit: Exhibit, claims: Sequence[Claim], form: str) -> Prompt:
    """Page first, then the instructions, then the claims."""
    listed = "\n".join(f"{number}. {claim.text}" for number, claim in enumerate(claims, 1))
    name = "verify" if form == "full" else "verify_terse"
    return Prompt(
        shared=exhibit.shared,
        own=fill(template(name), {"count": str(len(claims)), "claims": fence(listed, "Claims:")}),
        prefix_key=exhibit.prefix_key,
    )


async def verify_grouped(
    exhibit: Exhibit, claims: Sequence[Claim], judge: Judge, config: ClaimsConfig
) -> tuple[Verdict, ...]:
    """One verdict per claim, in order."""
    finder = QuoteFinder(exhibit.page.text, exhibit.page.title)

    def prompt_for(indices: Sequence[int]) -> Prompt:
        return verification_prompt(exhibit, [claims[index] for index in indices], config.form)

    item = FullFinding if config.form == "full" else TerseFinding
    answers = await judge.ask_items(
        prompt_for, item, len(claims), max_tokens=REPLY_TOKENS_PER_CLAIM * len(claims)
    )
    verdicts: list[Verdict] = []
    for claim, answer in zip(claims, answers, strict=True):
        if isinstance(answer, Failure):
            verdicts.append(
                Verdict(
                    claim=claim.id,
                    url=exhibit.page.url,
                    label=None,
                    failure=answer,
                    evidence=exhibit.evidence,
                    method="grouped",
                )
            )
            continue
        finding = answer.value
        quote = finder.find(finding.quote)
        verdicts.append(
            Verdict(
                claim=claim.id,
                url=exhibit.page.url,
                label=finding.label,
                quote=quote,
                quote_rejected=finding.quote if finding.quote.strip() and quote is None else None,
                rationale=finding.rationale if isinstance(finding, FullFinding) else "",
                evidence=exhibit.evidence,
                method="grouped",
                replies=answer.replies,
            )
        )
    return tuple(verdicts)
