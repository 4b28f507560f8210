"""Other numbers and other years.

Invariant: the new value is not on the page, differs by a fifth at least, is written as the old one is (separators,
decimals, zeros at the end), and lies on the side on which the old statement does not bear it out: what is "more than
40" is also more than 20, so that such a number only grows.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from random import Random
from typing import Literal

Side = Literal["up", "down"]
LAST_YEAR = 2025
"""No year is moved beyond it, unless it lies there already."""


def other_number(
    written: str,
    taken: Collection[float],
    rng: Random,
    side: Side = "up",
    most: float = float("inf"),
    *,
    turns: bool = True,
) -> str | None:
    """A number of the same form; None if none is found.

    Args:
        written: as the page has it, such as `1,240` or `3.50`.
        taken: numbers that it may not be.
        rng: draws it.
        side: `up` by 20 to 90 %, `down` by 20 to 60 %; by 2 units of the last place at least.
        most: the greatest that makes sense, such as 100 of percent; beyond it the number shrinks instead.
        turns: whether it may; a bound from below only grows.
    """
    plain = written.replace(",", "")
    decimals = len(plain.partition(".")[2])
    value = float(plain)
    step = 10.0**-decimals if decimals else float(10 ** (len(plain) - len(plain.rstrip("0"))))
    if value < 10 * step:
        step = step / 10 if step > 1 else step
    for _ in range(30):
        if side == "up":
            changed = value + max(2 * step, value * rng.uniform(0.2, 0.9))
        else:
            changed = value - max(2 * step, value * rng.uniform(0.2, 0.6))
        # Away from the old value, so that what is drawn is the least change and not undercut by rounding.
        places = changed / step
        whole = math.ceil(places - 1e-9) if side == "up" else math.floor(places + 1e-9)
        changed = round(whole * step, decimals)
        if changed > most:
            side = "down" if turns else side
        elif changed > 0 and changed not in taken and (decimals or changed >= 2):
            return f"{changed:,.{decimals}f}" if "," in written else f"{changed:.{decimals}f}"
    return None


def other_year(
    year: int, taken: Collection[float], rng: Random, side: Side | None = None, low: int = 0, high: int = 9999
) -> str | None:
    """A year 3 to 19 years off, strictly between `low` and `high`; None if there is none."""
    last = max(LAST_YEAR, year)
    signs = {"up": (1,), "down": (-1,), None: (-1, 1)}[side]
    years = [year + sign * step for step in range(3, 20) for sign in signs]
    free = [one for one in years if low < one < high and one <= last and one not in taken]
    return str(rng.choice(free)) if free else None
