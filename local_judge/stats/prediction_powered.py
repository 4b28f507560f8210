"""Shares of a judge's calls, corrected by people's labels of some of them.

Prediction-powered inference (Angelopoulos et al., Science 382, 2023), in the form of PPI++ (Angelopoulos, Duchi and
Zrnic, 2023) for a mean. Of n units with a label y and a call f, and N units with a call only:

    corrected = w mean of f over the N + mean of (y - w f) over the n
    w = cov(y, f) / ((1 + n / N) var(f)), in [0, 1]

With w = 0 only the labels count, with w = 1 the calls count fully and the labels correct their bias. The estimate is
consistent whatever the judge does, if the labelled units are a random sample; a good judge makes its interval narrow.

The interval is the percentile interval of the estimate over bootstrap draws (Zrnic, 2024). Clusters are drawn, since
claims of one report are alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from local_judge.stats.estimate import DRAWS, Estimate, resamples, undefined, with_interval
from local_judge.stats.numeric import Floats, Ints


class LabelledUnit(NamedTuple):
    """One unit, such as a claim on a page."""

    cluster: str
    """Units of one cluster, such as a report, are drawn together."""
    call: float
    """Call of the judge: 1 for yes, 0 for no."""
    label: float | None
    """Label in [0, 1], the mean over people; None for a unit without a label."""


class Corrected(NamedTuple):
    """A share by the judge, by people, and by the judge corrected by people."""

    judge: Estimate
    """Mean of all calls."""
    people: Estimate
    """Mean of the labels; no calls are used."""
    corrected: Estimate
    """Prediction-powered estimate."""
    weight: float | None
    """Weight w of the judge's calls."""


def corrected_share(units: Sequence[LabelledUnit], *, seed: int = 0, draws: int = DRAWS) -> Corrected:
    """Return the share of units with a yes, with bootstrap intervals over clusters.

    Args:
        units: all units with a call; those with a label have to be a random sample.
        seed: random seed of the bootstrap.
        draws: number of bootstrap draws.
    """
    if not units:
        nothing = undefined("no calls")
        return Corrected(nothing, nothing, nothing, None)
    clusters = sorted({unit.cluster for unit in units})
    numbers = {cluster: number for number, cluster in enumerate(clusters)}
    order = sorted(units, key=lambda unit: numbers[unit.cluster])
    calls = np.array([unit.call for unit in order], np.float64)
    labels = np.array([np.nan if unit.label is None else unit.label for unit in order], np.float64)
    places: list[list[int]] = [[] for _ in clusters]
    for place, unit in enumerate(order):
        places[numbers[unit.cluster]].append(place)
    members: list[Ints] = [np.array(one, np.int64) for one in places]
    n_labelled = int(np.count_nonzero(~np.isnan(labels)))
    whole = _shares(calls, labels)
    drawn = [
        _shares(calls[picked], labels[picked])
        for draw in resamples(len(clusters), draws, seed)
        for picked in [np.concatenate([members[place] for place in draw])]
    ]

    def estimate(name: str, n: int, reason: str) -> Estimate:
        value = getattr(whole, name)
        found = undefined(reason) if value is None else Estimate(value, n)
        return with_interval(found, [getattr(one, name) for one in drawn], len(clusters))

    return Corrected(
        judge=estimate("judge", len(calls), "no calls"),
        people=estimate("people", n_labelled, "no labels"),
        corrected=estimate("corrected", len(calls), "no labels"),
        weight=whole.weight,
    )


class _Shares(NamedTuple):
    judge: float
    people: float | None
    corrected: float | None
    weight: float | None


def _shares(calls: Floats, labels: Floats) -> _Shares:
    known = ~np.isnan(labels)
    f, y, rest = calls[known], labels[known], calls[~known]
    judge = float(np.mean(calls))
    if not len(y):
        return _Shares(judge, None, None, None)
    weight = _weight(f, y, rest)
    corrected = float(np.mean(y - weight * f)) + (weight * float(np.mean(rest)) if len(rest) else 0.0)
    return _Shares(judge, float(np.mean(y)), min(max(corrected, 0.0), 1.0), weight)


def _weight(f: Floats, y: Floats, rest: Floats) -> float:
    """Return the weight of the calls with the least variance; 0 where the calls tell nothing apart."""
    if not len(rest) or len(f) < 2:
        return 0.0
    every: Floats = np.concatenate([f, rest])
    spread = float(every.var())
    if spread < 1e-12:
        return 0.0
    shared = float(((f - f.mean()) * (y - y.mean())).mean())
    return min(max(shared / ((1 + len(f) / len(rest)) * spread), 0.0), 1.0)
