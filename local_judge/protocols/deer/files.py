"""DEER's result folder: the files of the reports of one system, written from findings and read as findings.

    fact/<sample:04d>.json    the verification of one report         fact/summary.json
    others/<sample:04d>.json  its rubric                             others/summary.json
    final/<sample:04d>.json   its dimensions together                final.json

Invariants: files have the fields, names and arithmetic of the published project's, computed by the `upstream` profile;
lists of URLs are in reading order, while the project's have no order. A report without verification has no file under
`fact/` and none of its dimensions under `final/`; a report without a rubric of items likewise. Each report that is left
out, in whole or in part, is named with the reason. An item that failed is "N/A", the format's only word for it, and its
description says that it failed.

Reading is strict on shape: an unknown or missing key, or another type, is an error of one line that names the place. It
accepts what the code itself writes: "N/A" for a missing value, and any number that a judge may have given.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar, cast

from pydantic import StrictFloat, StrictInt, ValidationError

from local_judge.base.errors import InputError, first_problem, reason_of
from local_judge.base.files import MOST_JSON, open_file
from local_judge.base.model import Frozen
from local_judge.protocols.deer.findings import DeerFindings
from local_judge.protocols.deer.names import INTEGRATED_NAMES
from local_judge.protocols.deer.rubric import upstream as rubric
from local_judge.protocols.deer.rubric.model import Grade, RubricFindings
from local_judge.protocols.deer.verification import upstream as verification
from local_judge.protocols.deer.verification.rows import ClaimRow, Rows

NA = "N/A"
"""Score that does not exist, as the published code writes it."""

JsonObject = dict[str, object]

Number = StrictInt | StrictFloat
"""Written as the code's arithmetic left it: 5 and 5.0 are two things."""
Graded = Number | Literal["N/A"]
Parts = dict[str, dict[str, Graded]]
"""Dimension -> sub-dimension."""


class ItemScore(Frozen):
    """One answer of the judge."""

    description: str
    score: Graded


Items = dict[str, dict[str, dict[str, dict[str, ItemScore]]]]
"""Dimension -> sub-dimension -> criterion -> item."""


class ElementAverages(Frozen):
    """A criterion: its coverage mean, its quality mean, and the mean of the two."""

    c_avg: Graded
    q_avg: Graded
    element_avg: Graded


Elements = dict[str, dict[str, dict[str, ElementAverages]]]


class OthersFile(Frozen):
    """`others/<sample>.json`: the rubric of one report."""

    sample_id: int
    scores: Items
    element_avgs: Elements
    criteria_avgs: Parts
    score_avgs: dict[str, Graded]
    score: Graded


class FinalFile(Frozen):
    """`final/<sample>.json`, or `final.json`: dimensions and sub-dimensions."""

    score_avgs: dict[str, Graded]
    criteria_avgs: Parts


class Sample(NamedTuple):
    """The parts of one report's findings that DEER's files can hold."""

    rows: Rows | None
    rubric: RubricFindings | None
    fact: JsonObject | None = None
    """File under `fact/` as it was read."""

    @property
    def has_fact(self) -> bool:
        """It has a file under `fact/`: the published code fails on a report without claims."""
        return self.fact is not None or (self.rows is not None and bool(self.rows.claims))

    @property
    def has_others(self) -> bool:
        """It has a file under `others/`: the format holds items."""
        return self.rubric is not None and self.rubric.mode == "items"


def sample_of(findings: DeerFindings) -> Sample:
    """Return the parts of a report's findings."""
    record = findings.stated.record if findings.stated is not None else {}
    rows = findings.rows.by_code if findings.rows is not None else None
    return Sample(rows, findings.rubric, cast("JsonObject", record) or None)


def folder(samples: Mapping[int, Sample]) -> dict[str, JsonObject]:
    """Return the files by name, relative to the folder, in order of sample."""
    files: dict[str, JsonObject] = {}
    facts: list[dict[str, dict[str, float]]] = []
    rubrics: list[rubric.Items] = []
    finals: dict[str, JsonObject] = {}
    for sample_id, sample in sorted(samples.items()):
        name = f"{sample_id:04d}.json"
        fact = items = None
        if sample.fact is not None:
            files[f"fact/{name}"] = sample.fact
            fact = cast("dict[str, dict[str, float]]", sample.fact["criteria_avgs"])
            facts.append(fact)
        elif sample.rows is not None and sample.has_fact:
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
        named = {INTEGRATED_NAMES[name]: parts for name, parts in by_rule.items()}
        files["fact/summary.json"] = summary_file(named)
    if rubrics:
        judged = rubric.subdimensions(rubric.mean_items(rubrics))
        files["others/summary.json"] = summary_file(judged)
    files.update(finals)
    if finals:
        files["final.json"] = final_file(rubric.integrate_all(facts, rubrics))
    return files


