"""Drafting of criteria by a judge (DeepResearch Bench, section 3.1).

Invariants: the weights of the dimensions and of each dimension's criteria sum to 1, even if the judge's do not; a draft
has all four dimensions, or is a failure; replies in the ledger are reused.

    dimensions  = mean of the samples, each divided by its sum; rounded to hundredths; the rounding error is added to
                  readability
    criteria    = the judge's weights divided by their sum; rounded to hundredths; the rounding error is added to the
                  largest weight
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field, model_validator

from local_judge.prompts import Prompt, fill, shared_prompt
from local_judge.tasks.criteria import CRITERIA_KIND, DIMENSIONS, CriteriaRow, CriterionRow
from local_judge.tasks.drafting import (
    Criterion,
    CriterionList,
    Draft,
    Reply,
    language_of,
    limited,
    one_line,
    request_block,
    template,
)
from local_judge.tasks.model import Task

SAMPLES = 5
"""Number of samples of the dimensions' weights. At temperature 0 it is one, because all would be equal."""

LEAST, MOST = 4, 10
"""Number of criteria of a dimension, as published."""

WEIGHTS_TOKENS = 500
CRITERIA_TOKENS = MOST * 220

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class WeightsReply(Reply):
    """One sample of the dimensions' weights."""

    rationale: Annotated[str, Field(max_length=800)]
    comprehensiveness: Share
    insight: Share
    instruction_following: Share
    readability: Share

    @model_validator(mode="after")
    def _some(self) -> WeightsReply:
        if not sum(self.weights().values()):
            raise ValueError("all weights are 0")
        return self

    def weights(self) -> dict[str, float]:
        """Return the weights by dimension."""
        return {dimension: getattr(self, dimension) for dimension in DIMENSIONS}


class DraftedCriterion(Criterion):
    """One criterion in a reply."""

    explanation: Annotated[str, Field(min_length=8, max_length=500)]
    weight: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


CriteriaReply = limited(CriterionList, DraftedCriterion, MOST, LEAST)


async def draft_criteria(draft: Draft) -> CriteriaRow:
    """Draft weights and criteria; all prompts share the request as prefix. Raises NoDraft."""
    task, judge = draft.task, draft.judge
    n = SAMPLES if judge.settings.sampling.temperature else 1
    weights = weights_prompt(task)
    samples = await asyncio.gather(
        *(judge.ask(weights, WeightsReply, draw=draw, max_tokens=WEIGHTS_TOKENS) for draw in range(n))
    )
    lists = await asyncio.gather(
        *(
            judge.ask(criteria_prompt(task, dimension), CriteriaReply, max_tokens=CRITERIA_TOKENS)
            for dimension in DIMENSIONS
        )
    )
    given = [draft.take(sample, "weights of the dimensions").weights() for sample in samples]
    criterions = {
        dimension: settled(draft.take(answer, dimension).criteria)
        for dimension, answer in zip(DIMENSIONS, lists, strict=True)
    }
    published = task.id.isascii() and task.id.isdecimal() and str(int(task.id)) == task.id
    return CriteriaRow(
        id=int(task.id) if published else task.id,  # the published files' ids are numbers
        prompt=task.prompt,
        dimension_weight=averaged(given),
        weight_samples=tuple(given),
        criterions=criterions,
        status="drafted",
        **await draft.origin(),
    )


CRITERIA_DRAFTS = CRITERIA_KIND.drafts(draft_criteria, at_once=8)
"""Drafts of nine calls each."""


def averaged(samples: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the dimensions' weights from several samples, in hundredths that sum to 1.

    The rounding error is added to readability, as in the published code, or to the largest weight if readability would
    become negative.
    """
    totals = [math.fsum(sample.values()) for sample in samples]
    shares = {
        dimension: math.fsum(sample[dimension] / total for sample, total in zip(samples, totals, strict=True))
        / len(samples)
        for dimension in DIMENSIONS
    }
    return _hundredths(shares, "readability")


def settled(criteria: Sequence[Criterion]) -> tuple[CriterionRow, ...]:
    """Return criteria with weights in hundredths that sum to 1."""
    total = math.fsum(one.weight for one in criteria)
    shares = {str(index): one.weight / total for index, one in enumerate(criteria)}
    weights = _hundredths(shares, max(shares, key=lambda index: shares[index]))
    return tuple(
        CriterionRow(
            criterion=one_line(one.criterion),
            explanation=one_line(one.explanation),
            weight=weights[str(index)],
        )
        for index, one in enumerate(criteria)
    )


def _hundredths(shares: Mapping[str, float], remainder: str) -> dict[str, float]:
    """Round shares to hundredths that sum to 1; `remainder` takes the rounding error unless it becomes negative."""
    counts = {name: round(share * 100) for name, share in shares.items()}
    over = 100 - sum(counts.values())
    if counts[remainder] + over < 0:
        remainder = max(counts, key=lambda name: counts[name])
    counts[remainder] += over
    return {name: count / 100 for name, count in counts.items()}


def weights_prompt(task: Task) -> Prompt:
    """Return the prompt that asks for the dimensions' weights."""
    own = fill(template("weights"), {"language": language_of(task)})
    return shared_prompt("criteria", request_block(task), own)


def criteria_prompt(task: Task, dimension: str) -> Prompt:
    """Return the prompt that asks for the criteria of one dimension."""
    values = {
        "dimension": template(dimension),
        "language": language_of(task),
        "least": str(LEAST),
        "most": str(MOST),
    }
    return shared_prompt("criteria", request_block(task), fill(template("criteria"), values))
