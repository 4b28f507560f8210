"""Scores of analysis depth, of one report and over the reports of a system.

Invariants: both profiles have the same tree. A report's score does not depend on the reports of other systems:
comparisons with them are in no score here (`local-judge results rank` reads them). A report compared with no baseline
has no score. Over reports, the interval draws tasks, never single games; games of missing reports leave the bounds
open, as failed games do; a rate without decisive games is null and in no mean.

    depth          win rate of the report's games against its baselines, 0 to 100; null without a decisive game
      margin       mean of (total of the report - total of the baseline), -25 to 25
      granularity, insight, critique, evidence, density
                   the report's mean score, 0 to 5; below it the baseline's
      consistency  share of pairs in which a judge's two orders agree, 0 to 100
      by_totals    win rate of the two games of each pair, decided by the totals of each order
      word         share of answers in which the judge's choice agrees with its own totals

    system         100 * wins / (wins + losses), over all games of all reports; in `upstream`, where each judge has
                   games of its own, the mean of the judges' rates, as in `average_results.py`
      low, high    its 95% bootstrap interval over reports
      wins, losses, ties, games, decisive
      sound        the win rate against baselines that are reports
      defective    pairs whose baseline is no report
      by_totals, consistency, word: as of one report, pooled
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from local_judge.protocols.liveresearchbench.depth.games import (
    DIMENSIONS,
    MOST,
    TOP,
    DepthFindings,
    Game,
    Order,
    Pair,
    Rule,
    Tally,
    consistent,
    decided,
    games,
    tally,
    win_rate,
)
from local_judge.scoring.algebra import answers, count, exactly, failures_of, mean_of, share, undefined
from local_judge.scoring.node import Profile, Score, ScoreNode, node, noted
from local_judge.stats.estimate import DRAWS, LEVEL, Estimate, Resamples, replicates, with_interval
from local_judge.stats.estimate import undefined as no_estimate
from local_judge.stats.sums import sum_in_order

DEPTH = "depth"
LABEL = "Analysis depth"
NO_BASELINE = "compared with no baseline"


class Baseline(NamedTuple):
    """One baseline of one report, with the pair of each judge."""

    pairs: tuple[Pair, ...]
    counts: bool
    """Flag: it counts in the scores, since it is a report or defective baselines count too."""


def score_depth(findings: Sequence[DepthFindings], profile: Profile) -> ScoreNode:
    """Score one report: dimension sums averaged over judges, then ties (`paper`); or games pooled (`upstream`).

    Args:
        findings: findings of each judge about the report; at least one.
        profile: profile whose rule decides a pair.
    """
    found = baselines(findings)
    chosen = [baseline for baseline in found if baseline.counts]
    pairs = [pair for baseline in chosen for pair in baseline.pairs]
    orders = [order for pair in pairs for order in pair.orders]
    margins = [order.difference for order in orders]
    return node(
        DEPTH,
        LABEL,
        noted(win_rate(games_of(chosen, profile), NO_BASELINE), _defective(found)),
        (
            node("margin", "Margin", _mean(margins, -MOST, MOST)),
            *_dimensions(orders),
            consistency(pairs, profile),
            by_totals(games_of(chosen, "totals")),
            word(orders),
        ),
    )


def baselines(findings: Sequence[DepthFindings]) -> list[Baseline]:
    """Return the pairs of several judges about one report, by baseline."""
    first = findings[0]
    return [
        Baseline(tuple(one.pairs[index] for one in findings), not (first.leave_out and pair.opponent.defects))
        for index, pair in enumerate(first.pairs)
        if pair.opponent.kind == "baseline"
    ]


def games_of(chosen: Sequence[Baseline], rule: Rule) -> list[Game]:
    """Return the games against some baselines."""
    return [game for baseline in chosen for game in games(baseline.pairs, rule)]


def by_totals(found: Iterable[Game]) -> ScoreNode:
    """Return the win rate of the games of each order, decided by its totals."""
    rate = win_rate(found, NO_BASELINE)
    return node("by_totals", "Win rate of two games, by totals", rate)


def consistency(pairs: Sequence[Pair], rule: Rule) -> ScoreNode:
    """Return the share of pairs on which a judge decides equally in both orders."""
    found = [consistent(pair, rule) for pair in pairs]
    return node("consistency", "Position consistency", _share(found))


def word(orders: Sequence[Order]) -> ScoreNode:
    """Return the share of answers in which the judge's choice agrees with its own scores."""
    found = [
        None if order.difference is None else order.said == decided(order.difference) for order in orders
    ]
    return node("word", "Judge's word agrees with its scores", _share(found))


