"""Agreement of verdicts on labelled claims with people.

Invariants: a row that failed or is unread is in no figure. Positive is `supported`. A fitted figure is out of fold,
with whole documents held out, or comes from a fit on the other sets and on claims given for fitting only; no claim is
measured by a fit that has seen it.

The balanced accuracy of supported claims against all others is the measure of LLM-AggreFact (Tang et al., 2024).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from statistics import median
from typing import Literal, get_args

from pydantic import Field

from local_judge.base.model import Frozen
from local_judge.claims.model import TruthLabel
from local_judge.lab.labelled.answers import Answer
from local_judge.lab.labelled.model import TRUTH_LABELS
from local_judge.lab.verifier_benchmark.answers import (
    LENGTHS,
    OVERLAP,
    SHARES,
    Answers,
    Cost,
    facets_of,
    pair_of,
)
from local_judge.lab.verifier_benchmark.evidence import quotation_rate
from local_judge.stats.calibration.assess import Assessment, Settings, assess, calibrated
from local_judge.stats.calibration.fitting import OutOfFold, Uncalibratable
from local_judge.stats.calibration.measures import NEUTRAL, Judged
from local_judge.stats.estimate import (
    Estimate,
    Resamples,
    by_group,
    in_draws,
    percentile,
    undefined,
    with_interval,
)
from local_judge.stats.paired_calls import CallComparison, PairedCall, compare_calls
from local_judge.stats.rates import Rate, mean

Partial = Literal["unsupported", "left_out"]
"""Treatment of claims labelled `partial` in figures of two classes."""

_RANGES = tuple(name for _, name in (*LENGTHS, *SHARES))
_SURE = 5e-7
"""Confidences are stored with six decimals."""


class GroupFigures(Frozen):
    """Figures of the claims with one label, length, share of words in the evidence, language, version or kind."""

    n: int
    called_supported: Estimate
    """Share of the rows that the verifier calls supported."""
    median: float | None
    """Median P(yes); None for a verifier that gives none."""
    figures: Assessment | None
    """None with one class only."""


class SetFigures(Frozen):
    """Agreement of one verifier with the labels of one set."""

    set: str
    verifier: str
    n: int
    left_out: int
    """Number of rows labelled `partial` that figures of two classes leave out, of those with a verdict."""
    failed: int
    unread: int
    seen: int = 0
    """Number of answers to fit on that are about claims of the set, and are therefore in no fit for it."""
    benchmark: str = ""
    """Benchmark whose own selection of the set all rows are of."""
    figures: Assessment | None = None
    """Figures at the verifier's own threshold; None with one class only. The threshold of the baseline is fitted,
    or 0.5 if nothing can be."""
    fitted: Assessment | None = None
    """Figures with a calibration and a threshold fitted to the set, out of fold by document."""
    transferred: Assessment | None = None
    """Figures with a calibration and a threshold fitted to the other sets and to the claims given for fitting."""
    why_not_fitted: str = ""
    why_not_transferred: str = ""
    probabilities: bool = False
    """True if the verifier gives probabilities as they are, so that `figures` has a calibration error."""
    three_way_f1: Estimate | None = None
    """Mean F1 of supported, partial and unsupported; None without one of these labels, or without verdicts."""
    confusion: dict[str, dict[str, int]] = Field(default_factory=dict[str, dict[str, int]])
    """Number of rows by label of people and label of the verdict."""
    groups: dict[str, dict[str, GroupFigures]] = Field(default_factory=dict[str, dict[str, GroupFigures]])
    """Figures by facet, then by its value."""
    quotations: Rate | None = None
    """Share of quotations for supported and partial verdicts that overlap a supporting sentence."""
    cost: Cost | None = None


def figures_of(found: Answers, settings: Settings, partial: Partial = "unsupported") -> list[SetFigures]:
    """Return the figures of each set, in order of appearance.

    Args:
        found: answers of one verifier.
        settings: of the fit and of the bootstrap.
        partial: how rows labelled `partial` count in figures of two classes.
    """
    sets: dict[str, list[Answer]] = {}
    for answer in found.answers:
        sets.setdefault(answer.claim.set, []).append(answer)
    figures: list[SetFigures] = []
    for name, own in sets.items():
        elsewhere = [*(one for other in sets if other != name for one in sets[other]), *found.fitting]
        measured = set(map(pair_of, own))
        others = [one for one in elsewhere if pair_of(one) not in measured]
        made = _figures(name, own, others, found, settings, partial)
        figures.append(made.model_copy(update={"seen": len(elsewhere) - len(others)}))
    return figures


def ece_over_folds(found: Answers, settings: Settings, partial: Partial, n: int = 50) -> dict[str, Estimate]:
    """Return the expected calibration error of each set by a calibration that is fitted to it, out of fold.

    Where claims are few, it depends on how they are divided into folds. The value is the median over `n` divisions, and
    the interval is from 5 to 95 % of them. A set is left out if nothing can be fitted in one of them.

    Args:
        found: answers of one verifier.
        settings: of the fit; the seeds of the divisions count from its seed.
        partial: how rows labelled `partial` count.
        n: number of divisions.
    """
    errors: dict[str, list[float]] = {}
    sizes: dict[str, int] = {}
    for name in dict.fromkeys(one.claim.set for one in found.answers):
        own = _two_classes([one for one in found.answers if one.claim.set == name], partial)
        sizes[name] = len(own)
        for seed in range(settings.seed, settings.seed + n):
            fitted, _ = _fitted(own, settings.model_copy(update={"seed": seed, "draws": 0}))
            if fitted is not None and fitted.ece.value is not None:
                errors.setdefault(name, []).append(fitted.ece.value)
    return {
        name: Estimate(median(values), sizes[name], low=percentile(values, 5), high=percentile(values, 95))
        for name, values in ((name, sorted(values)) for name, values in errors.items())
        if len(values) == n
    }


def _figures(
    name: str,
    own: Sequence[Answer],
    others: Sequence[Answer],
    found: Answers,
    settings: Settings,
    partial: Partial,
) -> SetFigures:
    counted = _two_classes(own, partial)
    figures, fitted, transferred, why_not, why_not_transferred = None, None, None, "", ""
    if found.verifier == OVERLAP:
        figures, why_not = _fitted(counted, settings)
        plain = _assessed(counted, settings)
        if figures is None:
            figures = plain
        elif plain is not None:  # fits of several folds change the order
            figures = figures.model_copy(update={"auc": plain.auc})
    else:
        figures = _assessed(counted, settings)
        if found.probabilities:
            fitted, why_not = _fitted(counted, settings)
    if found.probabilities and others:
        transferred, why_not_transferred = _transferred(counted, _two_classes(others, partial), settings)
    labelled = [one for one in own if one.label is not None]
    confusion = {
        gold: dict(sorted(Counter(str(one.label) for one in labelled if one.claim.label == gold).items()))
        for gold in get_args(TruthLabel)
    }
    return SetFigures(
        set=name,
        verifier=found.verifier,
        n=len(own),
        left_out=sum(one.value is not None for one in own) - len(counted),
        failed=sum(one.failure is not None for one in own),
        unread=sum(not one.is_read for one in own),
        benchmark=_benchmark(own),
        figures=figures,
        fitted=fitted,
        transferred=transferred,
        why_not_fitted=why_not,
        why_not_transferred=why_not_transferred,
        probabilities=found.probabilities and found.verifier != OVERLAP,
        three_way_f1=_three_way_f1(labelled, settings),
        confusion={gold: given for gold, given in confusion.items() if given},
        groups=_groups(counted, found.probabilities, settings) if found.verifier != OVERLAP else {},
        quotations=quotation_rate(
            [
                (one.claim, one.quote)
                for one in own
                if one.quote is not None and one.label in ("supported", "partial")
            ]
        ),
        cost=found.costs.get(name),
    )


def _benchmark(answers: Sequence[Answer]) -> str:
    """Return the benchmark whose own selection all claims are of; empty if there is none."""
    found = {one.claim.benchmark for one in answers}
    return found.pop() if len(found) == 1 else ""


def _two_classes(answers: Sequence[Answer], partial: Partial) -> list[Answer]:
    """Return the rows with a value that figures of two classes are about."""
    return [one for one in answers if one.value is not None and _counts(one, partial)]


def _assessed(answers: Sequence[Answer], settings: Settings) -> Assessment | None:
    """Return the figures of the verdicts as they are; None with one class only."""
    judged = [Judged(one.claim.true, one.value or 0.0, one.claim.document) for one in answers]
    if len({one.true for one in judged}) < 2:
        return None
    called = [(one.value or 0.0) >= NEUTRAL if one.called is None else one.called for one in answers]
    return assess(OutOfFold(judged, called, [0.5], []), settings)


def _fitted(answers: Sequence[Answer], settings: Settings) -> tuple[Assessment | None, str]:
    try:
        return assess(calibrated(_judged(answers), settings)[1], settings), ""
    except Uncalibratable as error:
        return None, str(error)


def _transferred(
    answers: Sequence[Answer], others: Sequence[Answer], settings: Settings
) -> tuple[Assessment | None, str]:
    """Return the figures by a fit to other sets, or the reason why there are none."""
    try:
        fit = calibrated(_judged(others), settings)[0]
        plain = fit.curve.of(_judged(answers))
        called = [one.value >= fit.threshold for one in plain]
        return assess(OutOfFold(plain, called, [fit.threshold], []), settings), ""
    except Uncalibratable as error:
        return None, str(error)


def _judged(answers: Sequence[Answer]) -> list[Judged]:
    """Return the rows with log-odds as values."""
    found: list[Judged] = []
    for one in answers:
        p = min(max(one.value or 0.0, _SURE), 1 - _SURE)
        found.append(Judged(one.claim.true, math.log(p / (1 - p)), one.claim.document))
    return found


def _groups(
    answers: Sequence[Answer], probabilities: bool, settings: Settings
) -> dict[str, dict[str, GroupFigures]]:
    """Return the figures by each facet that has several values."""
    members: dict[str, dict[str, list[Answer]]] = {}
    for one in answers:
        for facet, group in facets_of(one).items():
            members.setdefault(facet, {}).setdefault(group, []).append(one)
    return {
        facet: {
            group: GroupFigures(
                n=len(own),
                called_supported=_over_documents(_called_supported, own, settings),
                median=_median(own) if probabilities else None,
                figures=_assessed(own, settings),
            )
            for group, own in sorted(groups.items(), key=_place)
        }
        for facet, groups in members.items()
        if len(groups) > 1
    }


def _place(group: tuple[str, list[Answer]]) -> tuple[int, str]:
    """Return the place of a group: ranges in their order, others by name."""
    return _RANGES.index(group[0]) if group[0] in _RANGES else -1, group[0]


def _called_supported(answers: Sequence[Answer]) -> float | None:
    return sum(bool(one.called) for one in answers) / len(answers) if answers else None


def _median(answers: Sequence[Answer]) -> float | None:
    values = [one.value for one in answers if one.value is not None]
    return median(values) if values else None


def _three_way_f1(answers: Sequence[Answer], settings: Settings) -> Estimate | None:
    """Return the mean F1 of the three classes, where people use all of them."""
    found = _over_documents(_macro_f1, answers, settings)
    return None if found.value is None else found


def _macro_f1(answers: Sequence[Answer]) -> float | None:
    pairs = Counter(
        (_three_way(one.claim.label), _three_way(TRUTH_LABELS[one.label]))
        for one in answers
        if one.label is not None
    )
    classes = sorted(set(map(_three_way, get_args(TruthLabel))))
    people, judge = Counter[str](), Counter[str]()
    for (gold, given), n in pairs.items():
        people[gold] += n
        judge[given] += n
    if any(not people[name] for name in classes):
        return None
    return mean([2 * pairs[name, name] / (people[name] + judge[name]) for name in classes])


def _three_way(label: TruthLabel) -> TruthLabel:
    return "unsupported" if label == "contradicted" else label


def _over_documents(
    value: Callable[[Sequence[Answer]], float | None], answers: Sequence[Answer], settings: Settings
) -> Estimate:
    """Return a figure with its bootstrap interval over documents."""
    whole = value(answers)
    if whole is None:
        return undefined("a label that does not occur")
    groups = by_group(answers, lambda one: one.claim.document)
    drawn = in_draws(value, groups, Resamples(len(groups), settings.draws, settings.seed))
    return with_interval(Estimate(whole, len(answers)), drawn, len(groups))


class ComparedVerifiers(Frozen):
    """Two verifiers on the claims of a set."""

    set: str
    verifiers: tuple[str, str]
    found: CallComparison


def compared_verifiers(
    found: Sequence[Answers], settings: Settings, partial: Partial = "unsupported"
) -> Iterator[ComparedVerifiers]:
    """Yield each two verifiers on each set, by their verdicts at their own thresholds. The baseline has none.

    Args:
        found: answers of each verifier to the same rows.
        settings: of the bootstrap, over documents.
        partial: how rows labelled `partial` count.
    """
    judged = [one for one in found if one.verifier != OVERLAP]
    for first, second in combinations(judged, 2):
        for name in dict.fromkeys(answer.claim.set for answer in first.answers):
            calls = [
                PairedCall(one.claim.document, one.claim.true, bool(one.called), bool(other.called))
                for one, other in zip(first.answers, second.answers, strict=True)
                if one.claim.set == name and None not in (one.called, other.called) and _counts(one, partial)
            ]
            yield ComparedVerifiers(
                set=name,
                verifiers=(first.verifier, second.verifier),
                found=compare_calls(calls, seed=settings.seed, draws=settings.draws),
            )


def _counts(one: Answer, partial: Partial) -> bool:
    return partial != "left_out" or one.claim.label != "partial"
