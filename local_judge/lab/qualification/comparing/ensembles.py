"""What several judges are worth as one, on planted claims.

    probability   mean over the judges of p >= mean of their thresholds: the rule by which `run` puts judges together
    log_odds      mean of ln(p / (1 - p)) >= mean of the thresholds' log-odds
    gain          measure of the mean - the greatest measure of any one of them, the greatest anew in each draw
    phi           (n11 n00 - n10 n01) / sqrt(n1. n0. n.1 n.0) of both judges' errors: their Pearson correlation

Probabilities are calibrated and thresholds fitted on other pages than the claim's, for each judge alone; nothing is
fitted for the mean. Taking the best one anew in each draw makes the gain smaller, never greater: whichever of them one
would have chosen, the mean has to beat it.

Invariant: claims that one of the judges did not answer are in no number of the group, and counted for each judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from local_judge.lab.qualification.comparing.model import Ensemble, Expense, Gain
from local_judge.lab.qualification.comparing.pairs import Answers, by_id, units_of
from local_judge.lab.qualification.figures import Draws, draws_of
from local_judge.lab.qualification.model import Item
from local_judge.stats.calibration.separation import NEUTRAL, auc_of
from local_judge.stats.correlation import pearson
from local_judge.stats.estimate import Estimate, with_interval
from local_judge.stats.numeric import DIGITS, Floats, rounded
from local_judge.stats.significance import LEAST_UNITS, LEVEL, bootstrap_p, holm

Rule = Literal["probability", "log_odds"]
RULES: Final[tuple[Rule, ...]] = ("probability", "log_odds")
CLIP: Final = 1e-9
"""No probability is taken for surer than this: log-odds of 20.7."""

Bools = npt.NDArray[np.bool_]


class _Group(NamedTuple):
    """Claims that all judges of a group answered."""

    p: Floats
    """Shape (judges and their mean, claims): calibrated, or log-odds of it."""
    called: Bools
    """The same shape: whether each calls each claim true."""
    true: Floats
    units: list[npt.NDArray[np.int64]]
    """The places of each unit's claims."""


_Measure = Callable[[_Group, npt.NDArray[np.int64]], list[float | None]]
"""Of each judge at some places, and last of their mean."""


def ensembles(items: Mapping[str, Sequence[Item]], spent: Sequence[Expense], draws: Draws) -> list[Ensemble]:
    """Each pair of judges, and all of them where there are more than two, by both rules.

    Holm's correction is over the groups of one rule, for accuracy and AUC apart.

    Args:
        items: of verification, by judge; those that are calibrated count.
        spent: by `expenses`.
        draws: of the bootstrap over pages.

    Raises:
        InputError: two judges were not asked the same.
    """
    calibrated = {
        judge: [item for item in own if item.facets.get("method") == "calibrated"]
        for judge, own in items.items()
    }
    answers = by_id(calibrated)
    groups = list(combinations(answers, 2)) + ([tuple(answers)] if len(answers) > 2 else [])
    cost = {row.judge: row for row in spent if (row.part, row.method) == ("verification", "scored")}
    found: list[Ensemble] = []
    for rule in RULES:
        rows = [_ensemble(group, rule, answers, cost, draws) for group in groups]
        accuracy = holm([row.accuracy.p if row.accuracy else None for row in rows])
        auc = holm([row.auc.p if row.auc else None for row in rows])
        for row, p, of_auc in zip(rows, accuracy, auc, strict=True):
            corrected = row.model_copy(
                update={"accuracy": _with_holm(row.accuracy, p), "auc": _with_holm(row.auc, of_auc)}
            )
            found.append(corrected.model_copy(update={"verdict": _verdict(corrected)}))
    return sorted(found, key=lambda row: groups.index(row.judges))


def _with_holm(gain: Gain | None, p: float | None) -> Gain | None:
    return None if gain is None else gain.model_copy(update={"p_holm": p})


def _verdict(row: Ensemble) -> Literal["worth_it", "not_shown", "too_few", "none"]:
    """By accuracy: what a user gets are calls."""
    gain = row.accuracy
    if gain is None:
        return "none"
    if row.n_units < LEAST_UNITS:
        return "too_few"
    shown = gain.low is not None and gain.low > 0 and gain.p_holm is not None and gain.p_holm <= LEVEL
    return "worth_it" if shown else "not_shown"