def _share(found: Sequence[bool | None]) -> Score:
    held = sum(one is True for one in found)
    n_failed = sum(one is None for one in found)
    score = share(held, len(found) - n_failed, n_failed, top=100.0, empty=NO_BASELINE)
    return noted(score, failures_of(score))


def _dimensions(orders: Sequence[Order]) -> Iterator[ScoreNode]:
    reports, others = [order.report for order in orders], [order.other for order in orders]
    for name in DIMENSIONS:
        own, baseline = (
            _mean([None if marks is None else marks.of(name) for marks in side], 0, TOP)
            for side in (reports, others)
        )
        below = node("baseline", "Baseline", baseline)
        yield node(name, name.title(), own, (below,))


def _mean(values: Sequence[int | None], least: int, most: int) -> Score:
    """Return the mean over all answers; failed ones may lie between `least` and `most`."""
    if not values:
        return undefined(NO_BASELINE)
    score = answers(values, least, most)
    return noted(score, failures_of(score))


def _defective(found: Sequence[Baseline]) -> str:
    """Return a note on defective baselines."""
    kinds = [baseline.pairs[0].opponent.defects for baseline in found]
    bad = [" and ".join(defects) for defects in kinds if defects]
    if not bad:
        return ""
    which = "baseline is" if len(found) == 1 else f"{len(bad)} of {len(found)} baselines are"
    left = ", left out" if not all(baseline.counts for baseline in found) else ""
    return f"{which} no report ({', '.join(dict.fromkeys(bad))}){left}"


SEED = 0


def aggregate_depth(
    reports: Sequence[Sequence[DepthFindings]], profile: Profile, n_missing: int = 0
) -> ScoreNode:
    """Score one system.

    Args:
        reports: findings of each judge, for each report; at least one judge.
        profile: profile whose rule decides pairs.
        n_missing: number of reports without findings.
    """
    found = [baselines(judges) for judges in reports]
    chosen = [[baseline for baseline in each if baseline.counts] for each in found]
    parts = [_by_judge(each, profile) for each in chosen]
    pooled = [game for part in parts for games in part for game in games]
    pairs = [pair for each in chosen for baseline in each for pair in baseline.pairs]
    low, high = _interval(parts)
    rate = _open(_mean_rate(parts, NO_BASELINE), n_missing)
    sound = [_sound(each) for each in found]
    return node(
        DEPTH,
        f"{LABEL}: win rate",
        rate,
        (
            node("low", f"{LEVEL}% interval, low", low),
            node("high", f"{LEVEL}% interval, high", high),
            *_counts(pooled, n_missing),
            node(
                "sound",
                "Against baselines that are reports",
                _open(_mean_rate([_by_judge(each, profile) for each in sound], "none"), n_missing),
            ),
            node(
                "defective",
                "Baselines that are no reports",
                _number(sum(map(len, found)) - sum(map(len, sound)), sum(map(len, found)), n_missing),
            ),
            *(
                node.model_copy(update={"score": _open(node.score, n_missing)})
                for node in (
                    by_totals(game for each in chosen for game in games_of(each, "totals")),
                    consistency(pairs, profile),
                    word([order for pair in pairs for order in pair.orders]),
                )
            ),
        ),
    )


def _sound(found: Sequence[Baseline]) -> list[Baseline]:
    return [baseline for baseline in found if not baseline.pairs[0].opponent.defects]


_Parts = Sequence[list[list[Game]]]
"""Games of each report, by judge."""


