"""Two judges' calls on the same labelled claims.

Invariant: only claims that both judges answered count, and both are drawn together, unit by unit, so that what makes a
claim easy or hard for both cancels out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from local_judge.base.model import Frozen
from local_judge.stats.comparison import Difference, compare, mean_contrast
from local_judge.stats.estimate import DRAWS, Estimate, Resamples, SumStatistic, undefined
from local_judge.stats.rates import balanced_accuracy


class PairedCall(NamedTuple):
    """A labelled claim with the calls of both judges."""

    unit: str
    """Units, such as reports or documents, are drawn as a whole."""
    true: bool
    """True if people call it supported."""
    first: bool
    second: bool


class CallComparison(Frozen):
    """Two judges on the claims that both answered. Positive: supported."""

    n: int
    n_true: int
    n_units: int
    right: tuple[int, int]
    """Number of right calls, by judge."""
    only: tuple[int, int]
    """Number of claims on which only this judge is right, as in McNemar's test (1947)."""
    share: Difference
    """Share of right calls: second - first, with an interval and a p-value over units."""
    balanced_accuracy: tuple[float | None, float | None]
    balanced_difference: Estimate
    """Balanced accuracy: second - first, with a bootstrap interval over units."""


def compare_calls(calls: Sequence[PairedCall], *, seed: int = 0, draws: int = DRAWS) -> CallComparison:
    """Compare the calls of two judges.

    Formula: balanced accuracy = (TP / (TP + FN) + TN / (TN + FP)) / 2 of each judge, in each draw of as many units with
    replacement; draws without one of the two classes are left out.
    """
    units: dict[str, Counter[str]] = {}
    for call in calls:
        units.setdefault(call.unit, Counter()).update(
            {
                ("true" if call.true else "false"): 1,
                f"first_{call.true}": int(call.first == call.true),
                f"second_{call.true}": int(call.second == call.true),
            }
        )
    statistic = SumStatistic(list(units.values()), _balanced_difference)
    sums = sum(units.values(), Counter[str]())
    right = [(call.first == call.true, call.second == call.true) for call in calls]
    return CallComparison(
        n=len(calls),
        n_true=sum(call.true for call in calls),
        n_units=len(units),
        right=(sum(first for first, _ in right), sum(second for _, second in right)),
        only=(
            sum(first and not second for first, second in right),
            sum(second and not first for first, second in right),
        ),
        share=compare(
            {place: float(first) for place, (first, _) in enumerate(right)},
            {place: float(second) for place, (_, second) in enumerate(right)},
            lambda place: calls[place].unit,
            mean_contrast,
            seed=seed,
            draws=draws,
        ),
        balanced_accuracy=(_balanced(sums, "first"), _balanced(sums, "second")),
        balanced_difference=(
            statistic.estimate(Resamples(len(units), draws, seed)) if len(units) > 1 else statistic.found()
        ),
    )


def _balanced(sums: Mapping[str, int], judge: str) -> float | None:
    right = [sums.get(f"{judge}_{true}", 0) for true in (True, False)]
    return balanced_accuracy(right[0], sums.get("true", 0), right[1], sums.get("false", 0))


def _balanced_difference(sums: Mapping[str, int]) -> Estimate:
    first, second = _balanced(sums, "first"), _balanced(sums, "second")
    n = sums.get("true", 0) + sums.get("false", 0)
    if first is None or second is None:
        return undefined("all claims are of one kind", n)
    return Estimate(second - first, n)
