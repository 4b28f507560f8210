"""Every command under everything that a machine can lack: one line at most, and an exit code that is documented.

And every command but those that fetch or serve under strace: no packet to any address but the engine's.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import NamedTuple, Self

import pytest

from local_judge.base.errors import ConfigError
from local_judge.base.output import QUIET
from local_judge.cli import main
from local_judge.cli.faults import DEBUG, line_of
from tests.stub_server import StubPlan

from ..stub_thread import StubThread, leaning
from .conftest import ROOT, Command
from .every_command import COMMANDS, answering, commands, make_world, words
from .forked import CONDITIONS, MOUNTED
from .machine import machine

pytestmark = pytest.mark.slow

DOCUMENTED = {0, 1, 3, 130, 141, -signal.SIGINT}
"""Exit codes of commands without a mistake in their usage (2) and without a defect (70). CPython ends by SIGINT itself,
which a shell shows as 130, where the interrupt fell into an `eval`, handled or not."""
ENDS_WITH_1 = {
    "judge down",
    "judge fetch",
    "lab label",
    "results agree",
    "results rank",
    "snapshot fetch",
    "snapshot search-web",
    "tasks lint plan",
}
"""Commands that the small world gives nothing to do, and that say so."""
PRINTS_NO_JSON = {"lab label", "snapshot mcp"}
"""Commands that start a server."""
FETCHING = {"judge fetch", "judge up", "snapshot fetch", "snapshot search-web"}
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
            env={**os.environ, "PYTHONPATH": str(ROOT), QUIET: "1"},
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
        self._process.communicate(timeout=300)

    def run(self, command: str, condition: str, *more: str) -> Forked:
        """Run a command, with more words, in a fresh copy of the world."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._n += 1
        scratch = self._scratch / f"{self._process.pid}-{self._n}"
        scratch.mkdir()
        case = {"argv": [*words(command, self._url), *more], "condition": condition}
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


def run_all(forks: list[Forks], condition: str, *more: str) -> dict[str, Forked]:
    """Every command, with more words, under a condition, shared out among the processes."""
    waiting: SimpleQueue[str] = SimpleQueue()
    for command in COMMANDS:
        waiting.put(command)

    def work(one: Forks) -> dict[str, Forked]:
        ended: dict[str, Forked] = {}
        while True:
            try:
                command = waiting.get_nowait()
            except Empty:
                return ended
            ended[command] = one.run(command, condition, *more)

    with ThreadPoolExecutor(len(forks)) as threads:
        return {name: ended for part in threads.map(work, forks) for name, ended in part.items()}


def test_the_table_names_every_command() -> None:
    kinds = {entry: entry.rpartition(" ")[0] for entry in COMMANDS if entry not in set(commands())}
    assert set(kinds.values()) == {
        "results stats",
        "tasks draft",
        "tasks show",
        "tasks review",
        "tasks lint",
    }  # each with a kind
    assert {kinds.get(entry, entry) for entry in COMMANDS} == set(commands())


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_command_ends_in_one_line_at_most(forks: list[Forks], condition: str) -> None:
    if condition in MOUNTED and not forks[0].mounts:
        pytest.skip("needs the right to mount")
    for command, ended in run_all(forks, condition).items():
        said = f"{command}, {condition}: {ended}"
        assert ended.code in DOCUMENTED, said
        assert "Traceback" not in ended.err and ended.err.count("\n") <= 1, said
        assert len(ended.err) <= 2_000, said
        if condition == "none":
            assert ended.code == (command in ENDS_WITH_1), said


