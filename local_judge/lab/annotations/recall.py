"""Semantic recall: does a judge find each annotated claim stated by the claims extracted from its paragraph?

Invariants: an annotated claim counts as stated only if the judge names extracted claims of the same paragraph that
state it. If nothing was extracted from the paragraph, it is not stated, and no call is made. One extracted claim may
state several annotated ones, and several together may state one, so that splitting or joining claims costs nothing.

    recall = stated / answered        (DEER, section 6.5: recall by meaning, decided by a judge)
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache, partial
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, create_model

from local_judge.base.failures import Failure
from local_judge.claims.model import Claim
from local_judge.judge.judge import Judge
from local_judge.lab.annotations.extraction import ReadReport, Recalled
from local_judge.lab.annotations.model import GoldClaim
from local_judge.prompts import Prompt, fence, fill, load_prompt, shared_prompt

template = partial(load_prompt, "local_judge.lab.annotations")

CLAIMS_PER_CALL = 20
REPLY_TOKENS_PER_CLAIM = 40


class RecallJudge(NamedTuple):
    """Judge that decides which claims are stated."""

    name: str
    judge: Judge


class Finding(BaseModel):
    """The judge's answer for one annotated claim."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stated_by: list[str]
    """Labels of extracted claims; empty if they do not state the claim."""


async def judge_recall(reports: Sequence[ReadReport], judge: Judge) -> tuple[Recalled, ...]:
    """Ask about every annotated claim of the reports in their order, except on sentences without an answer."""
    calls = [_call(one.report.id, asked, given, judge) for one in reports for asked, given in _batches(one)]
    return tuple(claim for call in await asyncio.gather(*calls) for claim in call)


def recall_prompt(extracted: Sequence[Claim], gold: Sequence[GoldClaim]) -> Prompt:
    """Return the prompt for annotated claims of one paragraph: extracted claims, instructions, annotated claims."""
    given = "\n".join(
        f"{label}: {claim.text}" for label, claim in zip(_labels(len(extracted)), extracted, strict=True)
    )
    asked = "\n".join(f"{number}. {claim.claim}" for number, claim in enumerate(gold, 1))
    own = fill(template("stated"), {"count": str(len(gold)), "claims": fence(asked, "Claims:")})
    return shared_prompt("recall", fence(given, "Extracted claims:"), own)


def _batches(one: ReadReport) -> list[tuple[list[GoldClaim], list[Claim]]]:
    """Return the annotated claims of each call, with the claims extracted from their paragraph."""
    sentences = one.report.sentences
    gold: dict[int, list[GoldClaim]] = {}
    extracted: dict[int, list[Claim]] = {}
    for claim in one.gold:
        gold.setdefault(sentences[claim.sentence].block, []).append(claim)
    for claim in one.extracted:
        extracted.setdefault(sentences[claim.sentence].block, []).append(claim)
    return [
        (claims[start : start + CLAIMS_PER_CALL], extracted.get(block, []))
        for block, claims in sorted(gold.items())
        for start in range(0, len(claims), CLAIMS_PER_CALL)
    ]


async def _call(
    report: str, gold: Sequence[GoldClaim], extracted: Sequence[Claim], judge: Judge
) -> list[Recalled]:
    if not extracted:
        return [Recalled(report=report, claim=claim.id, stated=False) for claim in gold]
    answers = await judge.ask_items(
        lambda indices: recall_prompt(extracted, [gold[index] for index in indices]),
        _finding(len(extracted)),
        len(gold),
        max_tokens=REPLY_TOKENS_PER_CLAIM * len(gold),
    )
    return [
        Recalled(report=report, claim=claim.id, stated=None, failure=answer.kind)
        if isinstance(answer, Failure)
        else Recalled(report=report, claim=claim.id, stated=bool(answer.value.stated_by))
        for claim, answer in zip(gold, answers, strict=True)
    ]


def _labels(n: int) -> tuple[str, ...]:
    """Return labels for the extracted claims, with a letter because the annotated claims have plain numbers."""
    return tuple(f"E{number}" for number in range(1, n + 1))


@cache
def _finding(n: int) -> type[Finding]:
    """Return `Finding` with the labels of `n` extracted claims as its menu."""
    label: Any = Literal[_labels(n)]
    labels: Any = Annotated[list[label], Field(max_length=8)]
    return create_model("Finding", __base__=Finding, stated_by=(labels, ...))
