"""DEER's cases: what the published code gave, and what we get from the same input.

Invariant: a function here computes nothing by itself: it takes a case to the models that the evaluator's own functions
read, and what they return back to the case's JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from local_judge.claims.backtrack import UpstreamRow, upstream_rows
from local_judge.protocols.deer.files import NA, final_file, with_na
from local_judge.protocols.deer.rubric import upstream as rubric
from local_judge.protocols.deer.verification import upstream
from local_judge.protocols.deer.verification.rows import ClaimRow, Outcome, PairRow, Rows
from tests.golden.cases import Case, Comparison
from tests.golden.deer_reading import extract_references, label

_OUTCOMES: Mapping[str, Outcome] = {
    "supported": "supported",
    "not_supported": "not_supported",
    "error": "judge_failed",
}


def run_metrics(case: Case) -> Comparison:
    """Metrics: claims with their verdicts, and references."""
    rows = Rows(
        claims=tuple(
            ClaimRow(
                id=str(index),
                type=claim["claim_type"],
                numeric=claim["numeric"],
                pairs=tuple(
                    PairRow(
                        url=verification["url"],
                        outcome=_OUTCOMES[verification["result"]],
                        reliable=verification["reliable"],
                    )
                    for verification in claim["verifications"]
                ),
            )
            for index, claim in enumerate(case["in"]["claims"])
        ),
        references=tuple(case["in"]["references"].values()),
    )
    counts = upstream.tally(rows)
    scores = upstream.normalised(counts)
    score_avgs, criteria_avgs = upstream.averages(scores)
    got: dict[str, object] = {
        "integrity": upstream.integrity(counts),
        "sufficiency": {"source_support": upstream.source_support(counts), **upstream.amounts(counts)},
        "score_avgs": score_avgs,
        "criteria_avgs": criteria_avgs,
        "scores": scores,
    }
    # The number that the sample happened to have is no result.
    return Comparison({key: value for key, value in case["out"].items() if key != "sample_id"}, got)


def run_backtrack(case: Case) -> Comparison:
    """Back-tracking: rows of position, class, explicit and implicit citations, positions named."""
    rows = [
        UpstreamRow(position, type, list(citations), list(implicit), list(references))
        for position, type, citations, implicit, references in case["in"]
    ]
    upstream_rows(rows)
    got = [[row.position, row.type, row.citations, row.implicit, row.references] for row in rows]
    return Comparison(case["out"], got)


def run_refs(case: Case) -> Comparison:
    """Reading of a list of references: text to index and URL."""
    return Comparison(case["out"], extract_references(case["in"]))


def run_labels(case: Case) -> Comparison:
    """Segmentation: a report to its labelled sentences."""
    found = label(case["in"])
    return Comparison(
        {key: case[key] for key in ("text", "sents")}, {"text": found.text, "sents": found.sentences}
    )


def run_rubric(case: Case) -> Comparison:
    """One report's rubric: item scores to the averages of its file."""
    found = rubric.averages(_items(case["scores"]))
    got = {"criteria_avgs": found.criteria, "score_avgs": found.scores, "score": found.score}
    return Comparison({key: case[key] for key in got}, with_na(got))


def run_integration(case: Case) -> Comparison:
    """Several reports' sub-dimensions by rule and item scores: the dimensions of each, and of all together."""
    facts = [sample["fact_criteria"] for sample in case["samples"]]
    rubrics = [_items(sample["scores"]) for sample in case["samples"]]
    alone = [final_file(rubric.integrate(fact, items)) for fact, items in zip(facts, rubrics, strict=True)]
    got = {"final": final_file(rubric.integrate_all(facts, rubrics)), "per_sample": alone}
    return Comparison({key: case[key] for key in got}, got)


def _items(scores: object) -> rubric.Items:
    return cast("rubric.Items", _without_na(scores))


def _without_na(value: object) -> object:
    """Nested data with None for "N/A"."""
    if isinstance(value, Mapping):
        return {key: _without_na(part) for key, part in cast("Mapping[str, object]", value).items()}
    return None if value == NA else value
