"""Report -> the ten sub-dimensions of writing.

Invariant: the report opens the prompt as all protocols show it, so that its prefill is shared; the judge sees the
requirements and nothing of weights or totals.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from local_judge.claims.quotes import QuoteFinder, find_labelled
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Answer
from local_judge.judge.layout import fill, load_prompt
from local_judge.protocols.asking import MIN_REPLY_TOKENS, REPLY_TOKENS, Requirement, ask_each
from local_judge.protocols.base import Bench, Case
from local_judge.protocols.dream.numbers import no_boolean
from local_judge.protocols.dream.writing.findings import WritingFindings, WritingMark
from local_judge.protocols.dream.writing.rubric import DIMENSIONS, SUBDIMENSIONS, of_dimension
from local_judge.protocols.dream.writing.settings import WritingSettings

template = partial(load_prompt, "local_judge.protocols.dream")


class Mark(BaseModel):
    """A judge's answer about one sub-dimension; the evidence comes first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quote: Annotated[str, Field(max_length=400)]
    rationale: Annotated[str, Field(max_length=400)]
    score: Annotated[int, Field(ge=0, le=100), BeforeValidator(no_boolean)]


async def judge_writing(case: Case, bench: Bench, settings: WritingSettings) -> WritingFindings:
    """All ten sub-dimensions of one report."""
    document = case.report

    def wording(asked: Sequence[Requirement]) -> str:
        return fill(template("writing"), {"aspects": "\n".join(one.line for one in asked)})

    groups = {
        "one": [SUBDIMENSIONS],
        "dimension": [of_dimension(dimension) for dimension in DIMENSIONS],
        "subdimension": [(one,) for one in SUBDIMENSIONS],
    }[settings.calls]
    told = await asyncio.gather(
        *(
            ask_each(
                document,
                bench.judge,
                wording,
                [Requirement(one.id, one.text) for one in group],
                Mark,
                per_call=len(group),
                reply_tokens=REPLY_TOKENS,
                min_reply_tokens=MIN_REPLY_TOKENS,
            )
            for group in groups
        )
    )
    finder = QuoteFinder(document.text)
    answers = [answer for group in told for answer in group]
    return WritingFindings(
        marks=tuple(_mark(one.id, answer, finder) for one, answer in zip(SUBDIMENSIONS, answers, strict=True))
    )


def _mark(id: str, told: Answer[Mark] | Failure, finder: QuoteFinder) -> WritingMark:
    if isinstance(told, Failure):
        return WritingMark(id=id, score=None, failure=told)
    answer = told.value
    quote = find_labelled(finder, answer.quote)
    return WritingMark(
        id=id,
        score=answer.score,
        rationale=answer.rationale,
        quote=quote,
        quote_rejected=answer.quote if answer.quote.strip() and quote is None else None,
        replies=told.replies,
    )
