"""A score on a scale of whole numbers as the judge's expected value over them.

Invariant: the scale's numbers are the menu, each once and no other; the score is computed by code from the judge's own
log-probabilities, which the ledger holds, and stands with the likeliest number and the spread; what the judge would
rather say than a number is no score but a failure (`off_menu`).

    value  = sum over k of p(k) k                 p(k) = exp(l_k) / sum over j of exp(l_j)
    spread = sqrt(sum over k of p(k) (k - value)²)

Liu et al. (2023), "G-Eval", equation 1, there with p estimated from samples. A sampled integer throws away how sure the
judge was: two reports at 7.4 and 6.6 are both a 7.
"""

from __future__ import annotations

import math

from local_judge.judge.failures import Failure
from local_judge.judge.judge import ChoiceResult, Judge
from local_judge.judge.layout import Prompt
from serving.types import Frozen

MAX_UNREPORTED = 0.05
"""Most that a score may be off by, in units of its scale, before it is a failure."""


class ScaleScore(Frozen):
    """What a judge says on a scale."""

    value: float
    """Expected value, from the lowest number to the highest."""
    likeliest: int
    """Of equals the lowest."""
    spread: float
    """Standard deviation of the scale's numbers under the judge's probabilities."""
    mass: float
    """Probability that the model gives to all numbers of the scale together."""
    unreported: float = 0.0
    """Most that `value` may be off by, because the server did not report every number."""
    reply: str
    """Ledger key."""


async def expected_score(
    judge: Judge, prompt: Prompt, low: int, high: int, *, draw: int = 0
) -> ScaleScore | Failure:
    """The expected value of a prompt that asks for one whole number, in one call without sampling.

    Where the tokenizer splits a number, as "10" into "1" and "0", the engine looks at what follows its beginning too
    (`serving.engines.choosing`).

    Args:
        judge: who is asked.
        prompt: names the scale, and asks for the number alone.
        low: the lowest number.
        high: the highest; greater than `low`.
        draw: number of the draw.

    Returns:
        The score, or why there is none: `unreported` where it may be off by more than `MAX_UNREPORTED`.

    Raises:
        LedgerError: the reply could not be stored.
        ValueError: a scale of fewer than two numbers, or one below 0.
    """
    if low < 0:
        raise ValueError(f"a scale from {low}: a number below 0 begins with a sign, and no menu can hold it")
    pick = await judge.choose(prompt, [str(number) for number in range(low, high + 1)], draw=draw)
    if isinstance(pick, Failure):
        return pick
    score = scored(pick)
    if score.unreported > MAX_UNREPORTED:
        return Failure(
            kind="unreported",
            detail=f"reply {score.reply[:12]}: the score may be off by {score.unreported:.2g}, because the server did "
            "not report every number",
        )
    return score


def scored(pick: ChoiceResult) -> ScaleScore:
    """The score that probabilities of numbers come to."""
    by_number = {int(option): p for option, p in pick.probabilities.items()}
    value = math.fsum(number * p for number, p in by_number.items())
    variance = math.fsum((number - value) ** 2 * p for number, p in by_number.items())
    return ScaleScore(
        value=value,
        likeliest=max(sorted(by_number), key=lambda number: by_number[number]),
        spread=math.sqrt(variance),
        mass=pick.mass,
        unreported=pick.unreported * (max(by_number) - min(by_number)),
        reply=pick.reply,
    )
