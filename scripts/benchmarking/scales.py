"""Scores of RACE's criteria from stored findings, by the way in which they were asked for.

Invariant: a criterion that has no score stays in the mapping, as None.
"""

from __future__ import annotations

import math
from pathlib import Path

from local_judge.base.errors import InputError
from local_judge.base.rows import read_jsonl
from local_judge.protocols.race.findings import CriterionScore, RaceFindings
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.store import RunStore
from scripts.benchmarking.scale_report import Scores


def load_perturbed(path: Path) -> dict[str, list[str]]:
    """Read the perturbed reports of each report.

    Raises:
        InputError: a row without `id` and `report`, or no row.
    """
    perturbed: dict[str, list[str]] = {}
    for place, row in read_jsonl(path):
        one, report = row.get("id"), row.get("report")
        if not isinstance(one, str) or not isinstance(report, str) or one == report:
            raise InputError(
                f"{place}: needs `id`, of the perturbed report, and `report`, of the report it was made from"
            )
        perturbed.setdefault(report, []).append(one)
    if not perturbed:
        raise InputError(f"{path}: contains no perturbed reports")
    return perturbed


def scores_of(store: RunStore, judge: str | None = None) -> dict[str, Scores]:
    """The scores of a run by the name of its scoring; of `analysed` also those that the judge wrote, as `sampled`.

    A criterion's score is the mean over the draws that have one.

    Raises:
        RunError: it is no finished run of RACE.
    """
    by_name: dict[str, dict[tuple[str, str], float | None]] = {}
    for record in store.read_models("cases.jsonl", CaseRecord):
        if record.status != "done":
            continue
        found = store.read_item(findings_file("race", judge), record.key, RaceFindings)
        marks: dict[str, list[CriterionScore]] = {}
        for comparison in found.comparisons:
            for mark in comparison.scores:
                marks.setdefault(mark.criterion, []).append(mark)
        for criterion, given in marks.items():
            key = (record.id, criterion)
            by_name.setdefault(found.scoring, {})[key] = _mean([mark.target for mark in given])
            if found.scoring == "analysed":
                by_name.setdefault("sampled", {})[key] = _mean([mark.sampled for mark in given])
    return dict(by_name)


def _mean(scores: list[float | None]) -> float | None:
    known = [score for score in scores if score is not None]
    return math.fsum(known) / len(known) if known else None
