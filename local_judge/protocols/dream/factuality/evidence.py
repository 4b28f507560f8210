"""Queries -> passages, and claims that are judged in one call.

Invariants: what is found depends on queries, snapshot and settings alone; passages of a call are in the order of its
claims and of their rank, each once, and claims stand together only where they share pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from local_judge.agents.actions import Search
from local_judge.agents.observations import Asked, Shown
from local_judge.agents.toolbox import Toolbox
from local_judge.claims.evidence import estimate_tokens
from local_judge.protocols.dream.factuality.findings import FactualitySettings, SearchQuery


class Retrieved(NamedTuple):
    """What one claim's queries found."""

    passages: tuple[Shown, ...]
    """Best first, within `evidence_tokens`."""
    asked: tuple[Asked, ...]


def search(queries: Sequence[SearchQuery], toolbox: Toolbox, settings: FactualitySettings) -> Retrieved:
    """The passages of all queries of a claim: the best of each in turn, then the second ones, and so on."""
    texts = tuple(query.text for query in queries)
    observation = toolbox.run(Search(tool="search", queries=texts, k=settings.passages_per_query))
    ranks: dict[int, int] = {}
    order: list[tuple[int, int, Shown]] = []
    for shown in observation.shown:
        query = shown.query or 0
        ranks[query] = ranks.get(query, 0) + 1
        order.append((ranks[query], query, shown.model_copy(update={"query": None, "score": None})))
    kept: list[Shown] = []
    spent = 0
    for _, _, shown in sorted(order, key=lambda one: one[:2]):
        cost = tokens_of(shown)
        if kept and spent + cost > settings.evidence_tokens:
            continue
        kept.append(shown)
        spent += cost
    return Retrieved(tuple(kept), observation.asked)


def tokens_of(shown: Shown) -> int:
    """Estimated tokens of a passage as it is shown."""
    return estimate_tokens(shown.text) + estimate_tokens(shown.title) + estimate_tokens(shown.url) + 20


class Group(NamedTuple):
    """Claims that are judged in one call."""

    claims: tuple[int, ...]
    """Positions."""
    passages: tuple[Shown, ...]


def grouped(found: Sequence[Sequence[Shown]], settings: FactualitySettings) -> list[Group]:
    """Claims that found passages, in calls.

    A claim joins the group with which it shares most passages, of those that have room for it and that have half of its
    pages at least; if there is none, it begins its own.
    """
    groups: list[Group] = []
    for position, passages in enumerate(found):
        if not passages:
            continue
        fits = [index for index, group in enumerate(groups) if _fits(group, passages, settings)]
        if fits:
            best = max(fits, key=lambda index: (len(_common(groups[index], passages)), -index))
            groups[best] = Group(
                (*groups[best].claims, position),
                (*groups[best].passages, *_new(groups[best], passages)),
            )
        else:
            groups.append(Group((position,), tuple(passages)))
    return groups


def _fits(group: Group, passages: Sequence[Shown], settings: FactualitySettings) -> bool:
    pages = {one.url for one in passages}
    shared = pages & {one.url for one in group.passages}
    tokens = sum(tokens_of(one) for one in (*group.passages, *_new(group, passages)))
    return (
        len(group.claims) < settings.claims_per_call
        and 2 * len(shared) >= len(pages)
        and tokens <= settings.evidence_tokens
    )


def _location(one: Shown) -> tuple[str, str, int, int]:
    return one.url, one.text_digest, one.start, one.end


def _common(group: Group, passages: Sequence[Shown]) -> set[tuple[str, str, int, int]]:
    return {_location(one) for one in group.passages} & {_location(one) for one in passages}


def _new(group: Group, passages: Sequence[Shown]) -> list[Shown]:
    known = {_location(one) for one in group.passages}
    return [one for one in passages if _location(one) not in known]
