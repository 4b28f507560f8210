"""Criteria and references from files, joined to tasks."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import InputError
from local_judge.runs.planning.inputs import load_reports
from local_judge.tasks.criteria import CRITERIA_KIND
from local_judge.tasks.files import TaskFiles, load_references, with_references
from local_judge.tasks.load import load_tasks
from local_judge.tasks.model import Task

from ..protocols.race.race_cases import CRITERIA, IDS, ROW, TASK


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def changed(*steps: str | int, to: Any) -> dict[str, Any]:
    row = copy.deepcopy(ROW)
    place: Any = row
    for step in steps[:-1]:
        place = place[step]
    place[steps[-1]] = to
    return row


def test_a_row_becomes_a_tasks_criteria(tmp_path: Path) -> None:
    stray = changed("criterions", "insight", 0, to={**ROW["criterions"]["insight"][0], "comment": "?"})
    rows = CRITERIA_KIND.load(write(tmp_path / "criteria.jsonl", {**stray, "extra": 1}))
    task = CRITERIA_KIND.join(TASK.model_copy(update={"criteria": None}), rows)
    assert task is not None and task.criteria is not None
    assert task.criteria == CRITERIA
    assert [one.id for dimension in CRITERIA.dimensions for one in dimension.criteria] == IDS
    assert (task.criteria.status, task.criteria.joined) == ("given", "id")


def test_the_published_criteria_fit_their_tasks(shared: Path) -> None:
    folder = shared / "data/reports/drb"
    rows = CRITERIA_KIND.load(folder / "criteria.jsonl")
    tasks = load_tasks(folder / "query.jsonl")
    assert len(rows.rows) == len(tasks) == 60
    for task in tasks.values():
        joined = CRITERIA_KIND.join(task, rows)
        assert joined is not None and joined.criteria is not None
        assert joined.criteria.joined == "id"
        assert 21 <= sum(len(dimension.criteria) for dimension in joined.criteria.dimensions) <= 31
        # A task of another numbering is found by its request.
        renamed = CRITERIA_KIND.join(task.model_copy(update={"id": f"drb-{task.id}"}), rows)
        assert renamed is not None and renamed.criteria is not None
        assert renamed.criteria.joined == "prompt"
        assert renamed.criteria.dimensions == joined.criteria.dimensions


def test_the_same_number_of_another_task_is_an_error(tmp_path: Path) -> None:
    rows = CRITERIA_KIND.load(write(tmp_path / "criteria.jsonl", ROW))
    with pytest.raises(InputError, match=r"criteria.jsonl:1: is for a task '900' with another request"):
        CRITERIA_KIND.join(Task(id="900", prompt="Another?"), rows)
    both = CRITERIA_KIND.load(write(tmp_path / "criteria.jsonl", ROW, {**ROW, "id": 7, "prompt": "Another?"}))
    joined = CRITERIA_KIND.join(Task(id="900", prompt=" Another?\n"), both)
    assert joined is not None and joined.criteria is not None and joined.criteria.joined == "prompt"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [changed("dimension_weight", "insight", to=0.36)],
            "dimension_weight: the weights must be 0 or more and sum to 1",
        ),
        ([changed("criterions", "insight", 0, "weight", to=0.5)], "criterions.insight: the weights must"),
        ([changed("criterions", "insight", 0, "weight", to=-0.6)], "weight must be "),
        (
            [changed("criterions", to={"insight": ROW["criterions"]["insight"]})],
            "criterions must name compre",
        ),
        (
            [changed("dimension_weight", to={"style": 1})],
            "dimension_weight must name comprehensiveness, insight",
        ),
        ([changed("criterions", "insight", to=[])], "criterions.insight: the weights must"),
        (
            [changed("dimension_weight", to=dict.fromkeys(ROW["dimension_weight"], 1e308))],
            "dimension_weight: the weights must be 0 or more and sum to 1, not inf",
        ),
        (
            [changed("criterions", "insight", 0, "criterion", to="")],
            "criterion .*empty",
        ),
        ([changed("prompt", to=None)], "prompt must be"),
        ([changed("id", to=1.5)], "id 1.5 must be"),
        ([changed("prompt", to="\ud800")], "lone surrogate"),
        ([], "no criteria in it"),
    ],
)
def test_a_faulty_file_is_one_line(rows: list[Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "criteria.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(InputError, match=message) as raised:
        CRITERIA_KIND.load(path)
    assert "\n" not in str(raised.value)


def test_several_references_in_the_order_of_the_files(tmp_path: Path) -> None:
    first = write(
        tmp_path / "one.jsonl",
        {"id": 900, "prompt": TASK.prompt, "article": "One."},
        {"prompt": TASK.prompt, "article": "By request alone."},
        {"id": 900, "article": "<html><body><p>Two.</p></body></html>"},
    )
    second = write(tmp_path / "two.jsonl", {"id": "900", "text": "Three."})
    task = with_references(TASK, load_references([first, second]))
    assert task is not None
    assert [reference.text for reference in task.references] == ["One.", "Two.", "Three."]
    assert {reference.joined for reference in task.references} == {"id"}
    other = with_references(TASK.model_copy(update={"id": "x"}), load_references([first]))
    assert other is not None
    assert [(one.text, one.joined) for one in other.references] == [
        ("One.", "prompt"),
        ("By request alone.", "prompt"),
    ]
    assert with_references(Task(id="2", prompt="Else?"), load_references([second])) is None


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": 1}, "a reference needs one of article, report, text"),
        ({"article": "Text."}, "and `id` or `prompt`"),
        ({"id": 1, "article": " \n"}, "only white space"),
    ],
)
def test_a_faulty_reference_is_one_line(row: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        load_references([write(tmp_path / "reference.jsonl", row)])


def test_files_that_belong_to_no_report_are_refused(tmp_path: Path) -> None:
    reports = write(tmp_path / "reports.jsonl", {"id": "q1", "task": "Another?", "article": "Text."})
    criteria = write(tmp_path / "criteria.jsonl", ROW)
    references = write(tmp_path / "reference.jsonl", {"id": 900, "article": "Text."})
    with pytest.raises(InputError, match=r"criteria.jsonl: none of its rows has the id or the request"):
        load_reports([reports], TaskFiles(criteria=criteria))
    with pytest.raises(InputError, match=r"reference.jsonl: none of its rows has the id or the request"):
        load_reports([reports], TaskFiles(references=(references,)))


def test_reports_without_a_task_stay_as_they_are(tmp_path: Path) -> None:
    rows = write(
        tmp_path / "reports.jsonl",
        {"id": 900, "prompt": TASK.prompt, "article": "Text."},
        {"id": "alone", "article": "Text."},
        {"id": "other", "prompt": "Another?", "article": "Text."},
    )
    first, second, third = load_reports([rows], TaskFiles(criteria=write(tmp_path / "criteria.jsonl", ROW)))
    assert first.task is not None and first.task.criteria == CRITERIA
    assert second.task is None
    assert third.task is not None and third.task.criteria is None
