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

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.judge.judge import ChoiceResult, Judge
from local_judge.prompts import Prompt

MAX_UNREPORTED = 0.05
"""Maximum error of a score due to unreported options, in units of its scale; above it the score is a failure."""


class ScaleScore(Frozen):
    """Distribution of a judge's rating on a scale."""

    value: float
    """Expected value."""
    likeliest: int
    """Most likely number; the lowest one of several."""
    spread: float
    """Standard deviation under the judge's probabilities."""
    mass: float
    """Probability of all numbers of the scale together."""
    unreported: float = 0.0
    """Maximum error of `value` due to numbers that the server did not report."""
    reply: str
    """Ledger key."""


async def expected_score(
    judge: Judge, prompt: Prompt, low: int, high: int, *, draw: int = 0
) -> ScaleScore | Failure:
    """Return the expected value of a rating from `low` to `high`, in one call without sampling.

    If the tokenizer splits a number, as "10" into "1" and "0", the engine evaluates the continuations too
    (`serving.engines.choosing`).

    Args:
        judge: Judge that rates.
        prompt: Prompt that names the scale and asks for the number alone.
        low: Lowest number, at least 0.
        high: Highest number, greater than `low`.
        draw: Number of the draw.

    Returns:
        The score, or a failure: `unreported` if its error may exceed `MAX_UNREPORTED`.

    Raises:
        LedgerError: The reply could not be stored.
        ValueError: The scale has fewer than two numbers, or a number below 0.
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
    """Compute the score from the probabilities of the numbers."""
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
