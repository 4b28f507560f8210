"""One report's verification as DEER printed it, again from its rows.

The file keeps each claim's class and verdict, and each URL's pairs, but not which pair was whose. The printed
totals leave one way to share them out: a claim has at most one supported pair, a claim that is not supported
has none, and the pairs beyond one for each judged claim support nothing. Which URL goes to which claim
changes no printed number.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from local_judge.protocols.deer.files import fact_file
from local_judge.protocols.deer.names import METRICS
from local_judge.protocols.deer.verification.rows import ClaimRow, PairRow, Rows
from local_judge.protocols.deer.verification.scores import score

DATA = Path(__file__).parents[4] / "../shared/data/deer"

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="DEER's sample is not here")

Json = Any


@pytest.fixture(scope="module")
def printed() -> Json:
    return json.loads((DATA / "fact_0001.json").read_text(encoding="utf-8"))


def sample_rows(printed: Json) -> Rows:
    raw = printed["raw"]["raw"]
    metrics = raw["reference_metrics"]
    # Three of the four sources are reliable, and the reliable ones are the supported ones.
    assert metrics["num_reliable"] == len(metrics["supported_references"]) == 3
    supported = [url for url, n in metrics["supported_cited_counts"].items() for _ in range(n)]
    unsupported = [
        url
        for url, n in metrics["cited_counts"].items()
        for _ in range(n - metrics["supported_cited_counts"].get(url, 0))
    ]
    claims: list[ClaimRow] = []
    for index, claim in enumerate(raw["claim_metrics"]["claims"]):
        pairs: tuple[PairRow, ...] = ()
        if claim["result"] != "unverified":
            found = claim["result"] == "supported"
            url = (supported if found else unsupported).pop(0)
            pairs = (
                PairRow(
                    url=url,
                    outcome="supported" if found else "not_supported",
                    reliable=url in metrics["supported_references"],
                ),
            )
        claims.append(
            ClaimRow(id=str(index), type=claim["claim_type"], numeric=claim["is_numeric"], pairs=pairs)
        )
    assert not supported
    # What is left over are further pairs of the first claim of class A that is not supported.
    host = next(i for i, claim in enumerate(claims) if claim.type == "A" and not claim.supported)
    extra = tuple(PairRow(url=url, outcome="not_supported", reliable=False) for url in unsupported)
    claims[host] = claims[host].model_copy(update={"pairs": claims[host].pairs + extra})
    return Rows(claims=tuple(claims), references=tuple(metrics["used_references"]))


def same(expected: Json, got: Json, path: str = "") -> int:
    """Compare leaf by leaf, lists of URLs and the order of keys apart; the number of leaves."""
    if isinstance(expected, dict):
        left = cast("dict[str, Json]", expected)
        assert left.keys() == got.keys(), path
        return sum(same(value, got[key], f"{path}.{key}") for key, value in left.items())
    if isinstance(expected, list):
        items = cast("list[Json]", expected)
        if path.endswith("_references"):
            assert sorted(items) == sorted(got), path
            return 1
        assert len(items) == len(got), path
        return sum(same(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(items, got, strict=True)))
    assert (expected, type(expected)) == (got, type(got)), path
    return 1


def test_every_printed_value(printed: Json) -> None:
    n_leaves = same(printed, fact_file(sample_rows(printed), sample_id=1))
    # 83 claims of 8 fields each, and every figure
    assert n_leaves > 83 * 8 + 50


def test_tree_has_the_printed_scores(printed: Json) -> None:
    scores = score([sample_rows(printed)], "upstream")
    final = json.loads((DATA / "final_0001.json").read_text(encoding="utf-8"))
    for dimension in scores:
        assert dimension.score.value == final["score_avgs"][dimension.id]
        printed_parts = list(final["criteria_avgs"][dimension.id].values())
        assert [part.score.value for part in dimension.children] == printed_parts
    for metric in METRICS:
        _, dimension, part, name = metric
        node = next(
            node for d in scores for path, node in d.walk() if len(path) == 3 and node.id == metric.id
        )
        assert node.score.value == printed["scores"][dimension][part][name]


def test_paper_on_the_same_rows(printed: Json) -> None:
    integrity, sufficiency = score([sample_rows(printed)], "paper")

    def at(*path: str) -> tuple[float | None, float | None]:
        found = sufficiency.find(*path).score
        return found.numerator, found.denominator

    # 9 A + 11 B + 3 C of 83 claims, 13 of the 23 supported
    assert at("evidence_coverage") == (23, 83)
    assert at("information_amount") == (13, None)
    # (10 * 23/83 + 1 + 2 + 1) / 4
    assert sufficiency.score.value is not None and round(sufficiency.score.value, 2) == 1.69
    factuality = integrity.find("claim_factuality").score
    assert (factuality.numerator, factuality.denominator) == (13, 23)
