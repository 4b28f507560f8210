"""DEER's result folder: all files of the reports of one system.

    fact/<sample:04d>.json    the verification of one report         fact/summary.json
    others/<sample:04d>.json  its rubric                             others/summary.json
    final/<sample:04d>.json   its dimensions together                final.json

Invariants: the files have the fields, names and arithmetic of the published project's, from our findings by the
`upstream` profile; lists of URLs are in reading order, where the project's are in none. A file says nothing that its
report lacks: without verification there is no file under `fact/` and no dimension of it under `final/`; without a
rubric of items likewise. An item that failed is written as "N/A", which is all that the format has for it, and its
description says that it failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, cast

from local_judge.protocols.deer.formats.files import NA
from local_judge.protocols.deer.rubric import upstream as rubric
from local_judge.protocols.deer.rubric.findings import Grade, RubricFindings
from local_judge.protocols.deer.verification import upstream as verification
from local_judge.protocols.deer.verification.rows import ClaimRow, Rows

JsonObject = dict[str, object]


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
    rubrics: list[rubric.Items] = []
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
            items = rubric.items_of(sample.rubric)
            rubrics.append(items)
        if fact or items:
            finals[f"final/{name}"] = final_file(rubric.integrate(fact, items))
    if facts:
        by_rule = rubric.mean_fact(facts)
        named = {rubric.INTEGRATED_NAMES[name]: parts for name, parts in by_rule.items()}
        files["fact/summary.json"] = summary_file(named)
    if rubrics:
        judged = rubric.subdimensions(rubric.mean_items(rubrics))
        files["others/summary.json"] = summary_file(judged)
    files.update(finals)
    if finals:
        files["final.json"] = final_file(rubric.integrate_all(facts, rubrics))
    return files


def final_file(found: rubric.Integrated) -> JsonObject:
    """The content of `final/<sample:04d>.json`, or of `final.json`."""
    return {"score_avgs": with_na(found.scores), "criteria_avgs": with_na(found.criteria)}


def summary_file(criteria: Mapping[str, Mapping[str, rubric.Number]]) -> JsonObject:
    """The content of `fact/summary.json` or `others/summary.json`, from rounded sub-dimensions over several reports."""
    scores = {dimension: rubric.rounded_mean(group.values()) for dimension, group in criteria.items()}
    return {"criteria_avgs": with_na(criteria), "score_avgs": with_na(scores)}


def _subdimensions(rows: Rows) -> dict[str, dict[str, float]]:
    """Of `integrity` and `sufficiency`, rounded."""
    return verification.averages(verification.normalised(verification.tally(rows)))[1]


def fact_file(rows: Rows, sample_id: int) -> JsonObject:
    """The content of `fact/<sample_id:04d>.json`. Raises ValueError for a report without claims.

    The published code has no such file to show for a report without claims: it stops with an error.
    """
    if not rows.claims:
        raise ValueError(f"sample {sample_id}: DEER's fact file needs at least one claim")
    counts = verification.tally(rows)
    scores = verification.normalised(counts)
    score_avgs, criteria_avgs = verification.averages(scores)
    return {
        "sample_id": sample_id,
        "score_avgs": score_avgs,
        "criteria_avgs": criteria_avgs,
        "scores": scores,
        "raw": {
            "raw": {
                "claim_metrics": {
                    "total_claims": len(rows.claims),
                    "claim_type_counts": dict(counts.types),
                    "claims": [_claim(claim) for claim in rows.claims],
                },
                "citation_metrics": {
                    "num_supported": counts.n_citations_supported,
                    "num_error_citations": counts.n_citation_errors,
                    "num_citations": counts.n_citations,
                },
                "reference_metrics": _references(counts),
            },
            "integrity": verification.integrity(counts),
            "sufficiency": {
                "source_support": verification.source_support(counts),
                **verification.amounts(counts),
            },
        },
    }


def _claim(claim: ClaimRow) -> Mapping[str, object]:
    claim_type, result = verification.class_of(claim), _result(claim)
    return {
        "claim_type": claim_type,
        "result": result,
        "supported": result == "supported",
        "error": result == "error",
        "is_numeric": claim.numeric,
        "is_common": claim_type == "E",
        "is_internal": claim_type == "D",
        "is_external": claim_type in ("A", "B", "C", "F"),
    }


def _result(claim: ClaimRow) -> str:
    """The best over the sources: supported, then not_supported, then error; without any, unverified."""
    outcomes = {"error" if verification.is_error(pair) else pair.outcome for pair in claim.pairs}
    return next(
        (result for result in ("supported", "not_supported", "error") if result in outcomes), "unverified"
    )


def _references(counts: verification.Tally) -> Mapping[str, object]:
    mean, deviation = verification.spread(list(counts.cited.values()))
    return {
        "num_references": counts.n_references,
        "num_unique_references": len(counts.shown),
        "num_supported": len(counts.supported),
        "num_used": len(counts.cited),
        "num_error": len(counts.errors),
        "num_reliable": len(counts.reliable),
        "supported_references": list(counts.supported),
        "used_references": list(counts.cited),
        "error_references": list(counts.errors),
        "cited_counts": dict(counts.cited),
        "citations_mean": mean,
        "citations_std": deviation,
        "supported_cited_counts": dict(counts.supported),
        "balance_supported_0_10": verification.diversity(list(counts.supported.values())),
    }


def others_file(findings: RubricFindings, sample_id: int) -> JsonObject:
    """The content of `others/<sample_id:04d>.json`. Raises ValueError unless items were judged.

    The rationale is the item's description. Scores of a 5-point scale are written on the scale from 1 to 10.
    """
    items = rubric.items_of(findings)
    described = {grade.path: _description(grade) for grade in findings.grades}
    scores = {
        dimension: {
            part: {
                criterion: {
                    item: {
                        "description": described[dimension, part, criterion, item],
                        "score": NA if score is None else _whole(score),
                    }
                    for item, score in group.items()
                }
                for criterion, group in criteria.items()
            }
            for part, criteria in parts.items()
        }
        for dimension, parts in items.items()
    }
    return {"sample_id": sample_id, "scores": scores, **_averages(items)}


def _averages(items: rubric.Items) -> JsonObject:
    found = rubric.averages(items)
    return {
        "element_avgs": with_na(found.elements),
        "criteria_avgs": with_na(found.criteria),
        "score_avgs": with_na(found.scores),
        "score": with_na(found.score),
    }


def _description(grade: Grade) -> str:
    if grade.status != "failed":
        return grade.rationale
    return f"Failed: {grade.failure.kind}: {grade.failure.detail}" if grade.failure else "Failed"


def _whole(score: float) -> float:
    """A whole number as the judge's: 7 and not 7.0."""
    return int(score) if score.is_integer() else score


def with_na(value: object) -> object:
    """Nested data with "N/A" for None, as the code writes it."""
    if isinstance(value, Mapping):
        return {key: with_na(part) for key, part in cast("Mapping[str, object]", value).items()}
    return NA if value is None else value
