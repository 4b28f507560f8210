"""Files of rows, whatever the rows are."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from local_judge.tasks.guidance import GUIDANCE_KIND, GuidanceRow
from local_judge.tasks.rowfile import RowFile


def row(task: str) -> GuidanceRow:
    return GuidanceRow(task_id=task, text=f"On {task}.", status="drafted", task=f"What of {task}?")


def test_rows_put_in_one_by_one_are_not_read_again_for_each(tmp_path: Path) -> None:
    path = tmp_path / "guidance.jsonl"
    read: list[str] = []

    class Counted(GuidanceRow):
        @classmethod
        def parse(cls, data: dict[str, Any], place: str) -> Self:
            read.append(place)
            return super().parse(data, place)

    file = RowFile[GuidanceRow](path, Counted)
    order = {name: place for place, name in enumerate("abcd")}
    for name in "dbca":
        assert file.add(row(name), order)
    assert not file.add(row("b"), order)
    assert read == []  # there was no file, and what was written is known
    assert list(GUIDANCE_KIND.file(path).rows()) == list("abcd")
    assert [entry.place for entry in file.found().rows] == [
        entry.place for entry in GUIDANCE_KIND.file(path).found().rows
    ]


def test_what_others_write_meanwhile_is_read(tmp_path: Path) -> None:
    path = tmp_path / "guidance.jsonl"
    mine, theirs = GUIDANCE_KIND.file(path), GUIDANCE_KIND.file(path)
    order = {"a": 0, "b": 1, "c": 2}
    assert mine.add(row("c"), order)
    assert theirs.add(row("b"), order)
    assert mine.add(row("a"), order)
    assert not mine.add(row("b"), order)
    assert list(theirs.rows()) == ["a", "b", "c"]
    theirs.replace(row("b"), row("b").reviewed("Ada"))
    assert mine.rows()["b"].status == "reviewed"
