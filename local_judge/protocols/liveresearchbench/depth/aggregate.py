"""Analysis depth over all reports of a system: its games pooled.

Invariants: both profiles have the same tree; tasks are drawn for the interval, never single games; games of reports
without findings leave the bounds open, as failed ones do; a rate without decisive games is null, and enters no mean.

    depth          100 * wins / (wins + losses), over all games of all reports and judges
      low, high    its 95% bootstrap interval over reports
      wins, losses, ties, games, decisive
      sound        the win rate against baselines that are reports
      defective    pairs whose baseline is none
      by_totals, consistency, word, as of one report, pooled
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.liveresearchbench.depth.findings import DepthFindings
from local_judge.protocols.liveresearchbench.depth.games import Game, Tally, tally, win_rate
from local_judge.protocols.liveresearchbench.depth.scores import (
    DEPTH,
    LABEL,
    NO_BASELINE,
    Baseline,
    baselines,
    by_totals,
    consistency,
    games_of,
    word,
)
from local_judge.scoring.node import Profile, Score, ScoreNode, noted
from local_judge.stats.estimate import (
    DRAWS,
    LEVEL,
    Estimate,
    replicates,
    resamples,
    undefined,
    with_interval,
)

SEED = 0


def aggregate_depth(
    reports: Sequence[Sequence[DepthFindings]], profile: Profile, n_missing: int = 0
) -> ScoreNode:
    """The scores of one system.

    Args:
        reports: of each of its reports, the findings of each judge; at least one judge.
        profile: by whose rule pairs are decided.
        n_missing: reports without findings.
    """
    found = [baselines(judges) for judges in reports]
    chosen = [[baseline for baseline in each if baseline.counts] for each in found]
    parts = [games_of(each, profile) for each in chosen]
    pooled = [game for part in parts for game in part]
    pairs = [pair for each in chosen for baseline in each for pair in baseline.pairs]
    low, high = _interval(parts)
    rate = _open(win_rate(pooled, NO_BASELINE), n_missing)
    sound = [_sound(each) for each in found]
    return ScoreNode(
        id=DEPTH,
        label=f"{LABEL}: win rate",
        score=rate,
        children=(
            ScoreNode(id="low", label=f"{LEVEL}% interval, low", score=low),
            ScoreNode(id="high", label=f"{LEVEL}% interval, high", score=high),
            *_counts(pooled, n_missing),
            ScoreNode(
                id="sound",
                label="Against baselines that are reports",
                score=_open(
                    win_rate((g for each in sound for g in games_of(each, profile)), "none"), n_missing
                ),
            ),
            ScoreNode(
                id="defective",
                label="Baselines that are no reports",
                score=_number(sum(map(len, found)) - sum(map(len, sound)), sum(map(len, found)), n_missing),
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


def _interval(parts: Sequence[Sequence[Game]]) -> tuple[Score, Score]:
    """The ends of the win rate's percentile interval over reports, each of another task."""
    counts = [tally(part) for part in parts]
    whole = _pooled(counts)
    values = replicates(counts, _pooled, resamples(len(counts), DRAWS, SEED) if len(counts) > 1 else [])
    found = with_interval(whole, values, len(counts))
    note = (
        f"of {found.n_draws:,} draws of reports, seed {SEED}" if found.low is not None else "too few reports"
    )
    if whole.value is None:
        note = whole.reason
    return _end(found.low, note), _end(found.high, note)


def _end(value: float | None, note: str) -> Score:
    return Score(value=value, n_undefined=int(value is None), low=value, high=value, note=note)


def _pooled(counts: Sequence[Tally]) -> Estimate:
    wins, losses = sum(one.wins for one in counts), sum(one.losses for one in counts)
    if not wins + losses:
        return undefined("no decisive game")
    return Estimate(100 * wins / (wins + losses), wins + losses, hits=wins)


def _counts(found: Sequence[Game], n_missing: int) -> list[ScoreNode]:
    """The counts of games, each from the fewest to the most that there may be of it."""
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
            ScoreNode(id=id, label=label, score=_number(value, n, n_missing, counts.failed, low, high))
            for id, label, value, low, high in named
        ),
        ScoreNode(id="games", label="Games", score=_number(n, n, n_missing)),
    ]


def _number(
    value: int, n: int, n_missing: int, n_failed: int = 0, low: int | None = None, high: int | None = None
) -> Score:
    """A count of `n` games; how much missing reports would add to it is not known."""
    most = value if high is None else high
    return Score(
        value=value,
        numerator=value,
        n_expected=n + n_missing,
        n_failed=n_failed + n_missing,
        low=value if low is None else low,
        high=None if n_missing else most,
    )


def _open(rate: Score, n_missing: int) -> Score:
    """Open a rate to the ends of its scale where reports are missing, whose games nobody knows."""
    if not n_missing:
        return rate
    update = {
        "low": 0.0,
        "high": 100.0,
        "n_expected": rate.n_expected + n_missing,
        "n_failed": rate.n_failed + n_missing,
    }
    return noted(rate.model_copy(update=update), f"{n_missing} of the run's reports missing")
