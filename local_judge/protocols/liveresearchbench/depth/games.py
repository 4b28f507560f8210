"""Comparisons of two reports and the games that they decide.

    paper      d = mean, over both orders and all judges, of (total of the report - total of the other)
               a tie if |d| <= 1, else the report wins if d > 0              one game per pair
    upstream   the judge's own choice, order by order                       two games per pair and judge
    totals     the same games, each decided by its own totals: a tie if |difference| <= 1

    win rate = 100 * wins / (wins + losses)        null without a decisive game; ties do not count

Invariants: a pair has both of its orders, each with all scores of both reports or with a failure. Scores are kept by
report, whichever came first. Differences are compared as fractions. A failed game has no outcome, only the worst and
the best outcome for the report, which open the bounds of the rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Annotated, Literal, NamedTuple, get_args

from pydantic import BeforeValidator, Field

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.protocols.asking import no_boolean
from local_judge.protocols.liveresearchbench.depth.defects import Defect
from local_judge.protocols.metric import MetricFindings
from local_judge.scoring.algebra import resolved, share
from local_judge.scoring.node import Score

Dimension = Literal["granularity", "insight", "critique", "evidence", "density"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
TOP = 5
"""Highest score of a dimension; the lowest is 0."""

Outcome = Literal["report", "other", "tie"]


Points = Annotated[int, Field(ge=0, le=TOP), BeforeValidator(no_boolean)]


class Marks(Frozen):
    """Scores of one report."""

    granularity: Points
    insight: Points
    critique: Points
    evidence: Points
    density: Points

    def of(self, dimension: Dimension) -> int:
        """Return the score of one dimension."""
        return getattr(self, dimension)

    @property
    def total(self) -> int:
        """Sum of the five scores, 0 to 25."""
        return sum(self.of(dimension) for dimension in DIMENSIONS)


class Order(Frozen):
    """One comparison, with the reports in one order."""

    report_first: bool
    """True if the report was shown first."""
    report: Marks | None = None
    """Scores of the report; None, like the fields below, if the comparison failed. A published file may name the deeper
    report of a failed comparison."""
    other: Marks | None = None
    """Scores of the other report."""
    said: Outcome | None = None
    """Report that the judge itself calls the deeper one."""
    analysis: str = ""
    """Analysis by the judge."""
    report_flaws: tuple[str, ...] = ()
    """Flaws of the report that the judge lists."""
    other_flaws: tuple[str, ...] = ()
    """Flaws of the other report that the judge lists."""
    failure: Failure | None = None
    """Reason why there is no comparison."""
    replies: tuple[str, ...] = ()
    """Ledger keys."""

    @property
    def difference(self) -> int | None:
        """Total of the report minus total of the other; None if it failed."""
        return None if self.report is None or self.other is None else self.report.total - self.other.total


class Opponent(Frozen):
    """Other report of a pair."""

    kind: Literal["baseline", "system"]
    """`baseline`: a reference of the task. `system`: another system's report of the same run."""
    name: str
    """Name of the other system, or the report's id if the input names none; `baseline` for a baseline."""
    case: str | None = None
    """Id of the other report in the run; None for a baseline."""
    document: str
    """Id of the document."""
    n_characters: int
    """Characters of the document as it was shown."""
    defects: tuple[Defect, ...] = ()
    """Defects of its text."""


class Pair(Frozen):
    """Two reports compared in both orders."""

    opponent: Opponent
    orders: tuple[Order, Order]
    """First with the report first, then with the other first."""


class DepthFindings(MetricFindings):
    """All pairs of one report."""

    task: str
    """Id of the task."""
    document: str
    """Id of the report's document."""
    defects: tuple[Defect, ...] = ()
    """Defects of the report itself."""
    against: Literal["baseline", "all"] = "baseline"
    """Setting of the run."""
    leave_out: bool = False
    """Flag: pairs with a defective baseline are in no score."""
    pairs: tuple[Pair, ...] = ()
    """Opponents, each with two orders: the report first, then last."""
    unreadable: tuple[str, ...] = ()
    """Ids of other systems' reports that cannot be read and were not compared."""

    @property
    def n_failed(self) -> int:
        """Comparisons without an answer."""
        return sum(order.failure is not None for pair in self.pairs for order in pair.orders)


