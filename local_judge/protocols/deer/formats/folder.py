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
from local_judge.protocols.deer.formats.others import JsonObject, others_file, with_na
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
        by_rule = rubric_upstream.mean_fact(facts)
        named = {rubric_upstream.INTEGRATED_NAMES[name]: parts for name, parts in by_rule.items()}
        files["fact/summary.json"] = summary_file(named)
    if rubrics:
        judged = rubric_upstream.subdimensions(rubric_upstream.mean_items(rubrics))
        files["others/summary.json"] = summary_file(judged)
    files.update(finals)
    if finals:
        files["final.json"] = final_file(rubric_upstream.integrate_all(facts, rubrics))
    return files


def final_file(found: rubric_upstream.Integrated) -> JsonObject:
    """The content of `final/<sample:04d>.json`, or of `final.json`."""
    return {"score_avgs": with_na(found.scores), "criteria_avgs": with_na(found.criteria)}


def summary_file(criteria: Mapping[str, Mapping[str, rubric_upstream.Number]]) -> JsonObject:
    """The content of `fact/summary.json` or `others/summary.json`, from rounded sub-dimensions over several reports."""
    scores = {
        dimension: rubric_upstream.rounded_mean(group.values()) for dimension, group in criteria.items()
    }
    return {"criteria_avgs": with_na(criteria), "score_avgs": with_na(scores)}


def _subdimensions(rows: Rows) -> dict[str, dict[str, float]]:
    """Of `integrity` and `sufficiency`, rounded."""
    return upstream.averages(upstream.normalised(upstream.tally(rows)))[1]
