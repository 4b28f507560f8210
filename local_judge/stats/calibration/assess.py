"""Effect of calibration on a judge's probabilities of claims with known labels.

Invariants: every figure after calibration is out of fold; every interval is a bootstrap over pages with a recorded
seed; claims without an answer are counted by the caller and in no figure here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from local_judge.base.model import Frozen
from local_judge.ledger.calibrations import Method, Objective, Quality
from local_judge.stats.calibration.fitting import (
    FOLDS,
    IDENTITY,
    OutOfFold,
    Sigmoid,
    Uncalibratable,
    fit,
    out_of_fold,
)
from local_judge.stats.calibration.measures import (
    BINS,
    NEUTRAL,
    Bin,
    Judged,
    auc_of,
    best_threshold,
    bins,
    brier_of,
    columns,
    ece_of,
)
from local_judge.stats.estimate import Estimate, Resamples, by_group, with_interval
from local_judge.stats.numeric import Floats
from local_judge.stats.rates import balanced_accuracy

Bools = npt.NDArray[np.bool_]

DRAWS = 1_000


class Settings(Frozen):
    """Settings of a calibration."""

    method: Method = "beta"
    objective: Objective = "accuracy"
    folds: int = FOLDS
    seed: int = 0
    """Random seed of the folds and of the bootstrap."""
    draws: int = DRAWS


class Assessment(Frozen):
    """Probabilities and calls against what is known of the claims."""

    n: int
    n_true: int
    n_pages: int
    auc: Estimate
    accuracy: Estimate
    """Accuracy of the calls."""
    caught: Estimate
    """Share of the altered claims that are not called true."""
    called_wrong: Estimate
    """Share of the true claims that are not called true."""
    balanced_accuracy: Estimate
    """Mean of the share of true claims called true and the share of altered claims not called true."""
    f1: Estimate
    """2 TP / (2 TP + FP + FN) of the claims called true."""
    brier: Estimate
    ece: Estimate
    """Bins of equal width."""
    ece_mass: Estimate
    """Bins of equal mass."""
    threshold: float
    """The mean over folds."""
    threshold_low: float
    threshold_high: float
    """The least and the greatest of the folds'."""
    bins: tuple[Bin, ...]
    """The reliability diagram, bins of equal width."""

    @property
    def quality(self) -> Quality:
        """Quality that is stored with a calibration."""
        figures = {name: getattr(self, name).value for name in ("accuracy", "auc", "brier", "ece")}
        return Quality(threshold=self.threshold, **figures)


class Fitted(Frozen):
    """A fit on all claims, with the threshold that suits them best."""

    curve: Sigmoid
    """Sigmoid of log-odds."""
    threshold: float


def calibrated(judged: Sequence[Judged], settings: Settings) -> tuple[Fitted, OutOfFold]:
    """Return the fit on all claims, and each claim out of fold; values are log-odds.

    Raises:
        Uncalibratable: any of its kinds; `inverted` where altered claims get more than true ones.
    """
    fitted = fit(judged, settings.method)
    held = out_of_fold(judged, settings.method, settings.objective, settings.folds, settings.seed)
    # Strictly between 0 and 1, so that some claims can be on either side.
    cut = min(max(best_threshold(fitted.of(judged), settings.objective), 1e-6), 1 - 1e-6)
    return Fitted(curve=fitted, threshold=cut), held


def uncalibrated(judged: Sequence[Judged], threshold: float = NEUTRAL) -> OutOfFold:
    """Return the same claims by P(yes) as it is, called at a threshold."""
    plain = IDENTITY.of(judged)
    return OutOfFold(plain, [one.value >= threshold for one in plain], [threshold], [])


def assess(found: OutOfFold, settings: Settings) -> Assessment:
    """Return all figures, with intervals.

    Raises:
        Uncalibratable: one class only.
    """
    p, true = columns(found.judged)
    called = np.array(found.called, np.float64)
    if not 0 < true.sum() < len(true):
        raise Uncalibratable("one_class", "all claims are of one kind: nothing to tell apart")
    pages = by_group(range(len(p)), lambda index: found.judged[index].page)
    drawn = [
        np.array([index for place in draw for index in pages[place]], np.int64)
        for draw in Resamples(len(pages), settings.draws, settings.seed)
    ]

    def figure(measure: Callable[[Floats, Floats, Floats], float | None]) -> Estimate:
        whole = measure(p, true, called)
        assert whole is not None, "both kinds are there"
        values = [measure(p[draw], true[draw], called[draw]) for draw in drawn]
        return with_interval(Estimate(whole, len(p)), values, len(pages))

    return Assessment(
        n=len(p),
        n_true=int(true.sum()),
        n_pages=len(pages),
        auc=figure(lambda p, true, called: auc_of(p, true)),
        accuracy=figure(lambda p, true, called: 1.0 - float(np.mean(np.abs(called - true)))),
        caught=figure(lambda p, true, called: _share(called == 0, true == 0)),
        called_wrong=figure(lambda p, true, called: _share(called == 0, true == 1)),
        balanced_accuracy=figure(_balanced_accuracy),
        f1=figure(_f1),
        brier=figure(lambda p, true, called: brier_of(p, true)),
        ece=figure(lambda p, true, called: ece_of(p, true, "width", BINS)),
        ece_mass=figure(lambda p, true, called: ece_of(p, true, "mass", BINS)),
        threshold=float(np.mean(found.thresholds)),
        threshold_low=min(found.thresholds),
        threshold_high=max(found.thresholds),
        bins=tuple(bins(found.judged)),
    )


def part(found: OutOfFold, kept: Sequence[bool]) -> OutOfFold:
    """Return the claims of which `kept` is true, with the thresholds of the whole."""
    places = [index for index, keep in enumerate(kept) if keep]
    return found._replace(
        judged=[found.judged[index] for index in places], called=[found.called[index] for index in places]
    )


def _balanced_accuracy(p: Floats, true: Floats, called: Floats) -> float | None:
    right, n_true = called == true, int(np.count_nonzero(true))
    true_right = int(np.count_nonzero(right & (true == 1)))
    return balanced_accuracy(
        true_right, n_true, int(np.count_nonzero(right)) - true_right, len(true) - n_true
    )


def _f1(p: Floats, true: Floats, called: Floats) -> float | None:
    return 2 * float(np.sum(true * called)) / float(np.sum(true + called)) if np.any(true) else None


def _share(what: Bools, of: Bools) -> float | None:
    n = np.count_nonzero(of)
    return np.count_nonzero(np.logical_and(what, of)) / n if n else None
