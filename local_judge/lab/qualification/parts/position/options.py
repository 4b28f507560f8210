"""Yes named before No, and the other way round.

Invariant: the two questions differ in the order of two words, and in nothing else.
"""

from __future__ import annotations

import asyncio

from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import evidence_groups
from local_judge.claims.nearest import nearest_sentences
from local_judge.claims.yes_no import NEUTRAL, OPTIONS, SUPPORTED, question
from local_judge.judge.failures import Failure
from local_judge.judge.judge import ChoiceResult
from local_judge.judge.layout import Prompt
from local_judge.lab.planting.model import PlantedClaim
from local_judge.lab.qualification.model import Item
from local_judge.lab.qualification.part_context import PartContext
from local_judge.runs.verify import ClaimRow, claim_of

NAMED = "Answer Yes or No."
"""How the question of `scored` names its options."""
TURNED = "Answer No or Yes."


async def options_items(context: PartContext, n: int) -> list[Item]:
    """What P(yes) becomes when the question names No before Yes; whole pages, so that each is read for several."""
    chosen = sorted(context.claims, key=lambda one: (one.url, one.id))[:n]
    by_url: dict[str, list[PlantedClaim]] = {}
    for one in chosen:
        by_url.setdefault(one.url, []).append(one)
    config = ClaimsConfig(reliability=False)
    items: list[Item] = []
    for url, planted in by_url.items():
        page = context.snapshot.page(url)
        rows = {one.id: claim_of(ClaimRow(id=one.id, claim=one.claim, url=url)) for one in planted}
        for exhibit, group in evidence_groups(page, list(rows.values()), context.snapshot, config):
            nearest = nearest_sentences(page, group, context.snapshot, config)
            asked = [
                question(exhibit, SUPPORTED, claim, found)
                for claim, found in zip(group, nearest, strict=True)
            ]
            said = await asyncio.gather(
                *(context.judge.choose(one, OPTIONS) for prompt in asked for one in (prompt, turned(prompt)))
            )
            known = {claim.id: (said[2 * at], said[2 * at + 1]) for at, claim in enumerate(group)}
            items += [_option(one, *known[one.id]) for one in planted if one.id in known]
    return items


def turned(prompt: Prompt) -> Prompt:
    """The same question with its options named the other way round."""
    before, named, after = prompt.own.rpartition(NAMED)
    return Prompt(
        shared=prompt.shared,
        own=before + TURNED + after if named else prompt.own,
        prefix_key=prompt.prefix_key,
    )


def _option(claim: PlantedClaim, named: ChoiceResult | Failure, other: ChoiceResult | Failure) -> Item:
    """What is said is how much the option gets that is named first: 0.5 where the order changes nothing.

    Formula: 0.5 + (P(yes | yes first) - P(yes | no first)) / 2.
    """
    item = Item(
        id=f"{claim.id}:options",
        unit=claim.text_digest,
        facets={"question": "options", "pair": "claim", "language": claim.language},
        truth=0.5,
    )
    for one in (named, other):
        if isinstance(one, Failure):
            return item.model_copy(update={"failure": one.kind})
    first, second = (one.probabilities["Yes"] for one in (named, other) if isinstance(one, ChoiceResult))
    called = (first >= NEUTRAL) != (second >= NEUTRAL)
    return item.model_copy(update={"said": 0.5 + (first - second) / 2, "called": called})