def final_file(found: rubric.Integrated) -> JsonObject:
    """Return the content of `final/<sample:04d>.json`, or of `final.json`."""
    averages = {"score_avgs": with_na(found.scores), "criteria_avgs": with_na(found.criteria)}
    return FinalFile.model_validate(averages).model_dump()


def summary_file(criteria: Mapping[str, Mapping[str, rubric.Number]]) -> JsonObject:
    """Return the content of a `summary.json`, from rounded sub-dimensions over several reports."""
    scores = {dimension: rubric.rounded_mean(group.values()) for dimension, group in criteria.items()}
    return {"criteria_avgs": with_na(criteria), "score_avgs": with_na(scores)}


def _subdimensions(rows: Rows) -> dict[str, dict[str, float]]:
    """Return the rounded sub-dimensions of `integrity` and `sufficiency`."""
    return verification.averages(verification.normalised(verification.tally(rows)))[1]


def fact_file(rows: Rows, sample_id: int) -> JsonObject:
    """Return the content of `fact/<sample_id:04d>.json`. Raises ValueError for a report without claims.

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
    """Return the best over the sources: supported, then not_supported, then error; without any, unverified."""
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
    """Return the content of `others/<sample_id:04d>.json`. Raises ValueError unless items were judged.

    The rationale is the item's description. Scores of a 5-point scale are written on the scale from 1 to 10.
    """
    items = rubric.items_of(findings)
    described = {grade.path: _description(grade) for grade in findings.grades}
    scores = rubric.nest_values(
        (path, {"description": described[path], "score": NA if score is None else _whole(score)})
        for path, score in rubric.leaves(items)
    )
    found = rubric.averages(items)
    file = {
        "sample_id": sample_id,
        "scores": scores,
        "element_avgs": with_na(found.elements),
        "criteria_avgs": with_na(found.criteria),
        "score_avgs": with_na(found.scores),
        "score": with_na(found.score),
    }
    return OthersFile.model_validate(file).model_dump()


def _description(grade: Grade) -> str:
    if grade.status != "failed":
        return grade.rationale
    return f"Failed: {grade.failure.kind}: {grade.failure.detail}" if grade.failure else "Failed"


def _whole(score: float) -> float:
    """Return a whole number as an integer: 7 and not 7.0."""
    return int(score) if score.is_integer() else score


def with_na(value: object) -> object:
    """Nested data with "N/A" for None, as the code writes it."""
    if isinstance(value, Mapping):
        return {key: with_na(part) for key, part in cast("Mapping[str, object]", value).items()}
    return NA if value is None else value


F = TypeVar("F", bound=Frozen)


def read_file(path: Path, model: type[F]) -> F:
    """Return a result file as `model`, one of the above.

    Raises:
        InputError: it cannot be read, is no JSON, or has another shape.
    """
    try:
        with open_file(path, MOST_JSON) as file:
            return model.model_validate_json(file.read(), strict=True)
    except OSError as error:
        raise InputError(f"{path}: {reason_of(error)}") from None
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error, 'the file')}") from None


def findings_of(file: OthersFile) -> RubricFindings:
    """Return the answers in a file of the published code.

    Raises ValueError for a score that is not a whole one from 1 to 10.

    The file does not say whether guidance was shown, nor what was quoted.
    """
    return RubricFindings(grades=tuple(_grade(path, item) for path, item in rubric.leaves(file.scores)))


def _grade(path: tuple[str, ...], item: ItemScore) -> Grade:
    if item.score == NA:
        return Grade(path=path, status="not_applicable", rationale=item.description)
    if not isinstance(item.score, int) or not 1 <= item.score <= 10:
        raise ValueError(f"{'.'.join(path)}: {item.score} is no whole number from 1 to 10")
    return Grade(path=path, status="scored", score=item.score, judged=item.score, rationale=item.description)
