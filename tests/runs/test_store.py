from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_judge.base.errors import RunError
from local_judge.base.files import remove_partials
from local_judge.base.model import Frozen
from local_judge.runs.storage.items import file_key
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.store import RunStore


class Row(Frozen):
    text: str


@pytest.mark.parametrize(
    "hostile", ["../../x", "/etc/passwd", "a\0b", "con", "", ".", "x" * 10_000, "ид\n", "\ud800"]
)
def test_file_names_are_never_made_from_ids(hostile: str) -> None:
    key = file_key(hostile)
    assert len(key) == 16
    assert set(key) <= set("0123456789abcdef")


def test_the_file_key_is_the_start_of_the_sha256_of_the_id() -> None:
    # printf mill | sha256sum
    assert file_key("mill") == "901fac08e3b464b1"


def test_json_is_the_same_bytes_for_the_same_value(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    store.write_json("a.json", {"b": 1, "a": "ü"})
    store.write_json("b.json", {"a": "ü", "b": 1})
    assert (tmp_path / "a.json").read_bytes() == '{\n "a": "ü",\n "b": 1\n}\n'.encode()
    assert (tmp_path / "b.json").read_bytes() == (tmp_path / "a.json").read_bytes()


def test_not_a_number_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        RunStore(tmp_path).write_jsonl("x.jsonl", [{"a": float("nan")}])
    assert list(tmp_path.iterdir()) == []


def test_bytes_of_a_command_line_that_are_no_text_survive(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    argument = os.fsdecode(b"report-\xff.md")
    store.write_json("manifest.json", {"arguments": [argument]})
    assert json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8")) == {"arguments": [argument]}


def test_a_file_is_whole_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RunStore(tmp_path)
    store.write_text("a/b.json", "old")

    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.write_text("a/b.json", "new")
    assert store.read_text("a/b.json") == "old"


def test_what_dead_processes_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = tmp_path / "claims" / f".x.json.{dead.pid}.partial"
    kept = [
        tmp_path / f".y.json.{os.getpid()}.partial",
        tmp_path / ".z.json.other.partial",
        tmp_path / "w.partial",
    ]
    left.parent.mkdir()
    for path in (left, *kept):
        path.write_text("half")
    remove_partials(tmp_path)
    assert not left.exists()
    assert all(path.exists() for path in kept)


def test_a_directory_is_new_if_nothing_but_a_ledger_is_in_it(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    assert RunStore(tmp_path / "absent").is_new()
    for name in ("ledger.sqlite", "ledger.sqlite-wal", ".manifest.json.1.partial"):
        (tmp_path / name).touch()
    assert store.is_new()
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RunError, match="not empty and not a run"):
        store.is_new()


def test_what_cannot_be_written_or_read_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    for act in (lambda: RunStore(file).write_text("a", "b"), lambda: RunStore(file).is_new()):
        with pytest.raises(RunError, match=str(file)):
            act()
    store = RunStore(tmp_path)
    with pytest.raises(RunError, match=r"not a run"):
        store.read_text("cases.jsonl")
    (tmp_path / "cases.jsonl").write_text('{"id": "a"}\n')
    with pytest.raises(RunError, match=r"cases\.jsonl:1: key"):
        store.read_models("cases.jsonl", CaseRecord)
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "key": "k", "status": "done", "n_words": true}\n')
    with pytest.raises(RunError, match=r"cases\.jsonl:1: n_words"):
        store.read_models("cases.jsonl", CaseRecord)
    (tmp_path / "m.json").write_bytes(b"\xff")
    with pytest.raises(RunError, match=r"m\.json"):
        store.read_json("m.json")
    (tmp_path / "m.json").write_text("{")
    with pytest.raises(RunError, match="not JSON"):
        store.read_json("m.json")


def test_a_line_ends_at_its_end_and_not_at_what_unicode_calls_one(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    rows = [Row(text="a\u2028b"), Row(text="c\u0085d")]
    store.write_jsonl("rows.jsonl", rows)
    assert store.read_models("rows.jsonl", Row) == rows
    store.write_jsonl("none.jsonl", [])
    assert store.read_models("none.jsonl", Row) == []


def test_an_unfinished_run_lists_no_reports(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    store.unfinish()  # nothing was there
    store.write_jsonl("cases.jsonl", [Row(text="a")])
    store.write_json("manifest.json", {"config": {}})
    store.unfinish()
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]
    for name in ("cases.jsonl", "scores.jsonl"):
        with pytest.raises(RunError, match="the run is not finished"):
            store.read_models(name, Row)
    store.write_jsonl("cases.jsonl", [Row(text="a")])
    with pytest.raises(RunError, match=r"scores\.jsonl"):
        store.read_models("scores.jsonl", Row)
    store = RunStore(tmp_path / "elsewhere")
    with pytest.raises(RunError, match="elsewhere"):
        store.read_models("cases.jsonl", Row)


def test_nothing_is_written_through_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    store = RunStore(tmp_path / "run")
    store.root.mkdir()
    (store.root / "scores").symlink_to(outside)
    (store.root / f".a.json.{os.getpid()}.partial").symlink_to(outside / "mine")
    (store.root / "circle").symlink_to("circle")
    for folder in ("scores", "circle"):
        with pytest.raises(RunError, match="a link that leads out of"):
            store.write_text(f"{folder}/b.json", "{}")
    store.write_text("a.json", "{}")
    assert (outside / "mine").read_text() == "mine"
    assert [path.name for path in outside.iterdir()] == ["mine"]


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "manifest.json")
    with pytest.raises(RunError, match=r"manifest\.json: not a"):
        RunStore(tmp_path).read_json("manifest.json")
