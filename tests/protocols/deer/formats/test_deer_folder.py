from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from local_judge.documents.model import Frozen
from local_judge.protocols.deer.formats.files import (
    FactFile,
    FactSummary,
    FinalFile,
    OthersFile,
    OthersSummary,
    read_file,
)
from local_judge.protocols.deer.formats.folder import Sample, folder
from local_judge.protocols.deer.overall import score
from local_judge.protocols.deer.verification.rows import ClaimRow, PairRow, Rows

from ..rubric_cases import RF, drawn, everywhere, findings


def rows(n_supported: int) -> Rows:
    return Rows(
        claims=tuple(
            ClaimRow(
                id=f"L1.S{n}.1",
                type="A",
                pairs=(
                    PairRow(
                        url=f"https://{'ab'[n % 2]}.example",
                        outcome="supported" if n < n_supported else "not_supported",
                        reliable=True,
                    ),
                ),
            )
            for n in range(4)
        ),
        references=("https://a.example", "https://b.example"),
    )


def written(samples: dict[int, Sample]) -> dict[str, Any]:
    return cast("dict[str, Any]", folder(samples))


def test_the_files_of_two_reports(tmp_path: Path) -> None:
    files = written(
        {12: Sample(rows(2), findings(drawn(1))), 3: Sample(rows(4), findings(drawn(2)))},
    )
    models: dict[str, type[Frozen]] = {
        "fact/0003.json": FactFile,
        "others/0003.json": OthersFile,
        "fact/0012.json": FactFile,
        "others/0012.json": OthersFile,
        "fact/summary.json": FactSummary,
        "others/summary.json": OthersSummary,
        "final/0003.json": FinalFile,
        "final/0012.json": FinalFile,
        "final.json": FinalFile,
    }
    assert list(files) == list(models)
    for name, model in models.items():
        path = tmp_path / name.replace("/", "-")
        path.write_text(json.dumps(files[name]), encoding="utf-8")
        read_file(path, model)  # the shape that we read is the shape that we write


def test_a_reports_final_file_has_the_scores_of_the_upstream_profile() -> None:
    sample = Sample(rows(2), findings(drawn(1)))
    final = written({1: sample})["final/0001.json"]
    roots = {root.id: root.score.value for root in score(sample.rows, sample.rubric, "upstream")}
    assert len(final["score_avgs"]) == 7
    assert final["score_avgs"] == {id: roots[id] for id in final["score_avgs"]}


def test_one_report_alone_is_its_own_mean() -> None:
    files = written({1: Sample(rows(2), findings(drawn(1)))})
    assert files["final.json"] == files["final/0001.json"]
    assert files["fact/summary.json"]["criteria_avgs"] == files["fact/0001.json"]["criteria_avgs"]
    assert files["others/summary.json"]["criteria_avgs"] == files["others/0001.json"]["criteria_avgs"]


def test_what_a_report_lacks_is_in_no_file() -> None:
    only_rubric = written({1: Sample(None, findings(everywhere(6)))})
    assert list(only_rubric) == ["others/0001.json", "others/summary.json", "final/0001.json", "final.json"]
    assert RF in only_rubric["final.json"]["score_avgs"] and len(only_rubric["final.json"]["score_avgs"]) == 5
    only_rows = written({1: Sample(rows(2), None)})
    assert list(only_rows) == ["fact/0001.json", "fact/summary.json", "final/0001.json", "final.json"]
    assert list(only_rows["final.json"]["score_avgs"]) == ["information_integrity", "information_sufficiency"]
    for nothing in (Sample(None, None), Sample(Rows(claims=()), None)):
        assert written({1: nothing}) == {}
    assert written({1: Sample(None, findings({(): 4}, mode="vanilla"))}) == {}


def test_the_mean_of_facts_is_of_rounded_subdimensions() -> None:
    files = written({1: Sample(rows(4), None), 2: Sample(rows(3), None), 3: Sample(rows(3), None)})
    parts = [files[f"fact/{n:04d}.json"]["criteria_avgs"]["integrity"]["claim_factuality"] for n in (1, 2, 3)]
    assert parts == [10.0, 7.5, 7.5]
    mean = files["final.json"]["criteria_avgs"]["information_integrity"]["claim_factuality"]
    assert mean == files["fact/summary.json"]["criteria_avgs"]["integrity"]["claim_factuality"] == 8.33


@pytest.mark.parametrize("failed", [0.0, 0.3])
def test_numbers_are_json(failed: float) -> None:
    files = written({1: Sample(rows(0), findings(drawn(5, failed=failed)))})
    assert json.loads(json.dumps(files, allow_nan=False)) == files