def _ensemble(
    group: tuple[str, ...],
    rule: Rule,
    answers: Mapping[str, Answers],
    cost: Mapping[str, Expense],
    draws: Draws,
) -> Ensemble:
    every = sorted({id for judge in group for id in answers[judge]})
    ids = [
        id
        for id in every
        if all(id in answers[judge] and answers[judge][id].said is not None for judge in group)
    ]
    tokens, seconds = _sum(cost, group, "tokens"), _sum(cost, group, "busy")
    missing = {
        judge: sum(id not in answers[judge] or answers[judge][id].said is None for id in every)
        for judge in group
    }
    empty = Ensemble(
        judges=group,
        rule=rule,
        n=len(ids),
        n_units=0,
        n_missing=missing,
        wrong=dict.fromkeys(group, 0),
        tokens=tokens,
        seconds=seconds,
        verdict="none",
        reason="no calibrated claim that all answered",
    )
    if not ids:
        return empty
    found = _group(ids, [answers[judge] for judge in group], rule)
    wrong = found.called[:-1] != (found.true == 1)
    counts = {judge: int(row.sum()) for judge, row in zip(group, wrong, strict=True)}
    phi = pearson([int(x) for x in wrong[0]], [int(x) for x in wrong[1]]) if len(group) == 2 else None
    return empty.model_copy(
        update={
            "n_units": len(found.units),
            "accuracy": _gain(found, _accuracy, draws),
            "auc": _gain(found, _auc, draws),
            "wrong": counts,
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
    alone = [[bool(item.called) for item in own] for own in items]
    ensemble: Bools = np.greater_equal(mean, cut)
    place = {id: number for number, id in enumerate(ids)}
    return _Group(
        np.vstack([p, mean]),
        np.vstack([np.array(alone, np.bool_), ensemble]),
        np.array([item.truth for item in items[0]], np.float64),
        [np.array([place[id] for id in unit], np.int64) for unit in units_of(ids, judges[0])],
    )


def _on(rule: Rule, p: float | None) -> float:
    """A probability on the scale on which means are taken."""
    assert p is not None, "only answered claims are here"
    if rule == "probability":
        return p
    held = min(max(p, CLIP), 1 - CLIP)
    return math.log(held / (1 - held))


def _accuracy(found: _Group, places: npt.NDArray[np.int64]) -> list[float | None]:
    """Of each judge, and last of their mean."""
    right = found.called[:, places] == (found.true[places] == 1)
    return [float(share) for share in right.mean(axis=1)]


def _auc(found: _Group, places: npt.NDArray[np.int64]) -> list[float | None]:
    return [auc_of(row[places], found.true[places]) for row in found.p]


def _gain(found: _Group, measure: _Measure, draws: Draws) -> Gain | None:
    *alone, ensemble = measure(found, np.arange(found.p.shape[1], dtype=np.int64))
    value = _less(alone, ensemble)
    if value is None or ensemble is None:
        return None
    drawn: list[float | None] = []
    for draw in draws_of(len(found.units), draws):
        *ones, mean = measure(found, np.concatenate([found.units[place] for place in draw]))
        drawn.append(_less(ones, mean))
    estimate = with_interval(Estimate(value, found.p.shape[1]), drawn, len(found.units))
    return Gain(
        ensemble=ensemble,
        best=max(one for one in alone if one is not None),
        value=value,
        low=estimate.low,
        high=estimate.high,
        p=bootstrap_p(drawn) if len(found.units) >= LEAST_UNITS else None,
    )


def _less(alone: Sequence[float | None], ensemble: float | None) -> float | None:
    known = [one for one in alone if one is not None]
    if ensemble is None or len(known) < len(alone):
        return None
    return round(ensemble - max(known), DIGITS) + 0.0


def _sum(cost: Mapping[str, Expense], group: Sequence[str], what: Literal["tokens", "busy"]) -> float | None:
    """Over the judges; None where one has no cost."""
    rows = [
        (cost[judge].tokens if what == "tokens" else cost[judge].busy) for judge in group if judge in cost
    ]
    known = [row for row in rows if row is not None]
    return math.fsum(known) if len(known) == len(group) else None
