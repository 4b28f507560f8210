"""The command line, in this process and in its own."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from indexes.making.importing import import_pages
from local_judge.cli import main
from local_judge.demo.outcome import sample_folder
from tests.stub_server import StubPlan

from ..stub_thread import StubThread, answer, write_preset

ROOT = Path(__file__).resolve().parents[2]


SUMMARY = re.compile(r"^([\w ]+ in (\d+ (h|min|s) ?)+|(\d+/\d+ )?\w+): [\d,]+ calls?\b.*\n", re.MULTILINE)
"""Line in which a command says how far it is, which a slow one does, or what it took."""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str
    """Standard error without the lines that say how far the command is and what it took."""

    def line(self) -> str:
        """The one line of standard error."""
        assert "Traceback" not in self.err, self.err
        assert self.err.count("\n") == 1, self.err
        return self.err.strip()


Command = Callable[..., Ended]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `local-judge` with these arguments, through its entry point, in this process."""

    def run(*arguments: str | Path) -> Ended:
        monkeypatch.setattr(sys, "argv", ["local-judge", *map(str, arguments)])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return _ended(code, out, err)

    return run


@pytest.fixture
def commands_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes `lab replicate` run its commands in this process: each process of its own imports everything again."""

    def run(words: list[str], *, stdout: int, check: bool) -> subprocess.CompletedProcess[bytes]:
        assert words[:4] == [sys.executable, "-P", "-m", "local_judge"]
        printed, code = io.BytesIO(), 0
        with monkeypatch.context() as patch, redirect_stdout(io.TextIOWrapper(printed, "utf-8")) as stream:
            patch.setattr(sys, "argv", ["local-judge", *words[4:]])
            try:
                main()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 0
            stream.flush()
            return subprocess.CompletedProcess(words, code, printed.getvalue())

    processes = SimpleNamespace(run=run, PIPE=subprocess.PIPE)
    monkeypatch.setattr("local_judge.lab.replication.subprocess", processes)


def _ended(code: int, out: str, err: str) -> Ended:
    return Ended(code, out, SUMMARY.sub("", err))


def start(*arguments: str | Path, cwd: Path) -> subprocess.Popen[str]:
    """`local-judge` with these arguments, in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "local_judge", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], timeout: float = 300.0) -> Ended:
    """Wait for the end of a command."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return _ended(process.returncode, out, err)


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot of the sample's pages."""
    out = tmp_path_factory.mktemp("sample") / "snapshot"
    import_pages(sample_folder() / "pages", out, workers=0)
    return out


@pytest.fixture
def server() -> Iterator[StubThread]:
    """A server whose judge believes everything."""
    with StubThread(StubPlan(answer=answer)) as running:
        yield running


@pytest.fixture
def preset(tmp_path: Path) -> Path:
    """A preset file for the stub server."""
    return write_preset(tmp_path)


REPORT = """# The mill

The retrofit connected 1,240 dwellings [1]. It was approved by eleven votes to four [2].

## References

[1] The renewal. https://heat.example/fernholt/renewal
[2] Minutes. https://council.example/minutes/2021-03-18
"""


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report of two claims on two pages."""
    path = tmp_path / "mill.md"
    path.write_text(REPORT, encoding="utf-8")
    return path
