"""DEER's own result files.

Invariant: `fact_file` has the fields, names and arithmetic of the published project's `fact/<sample>.json`,
from our findings by the `upstream` profile. Its lists of URLs are in reading order; the project's are in no
order.
"""

from __future__ import annotations

from collections.abc import Mapping

from local_judge.protocols.deer.verification import upstream
from local_judge.protocols.deer.verification.rows import ClaimRow, Rows

JsonObject = dict[str, object]


def fact_file(rows: Rows, sample_id: int) -> JsonObject:
    """The content of `fact/<sample_id:04d>.json`. Raises ValueError for a report without claims.

    The published code has no such file to show for a report without claims: it stops with an error.
    """
    if not rows.claims:
        raise ValueError(f"sample {sample_id}: DEER's fact file needs at least one claim")
    counts = upstream.tally(rows)
    scores = upstream.normalised(counts)
    score_avgs, criteria_avgs = upstream.averages(scores)
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
            "integrity": upstream.integrity(counts),
            "sufficiency": {"source_support": upstream.source_support(counts), **upstream.amounts(counts)},
        },
    }


def _claim(claim: ClaimRow) -> Mapping[str, object]:
    claim_type, result = upstream.class_of(claim), _result(claim)
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
    outcomes = {"error" if upstream.is_error(pair) else pair.outcome for pair in claim.pairs}
    return next(
        (result for result in ("supported", "not_supported", "error") if result in outcomes), "unverified"
    )


def _references(counts: upstream.Tally) -> Mapping[str, object]:
    mean, deviation = upstream.spread(list(counts.cited.values()))
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
        "balance_supported_0_10": upstream.diversity(list(counts.supported.values())),
    }
