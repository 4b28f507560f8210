"""Rows of files, and messages about them."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from indexes.archive.cdxj import Cdxj
from indexes.errors import DigestMismatch
from local_judge.base.errors import InputError, RunError, one_line
from local_judge.base.rows import attributes_of, read_jsonl
from local_judge.reporting.formats import _csv  # pyright: ignore[reportPrivateUsage]
from local_judge.runs.execution.qualifications import load_qualification
from local_judge.runs.storage.store import RunStore


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r"])
def test_no_text_of_a_table_is_a_formula(sign: str) -> None:
    text = _csv(("report", "value"), [{"report": f"{sign}cmd|'/C calc'!A0", "value": -0.5}])
    [row] = csv.DictReader(io.StringIO(text, newline=""))
    assert row["report"].startswith("'")
    assert row["report"].endswith("cmd|'/C calc'!A0")
    assert row["value"] == "-0.5"  # a number stays one


def test_no_text_of_a_table_holds_a_control_character() -> None:
    text = _csv(("report",), [{"report": "a\x1b[31m\x00\x9bb"}, {"report": None}])
    assert text == "report\na [31m  b\n\n" or text == 'report\na [31m  b\n""\n'


def test_a_message_is_one_short_line() -> None:
    path = "/home/" + "a" * 250 + "/" + "b" * 250
    assert one_line(f"{path}: no such file") == f"{path}: no such file"
    assert one_line("id 'stands\x1b[2J\ntwice'") == "id 'stands [2J twice'"
    assert one_line(f"id {'word ' * 1_000!r} stands twice; name it once").endswith(
        "…' stands twice; name it once"
    )
    assert len(one_line("x" * 100_000)) < 300
    assert len(one_line("it's \"so " * 100_000)) < 1_600


def test_a_long_foreign_value_is_not_echoed(tmp_path: Path) -> None:
    line = {"url": "https://example.org/", "file": "no " * 5_000 + "\x1b[2J"}
    (tmp_path / "pages.jsonl").write_text(json.dumps(line))
    ended = subprocess.run(
        [sys.executable, "-m", "local_judge", "snapshot", "import", str(tmp_path), str(tmp_path / "snap")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"local-judge: {tmp_path}/pages.jsonl:1: no file 'no no ")
    assert ended.stderr.count("\n") == 1
    assert len(ended.stderr) < 500


def test_deep_nesting_is_no_json(tmp_path: Path) -> None:
    """Python's parser answers it with a RecursionError, which is no ValueError."""
    deep = "[" * 100_000
    (tmp_path / "deep.json").write_text(deep)
    (tmp_path / "cdxj").write_text(f"org,example)/ 20240101000000 {deep}\n")
    with pytest.raises(RunError, match="not JSON"):
        RunStore(tmp_path).read_json("deep.json")
    with pytest.raises(InputError, match="not a qualification that can be read"):
        load_qualification(tmp_path / "deep.json")
    with pytest.raises(InputError, match="not JSON"):
        list(read_jsonl(tmp_path / "deep.json"))
    with pytest.raises(DigestMismatch, match="a line cannot"):
        list(Cdxj(tmp_path / "cdxj").find("https://example.org/"))


def test_attributes_are_short_values_of_a_row() -> None:
    row = {
        "id": "a",
        "prompt": "Why?",
        "topic": " Law ",
        "tier": 2,
        "kept": True,
        "score": 0.5,
        "empty": " ",
        "rationale": "x" * 101,
        "lines": "one\ntwo",
        "domain": "法律",
    }
    assert attributes_of(row, {"prompt"}) == (("domain", "法律"), ("tier", "2"), ("topic", "Law"))
