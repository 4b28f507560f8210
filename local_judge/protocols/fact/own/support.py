"""Whether a page supports the statements that cite it.

Invariant: each statement gets exactly one label of the menu, or a failure; a quotation is kept only if it occurs in the
page, and one that does not is kept apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from indexes.snapshot import Snapshot
from local_judge.claims.evidence import Exhibit, exhibits
from local_judge.claims.model import Claim
from local_judge.claims.quotes import QuoteFinder
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, fill, load_prompt
from local_judge.protocols.fact.findings import Outcome, Pair
from local_judge.protocols.fact.own.extract import Stated
from local_judge.protocols.fact.settings import FactSettings

template = partial(load_prompt, "local_judge.protocols.fact")

REPLY_TOKENS_PER_STATEMENT = 260


class Finding(BaseModel):
    """What the judge says of one statement: evidence before the label."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quote: Annotated[str, Field(max_length=600)]
    rationale: Annotated[str, Field(max_length=400)]
    label: Outcome


def support_prompt(exhibit: Exhibit, claims: Sequence[Claim]) -> Prompt:
    """Page first, then the instructions, then the statements."""
    listed = "\n".join(f"{number}. {claim.text}" for number, claim in enumerate(claims, 1))
    values = {"count": str(len(claims)), "statements": fence(listed, "Statements:")}
    return Prompt(shared=exhibit.shared, own=fill(template("support"), values), prefix_key=exhibit.prefix_key)


async def judge_support(
    stated: Sequence[Stated], snapshot: Snapshot, judge: Judge, settings: FactSettings
) -> list[Pair]:
    """One pair for each statement on one URL, in order."""
    page = snapshot.page(stated[0].url)
    if page.status != "ok":
        return [_pair(one)(outcome="unknown", reason=page.status) for one in stated]
    keys = {one.claim.id: one for one in stated}
    groups = exhibits(page, [one.claim for one in stated], snapshot, settings.evidence)
    results = await asyncio.gather(
        *(_group(exhibit, [keys[claim.id] for claim in claims], judge) for exhibit, claims in groups)
    )
    return [pair for result in results for pair in result]


async def _group(exhibit: Exhibit, stated: Sequence[Stated], judge: Judge) -> list[Pair]:
    finder = QuoteFinder(exhibit.page.text, exhibit.page.title)
    answers = await judge.ask_items(
        lambda indices: support_prompt(exhibit, [stated[index].claim for index in indices]),
        Finding,
        len(stated),
        max_tokens=REPLY_TOKENS_PER_STATEMENT * len(stated),
    )
    pairs: list[Pair] = []
    for one, answer in zip(stated, answers, strict=True):
        if isinstance(answer, Failure):
            pairs.append(_pair(one)(outcome="unknown", reason="judge_failed", failure=answer))
            continue
        finding = answer.value
        quote = finder.find(finding.quote)
        pairs.append(
            _pair(one)(
                outcome=finding.label,
                reason="judged_unknown" if finding.label == "unknown" else None,
                label=finding.label,
                quote=quote,
                quote_rejected=finding.quote if finding.quote.strip() and quote is None else None,
                rationale=finding.rationale,
                replies=answer.replies,
            )
        )
    return pairs


def _pair(one: Stated) -> partial[Pair]:
    return partial(Pair, statement=one.claim.text, url=one.url, sentence=one.claim.sentence, key=one.key)
