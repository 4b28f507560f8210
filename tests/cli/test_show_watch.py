"""`show --watch` beside a run in another process, until the run ends or is killed."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stub_server import StubPlan

from ..stub_thread import StubThread, answer
from ..waiting import wait_until
from .conftest import ROOT, Command, finish, start
from .test_interrupted_run import arguments, stored, wait_for

pytestmark = pytest.mark.slow

PLAN = StubPlan(answer=answer)


def test_a_run_is_watched_until_its_end(tmp_path: Path, snapshot: Path, command: Command) -> None:
    with StubThread(PLAN) as server:
        server.hold(10)
        run = start(*arguments(tmp_path, snapshot, server.url), cwd=tmp_path)
        wait_for(server, 12)
        wait_until(lambda: stored(tmp_path / "run/ledger.sqlite"))
        state = json.loads(command("show", tmp_path / "run", "--watch", "--once", "--json").out)
        assert (state["status"], state["reports"], state["judges"]) == ("running", 3, ["stub"])
        assert 0 < state["calls"] < len(server.chats)
        assert state["last_minute"]["calls"] > 0
        once = command("show", tmp_path / "run", "--watch", "--once")
        assert once.code == 0 and "/3 reports: " in once.out and " calls/s, " in once.out
        watching = start("show", "run", "--watch", cwd=tmp_path)
        assert watching.stdout is not None
        assert "/3 reports: " in watching.stdout.readline()
        shown = in_terminal(tmp_path, server.release)
        assert finish(run).code == 0
    ended = finish(watching)
    assert (ended.code, ended.err) == (0, "")
    last = ended.out.splitlines()[-1]
    assert last == "run: finished: 3 of 3 reports"
    assert "last minute: " in shown and shown.rstrip().endswith(last)


def in_terminal(folder: Path, shown: Callable[[], None]) -> str:
    """What `show --watch` draws in a terminal until the run ends; `shown` is called once it has drawn something."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "local_judge", "show", "run", "--watch"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=theirs) as process:
        os.close(theirs)
        parts: list[bytes] = []
        try:
            while part := os.read(ours, 65536):
                parts.append(part)
                if len(parts) == 1:
                    shown()
        except OSError:  # the terminal is closed
            pass
        os.close(ours)
        assert process.wait(120) == 0
    return b"".join(parts).decode()


def test_a_killed_run_was_stopped(tmp_path: Path, snapshot: Path, command: Command) -> None:
    with StubThread(PLAN) as server:
        server.hold(10)
        run = start(*arguments(tmp_path, snapshot, server.url), cwd=tmp_path)
        wait_for(server, 12)
        run.kill()
        assert finish(run).code == -signal.SIGKILL
    ended = command("show", tmp_path / "run", "--watch")
    assert ended.code == 1
    assert " of 3 reports; repeat " in ended.out
    assert ended.out.count("\n") == 1 and "stopped after" in ended.out
    state = json.loads(command("show", tmp_path / "run", "--watch", "--json").out)
    assert (state["status"], state["last_minute"]) == ("stopped", None)


def test_a_folder_that_is_no_run_is_one_line(tmp_path: Path, command: Command) -> None:
    ended = command("show", tmp_path, "--watch")
    assert ended.code == 1
    assert ended.line() == f"local-judge: {tmp_path}: not a run; `local-judge run` makes one"
