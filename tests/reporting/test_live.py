"""The state of a run from what it writes: each number from a journal and a ledger made by hand."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from local_judge.base.errors import RunError
from local_judge.ledger.errors import LedgerMissing
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.requests import Identified, Reply, Request
from local_judge.ledger.tail import LedgerTail
from local_judge.prompts import Prompt
from local_judge.reporting.live import LiveRun, LiveState, ending, lines
from local_judge.runs.storage.items import file_key
from local_judge.runs.storage.lock import LOCK, held_since, locked
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.resume import Kept, begin_journal
from local_judge.runs.storage.store import FORMAT, RunStore
from serving.types import EngineIdentity, Generation, Sampling, Usage

JUDGE, OTHER = (
    Identified.of(EngineIdentity(model=model, engine="scripted", engine_version="1"))
    for model in ("m", "other")
)


def at(clock: str) -> str:
    return f"2026-01-01T{clock}+00:00"


def seconds(clock: str) -> float:
    return datetime.fromisoformat(at(clock)).timestamp()


NOW = seconds("00:10:00")


async def put(ledger: Path, judge: Identified, created: str, latency: float, tokens: tuple[int, ...]) -> None:
    request = Request(judge, Prompt(shared="", own=created, prefix_key="p"), "generate", sampling=Sampling())
    prompt, cached, generated = tokens
    usage = Usage(prompt_tokens=prompt, cached_tokens=cached, completion_tokens=generated)
    with Ledger.open(ledger) as opened:
        reply = Reply.of(request.key, Generation(text="", usage=usage), at(created), latency)
        await opened.put(request, reply)


def fail(ledger: Path, created: str, kind: str) -> None:
    with closing(sqlite3.connect(ledger)) as connection, connection:
        sql = "INSERT INTO failures SELECT key, ?, '', 1, ? FROM requests WHERE judge=? LIMIT 1"
        connection.execute(sql, (kind, at(created), JUDGE.digest))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunStore:
    """A run of five reports and one judge, with a hostile name, that began before the command that continues it."""
    store = RunStore(tmp_path / "run")
    identity = JUDGE.identity.model_dump(mode="json")
    manifest = {
        "format_version": FORMAT,
        "config": {"protocols": ["fact"]},
        "judges": [{"name": "\x1b[31mred [bold]", "identity": identity, "sampling": {}}],
        "reports": {"n": 5, "sha256": ""},
    }
    store.write_json("manifest.json", manifest)
    store.write_jsonl("inputs.jsonl", ({"id": id} for id in "abcde"))
    begin_journal(store, Kept({}, False), ())
    written = {"a": "00:04:00", "b": "00:05:15", "c": "00:07:00", "d": "00:09:00"}
    for id, clock in written.items():
        with monkeypatch.context() as patch:
            patch.setattr("time.time", lambda clock=clock: seconds(clock))
            store.append(file_key(id), CaseRecord(id=id, key=file_key(id), status="done"), {}, complete=True)
    os.utime(store.root / "manifest.json", (0, seconds("00:01:00")))
    return store


@pytest.fixture
async def ledger(store: RunStore) -> Path:
    path = store.ledger
    await put(path, JUDGE, "00:04:00", 1, (1000, 0, 1000))  # before the command
    await put(path, JUDGE, "00:05:10", 10, (100, 40, 10))
    await put(path, JUDGE, "00:08:58", 4, (200, 100, 20))
    await put(path, OTHER, "00:09:50", 1, (5000, 0, 5000))  # another run's judge
    await put(path, JUDGE, "00:09:50", 5, (400, 350, 40))
    fail(path, "00:04:00", "timeout")
    for clock in ("00:06:00", "00:09:59"):
        fail(path, clock, "timeout")
    fail(path, "00:09:59", "server_error")
    return path


@pytest.fixture
def running(store: RunStore) -> Iterator[None]:
    """A command that makes the run since 00:05:00."""
    with locked(store.root):
        (store.root / LOCK).write_text(json.dumps({"pid": 1, "host": "h", "since": at("00:05:00")}))
        yield


async def test_every_number(store: RunStore, ledger: Path, running: None) -> None:
    with LiveRun(store.root) as live:
        state = live.state(NOW)
        assert (state.status, state.reports_done, state.reports) == ("running", 4, 5)
        # 100 + 200 + 400 prompt tokens, 40 + 100 + 350 of them cached, 10 + 20 + 40 generated.
        assert (state.calls, state.prompt_tokens, state.cached_tokens) == (3, 700, 490)
        assert state.generated_tokens == 70
        assert state.failures == {"timeout": 2, "server_error": 1}
        assert state.seconds == 300  # since 00:05:00
        latest = state.last_minute
        assert latest is not None
        # The calls that ended at 00:09:02 and 00:09:55.
        assert latest.calls == pytest.approx(2 / 60)
        assert latest.prompt_tokens == pytest.approx(600 / 60)
        assert latest.generated_tokens == pytest.approx(60 / 60)
        assert latest.cached_share == pytest.approx(450 / 600)
        # `a` was kept, and `b` needed no call: it was complete before the first call ended, at 00:05:20. So 2 of
        # 3 reports took the 290 s since the first call began, and 1 is left.
        assert state.seconds_left == pytest.approx(290 / 2)
        assert lines(state) == [
            "4/5 reports: 3 calls, 700 prompt tokens (70 % cached), 70 generated tokens",
            "last minute: 0.03 calls/s, 10 tokens/s in, 1 out, 75 % cached",
            "3 failures: server_error 1, timeout 2",
            "judge  [31mred \\[bold]",
            "5 min 0 s, about 2 min 25 s left",
        ]
        await put(ledger, JUDGE, "00:10:01", 1, (1, 1, 1))
        later = live.state(seconds("00:10:05"))
        assert (later.calls, later.prompt_tokens) == (4, 701)
        # The calls that ended at 00:09:55 and 00:10:02; the one at 00:09:02 is older than a minute.
        assert later.last_minute is not None
        assert later.last_minute.prompt_tokens == pytest.approx(401 / 60)


async def test_rows_are_read_once_and_old_ones_not(ledger: Path) -> None:
    tail = LedgerTail(ledger, seconds("00:09:00"), frozenset([JUDGE.digest]))
    assert [call.ended for call in tail.answered()] == [seconds("00:09:55"), seconds("00:09:02")]
    assert [call.kind for call in tail.failed()] == ["server_error", "timeout"]
    assert list(tail.answered()) == tail.failed() == []
    await put(ledger, JUDGE, "00:10:01", 1, (1, 1, 1))
    with closing(sqlite3.connect(ledger)) as connection, connection:
        connection.execute("UPDATE replies SET prompt_tokens='x' WHERE rowid=1")  # read earlier
        sql = "INSERT INTO replies SELECT 'k', '', NULL, '', NULL, NULL, 'x', 1, 1, 'never', 1, '' FROM replies LIMIT 1"
        connection.execute(sql)  # damaged
    assert [call.ended for call in tail.answered()] == [seconds("00:10:02")]
    tail.close()


def test_before_the_manifest_a_run_is_starting(tmp_path: Path) -> None:
    with locked(tmp_path / "run"), LiveRun(tmp_path / "run") as live:
        state = live.state((held_since(tmp_path / "run") or 0) + 90)
        assert lines(state) == ["starting: no manifest yet; 1 min 30 s"]


def test_without_a_process_a_run_was_stopped(store: RunStore) -> None:
    (store.root / LOCK).write_text("{}")  # left by a killed process
    with LiveRun(store.root) as live:
        state = live.state(NOW)
    assert state == LiveState(status="stopped", reports_done=4, reports=5, judges=state.judges)
    assert ending(state) == "stopped after 4 of 5 reports; repeat the command to continue"


def test_with_its_list_of_reports_a_run_is_finished(store: RunStore) -> None:
    store.write_text("cases.jsonl", "")
    with LiveRun(store.root) as live:
        assert ending(live.state(NOW)) == "finished: 5 of 5 reports"


def test_the_ledger_of_a_running_run_must_be_there(store: RunStore, running: None) -> None:
    with LiveRun(store.root) as live, pytest.raises(LedgerMissing, match="name the run's ledger"):
        live.state(NOW)


@pytest.mark.parametrize("files", [(), ("notes.txt",)])
def test_a_folder_that_is_no_run(tmp_path: Path, files: tuple[str, ...]) -> None:
    for name in files:
        (tmp_path / name).touch()
    with LiveRun(tmp_path) as live, pytest.raises(RunError, match="not a run"):
        live.state(NOW)
