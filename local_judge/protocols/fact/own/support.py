"""Support of statements by the page that they cite.

Invariant: each statement gets exactly one label of the menu, or a failure; a quotation is kept only if it occurs in the
page, and one that does not is kept apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Annotated

from pydantic import Field

from indexes.snapshot import Snapshot
from local_judge.claims import grouped
from local_judge.claims.evidence import PageEvidence, evidence_groups
from local_judge.claims.grouped import Found, ask_grouped
from local_judge.claims.model import Claim
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, fill, load_prompt
from local_judge.protocols.fact.findings import Judged, Outcome, Pair
from local_judge.protocols.fact.own.extract import Stated
from local_judge.protocols.fact.settings import FactSettings

template = partial(load_prompt, "local_judge.protocols.fact")


class Finding(grouped.Finding):
    """What the judge says of one statement: evidence before the label."""

    quote: Annotated[str, Field(max_length=600)]
    rationale: Annotated[str, Field(max_length=400)]
    label: Outcome


def support_prompt(page_evidence: PageEvidence, claims: Sequence[Claim]) -> Prompt:
    """Page first, then the instructions, then the statements."""
    listed = "\n".join(f"{number}. {claim.text}" for number, claim in enumerate(claims, 1))
    values = {"count": str(len(claims)), "statements": fence(listed, "Statements:")}
    return Prompt(
        shared=page_evidence.shared,
        own=fill(template("support"), values),
        prefix_key=page_evidence.prefix_key,
    )


async def judge_support(
    stated: Sequence[Stated], snapshot: Snapshot, judge: Judge, settings: FactSettings
) -> list[Pair]:
    """One pair for each statement on one URL, in order."""
    page = snapshot.page(stated[0].url)
    if page.status != "ok":
        return [_pair(one)(outcome="unknown", reason=page.status) for one in stated]
    groups = evidence_groups(page, [one.claim for one in stated], snapshot, settings.evidence)
    found = await asyncio.gather(
        *(
            ask_grouped(evidence, claims, judge, partial(support_prompt, evidence), Finding)
            for evidence, claims in groups
        )
    )
    return [_judged(one, answer) for one, answer in zip(stated, chain.from_iterable(found), strict=True)]


def _judged(one: Stated, found: Found[Finding] | Failure) -> Pair:
    if isinstance(found, Failure):
        return _pair(one)(outcome="unknown", reason="judge_failed", failure=found)
    label = found.finding.label
    return _pair(one)(
        outcome=label,
        reason="judged_unknown" if label == "unknown" else None,
        judged=Judged(
            label=label,
            quote=found.checked.quote,
            quote_rejected=found.checked.rejected,
            rationale=found.finding.rationale,
            replies=found.replies,
        ),
    )


def _pair(one: Stated) -> partial[Pair]:
    return partial(Pair, statement=one.statement, url=one.url, sentence=one.sentence, key=one.key)
