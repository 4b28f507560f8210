"""Commands with a ledger in a real PostgreSQL server: equal files, a killed server, and no password anywhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_judge.ledger.ledger import Ledger

from tests.postgres_server import PASSWORD, PostgresServer, needs_postgres, running
from tests.stub_server import StubPlan

from ..stub_thread import StubThread, answer
from .conftest import Command, finish, start
from .test_interrupted_run import Question, arguments, asked, distinct, files, wait_for

pytestmark = [needs_postgres, pytest.mark.slow]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with pytest.MonkeyPatch.context() as patch, running() as found:
        patch.setenv("PGPASSWORD", PASSWORD)
        yield found


def stored(url: str) -> set[Question]:
    """The questions whose replies a ledger holds."""
    with Ledger.open(url, read_only=True) as ledger:
        traces = [ledger.reply(key) for key in ledger.request_keys()]
    return {
        (tuple(message.content for message in trace.messages), trace.sampling and trace.sampling.seed)
        for trace in traces
        if trace is not None
    }


def test_a_run_gives_the_same_files_though_its_database_is_killed(
    tmp_path: Path, snapshot: Path, server: PostgresServer
) -> None:
    folders = [tmp_path / name for name in ("file", "database")]
    for folder in folders:
        folder.mkdir()
    url = server.new()
    with StubThread(StubPlan(answer=answer, delay=0.02, slots=4)) as judge:
        given = arguments(tmp_path, snapshot, judge.url, names="bc")
        assert finish(start(*given, cwd=folders[0])).code == 0
        n_calls = len(judge.chats)
        process = start(*given, "--ledger", url, cwd=folders[1])
        wait_for(judge, n_calls + n_calls // 2)
        server.kill()
        ended = finish(process)  # it waits 30 s for the server
        assert ended.code == 1
        last = ended.err.splitlines()[-1]  # after that of the progress
        assert f"ledger {url}: cannot be reached (" in last
        assert last.endswith("check that the server runs, then run the same command again")
        server.start()
        answered, seen = stored(url), len(judge.chats)
        assert answered
        assert finish(start(*given, "--ledger", url, cwd=folders[1])).code == 0
        assert distinct(judge.chats[seen:]).isdisjoint(answered)
        assert {asked(one) for one in judge.chats[n_calls:]} == distinct(judge.chats[:n_calls])
        shutil.rmtree(folders[1] / "run")
        seen = len(judge.chats)
        assert finish(start(*given, "--ledger", url, cwd=folders[1])).code == 0
        assert len(judge.chats) == seen
    same, other = files(folders[0] / "run"), files(folders[1] / "run")
    written = [*other.values(), ended.err.encode()]
    assert not any(PASSWORD.encode() in one for one in written)
    for found in (same, other):
        del found["manifest.json"]  # has the command line
    assert same == other


def test_the_ledger_commands_work_on_a_database(
    tmp_path: Path,
    snapshot: Path,
    server: PostgresServer,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second, back = server.new(), server.new(), tmp_path / "back.sqlite"
    with StubThread(StubPlan(answer=answer)) as judge:
        given = arguments(tmp_path, snapshot, judge.url, names="c")
        monkeypatch.chdir(tmp_path)
        assert command(*given, "--ledger", first).code == 0
    assert command("ledger", "verify", first).code == 0
    merged = command("ledger", "merge", second, first, "--json")
    assert (merged.code, json.loads(merged.out)["conflicts"]) == (0, [])
    assert command("ledger", "merge", back, second).code == 0
    found = [json.loads(command("ledger", "stats", one, "--json").out) for one in (first, second, back)]
    assert [one["rows"] for one in found] == [found[0]["rows"]] * 3
    assert [one["calls"] for one in found] == [found[0]["calls"]] * 3
    kept = command("ledger", "gc", first, "--keep-run", "run", "--json")
    assert (kept.code, json.loads(kept.out)["replies"]) == (0, 0)
    file = tmp_path / "all.jsonl"
    assert command("ledger", "export", first, "-o", file).code == 0
    assert command("ledger", "import", back, file).code == 0
    ended = command("ledger", "stats", first.replace("judge@", "judge:secret@"))
    assert ended.code == 1
    assert "PGPASSWORD" in ended.line() and "secret" not in ended.line()
