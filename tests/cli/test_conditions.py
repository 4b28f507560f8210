"""Every command under everything that a machine can lack: one line at most, and an exit code that is documented.

And every command under strace: no packet to any address but the engine's.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, NamedTuple, Self

import pytest

from local_judge.cli import main
from local_judge.cli.faults import DEBUG, LONGEST_LINE, line_of
from local_judge.errors import ConfigError
from serving.stub import StubPlan

from ..stub_thread import StubThread, leaning
from .conftest import ROOT, Command
from .every_command import COMMANDS, answering, commands, make_world, words
from .forked import CONDITIONS, MOUNTED

DOCUMENTED = {0, 1, 3, 130, 141}
"""Exit codes of commands without a mistake in their usage (2) and without a defect (70)."""
ENDS_WITH_1 = {
    "agent transcript",
    "agree",
    "compare",
    "judges fetch",
    "rank",
    "snapshot fetch",
    "tasks build rank",
    "tasks plan lint",
}
"""Commands that the small world gives nothing to do, and that say so."""
FETCHING = {"judges fetch", "serve", "snapshot fetch"}
"""Commands whose purpose is the network, or a server of their own."""


class Forked(NamedTuple):
    """How a command in a fork ended; `code` None where it hung."""

    code: int | None
    out: str
    err: str
    pid: int
    seconds: float


class Forks:
    """`tests.cli.forked`, asked for one command after the other."""

    def __init__(self, world: Path, scratch: Path, url: str, wrapper: tuple[str, ...] = ()) -> None:
        self._world, self._scratch, self._url, self._n = world, scratch, url, 0
        self._process = subprocess.Popen(
            [*wrapper, sys.executable, "-m", "tests.cli.forked"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        assert self._process.stdout is not None
        self.mounts: bool = json.loads(self._process.stdout.readline())["mounts"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=60)

    def run(self, command: str, condition: str) -> Forked:
        """Run a command in a fresh copy of the world."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._n += 1
        scratch = self._scratch / f"{self._process.pid}-{self._n}"
        scratch.mkdir()
        case = {"argv": words(command, self._url), "condition": condition}
        self._process.stdin.write(
            json.dumps({**case, "world": str(self._world), "scratch": str(scratch)}) + "\n"
        )
        self._process.stdin.flush()
        ended = Forked(**json.loads(self._process.stdout.readline()))
        shutil.rmtree(scratch)
        return ended


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with StubThread(StubPlan(answer=answering, alternatives=leaning)) as server:
        yield server.url


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, url: str) -> Path:
    """A folder with what the commands read."""

    def run(*arguments: str) -> None:
        with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
            patch.setattr(sys, "argv", ["local-judge", *arguments])
            main()
        assert ended.value.code == 0, arguments

    folder = tmp_path_factory.mktemp("every") / "world"
    make_world(folder, url, run)
    return folder


@pytest.fixture(scope="module")
def forks(world: Path, url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Forks]]:
    """As many processes as there are cores, up to four."""
    scratch = tmp_path_factory.mktemp("scratch")
    with ExitStack() as opened:
        started = [Forks(world, scratch, url) for _ in range(min(4, os.cpu_count() or 1))]
        yield [opened.enter_context(one) for one in started]


def run_all(forks: list[Forks], condition: str) -> dict[str, Forked]:
    """Every command under a condition, shared out among the processes."""
    waiting: SimpleQueue[str] = SimpleQueue()
    for command in COMMANDS:
        waiting.put(command)

    def work(one: Forks) -> dict[str, Forked]:
        ended: dict[str, Forked] = {}
        while not waiting.empty():
            command = waiting.get()
            ended[command] = one.run(command, condition)
        return ended

    with ThreadPoolExecutor(len(forks)) as threads:
        return {name: ended for part in threads.map(work, forks) for name, ended in part.items()}


def test_the_table_names_every_command() -> None:
    assert set(COMMANDS) == set(commands())


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_command_ends_in_one_line_at_most(forks: list[Forks], condition: str) -> None:
    if condition in MOUNTED and not forks[0].mounts:
        pytest.skip("needs the right to mount")
    for command, ended in run_all(forks, condition).items():
        said = f"{command}, {condition}: {ended}"
        assert ended.code in DOCUMENTED, said
        assert "Traceback" not in ended.err and ended.err.count("\n") <= 1, said
        assert len(ended.err) <= len("local-judge: \n") + LONGEST_LINE, said
        if condition == "none":
            assert ended.code == (command in ENDS_WITH_1), said
