"""Cleaned reports as rows or files; an input is never replaced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from local_judge.base.errors import InputError
from local_judge.documents.clean import Cleaned
from local_judge.runs.execution.clean import CleanedReport, write_cleaned
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.items import file_key
from local_judge.tasks.model import Task


def cleaned(*ids: str) -> list[CleanedReport]:
    return [
        CleanedReport(
            RawReport(name, b"", Task(id=name, prompt="Why?") if name == "7" else None, "a.md"), "", TEXT
        )
        for name in ids
    ]


TEXT = Cleaned(text="It cost 9 million.", removed=())


def test_a_whole_number_is_written_as_one(tmp_path: Path) -> None:
    # 16 digits are more than a number in JSON holds; ² is a digit and no number.
    ids = ("7", "07", "-7", "mill", "²", "9" * 15, "9" * 16)
    write_cleaned(tmp_path / "out.JSONL", cleaned(*ids), [])
    rows = [json.loads(line) for line in (tmp_path / "out.JSONL").read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == [7, "07", "-7", "mill", "²", 999_999_999_999_999, "9" * 16]
    assert [row["prompt"] for row in rows] == ["Why?"] + [None] * 6
    assert {row["article"] for row in rows} == {"It cost 9 million."}


def test_a_file_is_named_after_a_plain_id(tmp_path: Path) -> None:
    write_cleaned(tmp_path / "out", cleaned("mill", "../x"), [])
    assert {
        path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir()
    } == dict.fromkeys(("mill.md", f"{file_key('../x')}.md"), "It cost 9 million.")


@pytest.mark.parametrize(("out", "read"), [("a.jsonl", "a.jsonl"), (".", "mill.md"), (".", ".")])
def test_an_input_is_not_replaced(tmp_path: Path, out: str, read: str) -> None:
    for name in ("a.jsonl", "mill.md"):
        (tmp_path / name).write_text("input")
    with pytest.raises(InputError, match="--out"):
        write_cleaned(tmp_path / out, cleaned("mill"), [tmp_path / read])
    assert {path.read_text() for path in tmp_path.iterdir()} == {"input"}
