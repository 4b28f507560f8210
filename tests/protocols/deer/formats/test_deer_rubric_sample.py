"""One report's rubric and integration as DEER printed them, again from its items.

Of the 1,134 leaves of the three files, 868 are what was found: 101 scores with their descriptions, 83 claims of 8
fields, and two numbers of the sample. The other 266 are computed from these:

    162  others: 46 criteria of 3 averages, 17 sub-dimensions, 6 dimensions, the score
     72  fact: 2 dimensions, 9 sub-dimensions, 10 metrics, 18 figures before scaling, 33 counts
     32  final: 7 dimensions, 25 sub-dimensions
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from local_judge.protocols.deer.files import (
    OthersFile,
    Sample,
    fact_file,
    findings_of,
    folder,
    others_file,
    read_file,
)
from local_judge.protocols.deer.overall import score
from local_judge.protocols.deer.rubric.model import RubricFindings

from .result_files import AveragesFile, FactFile
from .test_deer_sample import sample_rows

DATA = Path(__file__).parents[4] / "../shared/data/deer"

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="DEER's sample is not here")

Json = Any


def load(name: str) -> Json:
    return json.loads((DATA / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def rubric() -> RubricFindings:
    return findings_of(read_file(DATA / "others_0001.json", OthersFile))


def leaves(value: Json) -> int:
    if isinstance(value, dict):
        return sum(leaves(part) for part in cast("dict[str, Json]", value).values())
    if isinstance(value, list):
        return sum(leaves(part) for part in cast("list[Json]", value))
    return 1


def inputs(value: Json) -> int:
    """Leaves that are no result: the judge's words and scores, the claims' rows, the sample's number."""
    if not isinstance(value, dict):
        return 0
    found = cast("dict[str, Json]", value)
    if found.keys() == {"description", "score"}:
        return 2
    return sum(
        1 if key == "sample_id" else leaves(part) if key == "claims" else inputs(part)
        for key, part in found.items()
    )


def in_order(value: Json) -> Json:
    """The code's lists of URLs are in no order; everything else keeps its own."""
    if isinstance(value, dict):
        found = cast("dict[str, Json]", value)
        return {
            key: sorted(cast("list[str]", part))
            if key.endswith("_references") and isinstance(part, list)
            else in_order(part)
            for key, part in found.items()
        }
    return value


def test_the_file_of_the_rubric_is_the_same_json_again(rubric: RubricFindings) -> None:
    printed = load("others_0001.json")
    assert json.dumps(others_file(rubric, sample_id=1)) == json.dumps(printed)


def test_every_leaf_of_the_three_files(rubric: RubricFindings) -> None:
    rows = sample_rows(load("fact_0001.json"))
    files = cast("dict[str, Json]", folder({1: Sample(rows, rubric)}))
    checked = computed = 0
    for kind in ("others", "fact", "final"):
        printed = load(f"{kind}_0001.json")
        assert in_order(files[f"{kind}/0001.json"]) == in_order(printed)
        checked += leaves(printed)
        computed += leaves(printed) - inputs(printed)
    assert (checked, computed) == (1134, 266)
    # One report is its own mean: the 32 of the file over all reports, too.
    assert files["final.json"] == load("final_0001.json")


def test_all_three_files_have_the_shape_that_is_read() -> None:
    fact = read_file(DATA / "fact_0001.json", FactFile)
    assert fact.raw.raw.claim_metrics.total_claims == 83
    final = read_file(DATA / "final_0001.json", AveragesFile)
    assert final.criteria_avgs["ethics_compliance"]["sensitive_handling"] == "N/A"


def test_the_trees_of_both_profiles(rubric: RubricFindings) -> None:
    rows = sample_rows(load("fact_0001.json"))
    final = load("final_0001.json")
    code = score([rows], [rubric], "upstream")
    assert {root.id: root.score.value for root in code[:-1]} == final["score_avgs"]
    # The mean of the seven rounded dimensions: 43.14 / 7
    assert code[-1].score.value == pytest.approx(6.162857, abs=1e-6)
    paper = {root.id: root.score for root in score([rows], [rubric], "paper")}
    # The judged dimensions differ from the code's by rounding alone.
    for dimension in ("request_fulfillment", "analytical_soundness", "format_style", "ethics_compliance"):
        assert paper[dimension].value == pytest.approx(final["score_avgs"][dimension], abs=0.01)
    # 1.69 in place of the code's 4.17: what the paper's formulas take from the same verdicts
    seven = [paper[dimension].value or 0.0 for dimension in final["score_avgs"]]
    assert paper["overall"].value == pytest.approx(sum(seven) / 7)
    assert round(paper["information_sufficiency"].value or 0.0, 2) == 1.69


def test_the_fact_file_alone_still_says_the_same() -> None:
    printed = load("fact_0001.json")
    assert in_order(fact_file(sample_rows(printed), sample_id=1)) == in_order(printed)
