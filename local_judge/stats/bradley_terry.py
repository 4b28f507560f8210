"""Bradley-Terry strengths by maximum likelihood (Bradley and Terry 1952), a tie counting as half a win.

    P(i beats j)   = 1 / (1 + exp(b_j - b_i))
    log-likelihood = sum over i, j of s_ij * log P(i beats j)        s_ij: points of i against j, 1/2 for a tie

The b are natural log-odds with mean 0: a system one above another is expected to take 73 of 100 points from it.

Invariants: systems that no chain of games connects are never put on one scale; where the maximum lies at infinity (Ford
1957: some systems never lost a point to the others) that is said, and what is given in its place is a fit with one more
game for each system, tied against an opponent of strength 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

STEPS = 200
"""Maximum steps of Newton's method; about ten suffice."""
CLOSE = 1e-10
"""It ends when no strength moves by more."""


class Fit(NamedTuple):
    """Strengths of k systems."""

    strengths: Floats
    """Mean 0 within each group."""
    groups: npt.NDArray[np.int64]
    """Number of each system's group: those that a chain of games connects. From 0, in the order of the systems."""
    above: Flags
    """True for systems whose strength has no upper limit: none outside of those they exchanged points with took a point
    from them."""
    below: Flags
    """True for systems whose strength has no lower limit."""
    regularised: Flags
    """True for systems whose group has no maximum, so that the fit includes the additional ties."""


def fit(points: Floats) -> Fit:
    """Strengths from points.

    Args:
        points: `points[i, j]` is what i took from j: shape (k, k), not negative, 0 on the diagonal.
    """
    reaches = _reaches(points > 0)
    connected = _reaches((points > 0) | (points > 0).T)
    groups = np.unique(np.argmax(connected, axis=1), return_inverse=True)[1]
    k = len(points)
    strengths = np.zeros(k)
    above, below, regularised = (np.zeros(k, dtype=bool) for _ in range(3))
    for group in range(int(groups.max(initial=-1)) + 1):
        members = np.flatnonzero(groups == group)
        inside = reaches[np.ix_(members, members)]
        regularised[members] = not inside.all()
        strengths[members] = _maximum(points[np.ix_(members, members)], ties=int(not inside.all()))
        above[members] = (inside | ~inside.T).all(axis=1) & ~inside.all()
        below[members] = (inside.T | ~inside).all(axis=1) & ~inside.all()
    return Fit(strengths, groups.astype(np.int64), above, below, regularised)


def _reaches(edges: Flags) -> Flags:
    """Return which nodes can be reached from each node, itself included (Warshall 1962)."""
    found = edges | np.eye(len(edges), dtype=bool)
    for middle in range(len(found)):
        found |= found[:, middle, None] & found[None, middle, :]
    return found


def _maximum(points: Floats, ties: int) -> Floats:
    """Return the strengths of one group, by Newton's method with halved steps; the likelihood is concave.

    Args:
        points: of the group; connected both ways unless `ties`.
        ties: additional games of each system, each tied against an opponent of strength 0.
    """
    k = len(points)
    if k == 1:
        return np.zeros(1)
    games = points + points.T
    strengths = np.zeros(k)
    value = _likelihood(strengths, points, ties)
    for _ in range(STEPS):
        expected = _logistic(strengths[:, None] - strengths[None, :])
        alone = _logistic(strengths)
        gradient: Floats = (points - games * expected).sum(axis=1) + ties * (0.5 - alone)
        spread = games * expected * (1 - expected)
        curvature: Floats = np.diag(spread.sum(axis=1) + ties * alone * (1 - alone)) - spread
        # Without the additional ties only differences count: the mean is held where it is.
        step = np.asarray(np.linalg.solve(curvature + (0 if ties else 1 / k), gradient), np.float64)
        while np.abs(step).max() > CLOSE:
            # What it may lose by rounding is no reason to halve.
            if _likelihood(strengths + step, points, ties) >= value - 1e-12 * (1 - value):
                break
            step = step / 2
        strengths = strengths + step
        value = _likelihood(strengths, points, ties)
        if np.abs(step).max() <= CLOSE:
            break
    return strengths - strengths.mean()


def _likelihood(strengths: Floats, points: Floats, ties: int) -> float:
    lost = np.logaddexp(0.0, strengths[None, :] - strengths[:, None])
    alone = np.logaddexp(0.0, strengths) + np.logaddexp(0.0, -strengths)
    return -float((points * lost).sum() + ties / 2 * alone.sum())


def _logistic(x: Floats) -> Floats:
    return 0.5 * (1 + np.tanh(x / 2))
