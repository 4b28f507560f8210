"""Annotated claims and extracted claims, one to one.

Invariant: the matching is the best there is, not the first found: of all one-to-one matchings of pairs at or above the
threshold it has the most pairs, of these the greatest sum of similarities, and of equal ones the same every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Match(NamedTuple):
    """One pair, by place."""

    gold: int
    extracted: int
    similarity: float


class _Best(NamedTuple):
    pairs: int
    total: float
    matches: tuple[Match, ...]


def assign(similarities: Sequence[Sequence[float]], threshold: float) -> tuple[Match, ...]:
    """The best matching of rows (annotated claims) with columns (extracted claims).

    Exact, by the subsets of columns taken so far: 2^columns steps for a row. An extraction gives a sentence at most
    eight claims, so that this is 256 steps.
    """
    states: dict[int, _Best] = {0: _Best(0, 0.0, ())}
    for row, figures in enumerate(similarities):
        # Kept as it was: a row may stay without a column.
        reached = dict(states)
        for taken, best in states.items():
            for column, figure in enumerate(figures):
                if figure < threshold or taken >> column & 1:
                    continue
                found = _Best(
                    best.pairs + 1, best.total + figure, (*best.matches, Match(row, column, figure))
                )
                known = reached.get(taken | 1 << column)
                if known is None or found[:2] > known[:2]:
                    reached[taken | 1 << column] = found
        states = reached
    return max(states.values(), key=lambda best: best[:2]).matches
