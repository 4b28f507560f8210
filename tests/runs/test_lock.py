"""One process at a time: named to the second, gone with its holder, taken over after a kill."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_judge.base.errors import RunError
from local_judge.runs.storage.lock import LOCK, locked

ROOT = Path(__file__).resolve().parents[2]

HOLDER = """
import sys, time
from pathlib import Path
from local_judge.runs.storage.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def holder(root: Path) -> subprocess.Popen[str]:
    """A process that holds the lock of `root` until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(root)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_told_who_holds_it_and_takes_over_after_a_kill(tmp_path: Path) -> None:
    root = tmp_path / "new" / "run"
    with holder(root) as process:
        message = (
            rf"run: process {process.pid} on \S+, since 20\d\d-\S+, is writing to it; wait until it ends"
        )
        with pytest.raises(RunError, match=message) as caught, locked(root):
            raise AssertionError
        assert "\n" not in str(caught.value)
        process.kill()
        process.wait()
    assert (root / LOCK).exists()  # left by the kill
    with locked(root):
        assert f'"pid": {os.getpid()}' in (root / LOCK).read_text()
    assert list(root.iterdir()) == []  # nothing with a clock's time stays


def test_what_the_file_says_is_only_for_the_message(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text('{"pid": 1, "host": "elsewhere", "since": "1999"}')
    with locked(tmp_path):
        (tmp_path / LOCK).write_text("[" * 10_000)
        with pytest.raises(RunError, match="another process is writing"), locked(tmp_path):
            raise AssertionError


def test_the_lock_is_given_back_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        raise ZeroDivisionError
    with locked(tmp_path):
        pass


def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked(tmp_path):
        assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == (
        f"{tmp_path}: its file system has no locks; do not start a second command there now\n"
    )


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be locked"), locked(tmp_path / "file" / "run"):
        raise AssertionError
