"""DEER's result folder: all files of the reports of one system.

    fact/<sample:04d>.json    the verification of one report         fact/summary.json
    others/<sample:04d>.json  its rubric                             others/summary.json
    final/<sample:04d>.json   its dimensions together                final.json

Invariant: a file says nothing that its report lacks. Without verification there is no file under `fact/` and no
dimension of it under `final/`; without a rubric of items likewise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from local_judge.protocols.deer.formats.fact import fact_file
from local_judge.protocols.deer.formats.others import JsonObject, others_file, others_summary, with_na
from local_judge.protocols.deer.rubric import upstream as rubric_upstream
from local_judge.protocols.deer.rubric.findings import RubricFindings
from local_judge.protocols.deer.verification import upstream
from local_judge.protocols.deer.verification.rows import Rows


class Sample(NamedTuple):
    """What was learnt about one report, as far as DEER's files can hold it."""

    rows: Rows | None
    rubric: RubricFindings | None

    @property
    def has_fact(self) -> bool:
        """Whether it has a file under `fact/`: the published code fails on a report without claims."""
        return self.rows is not None and bool(self.rows.claims)

    @property
    def has_others(self) -> bool:
        """Whether it has a file under `others/`: the format holds items."""
        return self.rubric is not None and self.rubric.mode == "items"


def folder(samples: Mapping[int, Sample]) -> dict[str, JsonObject]:
    """The files by name, relative to the folder, in order of sample."""
    files: dict[str, JsonObject] = {}
    facts: list[dict[str, dict[str, float]]] = []
    rubrics: list[rubric_upstream.Items] = []
    finals: dict[str, JsonObject] = {}
    for sample_id, sample in sorted(samples.items()):
        name = f"{sample_id:04d}.json"
        fact = items = None
        if sample.rows is not None and sample.has_fact:
            files[f"fact/{name}"] = fact_file(sample.rows, sample_id)
            fact = _subdimensions(sample.rows)
            facts.append(fact)
        if sample.rubric is not None and sample.has_others:
            files[f"others/{name}"] = others_file(sample.rubric, sample_id)
            items = rubric_upstream.items_of(sample.rubric)
            rubrics.append(items)
        if fact or items:
            finals[f"final/{name}"] = final_file(rubric_upstream.integrate(fact, items))
    if facts:
        files["fact/summary.json"] = fact_summary(facts)
    if rubrics:
        files["others/summary.json"] = others_summary(rubrics)
    files.update(finals)
    if finals:
        files["final.json"] = final_file(rubric_upstream.integrate_all(facts, rubrics))
    return files


def final_file(found: rubric_upstream.Integrated) -> JsonObject:
    """The content of `final/<sample:04d>.json`, or of `final.json`."""
    return {"score_avgs": with_na(found.scores), "criteria_avgs": with_na(found.criteria)}


def fact_summary(facts: list[dict[str, dict[str, float]]]) -> JsonObject:
    """The content of `fact/summary.json`: sub-dimensions averaged over the reports, then the dimensions, rounded.

    Nothing that is published shows this file; its keys are those of a report's, less what belongs to one report.
    """
    criteria = {
        dimension: {part: round(value, 2) for part, value in parts.items()}
        for dimension, parts in rubric_upstream.mean_fact(facts).items()
    }
    scores = {
        dimension: rubric_upstream.dimension_mean(parts.values()) for dimension, parts in criteria.items()
    }
    return {"score_avgs": scores, "criteria_avgs": criteria}


def _subdimensions(rows: Rows) -> dict[str, dict[str, float]]:
    """Of `integrity` and `sufficiency`, rounded."""
    return upstream.averages(upstream.normalised(upstream.tally(rows)))[1]
