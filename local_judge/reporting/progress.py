"""Live progress of a run: reports (of `verify`: pages) and calls, tokens per second, cache-hit rate, time left.

Invariant: drawing costs the same however many calls are in flight: the display polls counters a few times a second.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from local_judge.judge.calls import Meter
from local_judge.judge.judge import Judge

POLL_SECONDS = 0.5
"""Between two drawings."""


class MeterColumn(ProgressColumn):
    """The judges' counters, read whenever the line is drawn."""

    def __init__(self, judges: Judge | Mapping[str, Judge]) -> None:
        super().__init__()
        self._judges = judges if isinstance(judges, Mapping) else {"": judges}

    def render(self, task: Task) -> Text:
        """The counters now; of several judges a line each."""
        seconds = task.elapsed or 0.0
        lines = {name: describe(judge.meter, seconds) for name, judge in self._judges.items()}
        if len(lines) == 1:
            return Text(*lines.values())
        return Text("\n".join(f"{name}: {said}" for name, said in lines.items()))


class RunProgress:
    """Context manager that shows how far a run is on standard error, if that is a terminal."""

    def __init__(self, judges: Judge | Mapping[str, Judge], total: int, unit: str = "reports") -> None:
        self._console = Console(stderr=True)
        self._progress = Progress(
            TextColumn(unit),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            MeterColumn(judges),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
            refresh_per_second=1 / POLL_SECONDS,
            get_time=time.monotonic,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task("run", total=total)

    def __enter__(self) -> RunProgress:
        """Start to draw."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Draw the last state and stop."""
        self._progress.stop()

    def one_done(self) -> None:
        """One more is complete."""
        self._progress.advance(self._task)


class PartProgress:
    """Context manager that shows what one part of a qualification has asked so far, if standard error is a terminal."""

    def __init__(self, name: str, judges: Mapping[str, Judge]) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn(name),
            MeterColumn(judges),
            TimeElapsedColumn(),
            console=console,
            refresh_per_second=1 / POLL_SECONDS,
            get_time=time.monotonic,
            disable=not console.is_terminal,
        )
        self._progress.add_task(name, total=None)

    def __enter__(self) -> PartProgress:
        """Start to draw."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Draw the last state and stop."""
        self._progress.stop()


def describe(meter: Meter, seconds: float) -> str:
    """Counters in one line: `14 calls, 3 replayed, 210 tokens/s in, 18 out, 83 % cached`."""
    parts = [f"{meter.made} calls"]
    parts += [
        f"{number} {name}"
        for number, name in ((meter.replayed, "replayed"), (meter.failed, "failed"))
        if number
    ]
    if seconds > 0 and meter.prompt_tokens:
        parts.append(
            f"{meter.prompt_tokens / seconds:.0f} tokens/s in, {meter.completion_tokens / seconds:.0f} out"
        )
        parts.append(f"{100 * meter.cached_tokens / meter.prompt_tokens:.0f} % cached")
    return ", ".join(parts)
