"""Commands on builds: read the input, run the stages, show the result, and count votes.

Invariant: errors in the input, the settings or the directory are reported before the first model call.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from local_judge.base.errors import InputError, RunError
from local_judge.judge.judge import Judge
from local_judge.lab.task_construction.asking import prompts_digest
from local_judge.lab.task_construction.filters import Method
from local_judge.lab.task_construction.model import Stage
from local_judge.lab.task_construction.outcome import Build, Outcome, settle
from local_judge.lab.task_construction.pipeline import Source, make
from local_judge.lab.task_construction.ranking import Ballot, ballot_paper, read_ballot
from local_judge.lab.task_construction.settings import BuildConfig
from local_judge.lab.task_construction.sources import read_given, read_items, read_questions
from local_judge.lab.task_construction.store import BuildManifest, BuildStore


@dataclass(frozen=True)
class Begun:
    """Input of a build, read and checked before the first model call."""

    source: Source
    sha256: str | None


def read_source(clarify: Path | None, reformulate: Path | None, given: Path | None) -> Begun:
    """Read the file of one of the options; without any, tasks are made from domains.

    Raises:
        InputError: Several options are given, or the file cannot be used.
    """
    named = [path for path in (clarify, reformulate, given) if path is not None]
    if len(named) > 1:
        raise InputError("--clarify, --reformulate and --from exclude each other; give one of them")
    if clarify is not None:
        source = Source(questions=read_questions(clarify))
    elif reformulate is not None:
        source = Source(items=read_items(reformulate))
    elif given is not None:
        source = Source(given=read_given(given))
    else:
        return Begun(Source(), None)
    return Begun(source, _digest(named[0]))


def dated(config: BuildConfig, there: BuildManifest | None) -> BuildConfig:
    """Return the config with a date: its own, that of the directory, or today."""
    if config.date is not None:
        return config
    day = there.config.date if there is not None else dt.datetime.now(tz=dt.UTC).date()
    return config.model_copy(update={"date": day})


async def build_tasks(
    store: BuildStore,
    config: BuildConfig,
    begun: Begun,
    judge: Judge,
    method: Method | None,
    *,
    change: bool = False,
    stage_done: Callable[[], None] = lambda: None,
) -> Outcome:
    """Make, filter and settle tasks; continue an unfinished build.

    Args:
        store: Directory of the build.
        config: Config with or without a date.
        begun: Input of the build.
        judge: Judge to ask; its ledger replays earlier replies.
        method: Method for duplicates.
        change: Accept a different config, judge or input than the directory was started with.
        stage_done: Called after each stage.

    Raises:
        RunError: The directory is not a build, or was started with different settings.
        LedgerError, EngineError, IndexesError: An error that affects all tasks.
    """
    manifest = BuildManifest(
        config=dated(config, store.manifest()),
        generator=begun.source.generator,
        input_sha256=begun.sha256,
        judge=await judge.engine.identity(),
        prompts=prompts_digest(),
        duplicates=method.name if method is not None else None,
    )
    store.begin(manifest, change=change)
    build = Build()

    def stored(stage: Stage) -> None:
        store.write(build, stage)
        stage_done()

    await make(build, manifest.config, begun.source, judge, method, stored)
    return store.finish(build, manifest)


def outcome_of(store: BuildStore) -> Outcome:
    """Return the outcome of a build so far. Raises RunError if there is no build."""
    manifest = store.existing()
    return settle(store.read(), manifest.config, store.ballots())


def paper_for(store: BuildStore, voter: str) -> tuple[str, int]:
    """Return the ballot paper of a person, and the number of tasks on it.

    Raises:
        RunError: There is no build, or no task to rank.
    """
    manifest = store.existing()
    tasks = store.read().unique(manifest.config)
    if not tasks:
        raise RunError(f"{store.root}: no task passed all filters; there is nothing to rank")
    return ballot_paper(tasks, voter, manifest.config.seed), len(tasks)


def count_ballot(store: BuildStore, voter: str, paper: Path) -> tuple[Outcome, Ballot, bool]:
    """Store a person's votes and settle again; return the outcome, the ballot, and whether it replaced an earlier one.

    Raises:
        RunError: There is no build.
        InputError: The paper cannot be read.
    """
    manifest = store.existing()
    build = store.read()
    ballot = read_ballot(paper, voter, {one.id: one for one in build.unique(manifest.config)})
    again = store.add_ballot(ballot)
    return store.finish(build, manifest), ballot, again


def _digest(path: Path) -> str:
    """Return the digest of a file, or of the names and contents of all files of a folder."""
    found = hashlib.sha256()
    every = sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in every:
        if file.is_file():
            found.update(str(file.relative_to(path)).encode("utf-8", "surrogateescape") + b"\0")
            found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()
