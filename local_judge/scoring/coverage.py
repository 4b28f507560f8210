"""Coverage: the share of a score's inputs that is known.

Invariant: a score that is less than half known has no value, only bounds, in every protocol and profile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from local_judge.scoring.node import Score, ScoreNode, Tree, map_scores, noted
from local_judge.stats.sums import sum_in_order

LEAST_KNOWN = 0.5
"""Least share of what a score should rest on that is known where the score has a value."""


def known_share(score: Score) -> float | None:
    """Return the share, from 0 to 1, of what a score should rest on that is known; None where it rests on nothing.

    Formula: `known`, or 1 - n_failed / (n_expected - n_undefined) where it is not set. Of a mean, `known` is the mean
    share of its parts, so that a dimension with one known part of four has 0.25, however many answers that part has.
    """
    if score.known is not None:
        return score.known
    base = score.n_expected - score.n_undefined
    if base > 0:
        return max(0.0, 1 - score.n_failed / base)
    return 0.0 if score.n_failed else None


def read_in_part(score: Score, read: float, n_unread: int = 0) -> Score:
    """Return a score with its coverage times the share of the text that was read.

    The rest is taken to have as many units as what was read. A score that is undefined, whatever the rest may hold,
    stays so.

    Args:
        score: the score of what was read.
        read: share of the text that was read.
        n_unread: failed units of the score that stand for the rest, and do not count again.
    """
    if read == 1.0 or (score.value is None and not failed(score)):
        return score
    share, n = known_share(score), score.n_expected - score.n_undefined - n_unread
    if n_unread:
        share = 1 - (score.n_failed - n_unread) / n if n > 0 else 1.0
    return score.model_copy(update={"known": read * (1.0 if share is None else share)})


def mean_share(parts: Sequence[Score], n_missing: int = 0) -> float | None:
    """Return the mean known share of the parts that are defined and of missing ones, which have 0; None without any."""
    shares = [known_share(part) for part in parts if part.value is not None or failed(part)]
    known = [1.0 if share is None else share for share in shares]
    return sum_in_order(known) / (len(known) + n_missing) if known or n_missing else None


def failed(score: Score) -> bool:
    """Check whether a score has no value because of failures, and not by its formula."""
    return score.value is None and (score.n_failed > 0 or known_share(score) not in (None, 1.0))


def known_enough(score: Score) -> Score:
    """Return the score, or, where less of it is known than unknown, its bounds without a value."""
    share = known_share(score)
    if score.value is None or share is None or share >= LEAST_KNOWN:
        return score
    without: dict[str, None] = dict.fromkeys(
        ("value", "numerator", "denominator", "interval_low", "interval_high")
    )
    note = f"no value: {100 * share:.0f} % of what it rests on is known"
    return noted(score.model_copy(update=without), note, first=True)


def with_reason(score: Score) -> Score:
    """Return the score; without a value and a note, with a note on the reason by its counts."""
    if score.value is not None or score.note:
        return score
    if not failed(score):
        return noted(score, "undefined: it has nothing to rest on")
    share = known_share(score)
    known = f"{100 * (share or 0.0):.0f} % of what it rests on is known"
    n_failed = f"{score.n_failed} of {score.n_expected} failed" if score.n_failed else known
    return noted(score, f"no value: {n_failed}")


def known_enough_trees(trees: Tree, most: float = 1.0) -> tuple[ScoreNode, ...]:
    """Score trees with `known_enough` applied to every node; each one without a value has a reason.

    Args:
        trees: the trees.
        most: the largest share that can be known: of scores over reports, the share of the reports with findings.
    """

    def counted(score: Score) -> Score:
        share = known_share(score)
        if share is not None and most < 1.0:
            score = score.model_copy(update={"known": min(share, most)})
        return with_reason(known_enough(score))

    return map_scores(trees, counted)


def in_part(score: Score) -> bool:
    """Check whether a score has a value in spite of failures: its own, or those of a part of it."""
    share = known_share(score)
    return score.value is not None and (score.n_failed > 0 or (share is not None and share < 1.0))


class Coverage(NamedTuple):
    """Known share of the scores that a statistic summarises."""

    n_in_part: int
    """Scores with a value in spite of failures."""
    n: int
    """Scores with a value."""
    known: float | None
    """Mean of their known shares; None without a score that could have failed."""
    widest: float | None
    """The largest distance between the bounds of one of them; None where one of them has a bound that is not known."""


def coverage_of(scores: Iterable[Score]) -> Coverage:
    """Return the coverage of the scores that have a value."""
    found = [score for score in scores if score.value is not None]
    shares = [share for score in found if (share := known_share(score)) is not None]
    part = [score for score in found if in_part(score)]
    widths = [score.high - score.low for score in part if score.low is not None and score.high is not None]
    return Coverage(
        n_in_part=len(part),
        n=len(found),
        known=sum_in_order(shares) / len(shares) if shares else None,
        widest=None if len(widths) < len(part) else max(widths, default=0.0),
    )
