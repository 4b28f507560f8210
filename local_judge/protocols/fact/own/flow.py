"""FACT's own flow, from a report to its pairs.

Invariant: pairs are in reading order, whatever order replies arrive in; what is taken out is kept as a repeat.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from indexes.snapshot import Snapshot
from local_judge.documents.model import Document
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.protocols.fact.findings import Cited, Repeat, repeat
from local_judge.protocols.fact.own.extract import Stated, extract
from local_judge.protocols.fact.own.repeats import find_repeats
from local_judge.protocols.fact.own.support import judge_support
from local_judge.protocols.fact.pairs import Pairs, distinct, folded
from local_judge.protocols.fact.settings import FactSettings


async def examine(
    document: Document, snapshot: Snapshot, judge: Judge, settings: FactSettings
) -> tuple[Pairs, tuple[Failure, ...]]:
    """The pairs of a report, and the failures to say whether a statement repeats another."""
    extraction = await extract(document, judge, settings)
    by_url: dict[str, list[Stated]] = {}
    for stated in extraction.stated:
        by_url.setdefault(stated.url, []).append(stated)
    results = await asyncio.gather(
        *(_of_url(stated, snapshot, judge, settings) for stated in by_url.values())
    )
    order = {sentence.label: position for position, sentence in enumerate(document.sentences)}

    def place(one: Cited) -> int:
        return order[one.sentence]

    pairs = [pair for found, _ in results for pair in found.pairs]
    lost = distinct(extraction.unread)
    return Pairs(
        tuple(sorted((*pairs, *lost.pairs), key=place)),
        tuple(sorted((*(one for found, _ in results for one in found.repeats), *lost.repeats), key=place)),
    ), tuple(failure for _, failures in results for failure in failures)


async def _of_url(
    stated: Sequence[Stated], snapshot: Snapshot, judge: Judge, settings: FactSettings
) -> tuple[Pairs, list[Failure]]:
    """One URL: repeats out, equal words first and then what the judge says; the rest judged by the page."""
    firsts: dict[str, Stated] = {}
    repeats: list[Repeat] = []
    for one in stated:
        first = firsts.setdefault(folded(one.statement), one)
        if first is not one:
            repeats.append(repeat(one, first))
    different = list(firsts.values())
    same = await find_repeats([one.statement for one in different], judge)
    kept = [one for position, one in enumerate(different) if same[position].first == position]
    repeats += [
        repeat(one, different[found.first], found.replies)
        for position, (one, found) in enumerate(zip(different, same, strict=True))
        if found.first != position
    ]
    pairs = await judge_support(kept, snapshot, judge, settings)
    return Pairs(tuple(pairs), tuple(repeats)), [found.failure for found in same if found.failure]
