"""Claim set -> the claims that are checked.

Of the different claims that can be verified (`dream.verifiable`), those that the extraction calls salient come first;
among equals, places are spread evenly over the report, so that its beginning weighs no more than its end.

Invariant: a function of the claim set alone: all judges have the same claims, in reading order.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.claims.model import Claim
from local_judge.protocols.dream.verifiable import left_out, same_words


def verifiable(claims: Sequence[Claim]) -> list[Claim]:
    """The different claims that can be verified, each where it stands first; salient if it is so anywhere."""
    found: dict[str, Claim] = {}
    for claim in claims:
        if left_out(claim) is not None:
            continue
        before = found.setdefault(same_words(claim.text), claim)
        if claim.salient and not before.salient:
            found[same_words(claim.text)] = before.model_copy(update={"salient": True})
    return list(found.values())


def most_salient(claims: Sequence[Claim], n: int) -> list[Claim]:
    """At most `n` of them, in their order."""
    ranks: list[list[Claim]] = [[], [], []]
    for claim in claims:
        ranks[{True: 0, None: 1, False: 2}[claim.salient]].append(claim)
    chosen: set[str] = set()
    for rank in ranks:
        chosen |= {claim.id for claim in _spread(rank, n - len(chosen))}
    return [claim for claim in claims if claim.id in chosen]


def _spread(claims: Sequence[Claim], n: int) -> list[Claim]:
    """`n` of them at even distances: the middles of `n` equal stretches; all where they are no more."""
    if len(claims) <= n:
        return list(claims)
    return [claims[(2 * place + 1) * len(claims) // (2 * n)] for place in range(n)]
