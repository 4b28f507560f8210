"""One command in a process group of its own, and how it ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
CHILD = Path(__file__).resolve().parent / "child"

LONGEST = 180.0
"""Seconds after which a command counts as hanging."""

State = Literal["done", "missing", "unchecked", "refused", "killed", "broken"]
"""All there; typed failures, counted; an audit that could not check all; one line that says what is wrong; by us; none
of these."""

_LINE = re.compile(r"local-judge: [^\n]+\n")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def state(self) -> State:
        """What the exit code and the streams say together."""
        if "Traceback" in self.err + self.out:
            return "broken"
        match self.code:
            case 0:
                return "done"
            case 3 if "Missing: " in self.err or _LINE.fullmatch(self.err):
                return "missing"
            case 4 if not self.err:
                return "unchecked"
            case 1 if _LINE.fullmatch(self.err):
                return "refused"
            # `snapshot verify` and `audit` name what is wrong on their standard output.
            case 1 if self.out and not self.err:
                return "refused"
            case -9:
                return "killed"
            case _:
                return "broken"

    def brief(self) -> str:
        """State, and the last line of standard error."""
        last = self.err.strip().splitlines()[-1:] or [""]
        return f"{self.state} (exit {self.code}){': ' + last[0][:300] if last[0] else ''}"


class Process:
    """A running command; its streams go to files, so that it never waits for a reader."""

    def __init__(self, arguments: list[str], cwd: Path, env: Mapping[str, str] | None = None) -> None:
        self._begun = time.monotonic()
        self._folder = tempfile.TemporaryDirectory(prefix="chaos-streams-")
        self._out, self._err = Path(self._folder.name) / "out", Path(self._folder.name) / "err"
        own = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CHAOS_", "LOCAL_JUDGE_"))
        }
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "local_judge", "--quiet", *arguments],
                cwd=cwd,
                # Without GIT_DIR, a commit made meanwhile would change the revision in the manifests.
                env={**own, "PYTHONPATH": f"{CHILD}{os.pathsep}{ROOT}", "GIT_DIR": os.devnull, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def printed(self) -> str:
        """Standard output so far."""
        return self._out.read_text(encoding="utf-8", errors="replace")

    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def kill(self) -> None:
        """SIGKILL to the whole group."""
        if self.runs():
            os.killpg(self._process.pid, signal.SIGKILL)

    def wait(self, seconds: float) -> None:
        """Until it ends, or so long."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return

    def finish(self, longest: float = LONGEST) -> Ended:
        """Wait for its end; what hangs is killed, and counts as broken."""
        self.wait(longest - (time.monotonic() - self._begun))
        hangs = self.runs()
        self.kill()
        code = self._process.wait()
        out, err = (path.read_text(encoding="utf-8", errors="replace") for path in (self._out, self._err))
        self._folder.cleanup()
        if hangs:
            err += f"\nhung for {longest:g} s\n"
        return Ended(-999 if hangs else code, out, err, time.monotonic() - self._begun)
