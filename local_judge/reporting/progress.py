"""Progress of commands that ask judges, on standard error: a bar in a terminal, a line now and then elsewhere.

Invariant: drawing costs the same however much is under way, since it reads counters: twice a second in a terminal, and
elsewhere first after `FIRST_SECONDS`, then every `EVERY_SECONDS` or a tenth of the expected time, whichever is longer.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
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
)
from rich.text import Text

from local_judge.base.output import count, is_quiet
from local_judge.judge.calls import Meter
from local_judge.judge.judge import Judge
from local_judge.runs.execution.execute import CASES_IN_FLIGHT
from serving.engine import Replicated
from serving.engines.embedded import EmbeddedEngine
from serving.types import ReplicaUse

POLL_SECONDS = 0.5
"""Time between two drawings in a terminal."""
FIRST_SECONDS = 5.0
EVERY_SECONDS = 30.0
SHARE = 0.1
"""Least share of the expected time between two lines."""


class Lines:
    """Context manager that writes progress lines to standard error from a thread.

    Args:
        line: text of a line.
        left: seconds that the work is expected to take from now on; None if unknown.
    """

    def __init__(self, line: Callable[[], str], left: Callable[[], float | None] = lambda: None) -> None:
        self._line = line
        self._left = left
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Lines:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        begun, wait = time.monotonic(), FIRST_SECONDS
        while not is_quiet() and not self._ended.wait(wait):
            try:
                sys.stderr.write(self._line() + "\n")
                sys.stderr.flush()
            except (OSError, ValueError):  # standard error is closed
                return
            wait = self.pause(time.monotonic() - begun)

    def pause(self, elapsed: float) -> float:
        """Return the seconds until the next line."""
        return max(EVERY_SECONDS, SHARE * (elapsed + (self._left() or elapsed)))


class RunProgress:
    """Context manager that shows how far a command is, and at its end what it took.

    Args:
        judges: the judges whose counters are shown.
        total: number of reports, or other units; None if it is unknown.
        unit: name of the units.
        at_once: number of units that one judge works on at the same time.
    """

    def __init__(
        self,
        judges: Judge | Mapping[str, Judge],
        total: int | None,
        unit: str = "reports",
        at_once: int = CASES_IN_FLIGHT,
    ) -> None:
        self._judges = judges if isinstance(judges, Mapping) else {"": judges}
        self._total, self._unit, self._at_once = total, unit, at_once
        self._done = self._kept = 0
        self._begun = time.monotonic()
        self._display = contextlib.ExitStack()
        console = Console(stderr=True)
        self._bar: Progress | None = None
        if console.is_terminal and not is_quiet():
            self._bar = Progress(
                TextColumn(unit),
                *([] if total is None else [BarColumn(bar_width=24), MofNCompleteColumn()]),
                _TextColumn(self._counters),
                TimeElapsedColumn(),
                _TextColumn(self._left_text),
                console=console,
                refresh_per_second=1 / POLL_SECONDS,
                get_time=time.monotonic,
            )
            self._task = self._bar.add_task("run", total=total)

    def __enter__(self) -> RunProgress:
        """Start to draw or to write lines."""
        self._begun = time.monotonic()
        self._display.enter_context(self._bar or Lines(self.line, self.left))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop; write what the command took, unless it failed."""
        self._display.close()
        if not is_quiet() and (kind is None or issubclass(kind, asyncio.CancelledError)):
            sys.stderr.write("\n".join([self.summary(), *self.replica_lines()]) + "\n")

    def one_done(self) -> None:
        """Count one more complete unit."""
        self._done += 1
        # Units that are complete before the first call were kept from an earlier run: they say nothing of the pace.
        self._kept += not self._meter().made
        if self._bar is not None:
            self._bar.advance(self._task)

    def left(self) -> float | None:
        """Return the seconds that are probably left; None before the first calls.

        The share done is that of the units or, before the first is complete, that of the calls: calls answered of
        those known, scaled from the units under way to all of them.
        """
        meter, elapsed = self._meter(), time.monotonic() - self._begun
        answered = meter.made + meter.failed
        if self._total is None or not meter.made or self._done >= self._total:
            return None
        to_do, done = self._total - self._kept, self._done - self._kept
        if not done:
            under_way = min(to_do, self._at_once * len(self._judges))
            known = (answered + meter.in_flight + meter.waiting) * to_do / under_way
            return seconds_left(elapsed, answered, known)
        return seconds_left(elapsed, done, to_do)

    def line(self) -> str:
        """Return `12/60 reports: 340 calls, …; 4 min 10 s, about 17 min left`."""
        of = "" if self._total is None else f"{self._done}/{self._total} "
        done = LOADING if all(map(_is_loading, self._judges.values())) else counts(self._meter())
        return f"{of}{self._unit}: {done}; {times(time.monotonic() - self._begun, self.left())}"

    def summary(self) -> str:
        """Return `60 of 60 reports in 21 min: 2,040 calls, …`."""
        of = "" if self._total is None else f"{self._done} of {self._total} "
        meter = self._meter()
        failures = f"; {failure_counts(meter.failures)}" if meter.failures else ""
        elapsed = duration(time.monotonic() - self._begun)
        return f"{of}{self._unit} in {elapsed}: {counts(meter)}{failures}"

    def replica_lines(self) -> Iterator[str]:
        """Yield what each server did, for judges with several servers."""
        for judge in self._judges.values():
            replicas = judge.engine.replicas() if isinstance(judge.engine, Replicated) else ()
            if len(replicas) > 1:
                yield from map(replica_line, replicas)

    def _meter(self) -> Meter:
        """Return the counters of all judges together."""
        whole = Meter()
        for judge in list(self._judges.values()):
            whole.add(judge.meter)
        return whole

    def _counters(self) -> str:
        """Return the counters for the bar, a line for each judge."""
        seconds = time.monotonic() - self._begun
        lines = {
            name: LOADING if _is_loading(judge) else describe(judge.meter, seconds)
            for name, judge in self._judges.items()
        }
        return "\n".join(f"{name}: {said}" if len(lines) > 1 else said for name, said in lines.items())

    def _left_text(self) -> str:
        return _left(self.left())


