"""A table of systems from their matches on tasks: strengths, win rates, intervals.

Invariants: tasks are drawn, not games: what was said of one task is drawn together; equal matches and seeds give the
same table in whatever order the matches come; a game that failed is counted and is no loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from local_judge.stats.bradley_terry import Fit, Floats, fit
from local_judge.stats.estimate import DRAWS, LEVEL, Resamples, in_most_draws
from local_judge.stats.numeric import rounded

LEAST_TASKS = 2
"""Tasks that an interval needs."""


class Match(NamedTuple):
    """Two reports on one task, compared."""

    task: str
    one: str
    other: str
    """Systems; not the same."""
    points: tuple[float | None, ...]
    """Points of `one` in each game: 1 won, 0.5 tied, 0 lost; None if the judge failed."""
    consistent: tuple[bool, ...] = ()
    """True for each judge with the same verdict in both orders; only judges that answered both."""


class Interval(NamedTuple):
    """Percentiles of the draws in which the number exists."""

    low: float
    """-inf where it has no lower limit in that many draws."""
    high: float
    """inf likewise."""
    n_draws: int


class RankingRow(NamedTuple):
    """One system."""

    system: str
    group: int
    """Systems of different groups cannot be compared; 1 is the largest."""
    strength: float | None
    """Log-odds; the mean of the group is 0. None where it has no game with an outcome."""
    unbounded: str
    """`above`, `below`: its strength has no such limit. '' otherwise."""
    regularised: bool
    """True if the maximum likelihood of its group does not exist, and its strengths are regularised."""
    interval: Interval | None
    """Interval of the strength; None with fewer than half of the draws or fewer than two tasks."""
    wins: int
    losses: int
    ties: int
    failed: int
    """Games that the judge failed."""
    win_rate_interval: Interval | None
    consistent: int
    judged_twice: int
    """Matches that a judge answered in both orders, counted for each judge."""

    @property
    def games(self) -> int:
        """Number of games with an outcome."""
        return self.wins + self.losses + self.ties

    @property
    def win_rate(self) -> float | None:
        """Wins / (wins + losses); None where no game was decisive."""
        return self.wins / (self.wins + self.losses) if self.wins + self.losses else None


class Ranking(NamedTuple):
    """The table."""

    rows: tuple[RankingRow, ...]
    """Rows by group, then by strength, then by name."""
    n_tasks: int
    n_groups: int
    seed: int
    draws: int


class _Counts(NamedTuple):
    """Sums by task: of points, shape (tasks, k, k), and of games won and lost, shape (tasks, k)."""

    points: Floats
    wins: Floats
    losses: Floats


def rank_systems(matches: Sequence[Match], *, seed: int = 0, draws: int = DRAWS) -> Ranking:
    """Return the table of all systems in `matches`.

    Strengths are those of `bradley_terry.fit`; win rate = wins / (wins + losses), as LiveResearchBench defines it
    (ties are in no part of it). Intervals are percentiles over `draws` draws of tasks with replacement; a draw in which
    a group falls apart has no strengths of it, and one in which a system never lost (or never won) has one of infinity.
    """
    systems = sorted({name for match in matches for name in (match.one, match.other)})
    tasks = sorted({match.task for match in matches})
    counts = _counted(matches, tasks, systems)
    whole = fit(counts.points.sum(axis=0))
    drawn = Resamples(len(tasks), draws, seed) if len(tasks) >= LEAST_TASKS else ()
    strengths: list[list[float | None]] = []
    rates: list[list[float | None]] = []
    for draw in drawn:
        often = np.bincount(draw, minlength=len(tasks)).astype(np.float64)
        strengths.append(_in_draw(fit(np.tensordot(often, counts.points, axes=1)), whole))
        rates.append(_rates(often @ counts.wins, often @ counts.losses))
    order = _numbered_groups(whole)
    rows = [
        _row(
            name,
            index,
            whole,
            order[int(whole.groups[index])],
            matches,
            _interval([one[index] for one in strengths]),
            _interval([one[index] for one in rates]),
        )
        for index, name in enumerate(systems)
    ]
    rows.sort(key=_place)
    return Ranking(tuple(rows), len(tasks), len(order), seed, draws)


def _place(row: RankingRow) -> tuple[int, int, float, str]:
    return row.group, {"above": 0, "below": 2}.get(row.unbounded, 1), -(row.strength or 0.0), row.system


def _counted(matches: Sequence[Match], tasks: Sequence[str], systems: Sequence[str]) -> _Counts:
    place = {name: index for index, name in enumerate(systems)}
    number = {name: index for index, name in enumerate(tasks)}
    shape = (len(tasks), len(systems))
    counts = _Counts(np.zeros((*shape, len(systems))), np.zeros(shape), np.zeros(shape))
    for match in matches:
        task, one, other = number[match.task], place[match.one], place[match.other]
        for points in match.points:
            if points is None:
                continue
            counts.points[task, one, other] += points
            counts.points[task, other, one] += 1 - points
            if points != 0.5:
                winner, loser = (one, other) if points > 0.5 else (other, one)
                counts.wins[task, winner] += 1
                counts.losses[task, loser] += 1
    return counts


def _numbered_groups(whole: Fit) -> dict[int, int]:
    """Numbers from 1 on, the largest group first, the earlier of two that are equally large."""
    sizes = np.bincount(whole.groups)
    ordered = sorted(range(len(sizes)), key=lambda group: (-int(sizes[group]), group))
    return {group: number for number, group in enumerate(ordered, 1)}


def _in_draw(found: Fit, whole: Fit) -> list[float | None]:
    """The strengths of a draw, infinite where they have no limit; None in a group that does not hold together there."""
    apart = {
        group
        for group in range(int(whole.groups.max(initial=-1)) + 1)
        if len(set(found.groups[whole.groups == group].tolist())) > 1
    }
    return [
        None if group in apart else math.inf if above else -math.inf if below else value
        for group, above, below, value in zip(
            whole.groups.tolist(),
            found.above.tolist(),
            found.below.tolist(),
            found.strengths.tolist(),
            strict=True,
        )
    ]


def _rates(wins: Floats, losses: Floats) -> list[float | None]:
    return [
        won / (won + lost) if won + lost else None
        for won, lost in zip(wins.tolist(), losses.tolist(), strict=True)
    ]


def _interval(values: Sequence[float | None]) -> Interval | None:
    known = in_most_draws(values)
    if not known:
        return None
    rest = (100 - LEVEL) / 2
    return Interval(_percentile(known, rest), _percentile(known, 100 - rest), len(known))


def _percentile(ordered: Sequence[float], percent: float) -> float:
    """Return a percentile as `estimate.percentile` does, with ends that can be infinite."""
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    if place == below or low == high:
        return low
    return float(rounded([low + (place - below) * (high - low)])[0]) if math.isfinite(low) else low


def _row(
    name: str,
    index: int,
    whole: Fit,
    group: int,
    matches: Sequence[Match],
    interval: Interval | None,
    win_rate_interval: Interval | None,
) -> RankingRow:
    alone = int((whole.groups == whole.groups[index]).sum()) == 1
    own = [match for match in matches if name in (match.one, match.other)]
    points = [
        None if found is None else found if match.one == name else 1 - found
        for match in own
        for found in match.points
    ]
    return RankingRow(
        system=name,
        group=group,
        strength=None if alone else float(rounded([whole.strengths[index]])[0]),
        unbounded="above" if whole.above[index] else "below" if whole.below[index] else "",
        regularised=bool(whole.regularised[index]),
        interval=None if alone else interval,
        wins=sum(found == 1 for found in points),
        losses=sum(found == 0 for found in points),
        ties=sum(found == 0.5 for found in points),
        failed=sum(found is None for found in points),
        win_rate_interval=win_rate_interval,
        consistent=sum(same for match in own for same in match.consistent),
        judged_twice=sum(len(match.consistent) for match in own),
    )
