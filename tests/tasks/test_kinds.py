"""What all kinds of what is written for tasks have in common."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import InputError
from local_judge.tasks.checklists import CHECKLIST_KIND
from local_judge.tasks.criteria import CRITERIA_KIND
from local_judge.tasks.dimensions import DIMENSIONS_KIND
from local_judge.tasks.guidance import GUIDANCE_KIND
from local_judge.tasks.kinds import Kind
from local_judge.tasks.model import Task
from local_judge.tasks.plans import PLAN_KIND

from ..protocols.deepresearcheval.dre_cases import ROW as DIMENSIONS
from ..protocols.race.race_cases import ROW as CRITERIA

TASK = Task(id="mill", prompt="What did the mill cost?")
OWN = {"task_id": TASK.id, "task": TASK.prompt}
ROWS: list[tuple[Kind[Any], dict[str, Any]]] = [
    (GUIDANCE_KIND, {**OWN, "text": "Name the cost."}),
    (CRITERIA_KIND, {**CRITERIA, "id": TASK.id, "prompt": TASK.prompt}),
    (DIMENSIONS_KIND, {**DIMENSIONS, **OWN}),
    (CHECKLIST_KIND, {**OWN, "items": ["Does the report name the cost?"]}),
    (PLAN_KIND, {**OWN, "key_information": [{"question": "Does the report name the cost?"}]}),
]
every_kind = pytest.mark.parametrize(("kind", "row"), ROWS, ids=[kind.field for kind, _ in ROWS])


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@every_kind
def test_a_draft_is_joined_and_never_takes_the_place_of_what_was_given(
    kind: Kind[Any], row: dict[str, Any], tmp_path: Path
) -> None:
    given, drafted, rejected = (
        kind.load(written(tmp_path / f"{status}.jsonl", {**row, "status": status}))
        for status in ("given", "drafted", "rejected")
    )
    task = kind.join(TASK, drafted)
    assert task is not None and kind.has(task) and getattr(task, kind.field).status == "drafted"
    known = kind.join(TASK, given)
    assert known is not None and kind.join(known, drafted) == known
    assert kind.join(known, given) == known
    assert kind.join(TASK, rejected) == TASK
    assert kind.join(Task(id="pump", prompt="Who built the pump?"), drafted) is None


@every_kind
def test_a_task_has_one_row(kind: Kind[Any], row: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"rows.jsonl:2: task id 'mill' appears twice"):
        kind.read(written(tmp_path / "rows.jsonl", row, row))


@every_kind
def test_a_file_holds_what_was_written(kind: Kind[Any], row: dict[str, Any], tmp_path: Path) -> None:
    [(_, first)] = kind.read(written(tmp_path / "rows.jsonl", row))
    file = kind.file(tmp_path / "copy.jsonl")
    assert file.add(first, {}) and not file.add(first, {})
    assert kind.read(file.path) == [(f"{file.path}:1", first)]
