"""Ranking of systems, as a terminal table and as JSON.

Invariant: an unbounded strength is marked and has no number. Systems that cannot be compared are in separate groups.
Every rate is printed with its number of games.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from local_judge.base.output import NONE, Table, count, shorten
from local_judge.reporting.summary import BY_RULE, RULE_NOTE, listed
from local_judge.runs.results.ranking import Matches
from local_judge.runs.results.scored import SystemScore
from local_judge.runs.results.tables import system_row
from local_judge.scoring.text import bounds, coverage_line, known_percent, value
from local_judge.stats.estimate import LEVEL
from local_judge.stats.ranking import Interval, Ranking, RankingRow
from local_judge.terminal import safe

REGULARISED = "‡"
"""Mark of a strength that is estimated with one more tie for each system."""


def ranking_table(found: Ranking, title: str, scores: Mapping[str, SystemScore]) -> Table:
    """Return the systems in order with their scores; a rule separates groups that cannot be compared."""
    scored = ("score", "bounds", "known", "reports") if scores else ()
    games = ("strength", "win rate", "games", "won", "lost", "tied", "failed", "consistent")
    table = Table(title, ("system",), (*scored, *games))
    for row in found.rows:
        if row.group > 1 and row is next(one for one in found.rows if one.group == row.group):
            table.add_section()
        rate = None if row.win_rate is None else 100 * row.win_rate
        counts = (row.games, row.wins, row.losses, row.ties, row.failed)
        consistent = f"{row.consistent}/{row.judged_twice}" if row.judged_twice else NONE
        table.add_row(
            shorten(row.system, 40),
            *(_scored(scores.get(row.system)) if scores else ()),
            _strength(row),
            _ranged(rate, row.win_rate_interval, 100, 1),
            *(str(number) for number in counts),
            consistent,
        )
    return table


def ranking_notes(found: Ranking, matches: Matches) -> Iterator[str]:
    """Yield the notes below the table, one line each, without control characters."""
    yield (
        f"strength: Bradley-Terry log-odds, ties half a win, mean 0; win rate: won / (won + lost); {LEVEL}% bootstrap "
        f"intervals over {count(found.n_tasks, 'task')} of {found.draws:,} draws, seed {found.seed}"
    )
    if any(score.by_rule for score in matches.scores.values()):
        yield RULE_NOTE
    if matches.coverage is not None and matches.coverage.n_in_part:
        yield coverage_line(matches.coverage)
    limitless = [row for row in found.rows if row.unbounded]
    if limitless:
        named = ", ".join(f"{safe(row.system, 40)} ({row.unbounded})" for row in limitless)
        yield f"unbounded, because they only won or only lost: {named}; {REGULARISED} with one more tie for each"
    if found.n_groups > 1:
        yield f"{found.n_groups} groups that no chain of games connects: systems of different groups cannot be compared"
    if matches.unevaluated:
        named = safe(listed(matches.unevaluated))
        yield f"in no game, or only in failed games: {count(len(matches.unevaluated), 'report')} ({named})"
    if matches.own:
        yield f"left out: {count(matches.own, 'comparison')} of a system with itself"


def _scored(found: SystemScore | None) -> tuple[str, str, str, str]:
    if found is None:
        return NONE, "", "", ""
    return (
        value(found.score) + (BY_RULE if found.by_rule else ""),
        bounds(found.score),
        known_percent(found.score),
        f"{found.n_values} of {found.n_reports}",
    )


def _strength(row: RankingRow) -> str:
    if row.strength is None:
        return NONE
    if row.unbounded:
        return f"{'>' if row.unbounded == 'above' else '<'} {row.strength:+.2f}{REGULARISED}"
    return _ranged(row.strength, row.interval, 1, 2, "+", REGULARISED if row.regularised else "")


def _ranged(
    value: float | None, interval: Interval | None, scale: int, digits: int, sign: str = "", mark: str = ""
) -> str:
    if value is None:
        return NONE
    shown = f"{value:{sign}.{digits}f}{mark}"
    if interval is None:
        return shown
    ends = [_end(end * scale, f"{sign}.{digits}f") for end in (interval.low, interval.high)]
    return f"{shown} ({ends[0]} to {ends[1]})"


def _end(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "∞" if value > 0 else "-∞"


def ranking_json(found: Ranking, matches: Matches) -> dict[str, Any]:
    """Return all results as plain data; an unbounded end of an interval is null and named in `unlimited`."""
    return {
        "n_tasks": found.n_tasks,
        "n_groups": found.n_groups,
        "seed": found.seed,
        "resamples": found.draws,
        "not_evaluated": list(matches.unevaluated),
        "with_itself": matches.own,
        "coverage": None if matches.coverage is None else matches.coverage._asdict(),
        "systems": [
            {
                "system": row.system,
                **({"score": system_row(matches.scores[row.system])} if row.system in matches.scores else {}),
                "group": row.group,
                "strength": row.strength,
                "unbounded": row.unbounded or None,
                "regularised": row.regularised,
                "strength_interval": _interval(row.interval),
                "note": _reason(row),
                "win_rate": row.win_rate,
                "win_rate_interval": _interval(row.win_rate_interval),
                "games": row.games,
                "wins": row.wins,
                "losses": row.losses,
                "ties": row.ties,
                "failed": row.failed,
                "consistent": row.consistent,
                "judged_both_ways": row.judged_twice,
            }
            for row in found.rows
        ],
    }


def _reason(row: RankingRow) -> str:
    """Return the reason for a strength or a win rate that is null; empty without one."""
    if row.strength is None:
        return "in no game" if not row.games else f"only {'won' if row.unbounded == 'above' else 'lost'}"
    return "" if row.win_rate is not None else "no decisive game"


def _interval(found: Interval | None) -> dict[str, Any] | None:
    if found is None:
        return None
    low, high = (end if math.isfinite(end) else None for end in (found.low, found.high))
    sides = [name for name, end in (("low", low), ("high", high)) if end is None]
    return {"low": low, "high": high, "n_draws": found.n_draws, "unlimited": sides}
