"""Quality of ensembles of judges on planted claims.

    probability   mean over the judges of p >= mean of their thresholds: the rule by which `run` combines judges
    log_odds      mean of ln(p / (1 - p)) >= mean of the thresholds' log-odds
    gain          measure of the mean - the greatest measure of any one judge, the greatest one of each draw
    phi           (n11 n00 - n10 n01) / sqrt(n1. n0. n.1 n.0) of both judges' errors: their Pearson correlation

Probabilities are calibrated and thresholds fitted on other pages than the claim's, for each judge alone; nothing is
fitted for the mean. Taking the best judge of each draw makes the gain smaller, never greater: the mean has to be better
than whichever judge would have been chosen.

Invariant: claims that one of the judges did not answer are in no number of the group, and are counted for each judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from local_judge.lab.qualification.comparing.model import Ensemble, EnsembleVerdict, Expense, Gain
from local_judge.lab.qualification.comparing.pairs import Answers, both_answered, by_id, minus
from local_judge.lab.qualification.figures import (
    Drawn,
    Draws,
    by_unit,
    draws_of,
    jackknife_p,
    leaving_one_out,
)
from local_judge.lab.qualification.model import Item
from local_judge.stats.calibration.measures import NEUTRAL, auc_of
from local_judge.stats.correlation import pearson
from local_judge.stats.estimate import SIGNIFICANT, Estimate, holm, with_interval
from local_judge.stats.numeric import Floats, rounded

Rule = Literal["probability", "log_odds"]
RULES: Final[tuple[Rule, ...]] = ("probability", "log_odds")
CLIP: Final = 1e-9
"""Least distance of a probability from 0 and 1: log-odds of at most 20.7."""

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


class _Group(NamedTuple):
    """Claims that all judges of a group answered."""

    p: Floats
    """Calibrated probabilities or log-odds. Shape: (judges and their mean, claims)."""
    called: Bools
    """Decision for each claim. Same shape."""
    true: Floats
    units: list[Ints]
    """Positions of each unit's claims."""


_Measure = Callable[[_Group, Ints], list[float | None]]
"""Value for each judge on the claims at some positions, and then for their mean."""


def ensembles(items: Mapping[str, Sequence[Item]], spent: Sequence[Expense], draws: Draws) -> list[Ensemble]:
    """Compare each pair of judges, and all of them if there are more than two, by both rules.

    Holm's correction is over the groups of one rule, for accuracy and AUC separately.

    Args:
        items: items of verification by judge, of which the calibrated ones are used.
        spent: result of `expenses`.
        draws: of the bootstrap over pages.

    Raises:
        InputError: two judges were not asked the same.
    """
    answers = by_id(
        {
            judge: [item for item in own if item.facets.get("method") == "calibrated"]
            for judge, own in items.items()
        }
    )
    groups = list(combinations(answers, 2)) + ([tuple(answers)] if len(answers) > 2 else [])
    cost = {row.judge: row for row in spent if (row.part, row.method) == ("verification", "scored")}
    found: list[Ensemble] = []
    for rule in RULES:
        rows = [_ensemble(group, rule, answers, cost, draws) for group in groups]
        accuracy = holm([row.accuracy.p if row.accuracy else None for row in rows])
        auc = holm([row.auc.p if row.auc else None for row in rows])
        for row, p, of_auc in zip(rows, accuracy, auc, strict=True):
            gains = {"accuracy": _corrected(row.accuracy, p), "auc": _corrected(row.auc, of_auc)}
            corrected = row.model_copy(update=gains)
            found.append(corrected.model_copy(update={"verdict": _verdict(corrected)}))
    return sorted(found, key=lambda row: groups.index(row.judges))


def _corrected(gain: Gain | None, p: float | None) -> Gain | None:
    return gain and gain.model_copy(update={"p_holm": p})


def _verdict(row: Ensemble) -> EnsembleVerdict:
    """Return the verdict by accuracy, because a user works with decisions."""
    gain = row.accuracy
    if gain is None:
        return "none"
    if gain.p_holm is None:
        return "not_tested"
    shown = gain.low is not None and gain.low > 0 and gain.p_holm <= SIGNIFICANT
    return "better" if shown else "not_shown"


