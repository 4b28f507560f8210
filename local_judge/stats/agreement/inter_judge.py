"""Inter-judge agreement: how far several judges agree on what each of them decided about the same things.

Invariants: what a judge did not answer is compared with nothing and counted; the bootstrap draws whole reports, so that
the items of one report, which are no independent observations, stay together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations
from typing import NamedTuple

from local_judge.stats.agreement import chance
from local_judge.stats.agreement.chance import Scale
from local_judge.stats.estimate import DRAWS, Estimate, Resamples, SumStatistic, undefined
from local_judge.stats.numeric import exact, scaled

Answer = str | float
"""A label, or a number on a scale."""

Answers = Mapping[str, Mapping[str, Answer]]
"""The answers about one report: by item, and by judge; a judge that gave none is not there."""


_NOTHING = "no item has answers to compare"


class InterJudgeAgreement(NamedTuple):
    """Measures of agreement between judges."""

    n_items: int
    """Number of items with two answers or more."""
    n_missing: Mapping[str, int]
    """Number of items without an answer, by judge."""
    alike: Estimate
    """Items to which all gave the same answer / items that all have answered (`n`)."""
    alike_pairs: Estimate
    """Pairs of equal answers / pairs of answers of two judges to one item (`n`)."""
    difference: Estimate | None
    """Mean of the absolute differences in such pairs; None where answers are labels."""
    kappa: Estimate | None
    """Cohen's kappa of two judges: unweighted for labels, else with quadratic weights; None for more than two."""
    alpha: Estimate
    """Krippendorff's alpha for the scale."""


class _Part(NamedTuple):
    """Sums of one report that the measures need."""

    items: Mapping[str, int]
    """`n` that all have answered, and `hits`, those of them that all answered alike."""
    pairs: Mapping[str, int]
    """`n` pairs of answers, `hits` that are equal, and the sum of their absolute differences, `apart`."""
    crossed: chance.Crossed
    counts: chance.Counts


def agreement_of_judges(
    reports: Sequence[Answers], judges: Sequence[str], scale: Scale, *, seed: int = 0, draws: int = DRAWS
) -> InterJudgeAgreement:
    """Return every measure of agreement between `judges`.

    Args:
        reports: the answers about each; those of other judges are passed over.
        judges: two at least, all different.
        scale: of the answers; labels are nominal.
        seed: of the bootstrap over reports.
        draws: of each interval.
    """
    items = [[[item.get(judge) for judge in judges] for item in report.values()] for report in reports]
    answers = [answer for report in items for item in report for answer in item if answer is not None]
    codes, factor = coded(answers)
    weights: chance.Weights = "unweighted" if scale == "nominal" else "quadratic"
    parts = [
        _part([[None if one is None else codes[one] for one in item] for item in report], weights)
        for report in items
    ]
    drawn = Resamples(len(parts), draws, seed) if len(parts) > 1 else ()
    missing = {
        judge: sum(item[place] is None for report in items for item in report)
        for place, judge in enumerate(judges)
    }
    return InterJudgeAgreement(
        n_items=sum(len(item) - item.count(None) > 1 for report in items for item in report),
        n_missing=missing,
        alike=SumStatistic([part.items for part in parts], _rate).estimate(drawn),
        alike_pairs=SumStatistic([part.pairs for part in parts], _rate).estimate(drawn),
        difference=None if scale == "nominal" else _difference(parts, factor).estimate(drawn),
        kappa=chance.pooled_kappa([part.crossed for part in parts], weights).estimate(drawn)
        if len(judges) == 2
        else None,
        alpha=chance.pooled_alpha([part.counts for part in parts], scale).estimate(drawn),
    )


def coded(answers: Sequence[Answer]) -> tuple[Mapping[Answer, int], int]:
    """Return whole numbers for answers, and what they were multiplied by; labels are numbered by their order."""
    labels = sorted({answer for answer in answers if isinstance(answer, str)})
    numbers = {answer: exact(answer) for answer in answers if not isinstance(answer, str)}
    factor = scaled(numbers.values())
    codes: dict[Answer, int] = {label: place for place, label in enumerate(labels)}
    codes |= {answer: int(number * factor) for answer, number in numbers.items()}
    return codes, factor


def _part(items: Sequence[Sequence[int | None]], weights: chance.Weights) -> _Part:
    given = [[answer for answer in item if answer is not None] for item in items]
    complete = [found for found, item in zip(given, items, strict=True) if len(found) == len(item)]
    pairs = list(chain.from_iterable(combinations(found, 2) for found in given))
    both = [(item[0], item[1]) for item in items]
    return _Part(
        {"n": len(complete), "hits": sum(len(set(found)) == 1 for found in complete)},
        {
            "n": len(pairs),
            "hits": sum(a == b for a, b in pairs),
            "apart": sum(abs(a - b) for a, b in pairs),
        },
        chance.cross([(a, b) for a, b in both if a is not None and b is not None], weights),
        chance.count_ratings(given),
    )


def _rate(sums: Mapping[str, int]) -> Estimate:
    n = sums.get("n", 0)
    return Estimate(sums["hits"] / n, n, hits=sums["hits"]) if n else undefined(_NOTHING)


def _difference(parts: Sequence[_Part], factor: int) -> SumStatistic[str]:
    def statistic(sums: Mapping[str, int]) -> Estimate:
        n = sums.get("n", 0)
        return Estimate(float(Fraction(sums["apart"], n * factor)), n) if n else undefined(_NOTHING)

    return SumStatistic([part.pairs for part in parts], statistic)
