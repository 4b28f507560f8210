"""State of a run that another process is making, from the files that it writes.

Invariants: nothing is written, and a state costs what was added since the last one. Calls, times and rates are those of
the process that holds the run's lock, since it began or, if it adds judges one after another, since the last was added.
Calls of other commands that share the ledger and the judges cannot be told apart and are counted too.
"""

from __future__ import annotations

from collections import Counter, deque
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from local_judge.base.errors import RunError
from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.judge.calls import Meter
from local_judge.ledger.requests import Identified
from local_judge.ledger.tail import AnsweredCall, LedgerTail
from local_judge.reporting.progress import counts, failure_counts, rates, seconds_left, times
from local_judge.runs.storage.items import Journal
from local_judge.runs.storage.lock import held_since
from local_judge.runs.storage.manifest import existing_manifest
from local_judge.runs.storage.resume import is_finished, journaled
from local_judge.runs.storage.store import JOURNAL, MANIFEST, RunStore
from local_judge.runs.sweeps.folder import RUNS, ledger_in, sweep_manifest
from local_judge.terminal import safe
from serving.types import EngineIdentity

WINDOW_SECONDS = 60.0
"""Time over which rates are taken."""

Status = Literal["starting", "running", "finished", "stopped"]


class Rates(Frozen):
    """Rates over the last minute, or since the command began if that is shorter."""

    calls: float
    """Answered calls per second."""
    prompt_tokens: float
    """Tokens per second."""
    generated_tokens: float
    """Tokens per second."""
    cached_share: float | None
    """Share of the prompt tokens that came from the prefix cache; None without calls."""


class LiveState(Frozen):
    """State of a run; the counts of calls and the times are those of the running command."""

    status: Status
    reports_done: int = 0
    reports: int | None = None
    """Number of reports; None until the run has a manifest."""
    judges: tuple[str, ...] = ()
    calls: int = 0
    """Answered calls."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    failures: dict[str, int] = Field(default_factory=dict[str, int])
    """Failed calls by kind."""
    last_minute: Rates | None = None
    """None unless the run is running."""
    seconds: float | None = None
    """Seconds since the command began; None if none is running."""
    seconds_left: float | None = None
    """Seconds that are probably left; None before the first report."""


class LiveRun:
    """A run that is watched; a context manager.

    Args:
        root: the run directory.
        ledger: the ledger of the running command; None for the run directory's.
    """

    def __init__(self, root: Path, ledger: Path | None = None) -> None:
        self._store = RunStore(root)
        self._ledger = ledger or self._store.ledger
        self._calls: _Calls | None = None
        self._journal: Journal | None = None
        self._file = 0
        """Number of the journal's file: a run that begins again has another one."""
        self._written: dict[str, float] = {}
        """When the reports that are done were complete, in seconds since 1970."""

    def __enter__(self) -> LiveRun:
        return self

    def __exit__(self, *_: object) -> None:
        if self._calls is not None:
            self._calls.tail.close()

    def state(self, now: float) -> LiveState:
        """Return the state at `now`, in seconds since 1970.

        Raises:
            RunError: the directory is not that of a run.
            LedgerError: the ledger of a running run is not there, or cannot be read.
        """
        since = held_since(
            self._store.root
        )  # before the files: a run is finished before it releases its lock
        if since is None and not (self._store.root / MANIFEST).exists():
            raise RunError(f"{self._store.root}: not a run; `local-judge run` makes one")
        manifest = existing_manifest(self._store)
        if manifest is None:
            return LiveState(status="starting", seconds=None if since is None else max(0.0, now - since))
        names = tuple(judge["name"] for judge in manifest.get("judges", ()))
        written, n_reports = self.written(manifest), int(manifest["reports"]["n"])
        if since is None:
            status: Status = "finished" if is_finished(self._store) else "stopped"
            return LiveState(status=status, reports_done=len(written), reports=n_reports, judges=names)
        begun = max(since, (self._store.root / MANIFEST).stat().st_mtime)
        return self._opened(begun, judges_in(manifest)).state(names, written, n_reports, begun, now)

    def written(self, manifest: dict[str, Any]) -> dict[str, float]:
        """Return when each finished report was complete, in seconds since 1970; 0 in a finished run."""
        if is_finished(self._store):
            return {row["id"]: 0.0 for row in self._store.inputs()}
        return self._done(manifest)

    def _opened(self, begun: float, judges: frozenset[str]) -> _Calls:
        """Return the calls since `begun`, which are read again if the command began again or has other judges."""
        self._calls = _Calls.following(self._calls, self._ledger, begun, judges)
        return self._calls

    def _done(self, manifest: dict[str, Any]) -> dict[str, float]:
        try:
            found = (self._store.root / JOURNAL).stat()
            if self._journal is None or self._file != found.st_ino:
                self._journal, self._file, self._written = (
                    Journal(self._store.root / JOURNAL),
                    found.st_ino,
                    {},
                )
        except OSError:
            return {}
        self._written |= {one.record.id: one.written for one in journaled(self._journal, manifest)}
        return self._written


