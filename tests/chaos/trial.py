"""One trial: what a disturbed command leaves behind, held against what an undisturbed one does.

The invariant, which `Trial.ends_equal` and `Trial.held_against_baseline` check: the results are byte-equal to those of
an undisturbed run, or what is missing is a typed failure that is counted, or the command refuses in one line; there is
never a traceback; and the server answers no question twice but those under way at a kill.
"""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Literal

from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.store import RunStore

from .commands import CONCURRENCY, Command, Results, commands, write_inputs
from .process import Ended, Process
from .server import ModelServer
from .web import WebSite

Outcome = Literal["equal", "typed", "refused", "skipped", "violation"]

UNDER_WAY = 2 * CONCURRENCY
"""So many of the latest replies may be lost with a killed process: what is at the server, and what is being stored."""

PAGES_UNDER_WAY = 6
"""The same of fetched pages: two under way to a host, and those that are being stored."""


@dataclass(frozen=True)
class Baseline:
    """What a command does when nothing disturbs it."""

    results: Results
    cwd: Path
    seconds: float
    answered: Counter[str]
    """How often each question was."""
    n_changes: int
    """Of files, by its main process."""


class Bench:
    """All that trials share: servers, inputs, and the undisturbed runs, each made when it is first wanted."""

    def __init__(self, folder: Path, server: ModelServer, site: WebSite) -> None:
        self.folder = folder
        self.server = server
        self.site = site
        self.inputs = folder / "inputs"
        write_inputs(self.inputs, site.urls)
        self.commands = commands(self.inputs, server.url, site.host)
        self._baselines: dict[str, Baseline] = {}

    def baseline(self, name: str) -> Baseline:
        """The undisturbed run of a command."""
        if name not in self._baselines:
            command = self.commands[name]
            cwd = self.folder / "baselines" / name.replace(" ", "-") / "cwd"
            self.prepare(command, cwd)
            self.server.reset(command.plan)
            count = cwd.parent / "changes"
            env = {**environment(cwd), "CHAOS_COUNT": str(count)}
            ended = Process([*command.arguments], cwd, env).finish()
            if (ended.code, ended.err) != (0, ""):
                raise RuntimeError(
                    f"{name} fails without any disturbance: {ended.brief()}\n{ended.err[-2000:]}"
                )
            changes = int(count.read_text())
            results = command.results(cwd)
            self._baselines[name] = Baseline(results, cwd, ended.seconds, self.server.answered(), changes)
        return self._baselines[name]

    def prepare(self, command: Command, cwd: Path) -> None:
        """A new working directory for a command."""
        needed = command.starts_with
        command.prepare(cwd, self.baseline(needed[0]).cwd if needed else None)


def environment(cwd: Path) -> dict[str, str]:
    """What every command gets: an empty store of its own for verdicts on judges."""
    return {"LOCAL_JUDGE_QUALIFICATIONS": str(cwd.parent / "qualifications")}


