"""A run is replayed from its ledger without a server, and says what the ledger does not have."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from local_judge.demo.outcome import sample_folder
from tests.run_files import run_files
from tests.stub_server import StubPlan

from ..stub_thread import PRESET, StubThread, answer
from .conftest import Command


def write_preset(folder: Path, extra: str = "") -> Path:
    """A preset with so short a context that the prompts' tokens have to be counted."""
    path = folder / "stub.yaml"
    text = PRESET.format(concurrency=8, timeout=60.0).replace("context_tokens: 32768", "context_tokens: 6000")
    path.write_text(text + extra, encoding="utf-8")
    return path


@pytest.fixture
def given(tmp_path: Path, snapshot: Path) -> list[str]:
    """Arguments of a run; the judge's server is not among them."""
    sample = sample_folder()
    paths = [sample / "report.md", "--tasks", sample / "tasks.jsonl", "--snapshot", snapshot]
    return ["run", *map(str, paths), "--judge", str(write_preset(tmp_path))]


@pytest.fixture
def done(tmp_path: Path, given: list[str], command: Command) -> Path:
    """A finished run, whose server is gone."""
    with StubThread(StubPlan(answer=answer)) as server:
        ended = command(*given, "--base-url", server.url, "--out", tmp_path / "first")
    assert ended.code == 0, ended.err
    return tmp_path / "first"


def test_a_replay_needs_no_server_and_writes_the_same_bytes(
    tmp_path: Path, given: list[str], done: Path, command: Command
) -> None:
    ledger = done / "ledger.sqlite"
    with closing(sqlite3.connect(ledger)) as connection:
        assert connection.execute("SELECT count(*) FROM token_counts").fetchone()[0] > 0
    before = ledger.read_bytes()
    ended = command(*given, "--replay", "--ledger", ledger, "--out", tmp_path / "second")
    assert ended.code == 0, ended.err
    assert run_files(tmp_path / "second") == run_files(done)
    assert ledger.read_bytes() == before
    manifests = [json.loads((path / "manifest.json").read_bytes()) for path in (done, tmp_path / "second")]
    assert manifests[0]["judges"] == manifests[1]["judges"]
    assert command(*given, "--replay", "--out", done).code == 0


def test_a_replay_of_failures_advises_another_judge(
    tmp_path: Path, given: list[str], command: Command
) -> None:
    with StubThread(StubPlan(answer=lambda asked: "nothing")) as server:
        first = command(*given, "--base-url", server.url, "--out", tmp_path / "first")
    assert first.code == 3
    ended = command(
        *given, "--replay", "--ledger", tmp_path / "first/ledger.sqlite", "--out", tmp_path / "second"
    )
    for err in (first.err, ended.err):
        [line] = [line for line in err.splitlines() if line.startswith("Missing:")]
        assert "Repeating the command does not help: use another judge." in line


def test_a_call_without_a_reply_is_a_failure_that_is_counted_and_named(
    tmp_path: Path, given: list[str], done: Path, command: Command
) -> None:
    ledger = done / "ledger.sqlite"
    with closing(sqlite3.connect(ledger)) as connection, connection:
        connection.execute(
            "DELETE FROM replies WHERE rowid = (SELECT max(rowid) FROM replies WHERE logprobs IS NULL)"
        )
    ended = command(*given, "--replay", "--ledger", ledger, "--out", tmp_path / "second")
    assert ended.code == 3
    [line] = [line for line in ended.err.splitlines() if line.startswith("Missing:")]
    assert "(the ledger has no reply). Run the command without --replay" in line
    claims = tmp_path / "second" / "claims.jsonl"
    failures = [one["failure"] for one in json.loads(claims.read_bytes())["verdicts"] if one["failure"]]
    assert {one["kind"] for one in failures} == {"not_in_ledger"}
    assert f"Missing: {len(failures)} of" in line
    assert all("does not have a reply to this call by judge 'stub'" in one["detail"] for one in failures)
    # The call is not stored as failed, and the same directory is completed with a server.
    with closing(sqlite3.connect(ledger)) as connection:
        assert connection.execute("SELECT count(*) FROM failures").fetchone()[0] == 0
    with StubThread(StubPlan(answer=answer)) as server:
        again = command(*given, "--base-url", server.url, "--ledger", ledger, "--out", tmp_path / "second")
        assert again.code == 0, again.err
        assert len(server.chats) == 1
    assert run_files(tmp_path / "second") == run_files(done)


def test_a_judge_that_wrote_no_replies_is_refused(
    tmp_path: Path, given: list[str], done: Path, command: Command
) -> None:
    says = "has no replies by judge 'stub' as its preset describes it"
    ended = command(*given, "--replay", "--out", tmp_path / "second")
    assert ended.code == 1
    assert says in ended.line()
    assert not (tmp_path / "second" / "manifest.json").exists()
    write_preset(tmp_path, "structured: none\n")
    ended = command(*given, "--replay", "--ledger", done / "ledger.sqlite", "--out", tmp_path / "second")
    assert ended.code == 1
    assert says in ended.line()


def test_a_replay_makes_no_calls_to_plan(given: list[str], done: Path, command: Command) -> None:
    ended = command(*given, "--replay", "--dry-run", "--out", done)
    assert ended.code == 1
    assert "leave out --replay" in ended.line()