LOADING = "loading the model"
"""Progress of a judge in this process before its first call is answered."""


def _is_loading(judge: Judge) -> bool:
    meter = judge.meter
    begun = meter.made or meter.failed or meter.replayed or meter.planned
    return not begun and isinstance(judge.engine, EmbeddedEngine)


class _TextColumn(ProgressColumn):
    """Text that is computed each time the bar is drawn."""

    def __init__(self, text: Callable[[], str]) -> None:
        super().__init__()
        self._text = text

    def render(self, task: Task) -> Text:
        """Return the text now."""
        return Text(self._text())


def describe(meter: Meter, seconds: float) -> str:
    """Return counters and rates in one line: `14 calls, 3 replayed, 210 tokens/s in, 18 out, 83 % cached`."""
    parts = [_calls(meter)]
    if seconds > 0 and meter.prompt_tokens:
        cached = meter.cached_tokens / meter.prompt_tokens
        parts.append(rates(meter.prompt_tokens / seconds, meter.completion_tokens / seconds, cached))
    return ", ".join(parts)


def rates(prompt: float, generated: float, cached: float) -> str:
    """Return `210 tokens/s in, 18 out, 83 % cached`, given tokens per second and the share of cached ones."""
    return f"{prompt:.0f} tokens/s in, {generated:.0f} out, {100 * cached:.0f} % cached"


def counts(meter: Meter) -> str:
    """Return counters in one line: `14 calls, 3 replayed, 4,000 prompt tokens (75 % cached), 100 generated tokens`."""
    parts = [_calls(meter)]
    if meter.prompt_tokens:
        cached = f"{100 * meter.cached_tokens / meter.prompt_tokens:.0f} % cached"
        parts.append(f"{meter.prompt_tokens:,} prompt tokens ({cached})")
        parts.append(f"{meter.completion_tokens:,} generated tokens")
    return ", ".join(parts)


def _calls(meter: Meter) -> str:
    named = ((meter.replayed, "replayed"), (meter.reasked, "asked again"), (meter.failed, "failed"))
    return ", ".join([count(meter.made, "call"), *(f"{number:,} {what}" for number, what in named if number)])


def failure_counts(failures: Mapping[str, int]) -> str:
    """Return `3 failures: server_error 1, timeout 2`; the kinds are untrusted if they come from a file."""
    kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(failures.items()))
    return f"{count(sum(failures.values()), 'failure')}: {kinds}"


def seconds_left(elapsed: float, done: float, total: float) -> float:
    """Return the seconds that are left if the rest takes as long per unit as the `done` units took."""
    return elapsed * (total - done) / done


def times(elapsed: float, left: float | None) -> str:
    """Return `4 min 10 s, about 17 min left`, given seconds; the second part is left out if unknown."""
    return ", ".join(filter(None, (duration(elapsed), _left(left))))


def _left(seconds: float | None) -> str:
    return "" if seconds is None else f"about {duration(seconds)} left"


def replica_line(use: ReplicaUse) -> str:
    """Return `http://host:8001/v1: 120 replies, 81 % cached, 3 failed attempts, away for 40 s`."""
    parts = [count(use.requests, "reply", "replies")]
    if use.prompt_tokens:
        parts.append(f"{100 * use.cached_tokens / use.prompt_tokens:.0f} % cached")
    if use.failures:
        parts.append(count(use.failures, "failed attempt"))
    if use.seconds_away:
        parts.append(f"away for {duration(use.seconds_away)}{' and still away' if use.away else ''}")
    return f"{use.url}: {', '.join(parts)}"


def duration(seconds: float) -> str:
    """Return `45 s`, `3 min 20 s` or `2 h 5 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