def _ensemble(
    group: tuple[str, ...],
    rule: Rule,
    answers: Mapping[str, Answers],
    cost: Mapping[str, Expense],
    draws: Draws,
) -> Ensemble:
    judges = [answers[judge] for judge in group]
    ids = both_answered(*judges)
    n_items = len({id for own in judges for id in own})
    answered = [sum(item.said is not None for item in own.values()) for own in judges]
    empty = Ensemble(
        judges=group,
        rule=rule,
        n=len(ids),
        n_units=0,
        n_missing={judge: n_items - n for judge, n in zip(group, answered, strict=True)},
        wrong=dict.fromkeys(group, 0),
        tokens=_sum([cost[judge].tokens for judge in group if judge in cost], len(group)),
        seconds=_sum([cost[judge].busy for judge in group if judge in cost], len(group)),
        verdict="none",
        reason="no calibrated claim that all answered",
    )
    if not ids:
        return empty
    found = _group(ids, judges, rule)
    wrong = found.called[:-1] != (found.true == 1)
    phi = pearson([int(x) for x in wrong[0]], [int(x) for x in wrong[1]]) if len(group) == 2 else None
    return empty.model_copy(
        update={
            "n_units": len(found.units),
            "accuracy": _gain(found, _accuracy, draws),
            "auc": _gain(found, _auc, draws),
            "wrong": {judge: int(row.sum()) for judge, row in zip(group, wrong, strict=True)},
            "all_wrong": int(wrong.all(axis=0).sum()),
            "phi": phi.value if phi else None,
            "reason": "",
        }
    )


def _group(ids: Sequence[str], judges: Sequence[Answers], rule: Rule) -> _Group:
    items = [[own[id] for id in ids] for own in judges]
    p = np.array([[_on(rule, item.said) for item in own] for own in items], np.float64)
    cuts = np.array(
        [[_on(rule, NEUTRAL if item.cut is None else item.cut) for item in own] for own in items], np.float64
    )
    mean, cut = rounded(p.mean(axis=0)), rounded(cuts.mean(axis=0))
    alone = np.array([[bool(item.called) for item in own] for own in items], np.bool_)
    place = {id: number for number, id in enumerate(ids)}
    return _Group(
        np.vstack([p, mean]),
        np.vstack([alone, np.greater_equal(mean, cut)]),
        np.array([item.truth for item in items[0]], np.float64),
        [np.array([place[item.id] for item in unit], np.int64) for unit in by_unit(items[0])],
    )


def _on(rule: Rule, p: float | None) -> float:
    """Return a probability on the scale of the mean."""
    assert p is not None, "only answered claims are here"
    if rule == "probability":
        return p
    held = min(max(p, CLIP), 1 - CLIP)
    return math.log(held / (1 - held))


def _accuracy(found: _Group, places: Ints) -> list[float | None]:
    right = found.called[:, places] == (found.true[places] == 1)
    return [float(share) for share in right.mean(axis=1)]


def _auc(found: _Group, places: Ints) -> list[float | None]:
    return [auc_of(row[places], found.true[places]) for row in found.p]


def _gain(found: _Group, measure: _Measure, draws: Draws) -> Gain | None:
    n, n_units = found.p.shape[1], len(found.units)

    def gains(drawn: Drawn) -> list[float | None]:
        values: list[float | None] = []
        for draw in drawn:
            *ones, mean = measure(found, np.concatenate([found.units[place] for place in draw]))
            values.append(minus(mean, _best(ones)))
        return values

    *alone, ensemble = measure(found, np.arange(n, dtype=np.int64))
    best = _best(alone)
    value = minus(ensemble, best)
    if value is None or best is None or ensemble is None:
        return None
    estimate = with_interval(Estimate(value, n), gains(draws_of(n_units, draws)), n_units)
    p = jackknife_p(value, gains(leaving_one_out(n_units)), draws.seed)
    return Gain(ensemble=ensemble, best=best, value=value, low=estimate.low, high=estimate.high, p=p)


def _best(values: Sequence[float | None]) -> float | None:
    """Return the greatest value; None if one is missing."""
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None


def _sum(costs: Sequence[float | None], n: int) -> float | None:
    """Return the sum over `n` judges; None if a cost is missing."""
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if len(known) == n else None
