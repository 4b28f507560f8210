"""Log-odds to probabilities, by maximum likelihood.

    beta           p = 1 / (1 + exp(-(a ln P(yes) - b ln P(no) + c)))     Kull et al. (2017), equation 2; a, b >= 0
    platt          p = 1 / (1 + exp(-(a x + c)))                          Platt (1999)
    temperature    p = 1 / (1 + exp(-a x))                                Guo et al. (2017), section 4.2, a = 1 / T

x = ln P(yes) - ln P(no) is the judge's log-odds. Platt scaling of log-odds is temperature scaling with a bias, and beta
calibration has a slope of its own on either side: a judge may be sure of what it denies and unsure of what it affirms.
Where the best a or b is below 0 it is 0, and the rest is fitted again (Kull et al., section 4).

All minimise -sum(t ln p + (1 - t) ln(1 - p)) with the targets of Platt (1999, section 2.2) in place of 1 and 0:

    t = (N_true + 1) / (N_true + 2) of a true claim        t = 1 / (N_altered + 2) of an altered one

These are what a uniform prior makes of N sightings of one class. They are the only regulariser: no target is 0 or 1, so
the loss grows in every direction, and claims that a threshold separates wholly have a finite optimum too. The loss is
convex, so that the optimum is one.

Invariant: a fit is finite, or refused as `Uncalibratable`. scipy.optimize takes time to import, so that only the
function that uses it does.

Cross-validation holds out whole pages: the claims of one page are never in both sets. The same claims, number of folds
and seed give the same folds, in any order of the claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Literal, NamedTuple

import numpy as np

from local_judge.base.errors import UserError
from local_judge.ledger.calibrations import Method, Objective, mapped
from local_judge.stats.calibration.measures import Judged, best_threshold, columns
from local_judge.stats.numeric import Floats
from local_judge.stats.sums import sum_in_order

Kind = Literal["one_class", "constant", "inverted", "few_pages"]
"""`one_class`: only true or only other claims. `constant`: all of them have the same value. `inverted`: other claims
have greater values than true ones. `few_pages`: too few pages, or too unevenly filled, for folds by page."""


class Uncalibratable(UserError):
    """There is nothing to fit."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind: Kind = kind


class Sigmoid(NamedTuple):
    """p = 1 / (1 + exp(-(slope_yes ln P(yes) - slope_no ln P(no) + intercept)))."""

    slope_yes: float
    slope_no: float
    intercept: float

    def of(self, judged: Sequence[Judged]) -> list[Judged]:
        """Return the same claims with probabilities in place of log-odds."""
        return [Judged(one.true, mapped(one.value, *self), one.page) for one in judged]


IDENTITY = Sigmoid(1.0, 1.0, 0.0)
"""P(yes) / (P(yes) + P(no)) as the judge gives it."""


def fit(judged: Sequence[Judged], method: Method = "beta") -> Sigmoid:
    """Return the sigmoid of greatest likelihood; `value` of each claim is its log-odds.

    Raises:
        Uncalibratable: one class only; all values the same (for `temperature`: all 0); or other claims with as much
            as true ones, so that no curve rises.
    """
    x, true = columns(judged)
    n_true, n = int(true.sum()), len(true)
    if n_true in (0, n):
        what = f"{'every' if n_true else 'no'} claim is supported (n = {n})" if n else "no claim was answered"
        raise Uncalibratable("one_class", f"{what}, and a calibration needs both supported and other claims")
    spread = float(np.abs(x).max()) if method == "temperature" else float(np.ptp(x))
    if spread < 1e-9:
        raise Uncalibratable(
            "constant", f"all {n} claims have the same probability, so no calibration can be fitted"
        )
    targets = np.where(true == 1, (n_true + 1) / (n_true + 2), 1 / (n - n_true + 2))
    # Two values leave one of beta's three parameters open: they have one slope.
    two_sided = method == "beta" and len(np.unique(x)) > 2
    found = _beta(x, targets) if two_sided else _platt(x, targets, method != "temperature")
    if found.slope_yes + found.slope_no <= 0:
        raise Uncalibratable(
            "inverted",
            f"the probabilities of supported claims are not higher than those of the others (n = {n})",
        )
    return found


def _platt(x: Floats, targets: Floats, biased: bool) -> Sigmoid:
    # Of unit spread, so that the optimiser sees a well-rounded valley whatever the judge's log-odds are like.
    middle = float(x.mean()) if biased else 0.0
    spread = float(np.ptp(x)) if biased else float(np.abs(x).max())
    scaled = (x - middle) / spread
    found = _minimum(np.stack([scaled, np.ones(len(x))] if biased else [scaled], axis=1), targets)
    slope = float(found[0]) / spread
    return Sigmoid(slope, slope, float(found[1]) - slope * middle if biased else 0.0)


