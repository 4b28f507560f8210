"""Log-odds to probabilities, by maximum likelihood.

    platt          p = 1 / (1 + exp(-(a x + b)))      Platt (1999), "Probabilistic outputs for support vector machines"
    temperature    p = 1 / (1 + exp(-a x))            Guo et al. (2017), section 4.2, with a = 1 / T

x is the judge's log-odds. Platt scaling of log-odds is temperature scaling with a bias: a = 1 / T, b the bias.

Both minimise -sum(t ln p + (1 - t) ln(1 - p)) with Platt's targets (his section 2.2) in place of 1 and 0:

    t = (N_true + 1) / (N_true + 2) of a true claim        t = 1 / (N_altered + 2) of an altered one

These are what a uniform prior makes of N sightings of one class. They are the only regulariser: no target is 0 or 1, so
the loss grows in every direction, and claims that a threshold separates wholly have a finite optimum too. The loss is
convex, so that the optimum is one.

Invariant: a fit is finite, or refused as `Uncalibratable`. scipy.optimize takes time to import, so that only the
function that uses it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from local_judge.judge.calibration import Method, sigmoid
from local_judge.stats.calibration.errors import Uncalibratable
from local_judge.stats.calibration.separation import Judged, columns
from local_judge.stats.measures import Floats


class Sigmoid(NamedTuple):
    """p = 1 / (1 + exp(-(slope x + intercept)))."""

    slope: float
    intercept: float

    def of(self, judged: Sequence[Judged]) -> list[Judged]:
        """The same claims with probabilities in place of log-odds."""
        return [
            Judged(one.true, sigmoid(self.slope * one.value + self.intercept), one.page) for one in judged
        ]


IDENTITY = Sigmoid(1.0, 0.0)
"""P(yes) / (P(yes) + P(no)) as the judge gives it."""


def fit(judged: Sequence[Judged], method: Method = "platt") -> Sigmoid:
    """The sigmoid of greatest likelihood; `value` of each claim is its log-odds.

    Raises:
        Uncalibratable: one class only, or all values the same (for `temperature`: all 0).
    """
    x, true = columns(judged)
    n_true, n = int(true.sum()), len(true)
    if n_true in (0, n):
        what = "true" if n_true else "altered"
        raise Uncalibratable(
            "one_class", f"{n} claims, all of them {what}: calibration needs true and altered claims"
        )
    spread = float(np.abs(x).max()) if method == "temperature" else float(np.ptp(x))
    if spread < 1e-9:
        raise Uncalibratable(
            "constant", f"the judge gives all {n} claims the same probability: there is nothing to calibrate"
        )
    targets = np.where(true == 1, (n_true + 1) / (n_true + 2), 1 / (n - n_true + 2))
    # Of unit spread, so that the optimiser sees a well-rounded valley whatever the judge's log-odds are like.
    middle = 0.0 if method == "temperature" else float(x.mean())
    scaled = (x - middle) / spread
    columns_of = [scaled] if method == "temperature" else [scaled, np.ones(n)]
    found = _minimum(np.stack(columns_of, axis=1), targets)
    slope = float(found[0]) / spread
    return Sigmoid(slope, 0.0 if method == "temperature" else float(found[1]) - slope * middle)


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
