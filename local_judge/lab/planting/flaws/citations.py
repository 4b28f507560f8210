"""Citations that point to the wrong source.

Invariant: the new source of every changed citation differs from all previous sources of its sentence; the report cites
the same sources as often, or lists the same references, as before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from local_judge.documents import Document, Sentence
from local_judge.documents.citation_styles import STYLES
from local_judge.documents.model import CitationForm
from local_judge.lab.planting.flaws.places import Cut, Plan

_TRIES = 20
_KEY = re.compile(
    r"\s*(?:[-*+]\s+)?(?:\[\^?[^\]\n]{1,20}\]:?|【[^】\n]{1,10}】|\(\d{1,4}\)|\d{1,4}[.)、:])\s*|\s*(?:[-*+]\s+)"
)


class _Mark(NamedTuple):
    """The only citation mark of a sentence."""

    sentence: Sentence
    start: int
    end: int
    style: str
    urls: frozenset[str]


def moved(document: Document, share: float, rng: Random) -> Plan | str:
    """Plan an exchange of the citation marks of a share of the sentences; return the reason if none is possible.

    Fewer marks are exchanged if that many cannot be, for example because most point to one page.
    """
    marks = [mark for sentence in document.sentences if (mark := _mark(document, sentence)) is not None]
    by_style: dict[str, list[_Mark]] = {}
    for mark in marks:
        by_style.setdefault(mark.style, []).append(mark)
    none: list[_Mark] = []
    same = max(by_style.values(), key=len, default=none)
    n = max(2, round(share * len(same)))
    if len(same) < 2 or len({url for mark in same for url in mark.urls}) < 2:
        return "fewer than two sentences whose only citations lead to different pages"
    for size in (size for size in range(min(n, len(same)), 1, -1) for _ in range(_TRIES)):
        chosen = rng.sample(same, size)
        others = _deranged(chosen, rng)
        if others:
            cuts = [
                Cut(one.start, one.end, document.text[other.start : other.end])
                for one, other in zip(chosen, others, strict=True)
            ]
            about = sorted(chosen, key=lambda mark: mark.start)
            return Plan(
                tuple(sorted(cuts)),
                tuple(mark.sentence.label for mark in about),
                f"{len(cuts)} of {len(marks)} citation marks exchanged",
            )
    return "no exchange of citations gives each sentence other sources"


def _mark(document: Document, sentence: Sentence) -> _Mark | None:
    citations = [document.citation(one) for one in sentence.citations]
    spans = {(one.span.start, one.span.end) for one in citations}
    urls = frozenset(one.url for one in citations if one.url is not None)
    styles: set[CitationForm] = {one.style for one in citations}
    if len(spans) != 1 or len(styles) != 1 or not urls or not all(one.url for one in citations):
        return None
    (start, end), style = spans.pop(), styles.pop()
    if STYLES[style].lookup == "author":
        return None  # part of the wording
    if STYLES[style].cleaned == "words_stay":
        start += document.text[start:end].find("](") + 1
    return _Mark(sentence, start, end, style, urls)


def _deranged(chosen: Sequence[_Mark], rng: Random) -> list[_Mark] | None:
    """Return the marks in an order in which each has other sources than the mark it replaces; None if none is found."""
    free = rng.sample(chosen, len(chosen))
    # The most shared source fits the fewest places: it is placed first.
    often = {url: sum(url in mark.urls for mark in chosen) for mark in chosen for url in mark.urls}
    order = sorted(range(len(chosen)), key=lambda place: -max(often[url] for url in chosen[place].urls))
    found: dict[int, _Mark] = {}
    for place in order:
        mark = next((one for one in free if not one.urls & chosen[place].urls), None)
        if mark is None:
            return None
        free.remove(mark)
        found[place] = mark
    return [found[place] for place in range(len(chosen))]


def shuffled(document: Document, rng: Random) -> Plan | str:
    """Plan another order of the texts behind the keys of the reference list; return the reason if none is possible."""
    bodies: list[tuple[int, int, str]] = []
    for reference in document.references:
        raw = document.text[reference.span.start : reference.span.end]
        key = _KEY.match(raw)
        start = reference.span.start + (key.end() if key is not None else 0)
        end = reference.span.start + len(raw.rstrip())
        if reference.key is not None and reference.url is not None and start < end:
            bodies.append((start, end, reference.url))
    cited = {one.url for one in document.citations}
    if len({url for _, _, url in bodies} & cited) < 2:
        return "fewer than two numbered references with an address that are cited"
    for _ in range(_TRIES):
        order = rng.sample(bodies, len(bodies))
        # One place further, so that none stays where it is; equal addresses are left to the next try.
        moved_to = {order[place][0]: order[(place + 1) % len(order)] for place in range(len(order))}
        if all(moved_to[start][2] != url for start, _, url in bodies):
            cuts = tuple(
                Cut(start, end, document.text[moved_to[start][0] : moved_to[start][1]])
                for start, end, _ in bodies
            )
            return Plan(cuts, (), f"{len(cuts)} of {len(document.references)} references have another's text")
    return "no order of the references gives each key another address"
