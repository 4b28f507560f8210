"""How far several judges agree on what each of them decided about the same things.

Invariants: what a judge did not answer is compared with nothing and counted; the bootstrap draws whole reports, so that
the items of one report, which are no independent observations, stay together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations
from typing import NamedTuple

from local_judge.stats.agreement import alpha, kappa
from local_judge.stats.agreement.alpha import Scale
from local_judge.stats.agreement.estimate import DRAWS, Estimate, resamples, undefined
from local_judge.stats.agreement.exact import exact, scaled
from local_judge.stats.agreement.sums import OfSums

Answer = str | float
"""A label, or a number on a scale."""

Answers = Mapping[str, Mapping[str, Answer]]
"""The answers about one report: by item, and by judge; a judge that gave none is not there."""


class JudgesAgreement(NamedTuple):
    """How far they agree."""

    n_items: int
    """That two of them at least have answered."""
    n_missing: Mapping[str, int]
    """For each judge, the items without an answer of it."""
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
    """What the measures need of one report."""

    complete: tuple[int, int]
    """Items that all have answered, and those of them that all answered alike."""
    paired: tuple[int, int, int]
    """Pairs of answers, those that are equal, and the sum of their absolute differences."""
    crossed: kappa.Crossed
    reliability: alpha.Reliability


def agreement_of_judges(
    reports: Sequence[Answers], judges: Sequence[str], scale: Scale, *, seed: int = 0, draws: int = DRAWS
) -> JudgesAgreement:
    """Every measure of agreement between `judges`.

    Args:
        reports: the answers about each; those of other judges are passed over.
        judges: two at least, all different.
        scale: of the answers; labels are nominal.
        seed: of the bootstrap over reports.
        draws: of each interval.
    """
    items = [[[item.get(judge) for judge in judges] for item in report.values()] for report in reports]
    answers = [answer for report in items for item in report for answer in item if answer is not None]
    coded, factor = _coded(answers)
    weights: kappa.Weights = "unweighted" if scale == "nominal" else "quadratic"
    parts = [
        _part([[None if one is None else coded[one] for one in item] for item in report], weights)
        for report in items
    ]
    drawn = resamples(len(parts), draws, seed) if len(parts) > 1 else []
    missing = {
        judge: sum(item[place] is None for report in items for item in report)
        for place, judge in enumerate(judges)
    }
    return JudgesAgreement(
        n_items=sum(len(item) - item.count(None) > 1 for report in items for item in report),
        n_missing=missing,
        alike=OfSums([part.complete for part in parts], _rate).estimate(drawn),
        alike_pairs=OfSums([part.paired[:2] for part in parts], _rate).estimate(drawn),
        difference=None if scale == "nominal" else _difference(parts, factor).estimate(drawn),
        kappa=kappa.summed([part.crossed for part in parts], weights).estimate(drawn)
        if len(judges) == 2
        else None,
        alpha=alpha.summed([part.reliability for part in parts], scale).estimate(drawn),
    )


def _coded(answers: Sequence[Answer]) -> tuple[Mapping[Answer, int], int]:
    """Whole numbers for the answers, and what they were multiplied by. Labels are numbered by their order."""
    labels = sorted({answer for answer in answers if isinstance(answer, str)})
    numbers = {answer: exact(answer) for answer in answers if not isinstance(answer, str)}
    factor = scaled(numbers.values())
    coded: dict[Answer, int] = {label: place for place, label in enumerate(labels)}
    coded |= {answer: int(number * factor) for answer, number in numbers.items()}
    return coded, factor


def _part(items: Sequence[Sequence[int | None]], weights: kappa.Weights) -> _Part:
    given = [[answer for answer in item if answer is not None] for item in items]
    complete = [found for found, item in zip(given, items, strict=True) if len(found) == len(item)]
    pairs = list(chain.from_iterable(combinations(found, 2) for found in given))
    both = [(item[0], item[1]) for item in items]
    return _Part(
        (len(complete), sum(len(set(found)) == 1 for found in complete)),
        (len(pairs), sum(a == b for a, b in pairs), sum(abs(a - b) for a, b in pairs)),
        kappa.crossed([(a, b) for a, b in both if a is not None and b is not None], weights),
        alpha.reliability(given),
    )


def _rate(sums: Sequence[int]) -> Estimate:
    n, alike = sums
    if not n:
        return undefined("nothing was answered by both or all")
    return Estimate(alike / n, n, hits=float(alike))


def _difference(parts: Sequence[_Part], factor: int) -> OfSums:
    def statistic(sums: Sequence[int]) -> Estimate:
        n, apart = sums
        if not n:
            return undefined("nothing was answered by both")
        return Estimate(float(Fraction(apart, n * factor)), n)

    return OfSums([(part.paired[0], part.paired[2]) for part in parts], statistic)