class LiveSweep:
    """A sweep that is watched; a context manager.

    Args:
        root: the folder of the sweep.
        ledger: the ledger of the running command; None for the file that the sweep names.
    """

    def __init__(self, root: Path, ledger: Path | None = None) -> None:
        self._root = root
        self._ledger = ledger
        self._runs: dict[str, LiveRun] = {}
        self._calls: _Calls | None = None

    def __enter__(self) -> LiveSweep:
        return self

    def __exit__(self, *_: object) -> None:
        if self._calls is not None:
            self._calls.tail.close()

    def state(self, now: float) -> LiveState:
        """Return the state at `now`, in seconds since 1970: the sums over the runs that have begun.

        Raises:
            RunError: the folder is not a sweep's.
            LedgerError: the ledger is not there, or cannot be read.
        """
        since = held_since(self._root)
        sweep = sweep_manifest(self._root)
        if sweep is None:
            raise RunError(f"{self._root}: not a sweep; `local-judge sweep` makes one")
        written: dict[str, float] = {}
        n_reports, finished = 0, True
        judges: dict[str, frozenset[str]] = {}
        for name in sweep.runs:
            store = RunStore(self._root / RUNS / name)
            manifest = existing_manifest(store)
            finished &= is_finished(store)
            if manifest is not None:
                run = self._runs.setdefault(name, LiveRun(store.root))
                written |= {f"{name}/{id}": at for id, at in run.written(manifest).items()}
                n_reports += manifest["reports"]["n"]
                judges |= {judge["name"]: judges_in({"judges": [judge]}) for judge in manifest["judges"]}
        if since is None:
            status: Status = "finished" if finished else "stopped"
            return LiveState(
                status=status, reports_done=len(written), reports=n_reports, judges=tuple(judges)
            )
        if not judges:
            return LiveState(status="starting", seconds=max(0.0, now - since))
        digests = frozenset(digest for own in judges.values() for digest in own)
        self._calls = _Calls.following(self._calls, self._ledger or ledger_in(self._root), since, digests)
        return self._calls.state(tuple(judges), written, n_reports, since, now)


class LiveShards:
    """Shards of a sweep that other machines are making.

    Only the journals of their runs are read: SQLite does not share a ledger between machines while one writes.
    """

    def __init__(self) -> None:
        self._runs: dict[Path, LiveRun] = {}

    def reports_done(self, shard: Path) -> int:
        """Return the number of complete reports over all runs of a shard, given its folder."""
        done = 0
        with suppress(RunError):  # a file that is being written
            sweep = sweep_manifest(shard)
            for name in sweep.runs if sweep is not None else ():
                store = RunStore(shard / RUNS / name)
                manifest = existing_manifest(store)
                if manifest is not None:
                    run = self._runs.setdefault(store.root, LiveRun(store.root))
                    done += len(run.written(manifest))
        return done


def judges_in(manifest: dict[str, Any]) -> frozenset[str]:
    """Return the digests of the identities of a manifest's judges."""
    identities = (EngineIdentity.model_validate(judge["identity"]) for judge in manifest.get("judges", ()))
    return frozenset(Identified.of(identity).digest for identity in identities)


