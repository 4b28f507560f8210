"""Which claims of the claim set can be verified, and which of these are checked.

    verifiable    all but types D (recaps) and E (common knowledge, definitions, the author's own reasoning and advice),
                  and but those that the extraction holds for not checkable
    chosen        those that the extraction calls salient come first; among equals, places are spread evenly over the
                  report, so that its beginning weighs no more than its end

In the claim set's terse form the judge was not asked what is checkable: there the type decides.

Invariant: a function of the claim set alone, so that all metrics and judges have the same claims, in reading order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from local_judge.claims.model import Claim

Reason = Literal["recap", "own", "uncheckable"]


def left_out(claim: Claim) -> Reason | None:
    """Why a claim is none that can be verified; None if it is one."""
    if claim.type in ("D", "E"):
        return "recap" if claim.type == "D" else "own"
    return "uncheckable" if claim.checkable is False else None


def same_words(text: str) -> str:
    """What claims in the same words have in common, whatever their letter case, white space and full stop."""
    return " ".join(text.casefold().split()).rstrip(".。")


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
