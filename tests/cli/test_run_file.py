"""Run files: one YAML file for a whole evaluation."""

from __future__ import annotations

import json
import re
import shutil
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from local_judge.base.errors import ConfigError
from local_judge.runs.planning.run_file import RunFile, load_run_file

from ..stub_thread import StubThread
from .conftest import Command


@pytest.fixture
def run_file(tmp_path: Path, report: Path, snapshot: Path, preset: Path, server: StubThread) -> Path:
    """A run file beside its report and preset."""
    path = tmp_path / "eval.yaml"
    path.write_text(
        f"reports: [{report.name}]\njudges: [./{preset.name}]\nbase_urls: ['{server.url}']\nsnapshot: {snapshot}\n"
        "out: run\nprotocols: [deer]\nsettings: {deer: {parts: [verification]}}\n"
    )
    return path


def test_a_run_file_is_a_whole_evaluation_from_any_folder(
    command: Command, run_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run_file.parent / "elsewhere").mkdir()
    monkeypatch.chdir(run_file.parent / "elsewhere")
    ended = command("run", "../eval.yaml", "--json")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    assert [case["id"] for case in found["cases"]] == ["mill"] and "aggregates" in found
    assert (run_file.parent / "run" / "manifest.json").exists()


def test_options_override_the_file_and_the_file_the_environment(
    command: Command, run_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_JUDGE_JUDGE", "qwen3-14b")
    monkeypatch.setenv("LOCAL_JUDGE_LEDGER", "by_variable.sqlite")
    monkeypatch.chdir(run_file.parent)
    options = ("--judge", "qwen3-8b", "--method", "scored", "--attempts", "2", "--set", "deer.scale=5")
    printed = command("run", run_file, *options, "--print-config").out
    copy = run_file.with_name("copy.yaml")
    copy.write_text(printed)
    file = load_run_file(copy, {})
    assert (file.judges, file.attempts, file.claims.method) == (("qwen3-8b",), 2, "scored")
    assert file.settings == {"deer": {"parts": ["verification"], "scale": 5}}
    assert file.ledger == run_file.parent / "by_variable.sqlite"
    assert load_run_file(run_file, {}, {"judges": ("other",)}).judges == (str(run_file.parent / "stub.yaml"),)


def test_paths_start_at_the_files_folder_and_a_tilde_is_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    path = folder / "eval.yaml"
    path.write_text(
        "reports: [a.md, ~/b.md]\nsnapshot: ~/snapshot\njudges: [qwen3-8b, ~/mine.yaml]\n"
        "protocols: [race, dream, deer]\ntasks: ~nobody-has-this-name/t.jsonl\n"
        "settings:\n  race: {criteria: static, criteria_file: own.yaml}\n  deer: {rubric: ~/texts}\n"
        "  dream: {authority: {ratings_file: ../ratings.jsonl}}\n"
    )
    home = tmp_path / "home"
    with as_file(files("local_judge.protocols.deer.rubric") / "data") as texts:
        shutil.copytree(texts, home / "texts")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    file = load_run_file(Path("there/eval.yaml"), {"settings": {"race": {"mode": "pointwise"}}})
    assert [str(one) for one in file.reports] == ["there/a.md", f"{home}/b.md"]
    assert (str(file.snapshot), file.judges) == (f"{home}/snapshot", ("qwen3-8b", f"{home}/mine.yaml"))
    assert str(file.tasks) == "there/~nobody-has-this-name/t.jsonl"
    race = {"criteria": "static", "criteria_file": "there/own.yaml", "mode": "pointwise"}
    assert file.settings["race"] == race and file.settings["deer"] == {"rubric": f"{home}/texts"}
    assert file.settings["dream"] == {"authority": {"ratings_file": "there/../ratings.jsonl"}}


def test_a_printed_file_says_the_same_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = {
        "reports": ["a.md"],
        "out": "run",
        "judges": ["./mine.yaml", "qwen3-8b"],
        "protocols": ["race"],
    }
    own = {"race": {"criteria": "static", "criteria_file": "own.yaml"}}
    printed = load_run_file(None, {**options, "settings": own}).as_yaml()
    (tmp_path / "elsewhere").mkdir()
    copy = tmp_path / "elsewhere" / "copy.yaml"
    copy.write_text(printed)
    file = load_run_file(copy, {})
    assert (file.reports, file.out) == ((tmp_path / "a.md",), tmp_path / "run")
    assert file.judges == (str(tmp_path / "mine.yaml"), "qwen3-8b")
    assert file.settings["race"]["criteria_file"] == str(tmp_path / "own.yaml")
    assert load_run_file(copy, {}).as_yaml() == printed


def test_without_a_file_the_defaults_are_printed(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "eval.yaml"
    path.write_text(command("run", "--print-config").out)
    assert load_run_file(path, {}) == RunFile()


def test_what_a_run_needs_is_asked_for(command: Command, tmp_path: Path, run_file: Path) -> None:
    (tmp_path / "empty.yaml").write_text("{}\n")
    assert "with the key `reports`" in " ".join(command("run", tmp_path / "empty.yaml").err.split())
    assert command("run").code == 2
    assert "missing" not in command("run").err


def test_only_one_run_file_is_taken(command: Command, tmp_path: Path, run_file: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("out: there\n")
    assert command("run", run_file, other).line() == (
        f"local-judge: {other}: a second run file; give one run file per command"
    )
    missing = tmp_path / "none.yaml"
    assert command("run", missing).line() == (f"local-judge: {missing}: no such file")


def test_a_missing_report_of_a_run_file_is_named_with_the_file(
    command: Command, tmp_path: Path, run_file: Path, report: Path
) -> None:
    report.unlink()
    assert command("run", run_file).line() == (
        f"local-judge: {run_file}: reports: {report}: no such file or folder"
    )
    other = tmp_path / "other.md"
    assert command("run", run_file, other).line() == f"local-judge: {other}: no such file or folder"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("judge: [x]\n", "judge: unknown key.* judges"),
        ("system: '  '\n", "system .*empty"),
        ("attempts: 0\n", "attempts .*at least 1"),
        ("snapshott: there\n", "snapshott: unknown key.* snapshot"),
        ("settings: {deer: {parts: [x]}}\n", r"settings\.deer\.parts: 'x' .*verification, rubric"),
        ("date: '2026-13-01'\n", "date: '2026-13-01' .*YYYY-MM-DD"),
        ("reports: 7\n", r"reports .*list.* \[7\]"),
        ("- a\n", "expected a mapping"),
    ],
)
def test_a_mistake_is_one_line_with_the_file_and_the_key(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "eval.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_run_file(path, {})
    assert str(caught.value).startswith(f"{path}: ") and re.search(says, str(caught.value))