MOST = TOP * len(DIMENSIONS)
"""Largest difference of two totals."""
NEAR = 1
"""Largest difference of two tied totals."""

Rule = Literal["paper", "upstream", "totals"]
POINTS: dict[Outcome, float] = {"report": 1.0, "tie": 0.5, "other": 0.0}


class Game(NamedTuple):
    """One game from the report's point of view."""

    outcome: Outcome | None
    """None if it failed."""
    worst: Outcome
    """Outcome if failures are resolved against the report; equal to `outcome` without failures."""
    best: Outcome


def decided(difference: Fraction | int) -> Outcome:
    """Return the outcome of a difference of totals, report minus other."""
    if abs(difference) <= NEAR:
        return "tie"
    return "report" if difference > 0 else "other"


def margin(pairs: Sequence[Pair]) -> Fraction | None:
    """Return the mean difference of one pair over all judges that answered in both orders; None without any.

    A judge with one order only is left out: half of its difference would come from the report's position.
    """
    whole = [_difference(pair) for pair in pairs]
    known = [difference for difference in whole if difference is not None]
    return sum(known, Fraction(0)) / len(known) if known else None


def reach(pairs: Sequence[Pair]) -> tuple[Fraction, Fraction]:
    """Return the least and greatest mean difference, with failures resolved against the report and in its favour."""
    low = high = Fraction(0)
    for order in (order for pair in pairs for order in pair.orders):
        difference = order.difference
        low += -MOST if difference is None else difference
        high += MOST if difference is None else difference
    n = 2 * len(pairs)
    return low / n, high / n


def games(pairs: Sequence[Pair], rule: Rule) -> tuple[Game, ...]:
    """Return the games of one pair of reports.

    Args:
        pairs: the same two reports, as each judge compared them.
        rule: rule that decides the games; see above.
    """
    if rule == "paper":
        known, (low, high) = margin(pairs), reach(pairs)
        if known is not None:
            # One order of a judge may lie outside the range of the others.
            low, high = min(low, known), max(high, known)
        return (Game(None if known is None else decided(known), decided(low), decided(high)),)
    return tuple(_game(order, rule) for pair in pairs for order in pair.orders)


def consistent(pair: Pair, rule: Rule) -> bool | None:
    """Check whether one judge's two orders agree on the outcome; None if one of them failed.

    Compares the judge's own choice in `upstream`, and the totals of each order elsewhere.
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


class Tally(NamedTuple):
    """Counts of games from the report's point of view."""

    wins: int = 0
    losses: int = 0
    ties: int = 0
    failed: int = 0

    @property
    def n(self) -> int:
        """All games, including failed ones."""
        return sum(self)

    @property
    def decisive(self) -> int:
        """Wins + losses."""
        return self.wins + self.losses


def tally(found: Iterable[Game]) -> Tally:
    """Count games by outcome."""
    return _count(game.outcome for game in found)


def win_rate(found: Iterable[Game], nothing: str = "no game") -> Score:
    """Return the win rate of some games, 0 to 100.

    Args:
        found: the games.
        nothing: the note if there are no games.
    """
    games = list(found)
    counts = tally(games)

    def rate(favour: bool | None) -> Score:
        ends = {None: "outcome", False: "worst", True: "best"}
        found = _count(getattr(game, ends[favour]) for game in games)
        return share(found.wins, found.decisive, 0, top=100.0)

    score = rate(None)
    if any(game.worst != game.best for game in games):
        # Without a decisive game, games that may be ties leave the rate open to the whole scale.
        score = resolved(rate, 0.0, 100.0)
    note = nothing
    if games:
        failed = f"{counts.failed} of {len(games)} games failed" if counts.failed else ""
        tied = "" if counts.decisive or not counts.ties else "tied" if counts.ties == 1 else "all tied"
        partly = sum(game.outcome is not None and game.worst != game.best for game in games)
        left = f"{partly} without some judges" if partly else ""
        note = "; ".join(filter(None, (tied, failed, left)))
    update = {
        "n_expected": len(games),
        "n_failed": counts.failed,
        "n_undefined": int(score.value is None and not counts.failed),
        "note": note,
    }
    return score.model_copy(update=update)


def _count(outcomes: Iterable[Outcome | None]) -> Tally:
    found = list(outcomes)
    return Tally(found.count("report"), found.count("other"), found.count("tie"), found.count(None))