def _beta(x: Floats, targets: Floats) -> Sigmoid:
    sides = [-np.logaddexp(0.0, -x), np.logaddexp(0.0, x)]  # ln P(yes), -ln P(no): both rise with x
    kept = [0, 1]
    while kept:
        # Of unit spread; a side on which the judge never is has none, and no say.
        spreads = {side: float(np.ptp(sides[side])) for side in kept}
        kept = [side for side in kept if spreads[side] > 1e-9]
        middles = {side: float(sides[side].mean()) for side in kept}
        scaled = [(sides[side] - middles[side]) / spreads[side] for side in kept]
        found = _minimum(np.stack([*scaled, np.ones(len(x))], axis=1), targets)
        slopes = {side: float(found[place]) / spreads[side] for place, side in enumerate(kept)}
        if all(slope >= 0 for slope in slopes.values()):
            intercept = float(found[-1]) - sum_in_order(slopes[side] * middles[side] for side in kept)
            return Sigmoid(slopes.get(0, 0.0), slopes.get(1, 0.0), intercept)
        worst = min(slopes, key=lambda side: slopes[side])
        kept = [side for side in kept if side != worst]
    return Sigmoid(0.0, 0.0, 0.0)


def _minimum(design: Floats, targets: Floats) -> Floats:
    """Weights w of least cross-entropy of sigmoid(design w) against the targets, by Newton's method with a region."""
    from scipy.optimize import minimize

    def loss(weights: Floats) -> float:
        z = design @ weights
        return float(np.sum(np.logaddexp(0.0, z) - targets * z))

    def gradient(weights: Floats) -> Floats:
        return design.T @ (_p(design @ weights) - targets)

    def hessian(weights: Floats) -> Floats:
        p = _p(design @ weights)
        return (design * (p * (1 - p))[:, None]).T @ design

    start = np.zeros(design.shape[1])
    found = minimize(
        loss, start, method="trust-exact", jac=gradient, hess=hessian, options={"gtol": 1e-9, "maxiter": 500}
    )
    return found.x


def _p(z: Floats) -> Floats:
    return np.exp(-np.logaddexp(0.0, -z))


FOLDS = 10


class OutOfFold(NamedTuple):
    """Claims as those fits judge them that have not seen their pages; in order."""

    judged: list[Judged]
    """Claims with calibrated probabilities."""
    called: list[bool]
    """True for each claim that is called true."""
    thresholds: list[float]
    """Threshold of each fold."""
    fits: list[Sigmoid]
    """Fit of each fold."""


def folds_of(pages: Sequence[str], n_folds: int, seed: int) -> dict[str, int]:
    """Return the fold of each page.

    Pages are shuffled, then dealt out, those with most claims first, each to the fold that has the fewest claims so
    far: folds of about equal size.

    Args:
        pages: of each claim.
        n_folds: at most one a page.
        seed: of the shuffle.

    Raises:
        Uncalibratable: fewer than two pages.
    """
    sizes = Counter(pages)
    if len(sizes) < 2:
        raise Uncalibratable(
            "few_pages",
            "claims of fewer than two documents or pages, and cross-validation holds out whole ones",
        )
    order = sorted(sizes)
    # random() is the one method of Random whose sequence Python promises to keep.
    random = Random(seed).random
    order = [page for _, page in sorted((random(), page) for page in order)]
    filled = [0] * min(n_folds, len(sizes))
    placed: dict[str, int] = {}
    for page in sorted(order, key=lambda one: -sizes[one]):
        fold = min(range(len(filled)), key=lambda number: (filled[number], number))
        placed[page] = fold
        filled[fold] += sizes[page]
    return placed


def out_of_fold(
    judged: Sequence[Judged],
    method: Method | None = "beta",
    objective: Objective = "accuracy",
    n_folds: int = FOLDS,
    seed: int = 0,
) -> OutOfFold:
    """Return each claim by the fit and the threshold of the other folds.

    Args:
        judged: with log-odds as values; with `method` None, with whatever a threshold can be put on.
        method: None fits nothing and chooses a threshold only.
        objective: of the threshold.
        n_folds: at least two; the number of pages gives each page a fold of its own.
        seed: of the folds.

    Raises:
        Uncalibratable: fewer than two pages, or a fold without which only one class, or one value, is left.
    """
    placed = folds_of([one.page for one in judged], n_folds, seed)
    numbers = sorted(set(placed.values()))
    fits: list[Sigmoid] = []
    thresholds: list[float] = []
    found: list[Judged] = list(judged)
    called = [False] * len(judged)
    for number in numbers:
        seen = [one for one in judged if placed[one.page] != number]
        held = [index for index, one in enumerate(judged) if placed[one.page] == number]
        if method is not None:
            fitted = _fitted(seen, method)
            fits.append(fitted)
            seen = fitted.of(seen)
            for index, one in zip(held, fitted.of([judged[index] for index in held]), strict=True):
                found[index] = one
        cut = best_threshold(seen, objective)
        thresholds.append(cut)
        for index in held:
            called[index] = found[index].value >= cut
    return OutOfFold(found, called, thresholds, fits)


def _fitted(seen: Sequence[Judged], method: Method) -> Sigmoid:
    try:
        return fit(seen, method)
    except Uncalibratable as error:
        if error.kind in ("constant", "inverted"):
            raise
        raise Uncalibratable(
            "few_pages",
            f"too few pages with both supported and other claims: with one fold held out, {error}",
        ) from None