def _by_judge(chosen: Sequence[Baseline], rule: Rule) -> list[list[Game]]:
    """Return the games of one report by the judge that decides them; in one list where all judges decide together."""
    if rule == "paper" or not chosen:
        return [games_of(chosen, rule)]
    return [
        [game for pair in pairs for game in games([pair], rule)]
        for pairs in zip(*(baseline.pairs for baseline in chosen), strict=True)
    ]


def _mean_rate(parts: _Parts, nothing: str) -> Score:
    """Return the mean over the judges of the win rate of all their games.

    Beside a judge with decisive games, one whose games are all tied has the rate 0, as in `average_results.py`.
    """
    by_judge = zip_longest(*parts, fillvalue=[])
    rates = [win_rate((game for games in same for game in games), nothing) for same in by_judge]
    if any(rate.value is not None for rate in rates):
        rates = [exactly(0.0) if rate.value is None and not rate.n_failed else rate for rate in rates]
    return mean_of(rates, partly=True) if rates else win_rate([], nothing)


def _interval(parts: _Parts) -> tuple[Score, Score]:
    """Return the ends of the win rate's percentile interval over reports, each of another task."""
    counts = [[tally(games) for games in part] for part in parts]
    whole = _rate_of(counts)
    values = replicates(counts, _rate_of, Resamples(len(counts), DRAWS, SEED) if len(counts) > 1 else [])
    found = with_interval(whole, values, len(counts))
    note = (
        f"of {found.n_draws:,} draws of reports, seed {SEED}" if found.low is not None else "too few reports"
    )
    if whole.value is None:
        note = whole.reason
    return _end(found.low, note), _end(found.high, note)


def _end(value: float | None, note: str) -> Score:
    return undefined(note) if value is None else exactly(value, note)


def _rate_of(counts: Sequence[Sequence[Tally]]) -> Estimate:
    """Return the win rate of `_mean_rate` from counts by report and judge."""
    rates: list[float] = []
    wins = losses = 0
    for same in zip_longest(*counts, fillvalue=Tally()):
        won, lost = sum(one.wins for one in same), sum(one.losses for one in same)
        if won + lost or any(one.ties for one in same):
            rates.append(100 * won / (won + lost) if won + lost else 0.0)
        wins, losses = wins + won, losses + lost
    if not wins + losses:
        return no_estimate("no decisive game")
    return Estimate(sum_in_order(rates) / len(rates), wins + losses, hits=wins)


def _counts(found: Sequence[Game], n_missing: int) -> list[ScoreNode]:
    """Return the counts of games, each with its least and its greatest possible number."""
    counts = tally(found)
    worst, best = [game.worst for game in found], [game.best for game in found]
    tied = sum(game.worst == game.best == "tie" for game in found)
    tied_at_most = sum(game.worst != "report" and game.best != "other" for game in found)
    n = len(found)
    named = (
        ("wins", "Wins", counts.wins, worst.count("report"), best.count("report")),
        ("losses", "Losses", counts.losses, best.count("other"), worst.count("other")),
        ("ties", "Ties", counts.ties, tied, tied_at_most),
        ("decisive", "Decisive games", counts.decisive, n - tied_at_most, n - tied),
    )
    return [
        *(
            node(id, label, _number(value, n, n_missing, counts.failed, low, high))
            for id, label, value, low, high in named
        ),
        node("games", "Games", _number(n, n, n_missing)),
    ]


def _number(
    value: int, n: int, n_missing: int, n_failed: int = 0, low: int | None = None, high: int | None = None
) -> Score:
    """Return a count of `n` games; the games of missing reports are unknown."""
    return count(
        value,
        None if n_missing else (value if high is None else high) - value,
        fewer=0 if low is None else value - low,
        n_expected=n + n_missing,
        n_failed=n_failed + n_missing,
    )


def _open(rate: Score, n_missing: int) -> Score:
    """Open a rate to the ends of its scale if reports are missing."""
    if not n_missing:
        return rate
    update = {
        "low": 0.0,
        "high": 100.0,
        "n_expected": rate.n_expected + n_missing,
        "n_failed": rate.n_failed + n_missing,
    }
    return noted(rate.model_copy(update=update), f"{n_missing} of the run's reports missing")
