from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from local_judge.base.errors import InputError
from local_judge.protocols.deer.export import OthersFile, findings_of, others_file, read_file
from local_judge.protocols.deer.rubric.model import RubricFindings

from ..rubric_cases import EC, RF, drawn, everywhere, findings
from .result_files import AveragesFile, FactFile


def written(rubric: RubricFindings) -> Any:
    return cast("Any", others_file(rubric, sample_id=7))


def read(content: object, folder: Path) -> OthersFile:
    path = folder / "0007.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return read_file(path, OthersFile)


def test_an_answer_becomes_a_score_with_its_rationale() -> None:
    answers = everywhere(6)
    answers[EC, "sensitive_handling", "1", "Q1-1"] = "N/A"
    answers[EC, "sensitive_handling", "1", "Q1-2"] = "failed"
    file = written(findings(answers))
    assert list(file) == ["sample_id", "scores", "element_avgs", "criteria_avgs", "score_avgs", "score"]
    assert file["scores"][RF]["completeness"]["1"]["C1-1"] == {"description": "Because of 6.", "score": 6}
    assert file["scores"][EC]["sensitive_handling"]["1"] == {
        "Q1-1": {"description": "Nothing of the kind.", "score": "N/A"},
        # A failure has no place of its own in the format: it is told in words.
        "Q1-2": {"description": "Failed: timeout: item asked twice", "score": "N/A"},
    }
    assert file["element_avgs"][EC]["sensitive_handling"]["1"] == {
        "c_avg": "N/A",
        "q_avg": "N/A",
        "element_avg": "N/A",
    }
    assert (file["score_avgs"][EC], file["score"]) == (6.0, 6.0)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_written_can_be_read_and_written_again(seed: int, tmp_path: Path) -> None:
    file = written(findings(drawn(seed, failed=0)))
    again = written(findings_of(read(file, tmp_path)))
    assert json.dumps(again) == json.dumps(file)


def test_five_points_are_written_on_the_scale_of_ten() -> None:
    file = written(findings({(RF, "scope", "1", "C1-1"): 3, (RF, "scope", "1", "Q1-1"): 5}, scale=5))
    items = file["scores"][RF]["scope"]["1"]
    assert [json.dumps(item["score"]) for item in items.values()] == ["5.5", "10"]
    assert file["score"] == 7.75


def test_scores_that_the_code_admits_and_the_scale_does_not(tmp_path: Path) -> None:
    file = written(findings({(RF, "scope", "1", "C1-1"): 2}))
    for score in (0, 11, -5, 2.5):
        file["scores"][RF]["scope"]["1"]["C1-1"]["score"] = score
        with pytest.raises(ValueError, match=rf"scope\.1\.C1-1: {score} is no whole number from 1 to 10"):
            findings_of(read(file, tmp_path))


def test_another_shape_is_one_line(tmp_path: Path) -> None:
    file = written(findings({(RF, "scope", "1", "C1-1"): 2}))
    item = file["scores"][RF]["scope"]["1"]["C1-1"]
    for change, message in (
        ({"score": True}, "scores.request_fulfillment.scope.1.C1-1.score"),
        ({"score": "n/a"}, "scores.request_fulfillment.scope.1.C1-1.score"),
        ({"score": "7"}, "scores.request_fulfillment.scope.1.C1-1.score"),
        ({"weight": 1}, "weight: unknown key"),
    ):
        item.update({"score": 2} | change)
        with pytest.raises(InputError, match=r"0007\.json: ") as caught:
            read(file, tmp_path)
        assert message in str(caught.value) and "\n" not in str(caught.value)
    item.pop("weight")
    item["score"] = 2
    del file["score_avgs"]
    with pytest.raises(InputError, match=r"0007\.json: score_avgs"):
        read(file, tmp_path)


def test_no_file_and_no_json_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_file(tmp_path / "none.json", AveragesFile)
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.json: the file: not JSON"):
        read_file(tmp_path / "bad.json", FactFile)