def test_every_command_prints_json(forks: list[Forks]) -> None:
    for command, ended in run_all(forks, "none", "--json").items():
        if command in PRINTS_NO_JSON:
            continue
        if ended.out or command not in ENDS_WITH_1:
            lines = ended.out.splitlines()
            assert lines and all(line[0] in "[{" and json.loads(line) is not None for line in lines), command


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_no_command_sends_a_packet_to_any_but_the_engine(world: Path, url: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    calls = "connect,sendto,sendmsg,sendmmsg"
    wrapper = ("strace", "-f", "--seccomp-bpf", "-qq", "-e", f"trace={calls}", "-o", str(trace))
    (tmp_path / "scratch").mkdir()
    with Forks(world, tmp_path / "scratch", url, wrapper) as fork:
        for command in COMMANDS:
            if command not in FETCHING:
                assert fork.run(command, "none").code == (command in ENDS_WITH_1), command
    port = url.rpartition(":")[2].partition("/")[0]
    sent = [line for line in trace.read_text(errors="replace").splitlines() if "sa_family=AF_INET" in line]
    engine = f'sa_family=AF_INET, sin_port=htons({port}), sin_addr=inet_addr("127.0.0.1")'
    assert sent and [line for line in sent if engine not in line] == []


def run_alone(
    *arguments: str, cwd: Path, before: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, started by a shell that runs `before` first."""
    return subprocess.run(
        ["bash", "-c", f'{before} exec "$0" -m local_judge "$@"', sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_memory_that_imports_lack_is_told_in_one_line(tmp_path: Path) -> None:
    # Room for Python and Typer, and none for the libraries of numpy: where less is lacking, they crash by themselves.
    done = run_alone("show", "out", cwd=tmp_path, before="ulimit -v 75000;")
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert done.stderr.splitlines()[-1].startswith("local-judge: ")


DEMO = ("demo", "--out", "out", "--base-url", "http://127.0.0.1:9/v1")
DROPPED = "asyncio.run = interrupted"
"""The command's coroutine is made, and dropped before its first step."""
HALF_MADE = "made = Loop.__init__; Loop.__init__ = lambda self, *given: (made(self, *given), interrupted())"
"""The event loop is made by half; its finaliser fails."""


@pytest.mark.parametrize("where", [DROPPED, HALF_MADE])
@pytest.mark.parametrize(("arguments", "code"), [(DEMO, 130), (("judge", "up", "tiny.yaml"), 0)])
def test_an_interrupt_while_asyncio_starts_is_one_line(
    where: str, arguments: tuple[str, ...], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (
        "import asyncio, sys\n"
        "from asyncio.selector_events import BaseSelectorEventLoop as Loop\n"
        "def interrupted(*_, **__): raise KeyboardInterrupt\n"
        f"{where}\n"
        f"sys.argv = ['local-judge', *{arguments!r}]\n"
        "from local_judge.cli import main\n"
        "main()\n"
    )
    with machine(tmp_path, monkeypatch) as world:
        world.write()
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert (done.returncode, len(done.stderr.splitlines())) == (code, 1), done.stderr


def test_characters_that_the_output_lacks_are_escaped_as_in_json(world: Path) -> None:
    done = run_alone(
        "text", "check", "mill.md", "--sentences", "--json", cwd=world, PYTHONIOENCODING="latin-1"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u6c34" in done.stdout
    assert "The \u6c34 retrofit" in json.loads(done.stdout)["sentences"][0]["text"]


def test_a_defect_is_one_line_and_its_traceback_is_to_be_had(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(DEBUG, raising=False)
    monkeypatch.setattr("local_judge.cli.judge.presets.list_presets", lambda: 1 / 0)
    ended = command("judge", "show")
    assert ended.code == 70
    assert ended.line().startswith("local-judge: a defect of this program in tests/cli/test_conditions.py:")
    assert ended.line().endswith("shows the traceback; ZeroDivisionError: division by zero")


def test_of_several_errors_the_one_that_can_be_mended_is_told() -> None:
    group = BaseExceptionGroup(
        "several", [ValueError("x"), ExceptionGroup("inner", [ConfigError("Mend this.")])]
    )
    assert line_of(group) == ("Mend this.", 1)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            OSError(28, "No space left on device", "/x"),
            "/x: No space left on device; free space, or name another place",
        ),
        (MemoryError(), "out of memory or threads"),
        (EOFError(), "standard input ended"),
    ],
)
def test_what_the_machine_lacks_is_no_defect(error: BaseException, line: str) -> None:
    said, code = line_of(error)
    assert code == 1 and said.startswith(line)
