"""`local-judge tasks show criteria` and `review`; `draft` is in test_race_commands.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from local_judge.tasks.criteria import CRITERIA_KIND, CriteriaRow

from ..protocols.race.race_cases import ROW
from .conftest import Command


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "criteria.jsonl"
    for identity in ("a", "b", "c"):
        row = {**ROW, "id": identity, "prompt": f"What of [b]{identity}[/b]?\x1b[31m", "status": "drafted"}
        CRITERIA_KIND.file(path).add(CriteriaRow.model_validate(row), {})
    return path


def test_show(command: Command, file: Path) -> None:
    table = command("tasks", "show", "criteria", file).out.splitlines()
    assert [name.strip() for name in table[0].split("┃")][:3] == ["task", "status", "comprehensiveness"]
    weight, number = ROW["dimension_weight"]["insight"], len(ROW["criterions"]["insight"])
    assert f"{weight:.2f} ({number})" in table[2]
    shown = command("tasks", "show", "criteria", file, "--task", "b").out
    assert "What of [b]b[/b]? [31m" in shown and "\x1b" not in shown
    assert f"instruction following ({ROW['dimension_weight']['instruction_following']:.2f})" in shown
    assert ROW["criterions"]["insight"][0]["criterion"] in shown
    dumped = json.loads(command("tasks", "show", "criteria", file, "--json").out)
    assert [row["id"] for row in dumped] == ["a", "b", "c"]
    assert (
        "`local-judge tasks show criteria" in command("tasks", "show", "criteria", file, "--task", "z").line()
    )


def test_review_by_flags(command: Command, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    review = ("tasks", "review", "criteria", file, "--reviewer", "Ada")
    assert command(*review, "--task", "a", "--reject").out == "task a: rejected\n"
    name = ROW["criterions"]["insight"][0]["criterion"]
    monkeypatch.setenv("VISUAL", f"sed -i 's/criterion: {name}$/criterion: Mine/'")
    assert command(*review, "--task", "b", "--edit").out == "task b: reviewed\n"
    monkeypatch.setenv("VISUAL", "sed -i 's/weight: 0/weight: 7/'")
    line = command(*review, "--task", "c", "--edit").line()
    assert "task 'c'" in line and "sum to 1" in line
    assert command(*review, "--accept").out == "task c: reviewed\n"
    rows = CRITERIA_KIND.file(file).load()
    assert [(row.status, row.reviewer) for row in rows.values()] == [
        ("rejected", "Ada"),
        ("reviewed", "Ada"),
        ("reviewed", "Ada"),
    ]
    assert rows["b"].criterions["insight"][0].criterion == "Mine"
    assert rows["b"].before is not None and rows["b"].before.criterions["insight"][0].criterion == name


@pytest.mark.parametrize(
    ("reviewer", "line"),
    [
        (" ", "local-judge: --reviewer is empty"),
        ("\udcff", "local-judge: --reviewer is not UTF-8: '\\udcff'"),
    ],
)
def test_a_review_has_a_reviewer(command: Command, file: Path, reviewer: str, line: str) -> None:
    before = file.read_bytes()
    assert command("tasks", "review", "criteria", file, "--reviewer", reviewer, "--accept").line() == line
    assert (file.read_bytes(), list(file.parent.glob(".*"))) == (before, [])
