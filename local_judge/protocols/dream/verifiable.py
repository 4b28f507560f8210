"""Which claims of the claim set can be verified.

All but types D (recaps) and E (common knowledge, definitions, the author's own reasoning and advice), and but those
that the extraction holds for not checkable. In the claim set's terse form nobody was asked that: there the type
decides.

Invariant: a function of the claim set alone, so that all metrics and judges have the same claims.
"""

from __future__ import annotations

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
