"""Progress of shards that a cluster evaluates, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from local_judge.base.output import count, is_quiet
from local_judge.reporting.live import LiveShards
from local_judge.reporting.progress import Lines, duration, seconds_left, times
from local_judge.runs.sweeps.folder import SHARDS
from local_judge.runs.sweeps.ray_tasks import EndedShard, ShardTask
from local_judge.terminal import safe


class ShardProgress:
    """Context manager that writes a line for each shard that ends, and now and then one about all.

    Args:
        root: folder of the sweep.
        tasks: the shards.
        workers: number of shards that are evaluated concurrently.
    """

    def __init__(self, root: Path, tasks: Sequence[ShardTask], workers: int) -> None:
        self._folders = {task.name: root / SHARDS / task.shard for task in tasks}
        self._reports = {task.name: task.reports for task in tasks}
        self._workers = workers
        self._live = LiveShards()
        self._ended: set[str] = set()
        self._begun, self._kept = time.monotonic(), sum(self._done().values())
        self._display = ExitStack()

    def __enter__(self) -> ShardProgress:
        """Start to write lines."""
        self._say(
            f"{count(len(self._folders), 'shard')} with {count(sum(self._reports.values()), 'report')}, "
            f"{count(self._workers, 'worker')}"
        )
        self._display.enter_context(Lines(self.line, self.left))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop; write the time that it took, unless it failed."""
        self._display.close()
        if kind is None:
            took = duration(time.monotonic() - self._begun)
            self._say(f"{len(self._ended)} of {count(len(self._folders), 'shard')} in {took}")

    def ended(self, shard: EndedShard) -> None:
        """Write the line about a shard that has ended."""
        name = shard.task.name
        if shard.problem is None:
            self._ended.add(name)
        done = f"{self._live.reports_done(self._folders[name])}/{self._reports[name]} reports"
        self._say(f"{name}: {done}{'' if shard.problem is None else f'; {shard.problem}'}")

    def left(self) -> float | None:
        """Return the seconds that are probably left; None before the first report."""
        done = sum(self._done().values()) - self._kept
        total = sum(self._reports.values()) - self._kept
        return seconds_left(time.monotonic() - self._begun, done, total) if done else None

    def line(self) -> str:
        """Return `3/8 shards, 24/60 reports; shard 4-of-8 5/8; 4 min 10 s, about 17 min left`."""
        done = self._done()
        parts = [
            f"{len(self._ended)}/{len(done)} shards, {sum(done.values())}/{sum(self._reports.values())} reports",
            ", ".join(
                f"{name} {n}/{self._reports[name]}"
                for name, n in done.items()
                if n and name not in self._ended
            ),
            times(time.monotonic() - self._begun, self.left()),
        ]
        return "; ".join(filter(None, parts))

    def _done(self) -> dict[str, int]:
        return {name: self._live.reports_done(folder) for name, folder in self._folders.items()}

    def _say(self, line: str) -> None:
        if not is_quiet():
            sys.stderr.write(f"{safe(line)}\n")
