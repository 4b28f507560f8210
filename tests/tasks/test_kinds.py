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
    [(_, draft)] = kind.read(written(tmp_path / "draft.jsonl", {**row, "status": "drafted"}))
    decided = {"reviewed": draft.reviewed("Ada"), "rejected": draft.rejected("Ada")}
    rows = {status: one.model_dump(mode="json") for status, one in decided.items()}
    given, drafted, reviewed, rejected = (
        kind.load(written(tmp_path / f"{status}.jsonl", rows.get(status, {**row, "status": status})))
        for status in ("given", "drafted", "reviewed", "rejected")
    )
    task = kind.join(TASK, drafted)
    assert task is not None and kind.has(task) and getattr(task, kind.field).status == "drafted"
    known = kind.join(TASK, given)
    assert known is not None and kind.join(known, drafted) == known
    assert kind.join(known, given) == known
    changed = kind.join(known, reviewed)
    assert changed is not None and getattr(changed, kind.field).status == "reviewed"
    assert kind.join(TASK, rejected) == TASK and kind.join(known, rejected) == known


@every_kind
def test_a_row_that_was_not_drafted_is_not_reviewed(
    kind: Kind[Any], row: dict[str, Any], tmp_path: Path
) -> None:
    [(_, given)] = kind.read(written(tmp_path / "rows.jsonl", row))
    for decision in (given.reviewed, given.rejected):
        with pytest.raises(InputError, match=f"task 'mill': its {given.what} was given, not drafted"):
            decision("Ada")


@every_kind
def test_a_row_is_found_by_id_or_else_by_the_request(
    kind: Kind[Any], row: dict[str, Any], tmp_path: Path
) -> None:
    rows = kind.load(written(tmp_path / "rows.jsonl", row))
    assert kind.join(Task(id="pump", prompt="Who built the pump?"), rows) is None
    with pytest.raises(InputError, match="another request"):
        kind.join(Task(id="mill", prompt="Who built it?"), rows)
    renamed = Task(id="pump", prompt=f" {TASK.prompt}\n")
    found = kind.join(renamed, rows)
    if kind is GUIDANCE_KIND:  # by id alone
        assert found is None
        return
    assert found is not None and getattr(found, kind.field).joined == "prompt"
    twin = {**row, **({"id": "rye"} if "id" in row else {"task_id": "rye"})}
    with pytest.raises(InputError, match=rf"rows.jsonl:2: {kind.clash} .*rows.jsonl:1; keep one"):
        kind.join(renamed, kind.load(written(tmp_path / "rows.jsonl", row, twin)))


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
