"""Analysis depth of one report, as a tree.

Invariants: both profiles have the same tree; what a report gets does not depend on the reports of other systems, so
that comparisons with them are in no score here (`local-judge results rank` reads them); a report that was compared
with no baseline has no score, and no zero.

    depth          win rate of the report's games against its baselines, 0 to 100; null where none was decisive
      margin       mean of (total of the report - total of the baseline), -25 to 25
      granularity, insight, critique, evidence, density
                   the report's mean score, 0 to 5; below it the baseline's
      consistency  share of pairs in which a judge's two orders agree, 0 to 100
      by_totals    win rate of the two games of each pair, decided by the totals of each order
      word         share of answers in which the judge's word agrees with its own totals
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from local_judge.protocols.liveresearchbench.depth.findings import DIMENSIONS, TOP, DepthFindings, Order, Pair
from local_judge.protocols.liveresearchbench.depth.games import (
    MOST,
    Game,
    Rule,
    consistent,
    decided,
    games,
    win_rate,
)
from local_judge.scoring.algebra import answers, failures_of, share, undefined
from local_judge.scoring.node import Profile, Score, ScoreNode, noted

DEPTH = "depth"
LABEL = "Analysis depth"
NO_BASELINE = "compared with no baseline"


class Baseline(NamedTuple):
    """One baseline of one report, with what each judge said."""

    pairs: tuple[Pair, ...]
    counts: bool
    """Whether it is in the scores: it is a report, or those that are none count too."""


def score_depth(findings: Sequence[DepthFindings], profile: Profile) -> ScoreNode:
    """The scores of one report: sums of dimensions averaged over judges, then ties (`paper`); or games pooled.

    Args:
        findings: each judge's, of the same report; at least one.
        profile: by whose rule a pair is decided.
    """
    found = baselines(findings)
    chosen = [baseline for baseline in found if baseline.counts]
    pairs = [pair for baseline in chosen for pair in baseline.pairs]
    orders = [order for pair in pairs for order in pair.orders]
    margins = [order.difference for order in orders]
    return ScoreNode(
        id=DEPTH,
        label=LABEL,
        score=noted(win_rate(games_of(chosen, profile), NO_BASELINE), _defective(found)),
        children=(
            ScoreNode(id="margin", label="Margin", score=_mean(margins, -MOST, MOST)),
            *_dimensions(orders),
            consistency(pairs, profile),
            by_totals(games_of(chosen, "totals")),
            word(orders),
        ),
    )


def baselines(findings: Sequence[DepthFindings]) -> list[Baseline]:
    """The answers of several judges about one report, by baseline."""
    first = findings[0]
    return [
        Baseline(
            tuple(one.pairs[index] for one in findings),
            not (first.leave_out and pair.opponent.defects),
        )
        for index, pair in enumerate(first.pairs)
        if pair.opponent.kind == "baseline"
    ]


def games_of(chosen: Sequence[Baseline], rule: Rule) -> list[Game]:
    """The games against some baselines."""
    return [game for baseline in chosen for game in games(baseline.pairs, rule)]


def by_totals(found: Iterable[Game]) -> ScoreNode:
    """The win rate of the games of each order by itself, decided by its totals."""
    rate = win_rate(found, NO_BASELINE)
    return ScoreNode(id="by_totals", label="Win rate of two games, by totals", score=rate)


def consistency(pairs: Sequence[Pair], rule: Rule) -> ScoreNode:
    """Share of pairs on which a judge says the same whichever report comes first."""
    found = [consistent(pair, rule) for pair in pairs]
    return ScoreNode(id="consistency", label="Position consistency", score=_share(found))


def word(orders: Sequence[Order]) -> ScoreNode:
    """Share of answers in which the judge's word agrees with its own scores."""
    found = [
        None if order.difference is None else order.said == decided(order.difference) for order in orders
    ]
    return ScoreNode(id="word", label="Judge's word agrees with its scores", score=_share(found))


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
        below = ScoreNode(id="baseline", label="Baseline", score=baseline)
        yield ScoreNode(id=name, label=name.title(), score=own, children=(below,))


def _mean(values: Sequence[int | None], least: int, most: int) -> Score:
    """The mean over all answers; one that failed leaves it open from `least` to `most`."""
    if not values:
        return undefined(NO_BASELINE)
    score = answers(values, least, most)
    return noted(score, failures_of(score))


def _defective(found: Sequence[Baseline]) -> str:
    """A note on defective baselines."""
    kinds = [baseline.pairs[0].opponent.defects for baseline in found]
    bad = [" and ".join(defects) for defects in kinds if defects]
    if not bad:
        return ""
    which = "baseline is" if len(found) == 1 else f"{len(bad)} of {len(found)} baselines are"
    left = ", left out" if not all(baseline.counts for baseline in found) else ""
    return f"{which} no report ({', '.join(dict.fromkeys(bad))}){left}"
