from __future__ import annotations

from typing import Any, cast

import pytest

from local_judge.protocols.deer.files import fact_file
from local_judge.protocols.deer.verification.rows import ClaimRow, PairRow, Rows


def test_verdict_of_a_claim_is_its_best_pair() -> None:
    supported = PairRow(url="u", outcome="supported", reliable=True)
    refuted = PairRow(url="v", outcome="not_supported", reliable=False)
    dead = PairRow(url="w", outcome="source_unavailable", status="dead")
    failed = PairRow(url="x", outcome="judge_failed")
    rows = Rows(
        claims=(
            ClaimRow(id="1", type="A", pairs=(failed, refuted, supported)),
            ClaimRow(id="2", type="B", pairs=(dead, refuted)),
            ClaimRow(id="3", type="C", numeric=True, pairs=(dead, failed)),
            ClaimRow(id="4", type="B", cited=False),
            ClaimRow(id="5", type="F"),
        ),
        references=("u", "u#part", None),
    )
    raw = cast("dict[str, Any]", fact_file(rows, sample_id=7))["raw"]["raw"]
    assert [(c["claim_type"], c["result"]) for c in raw["claim_metrics"]["claims"]] == [
        ("A", "supported"),
        ("B", "not_supported"),
        ("C", "error"),
        # without a citation it is D for the code
        ("D", "unverified"),
        ("F", "unverified"),
    ]
    assert raw["claim_metrics"]["claims"][2] == {
        "claim_type": "C",
        "result": "error",
        "supported": False,
        "error": True,
        "is_numeric": True,
        "is_common": False,
        "is_internal": False,
        "is_external": True,
    }
    # x, w, w, x are errors, of x, v, u, w, v, w, x
    assert raw["citation_metrics"] == {"num_supported": 1, "num_error_citations": 4, "num_citations": 7}
    references = raw["reference_metrics"]
    assert (references["num_references"], references["num_unique_references"]) == (2, 1)
    assert references["cited_counts"] == {"x": 2, "v": 2, "u": 1, "w": 2}
    assert references["error_references"] == ["x", "w"]
    # (2 + 2 + 1 + 2) / 4; variance (3 * 0.25^2 + 0.75^2) / 4 = 0.1875
    assert references["citations_mean"] == 1.75
    assert references["citations_std"] == 0.1875**0.5


def test_no_claims_is_refused() -> None:
    with pytest.raises(ValueError, match="sample 7: DEER's fact file needs at least one claim"):
        fact_file(Rows(claims=()), sample_id=7)
