"""Games counted, and the win rate.

    win rate = 100 * wins / (wins + losses)        null where no game was decisive; ties are in no part of it

Invariant: a game that failed is in no count but its own; it opens the bounds of the rate.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from local_judge.protocols.liveresearchbench.depth.findings import Outcome
from local_judge.protocols.liveresearchbench.depth.outcome import Game
from local_judge.protocols.scores import Score


class Tally(NamedTuple):
    """Counts of games from the report's point of view."""

    wins: int = 0
    losses: int = 0
    ties: int = 0
    failed: int = 0

    @property
    def n(self) -> int:
        """All games, failed ones among them."""
        return sum(self)

    @property
    def decisive(self) -> int:
        """Wins + losses."""
        return self.wins + self.losses


def tally(found: Iterable[Game]) -> Tally:
    """The games counted."""
    return _count(game.outcome for game in found)


def win_rate(found: Iterable[Game], nothing: str = "no game") -> Score:
    """The win rate of some games, 0 to 100.

    Args:
        found: the games.
        nothing: the note where there is none at all.
    """
    games = list(found)
    counts = tally(games)
    value = _rate(counts)
    low, high = (_rate(_count(getattr(game, end) for game in games)) for end in ("worst", "best"))
    open_ended = any(game.worst != game.best for game in games)
    if open_ended:
        # Games that may still be ties leave a rate without any decisive game where it may be anything.
        low, high = 0.0 if low is None else low, 100.0 if high is None else high
    note = nothing
    if games:
        failed = f"{counts.failed} of {len(games)} games failed" if counts.failed else ""
        tied = "" if counts.decisive or not counts.ties else "tied" if counts.ties == 1 else "all tied"
        partly = sum(game.outcome is not None and game.worst != game.best for game in games)
        left = f"{partly} without some judges" if partly else ""
        note = "; ".join(filter(None, (tied, failed, left)))
    return Score(
        value=value,
        numerator=counts.wins if value is not None else None,
        denominator=counts.decisive if value is not None else None,
        n_expected=len(games),
        n_failed=counts.failed,
        n_undefined=int(value is None and not counts.failed),
        low=low,
        high=high,
        note=note,
    )


def _rate(counts: Tally) -> float | None:
    return 100 * counts.wins / counts.decisive if counts.decisive else None


def _count(outcomes: Iterable[Outcome | None]) -> Tally:
    found = list(outcomes)
    return Tally(found.count("report"), found.count("other"), found.count("tie"), found.count(None))
