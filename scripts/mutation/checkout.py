"""A copy of the checkout in which tests run with a change.

Invariant: nothing is written outside the folder of the copy.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.mutation import reach

LATER = 1_000_000
"""Seconds by which a changed module is newer, so that no compiled module of the same size passes for it."""


@dataclass
class Ended:
    """End of a pytest process."""

    code: int | None
    """Exit code; None for one that took too long."""
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """Test -> time with its fixtures."""
    failed: list[str] = field(default_factory=list[str])


class Checkout:
    """Files of a checkout that git knows or does not ignore, in a folder of their own."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.root = folder / "checkout"
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=source,
            capture_output=True,
            check=True,
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (source / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / name, self.root / name)
        shutil.copy2(reach.__file__, self.root / "reach.py")
        if (source.parent / "shared").is_dir():  # real data beside the checkout
            (folder / "shared").symlink_to((source.parent / "shared").resolve())
        self.folder = folder
        self._changes = 0

    @contextlib.contextmanager
    def changed(self, modules: dict[str, bytes]) -> Generator[None]:
        """Replace modules, for as long as the context lasts."""
        self._changes += 1  # two changes of one module never have the same time
        before = {name: ((self.root / name).read_bytes(), (self.root / name).stat()) for name in modules}
        try:
            for name, source in modules.items():
                (self.root / name).write_bytes(source)
                changed = before[name][1].st_mtime + LATER + self._changes
                os.utime(self.root / name, times=(changed, changed))
            yield
        finally:
            for name, (source, stat) in before.items():
                (self.root / name).write_bytes(source)
                os.utime(self.root / name, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    def run(
        self,
        arguments: Sequence[str],
        timeout: float | None = None,
        selected: Sequence[str] | None = None,
        hits: Path | None = None,
    ) -> Ended:
        """Run pytest, with the selected tests alone if they are listed."""
        tests, chosen = self.folder / "tests", self.folder / "selected"
        tests.unlink(missing_ok=True)
        variables = {"PYTHONPATH": str(self.root), "MUTANTS_TESTS": str(tests)}
        if selected is not None:
            chosen.write_text(json.dumps(list(selected)), encoding="utf-8")
            variables["MUTANTS_SELECTED"] = str(chosen)
        if hits is not None:
            variables["MUTANTS_HITS"] = str(hits)
        # The variables of a worker of pytest-xdist would make the copy's pytest one too.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "reach", "-p", "no:cacheprovider", *arguments]
        with (self.folder / "output").open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env={**inherited, **variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            ended = Ended(process.wait(timeout))
        except subprocess.TimeoutExpired:
            ended = Ended(None)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for line in tests.read_text(encoding="utf-8").splitlines() if tests.exists() else ():
            test, seconds, failed = json.loads(line)
            ended.seconds[test] = ended.seconds.get(test, 0.0) + seconds
            if failed:
                ended.failed.append(test)
        return ended
