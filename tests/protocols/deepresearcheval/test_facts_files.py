"""Files of the published code: its merge of segments, its rows written and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import InputError
from local_judge.protocols.deepresearcheval import DreFindings
from local_judge.protocols.deepresearcheval.export import DreFiles
from local_judge.protocols.deepresearcheval.facts.files import read_results, result_files, result_rows
from local_judge.protocols.deepresearcheval.facts.scores import score_facts
from local_judge.protocols.file_formats import Exported, ReportFindings, RunFindings
from tests.golden.deepresearcheval import run_function
from tests.golden.dre_replies import merged_statements, ratio_range

from .dre_cases import marked
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


def test_rows_are_labels_of_upstream_with_words_that_were_found(tmp_path: Path) -> None:
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
        # Its evidence does not bear the label out, which `paper` makes Unknown and the published code does not ask.
        {"statement": "Statement 2.", "verification": "Right", "evidence": [], "reasoning": ""},
    ]
    file = tmp_path / "task_7.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    scored = [score_facts([one], "upstream").score.value for one in (found, read_results(file))]
    assert scored == [100, 100]


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


def exported(*reports: tuple[str, str | None], facts: str = "r", **quality: Any) -> Exported:
    """Files of reports by these systems on these tasks."""
    rows = [
        ReportFindings(
            id=str(n),
            task=task,
            system=system,
            findings=DreFindings(
                case=str(n),
                document="d",
                task=task,
                facts=findings(facts, unread=1),
                **quality,
            ),
            status="done",
        )
        for n, (system, task) in enumerate(reports, 1)
    ]
    return DreFiles().write(RunFindings(tuple(rows), None, None, None))


@pytest.mark.parametrize(
    ("reports", "files"),
    [
        ([("ada", "7"), ("bob", "7"), ("ada", "mill")], ["ada/task_7", "ada/task_mill", "bob/task_7"]),
        # Not all file systems tell "mill" from "Mill".
        ([("ada", "mill"), ("bob", "7"), ("ada", "Mill")], ["ada/task_1", "ada/task_3", "bob/task_7"]),
        ([("ada", "7"), ("ada", "../x")], ["ada/task_1", "ada/task_2"]),
        ([("ada", "7"), ("ada", None)], ["ada/task_1", "ada/task_2"]),
    ],
)
def test_a_file_has_the_tasks_name_if_those_of_a_system_are_plain_and_differ(
    reports: list[tuple[str, str | None]], files: list[str]
) -> None:
    assert sorted(exported(*reports).files) == [f"results/{name}.json" for name in files]


def test_a_list_counts_what_no_row_tells() -> None:
    # A failed statement, and a sentence whose statements are not known.
    [listed] = exported(("ada", "7"), facts="rf").lists
    [row] = [outcome.row.model_dump() for outcome in listed.outcomes]
    assert row == {
        "report": "1",
        "task": "7",
        "system": "ada",
        "left_out": "",
        "file": "results/ada/task_7.json",
        "n_failed": 1,
        "n_unread": 1,
    }
    [note] = listed.notes
    assert "1 statement" in note and "1 sentence" in note


@pytest.mark.parametrize(
    ("kept", "has_quality", "has_facts"),
    [
        (["quality_results.json"], True, False),
        (["results/ada/task_7.json"], False, True),
        (["quality_results.json", "results/ada/task_7.json"], True, True),
    ],
)
def test_a_folder_may_have_quality_or_facts_or_both(
    tmp_path: Path, kept: list[str], has_quality: bool, has_facts: bool
) -> None:
    files = exported(("ada", "7"), request="What?", quality=marked()).files
    folder = tmp_path / "results" if not has_quality else tmp_path
    for name in kept:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(files[name], encoding="utf-8")
    [report] = DreFiles().read(folder).reports
    assert (report.system, report.task) == ("ada", "7")
    assert (report.findings.quality is not None, report.findings.facts is not None) == (
        has_quality,
        has_facts,
    )


def test_a_folder_with_neither_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    with pytest.raises(InputError, match=r"quality_results\.json"):
        DreFiles().read(tmp_path)
