"""Who of two reports is the deeper.

    paper      d = mean, over both orders and all judges, of (total of the report - total of the other)
               a tie if |d| <= 1, else the report wins if d > 0              one game a pair
    upstream   whom the judge called the deeper, order by order              two games a pair and judge
    totals     the same games, each decided by its own totals: a tie if |difference| <= 1

Invariants: differences are compared as fractions; a game that failed has no outcome, but the outcomes that it may have
had, the worst and the best for the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from local_judge.protocols.liveresearchbench.depth.findings import DIMENSIONS, TOP, Order, Outcome, Pair

MOST = TOP * len(DIMENSIONS)
"""The largest difference of two totals."""
NEAR = 1
"""Two totals that differ by no more are tied."""

Rule = Literal["paper", "upstream", "totals"]
POINTS: dict[Outcome, float] = {"report": 1.0, "tie": 0.5, "other": 0.0}


class Game(NamedTuple):
    """One game from the report's point of view."""

    outcome: Outcome | None
    """None where it failed."""
    worst: Outcome
    """With what failed resolved against the report; `outcome` where nothing did."""
    best: Outcome


def decided(difference: Fraction | int) -> Outcome:
    """The outcome of a difference of totals, report less other."""
    if abs(difference) <= NEAR:
        return "tie"
    return "report" if difference > 0 else "other"


def margin(pairs: Sequence[Pair]) -> Fraction | None:
    """The mean difference of one pair over all judges that answered in both orders; None if none did.

    A judge with one order only is left out: half of it would be what the report has by its place.
    """
    whole = [_difference(pair) for pair in pairs]
    known = [difference for difference in whole if difference is not None]
    return sum(known, Fraction(0)) / len(known) if known else None


def reach(pairs: Sequence[Pair]) -> tuple[Fraction, Fraction]:
    """Least and greatest mean difference, with what failed resolved against the report and in its favour."""
    low = high = Fraction(0)
    for order in (order for pair in pairs for order in pair.orders):
        difference = order.difference
        low += -MOST if difference is None else difference
        high += MOST if difference is None else difference
    n = 2 * len(pairs)
    return low / n, high / n


def games(pairs: Sequence[Pair], rule: Rule) -> tuple[Game, ...]:
    """The games of one pair of reports.

    Args:
        pairs: the same two reports, as each judge compared them.
        rule: see above.
    """
    if rule == "paper":
        known, (low, high) = margin(pairs), reach(pairs)
        if known is not None:
            # Half of what a judge said may lie beyond what the others said of both orders.
            low, high = min(low, known), max(high, known)
        return (Game(None if known is None else decided(known), decided(low), decided(high)),)
    return tuple(_game(order, rule) for pair in pairs for order in pair.orders)


def consistent(pair: Pair, rule: Rule) -> bool | None:
    """Whether one judge's two orders agree on the outcome; None where one of them failed.

    By the judge's word in `upstream`, by the totals of each order elsewhere.
    """
    first, second = (_verdict(order, rule) for order in pair.orders)
    return None if first is None or second is None else first == second


def _difference(pair: Pair) -> Fraction | None:
    one, other = (order.difference for order in pair.orders)
    return None if one is None or other is None else Fraction(one + other, 2)


def _game(order: Order, rule: Rule) -> Game:
    found = _verdict(order, rule)
    return Game(None, "other", "report") if found is None else Game(found, found, found)


def _verdict(order: Order, rule: Rule) -> Outcome | None:
    if rule == "upstream":
        return order.said
    return None if order.difference is None else decided(order.difference)
