"""Log-odds to probabilities, by maximum likelihood.

    beta           p = 1 / (1 + exp(-(a ln P(yes) - b ln P(no) + c)))     Kull et al. (2017), equation 2; a, b >= 0
    platt          p = 1 / (1 + exp(-(a x + c)))                          Platt (1999)
    temperature    p = 1 / (1 + exp(-a x))                                Guo et al. (2017), section 4.2, a = 1 / T

x = ln P(yes) - ln P(no) is the judge's log-odds. Platt scaling of log-odds is temperature scaling with a bias, and beta
calibration has a slope of its own on either side: a judge may be sure of what it denies and unsure of what it affirms.
Where the best a or b is below 0 it is 0, and the rest is fitted again (Kull et al., section 4).

All minimise -sum(t ln p + (1 - t) ln(1 - p)) with Platt's targets (his section 2.2) in place of 1 and 0:

    t = (N_true + 1) / (N_true + 2) of a true claim        t = 1 / (N_altered + 2) of an altered one

These are what a uniform prior makes of N sightings of one class. They are the only regulariser: no target is 0 or 1, so
the loss grows in every direction, and claims that a threshold separates wholly have a finite optimum too. The loss is
convex, so that the optimum is one.

Invariant: a fit is finite, or refused as `Uncalibratable`. scipy.optimize takes time to import, so that only the
function that uses it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from local_judge.errors import UserError
from local_judge.judge.calibration import Method, mapped
from local_judge.stats.calibration.separation import Judged, columns
from local_judge.stats.numeric import Floats

Kind = Literal["one_class", "constant", "inverted", "few_pages"]
"""`one_class`: only true or only altered claims. `constant`: the judge gives all of them the same. `inverted`: it gives
altered claims more than true ones. `few_pages`: too few pages, or too unevenly filled, for folds by page."""


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
        """The same claims with probabilities in place of log-odds."""
        return [Judged(one.true, mapped(one.value, *self), one.page) for one in judged]


IDENTITY = Sigmoid(1.0, 1.0, 0.0)
"""P(yes) / (P(yes) + P(no)) as the judge gives it."""


def fit(judged: Sequence[Judged], method: Method = "beta") -> Sigmoid:
    """The sigmoid of greatest likelihood; `value` of each claim is its log-odds.

    Raises:
        Uncalibratable: one class only; all values the same (for `temperature`: all 0); or altered claims with as much
            as true ones, so that no curve rises.
    """
    x, true = columns(judged)
    n_true, n = int(true.sum()), len(true)
    if n_true in (0, n):
        what = f"{n} claims, all of them {'true' if n_true else 'altered'}" if n else "no claim was answered"
        raise Uncalibratable("one_class", f"{what}: calibration needs true and altered claims")
    spread = float(np.abs(x).max()) if method == "temperature" else float(np.ptp(x))
    if spread < 1e-9:
        raise Uncalibratable(
            "constant", f"the judge gives all {n} claims the same probability: there is nothing to calibrate"
        )
    targets = np.where(true == 1, (n_true + 1) / (n_true + 2), 1 / (n - n_true + 2))
    # Two values leave one of beta's three parameters open: they have one slope.
    two_sided = method == "beta" and len(np.unique(x)) > 2
    found = _beta(x, targets) if two_sided else _platt(x, targets, method != "temperature")
    if found.slope_yes + found.slope_no <= 0:
        raise Uncalibratable(
            "inverted",
            f"of {n} claims the altered ones get as much from the judge as the true ones, or more: its yes says "
            "nothing here",
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
            intercept = float(found[-1]) - sum(slopes[side] * middles[side] for side in kept)
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