@dataclass
class Trial:
    """One disturbed command."""

    bench: Bench
    seed: int
    folder: Path
    rng: Random = field(init=False)
    cwd: Path = field(init=False)
    """Where the command runs."""
    done: list[str] = field(default_factory=list[str])
    """What was done, in words."""
    violations: list[str] = field(default_factory=list[str])
    outcome: Outcome = "equal"
    started: list[Process] = field(default_factory=list[Process])
    compared: str = ""
    """How the names of the result files begin that must be equal."""

    def __post_init__(self) -> None:
        self.rng = Random(self.seed)
        self.cwd = self.folder / "cwd"

    def command(self, *names: str) -> Command:
        """One of these commands, with its working directory ready and the servers in order."""
        command = self.bench.commands[self.rng.choice(names)]
        self.bench.baseline(command.name)
        self.bench.prepare(command, self.cwd)
        self.bench.server.reset(command.plan)
        self.bench.site.reset()
        self.done.append(command.name)
        return command

    def start(
        self, arguments: tuple[str, ...], env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> Process:
        """One process in the working directory, or another."""
        where = cwd or self.cwd
        process = Process([*arguments], where, {**environment(where), **(env or {})})
        self.started.append(process)
        return process

    def ended(self, ended: Ended, *, killed: bool = False) -> Ended:
        """Note how a process ended; what is neither done, missing, refused nor killed by us is a violation."""
        if ended.state == "broken" or (ended.state == "killed" and not killed):
            self.violate(f"{ended.brief()}; standard error: {ended.err[-1500:]!r}")
        return ended

    def run(self, arguments: tuple[str, ...], env: Mapping[str, str] | None = None) -> Ended:
        """Run a process to its end."""
        return self.ended(self.start(arguments, env).finish())

    def violate(self, what: str) -> None:
        """Note what should not be."""
        self.violations.append(what)
        self.outcome = "violation"

    def settle(self, outcome: Outcome) -> None:
        """How the trial came out, unless there is a violation already."""
        if not self.violations:
            self.outcome = outcome

    def ends_equal(self, command: Command, lost: set[str] | None = None) -> None:
        """The command, undisturbed now, comes to the results of the baseline, and asks nothing twice.

        Args:
            command: which.
            lost: bodies that were under way at kills, of which the replies may have been lost.
        """
        ended = self.run(command.arguments)
        if ended.state == "refused" and not command.continues:
            self.settle("refused")
            if command.whole:
                self.same_results(command, command.results(self.cwd))
        elif ended.state != "done":
            self.violate(f"undisturbed at last, it does not end well: {ended.brief()}")
        else:
            self.same_results(command, command.results(self.cwd))
        self.asked_once(self.bench.baseline(command.name).answered, lost or set())

    def held_against_baseline(self, command: Command, ended: Ended) -> None:
        """The results of a disturbed command: equal, typed failures that are counted, or refused."""
        if ended.state == "done":
            self.same_results(command, command.results(self.cwd))
        elif ended.state == "refused":
            self.settle("refused")
        elif ended.state == "missing":
            self.settle("typed")
            self.counted()

    def same_results(self, command: Command, found: Results, but: tuple[str, ...] = ()) -> None:
        """Byte-equal to the undisturbed run's, `but` for these files."""
        whole = self.bench.baseline(command.name).results
        every = (whole.keys() | found.keys()).difference(but)
        names = sorted(name for name in every if name.startswith(self.compared))
        differing = [name for name in names if whole.get(name) != found.get(name)]
        if differing:
            self.violate(f"{len(differing)} result files differ without a word: {', '.join(differing[:6])}")

    def counted(self) -> None:
        """Every failure of runs that ended with 3 is typed and in a list of reports."""
        runs = sorted(path.parent for path in self.cwd.rglob("cases.jsonl"))
        records = [record for run in runs for record in RunStore(run).read_models("cases.jsonl", CaseRecord)]
        for record in records:
            if record.status == "crashed":
                self.violate(f"report {record.id} crashed: {record.detail}")
        whole = all(record.status == "done" and not record.n_calls_failed for record in records)
        if records and whole:
            self.violate("exit 3, and no failure is counted in cases.jsonl")

    def asked_once(self, whole: Counter[str], lost: set[str], others: Sequence[ModelServer] = ()) -> None:
        """No question was answered more often than in the `whole` run, but what was under way at a kill."""
        answered = sum((server.answered() for server in others), self.bench.server.answered())
        twice = {digest for digest, n in answered.items() if n > max(1, whole[digest])}
        if twice - lost:
            self.violate(f"{len(twice - lost)} calls were answered with success and made again")
        lost_replies = twice & lost
        if lost_replies:
            self.done.append(f"{len(lost_replies)} calls under way at kills made again")

    @contextlib.contextmanager
    def kept_on_violation(self) -> Generator[None]:
        """Remove the trial's files, unless it is a violation."""
        self.folder.mkdir(parents=True)
        try:
            yield
        finally:
            for process in self.started:
                process.kill()
            self.bench.server.set_faults(None)
        if not self.violations:
            shutil.rmtree(self.folder, ignore_errors=True)
