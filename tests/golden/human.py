"""Golden vectors of agreement with people: pairwise agreement, correlations and their filter.

Invariant: counts and decisions have to be equal; numbers are compared to twelve places, since the last bits of those in
the file come from the order in which another library added (an ICC of exactly 0 stands there as 2.8e-16).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from local_judge.stats.agreement.annotators import agreement_of_people
from local_judge.stats.agreement.icc import mean_squares, one_way
from local_judge.stats.agreement.method import (
    MethodAgreement,
    agreement_of_method,
    system_means,
)
from local_judge.stats.agreement.ratings import RatedReport, RatedTask, Ties
from local_judge.stats.estimate import Estimate
from local_judge.stats.numeric import exact, scaled
from tests.golden.cases import Case, Comparison

PLACES = 12


def run_human_consistency(case: Case) -> Comparison:
    """One case: `human[t][a][r]`, the rating by annotator a of report r in task t, and `method[t][r]`."""
    tasks = [
        _task(f"{number:06}", human, method)
        for number, (human, method) in enumerate(zip(case["human"], case["method"], strict=True))
    ]
    rates = {ties: agreement_of_method(tasks, ties=ties, draws=0) for ties in _TIES}
    strict, half, drop = (_measures(rates[ties]) for ties in _TIES)
    people = {measure.id: measure.estimate for measure in agreement_of_people(tasks, draws=0)}
    means = list(system_means(tasks).values())
    verdicts = [task.filter for task in rates["strict"].tasks]
    got: dict[str, object] = {
        "par_mean_strict": strict["pairwise"].value,
        "par_mean_counts": _counts(strict["pairwise"]),
        "par_half_credit": half["pairwise"].value,
        "par_drop_human_ties": drop["pairwise"].value,
        "par_drop_counts": _counts(drop["pairwise"]),
        "par_per_annotator_strict": strict["pairwise_annotators"].value,
        "par_per_annotator_counts": _counts(strict["pairwise_annotators"]),
        "human_inter_agreement": people["people_pairwise"].value,
        "human_inter_counts": _counts(people["people_pairwise"]),
        "model_means_method": [float(score) for _, score in means],
        "model_means_human": [float(rating) for rating, _ in means],
        "opc": strict["overall_pearson"].value,
        "fap": strict["filtered_pearson"].value,
        "fas": strict["filtered_spearman"].value,
        "fap_nan_as_zero": strict["filtered_pearson_zero"].value,
        "fas_nan_as_zero": strict["filtered_spearman_zero"].value,
        "n_tasks": len(tasks),
        "n_kept": verdicts.count("kept"),
        "n_nan_icc": verdicts.count("undefined"),
        "per_task": _per_task(tasks, rates["strict"]),
    }
    return Comparison(_rounded(case["expected"]), _rounded(got))


_TIES: tuple[Ties, ...] = ("strict", "half", "drop")


def _task(id: str, human: Sequence[Sequence[float]], method: Sequence[float]) -> RatedTask:
    reports = (
        RatedReport(
            f"{number:06}",
            {f"{annotator:06}": exact(row[number]) for annotator, row in enumerate(human)},
            f"{number:06}",
            exact(score),
        )
        for number, score in enumerate(method)
    )
    return RatedTask(id, tuple(reports))


def _measures(agreement: MethodAgreement) -> dict[str, Estimate]:
    return {measure.id: measure.estimate for measure in agreement.measures}


def _counts(rate: Estimate) -> list[float | None]:
    return [rate.hits, rate.n]


def _per_task(tasks: Sequence[RatedTask], agreement: MethodAgreement) -> list[object]:
    rows: list[object] = []
    for number, (task, found) in enumerate(zip(tasks, agreement.tasks, strict=True)):
        factor = scaled(rating for report in task.reports for rating in report.by_annotator)
        whole = ([int(rating * factor) for rating in report.by_annotator] for report in task.reports)
        squares = mean_squares(one_way(whole))
        between, within = (one / factor**2 for one in squares) if squares else (None, None)
        row = {
            "task": number,
            "human_mean": [float(report.mean) for report in task.reports],
            "msb": None if between is None else float(between),
            "msw": None if within is None else float(within),
            "icc11": found.icc.value,
            "icc11_pingouin": found.icc.value,
            "pearson": found.pearson.value,
            "spearman": found.spearman.value,
            "kept": found.filter == "kept",
        }
        rows.append(row)
    return rows


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, PLACES)
    if isinstance(value, list):
        return [_rounded(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in cast("dict[str, object]", value).items()}
    return value