class _Calls:
    """Calls of the running command."""

    def __init__(self, ledger: Path, begun: float, judges: frozenset[str]) -> None:
        self.begun, self.judges = begun, judges
        self.tail = LedgerTail(ledger, begun, judges)
        self.meter = Meter()
        self._first: AnsweredCall | None = None
        self._latest: deque[AnsweredCall] = deque()

    @classmethod
    def following(cls, before: _Calls | None, ledger: Path, begun: float, judges: frozenset[str]) -> _Calls:
        """Return `before` if it has the calls of these judges since `begun`, else new ones."""
        if before is not None and (before.begun, before.judges) == (begun, judges):
            return before
        if before is not None:
            before.tail.close()
        return cls(ledger, begun, judges)

    def state(
        self,
        names: tuple[str, ...],
        written: dict[str, float],
        n_reports: int,
        begun: float,
        now: float,
    ) -> LiveState:
        """Return the state of a running command, after counting what was added."""
        self.update(now)
        seconds, meter = max(0.0, now - begun), self.meter
        return LiveState(
            status="running",
            reports_done=len(written),
            reports=n_reports,
            judges=names,
            calls=meter.made,
            prompt_tokens=meter.prompt_tokens,
            cached_tokens=meter.cached_tokens,
            generated_tokens=meter.completion_tokens,
            failures=dict(meter.failures),
            last_minute=self.rates(now, min(WINDOW_SECONDS, seconds)),
            seconds=seconds,
            seconds_left=self.left(written, n_reports, now),
        )

    def update(self, now: float) -> None:
        """Count what was added."""
        latest: list[AnsweredCall] = []
        for call in self.tail.answered():
            self.meter.made += 1
            self.meter.prompt_tokens += call.prompt_tokens
            self.meter.cached_tokens += call.cached_tokens
            self.meter.completion_tokens += call.completion_tokens
            if self._first is None or call.ended < self._first.ended:
                self._first = call
            if call.ended > now - WINDOW_SECONDS:
                latest.append(call)
        self._latest.extend(sorted(latest, key=lambda call: call.ended))
        self.meter.failures.update(Counter(call.kind for call in self.tail.failed()))

    def rates(self, now: float, seconds: float) -> Rates:
        """Return the rates over the last `seconds`."""
        while self._latest and self._latest[0].ended <= now - WINDOW_SECONDS:
            self._latest.popleft()
        seconds = max(1.0, seconds)
        prompt = sum(call.prompt_tokens for call in self._latest)
        return Rates(
            calls=len(self._latest) / seconds,
            prompt_tokens=prompt / seconds,
            generated_tokens=sum(call.completion_tokens for call in self._latest) / seconds,
            cached_share=sum(call.cached_tokens for call in self._latest) / prompt if prompt else None,
        )

    def left(self, written: dict[str, float], n_reports: int, now: float) -> float | None:
        """Return the seconds that are probably left; None before the first report that needed calls."""
        if self._first is None or len(written) >= n_reports:
            return None
        # Reports that are complete before the first call were kept from an earlier run: they say nothing of the pace.
        first = self._first
        kept = sum(at < first.ended for at in written.values())
        done = len(written) - kept
        return seconds_left(now - first.begun, done, n_reports - kept) if done else None


def lines(state: LiveState) -> list[str]:
    """Return a running run as short lines: reports and calls, rates, failures, judges, times."""
    if state.status == "starting":
        return [f"starting: no manifest yet; {times(state.seconds or 0.0, None)}"]
    meter = Meter(
        made=state.calls,
        prompt_tokens=state.prompt_tokens,
        cached_tokens=state.cached_tokens,
        completion_tokens=state.generated_tokens,
    )
    found = [f"{state.reports_done}/{state.reports} reports: {counts(meter)}"]
    latest = state.last_minute
    if latest is not None:
        parts = [f"{latest.calls:.2f} calls/s"]
        if latest.cached_share is not None:
            parts.append(rates(latest.prompt_tokens, latest.generated_tokens, latest.cached_share))
        found.append(f"last minute: {', '.join(parts)}")
    if state.failures:
        found.append(safe(failure_counts(state.failures)))
    if state.judges:
        found.append(f"judge{'s' if len(state.judges) > 1 else ''} {safe(', '.join(state.judges))}")
    if state.seconds is not None:
        found.append(times(state.seconds, state.seconds_left))
    return found


def ending(state: LiveState) -> str:
    """Return the line about a run that no process is making."""
    done = f"{state.reports_done} of {count(state.reports or 0, 'report')}"
    if state.status == "finished":
        return f"finished: {done}"
    return f"stopped after {done}; repeat the command to continue"
