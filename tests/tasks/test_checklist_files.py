"""Checklists from files of every form, joined to tasks."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import InputError
from local_judge.runs.planning.inputs import dated, load_reports
from local_judge.tasks.checklists import CHECKLIST_KIND, ChecklistRow
from local_judge.tasks.files import TaskFiles
from local_judge.tasks.load import load_tasks, read_questions
from local_judge.tasks.model import Checklist, Task
from local_judge.tasks.review import decide

from .dataset_rows import FIXED, OPEN, ROWS, write_csv, write_jsonl

DRAFTED = ChecklistRow(task_id="mill", items=("Is the cost named?", "Is the payer named?"), status="drafted")


def texts(task: Task | None) -> list[str]:
    assert task is not None and task.checklist is not None
    return [item.text for item in task.checklist.items]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_the_dataset_is_a_file_of_tasks(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"dataset.{form}"
    write_csv(path, ROWS) if form == "csv" else write_jsonl(path, ROWS)
    tasks = load_tasks(path)
    assert list(tasks) == ["pumps", "mill"]
    assert tasks["pumps"].prompt == FIXED
    assert tasks["pumps"].checklist is not None
    assert [item.id for item in tasks["pumps"].checklist.items] == ["q1", "q2"]
    # A cell that is empty in one form is taken from the other.
    assert texts(tasks["pumps"]) == [ROWS[0]["checklist_no_placeholder"], ROWS[2]["checklist"]]
    open_dates = load_tasks(path, open_dates=True)
    assert open_dates["pumps"].prompt == OPEN
    assert texts(open_dates["pumps"])[0] == "Does the report give the number of heat pumps up to {{date}}?"
    assert open_dates["mill"] == tasks["mill"]


def test_a_question_without_items_is_a_task_without_a_checklist(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "d.jsonl", [{"qid": 7, "question": "Why?", "checklist": None}])
    assert load_tasks(path) == {"7": Task(id="7", prompt="Why?")}
    with pytest.raises(InputError, match="no checklists in it"):
        CHECKLIST_KIND.load(path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"qid": "a"}], r"d.jsonl:1: a row of the dataset needs `qid` and `question`"),
        ([ROWS[0], {"question": "Why?"}], r"d.jsonl:2: a row of the dataset needs `qid`"),
        (
            [ROWS[0], {**ROWS[2], "question": "Why?"}],
            r"d.jsonl:2: question 'pumps' differs from its text at .*:1",
        ),
        ([{**ROWS[0], "checklist": ["a"]}], r"d.jsonl:1: `checklist` must be"),
        ([{**ROWS[0], "checklist": "\ud800"}], r"d.jsonl:1: `checklist` must be"),
        ([{**ROWS[0], "qid": 1.5}], "qid 1.5 must be"),
    ],
)
def test_a_faulty_dataset_is_one_line(rows: list[dict[str, Any]], message: str, tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=message) as raised:
        read_questions(path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('qid,question\na,"Why', r"d.csv:2: not CSV"),
        ("qid,question\na,Why?,more\n", r"d.csv:2: 3 cells under 2 columns"),
        ("qid,question,Question \na,Why?,How?\n", r"d.csv:1: two columns are named 'question'"),
        ("id,prompt\na,Why?\n", r"d.csv:2: a row .*`qid`"),
        ("", "no tasks"),
    ],
)
def test_a_faulty_csv_file_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as raised:
        load_tasks(path)
    assert "\n" not in str(raised.value)


def test_tasks_may_bring_a_checklist_and_a_topic_and_those_dropped_are_left_out(tmp_path: Path) -> None:
    path = write_jsonl(
        tmp_path / "tasks.jsonl",
        [
            {"id": 1, "prompt": "Why?", "checklist": ["Is A there? ", "Is B there?"], "topic": "History"},
            {"id": 2, "prompt": "How?", "checklist": [], "topic": ""},
            {"id": 3, "prompt": "Who?", "kept": False},
            {"id": 4, "prompt": "When?", "kept": True},
        ],
    )
    tasks = load_tasks(path)
    assert list(tasks) == ["1", "2", "4"]
    assert tasks["1"].checklist == Checklist.of(["Is A there?", "Is B there?"])
    assert (tasks["1"].topic, tasks["2"].topic, tasks["2"].checklist) == ("History", None, None)
    # Such a file is a file of checklists too.
    found = CHECKLIST_KIND.join(Task(id="x", prompt="Why?"), CHECKLIST_KIND.load(path))
    assert found is not None and found.checklist is not None and found.checklist.joined == "prompt"


@pytest.mark.parametrize(
    "row", [{"checklist": "Is A there?"}, {"checklist": ["a", 5]}, {"checklist": [" "]}, {"topic": 5}]
)
def test_what_a_task_may_not_bring(row: dict[str, Any], tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "tasks.jsonl", [{"id": 1, "prompt": "Why?", **row}])
    with pytest.raises(InputError, match=r"tasks.jsonl:1: `(checklist|topic)` must be a"):
        load_tasks(path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"task_id": "a", "items": []}, "items .*empty"),
        ({"task_id": "a", "items": [" "]}, "items.0 .*empty"),
        ({"task_id": "a", "items": ["A?"], "colour": 1}, "colour: unknown key"),
        ({"items": ["A?"]}, "task_id is missing"),
    ],
)
def test_a_faulty_checklist_file_is_one_line(row: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "c.jsonl", [row])
    with pytest.raises(InputError, match=message):
        CHECKLIST_KIND.load(path)


def test_checklists_are_joined_by_id_or_request_in_either_form(tmp_path: Path) -> None:
    rows = CHECKLIST_KIND.load(write_csv(tmp_path / "d.csv", ROWS), open_dates=True)
    for prompt in (OPEN, FIXED):
        for identity in ("pumps", "qid_pumps"):
            task = CHECKLIST_KIND.join(Task(id=identity, prompt=prompt), rows)
            assert task is not None and task.checklist is not None
            assert (task.checklist.joined, task.checklist.status) == ("id", "given")
            assert "{{date}}" in task.checklist.items[0].text
        renamed = CHECKLIST_KIND.join(Task(id="1", prompt=f" {prompt}\n"), rows)
        assert renamed is not None and renamed.checklist is not None and renamed.checklist.joined == "prompt"
    assert CHECKLIST_KIND.join(Task(id="2", prompt="Else?"), rows) is None
    with pytest.raises(InputError, match="for a task 'mill'"):
        CHECKLIST_KIND.join(Task(id="mill", prompt="Else?"), rows)


def test_a_person_edits_one_item_a_line() -> None:
    edited = decide(DRAFTED, "edit", "Ada", lambda text: text + "\n\n  Is the  year named?\n")
    assert edited is not None
    assert edited.items == (*DRAFTED.items, "Is the year named?")
    assert (edited.items_before, edited.status, edited.reviewer) == (DRAFTED.items, "reviewed", "Ada")
    assert edited.content is not None and edited.content.reviewer == "Ada"
    again = decide(edited, "edit", "Bob", lambda text: "Is all there?")
    assert again is not None and again.items_before == DRAFTED.items
    assert decide(DRAFTED, "edit", "Ada", lambda text: text + "\n") is None
    with pytest.raises(InputError, match="the checklist is empty; reject it instead"):
        DRAFTED.reviewed("Ada", " \n")


def test_a_run_fills_the_dates_of_the_dataset_or_takes_the_published_ones(tmp_path: Path) -> None:
    dataset = write_csv(tmp_path / "dataset.csv", ROWS)
    reports = write_jsonl(
        tmp_path / "reports.jsonl",
        [
            {"id": "r1", "task_id": "qid_pumps", "report": "A."},
            {"id": "r2", "task_id": "mill", "report": "B."},
            {"id": "r3", "report": "C."},
        ],
    )
    first, second, third = load_reports([reports], TaskFiles(tasks=dataset), open_dates=True)
    assert (first.task and first.task.id, second.task and second.task.id, third.task) == (
        "pumps",
        "mill",
        None,
    )
    [filled, *_] = dated([first], date(2026, 1, 5))
    assert filled.task is not None and filled.task.prompt.endswith("up to 2026-01-05?")
    assert texts(filled.task)[0].endswith("up to 2026-01-05?")
    [fixed, *_] = dated(load_reports([reports], TaskFiles(tasks=dataset)), None)
    assert fixed.task is not None and fixed.task.prompt == FIXED
    # Checklists beside tasks of another file: the same rows, joined by the request.
    own = write_jsonl(tmp_path / "own.jsonl", [{"id": "r3", "prompt": FIXED}])
    *_, joined = load_reports([reports], TaskFiles(tasks=own, checklists=dataset))
    assert texts(joined.task) == texts(fixed.task)
    foreign = write_jsonl(tmp_path / "c.jsonl", [DRAFTED.model_dump(mode="json")])
    with pytest.raises(InputError, match=r"c.jsonl: none of"):
        load_reports([reports], TaskFiles(tasks=own, checklists=foreign))
