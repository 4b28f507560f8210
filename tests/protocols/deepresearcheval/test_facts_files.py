"""Files of the published code: its merge of segments, its rows written and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local_judge.errors import InputError
from local_judge.protocols.deepresearcheval.facts.files import read_results, result_files, result_rows
from local_judge.protocols.deepresearcheval.facts.scores import score_facts
from tests.golden.deepresearcheval import run_function
from tests.golden.dre_replies import merged_statements, ratio_range

from .facts_cases import evidence, findings

ROW: dict[str, Any] = {
    "statement": "The mill cost 9 million.",
    "verification": "Right",
    "evidence": [{"source": "https://mill.example/", "excerpt": "cost 9 million"}],
    "reasoning": "So.",
}


def test_the_published_merge_passes_over_what_it_cannot_read() -> None:
    one = {"statement": "a", "verification": "Right"}
    texts = [
        json.dumps({"core_state": [one, one]}),
        f"```json\n{json.dumps(one)}\n```",
        json.dumps([one, one]),  # cut to `{…}, {…}`
        "Error: no answer",
        "} {",
    ]
    assert merged_statements(texts) == [one, one, one]


def test_a_printed_ratio_lies_in_what_rounding_leaves() -> None:
    # 36.16 / 61.34 is 58.95 and printed as 58.94: 36.155 / 61.345 to 36.165 / 61.335 and 0.005 more.
    assert ratio_range(36.16, 61.34) == (pytest.approx(58.932, abs=1e-3), pytest.approx(58.968, abs=1e-3))
    rows = [["A", 61.34, 36.16, 9.08, 16.1], ["B", 10.0, 5.0, 0.0, 5.0]]
    case = {
        "name": "dre_ratio_paper_table4",
        "input": {"rows_model_statements_right_wrong_unknown": rows},
        "upstream_output": [58.94, 51.0],
    }
    got: Any = run_function(case).got
    right, wrong = got
    assert right == 58.94 and wrong == [pytest.approx(49.92, abs=0.01), pytest.approx(50.08, abs=0.01)]


def test_rows_are_labels_that_evidence_bears_out_with_words_that_were_found() -> None:
    found = findings("rRf")
    first = found.rulings[0].model_copy(
        update={"evidence": (evidence("supports"), evidence("supports", found=False)), "reasoning": "So."}
    )
    rows = result_rows(found.model_copy(update={"rulings": (first, *found.rulings[1:])}))
    assert rows == [
        {
            "statement": "Statement 1.",
            "verification": "Right",
            "evidence": [{"source": "https://mill.example/yearbook", "excerpt": "cost 9 million"}],
            "reasoning": "So.",
        },
        {"statement": "Statement 2.", "verification": "Unknown", "evidence": [], "reasoning": ""},
    ]


def test_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "task_7.json"
    rows = [ROW, {**ROW, "verification": " right"}, {**ROW, "verification": "Right / Wrong"}]
    file.write_text(json.dumps(rows), encoding="utf-8")
    found = read_results(file)
    assert result_rows(found) == rows
    assert [one.label for one in found.rulings] == ["Right", "Right", None]
    # 2 of 3 by what the labels mean, 1 of 3 as they are written
    assert score_facts([found], "paper").score.value == pytest.approx(200 / 3)
    assert score_facts([found], "upstream").score.value == pytest.approx(100 / 3)
    assert found.n_failed == 0


def test_a_methods_folder_is_read_by_name(tmp_path: Path) -> None:
    for name in ("task_2.json", "task_10.json", "other.json"):
        (tmp_path / name).write_text("[]", encoding="utf-8")
    assert [file.task for file in result_files(tmp_path)] == ["10", "2"]
    assert [file.task for file in result_files(tmp_path / "task_2.json")] == ["2"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("task_1.json", '{"statement": "x"}', "must be a list"),
        ("task_1.json", '[{"statement": "x"}]', "0.verification"),
        ("task_1.json", "[", "not JSON"),
        ("result.json", "[]", "must be task_ID.json"),
        ("task_1.json", None, "no such file"),
    ],
)
def test_what_is_no_result_file_is_said_in_one_line(
    tmp_path: Path, name: str, content: str | None, said: str
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=said) as error:
        read_results(result_files(file)[0].path)
    assert "\n" not in str(error.value) and str(file) in str(error.value)


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file task_\*.json"):
        result_files(tmp_path)
