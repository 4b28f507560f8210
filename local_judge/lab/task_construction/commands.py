"""What the commands on builds do: read the input, run the stages, show, and count votes.

Invariant: whatever is wrong with input, settings or directory is said before anything is asked.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from local_judge.errors import InputError, RunError
from local_judge.judge.judge import Judge
from local_judge.lab.task_construction.duplicates import Method
from local_judge.lab.task_construction.imported import read_given
from local_judge.lab.task_construction.model import Stage
from local_judge.lab.task_construction.outcome import Build, Outcome, settle
from local_judge.lab.task_construction.pipeline import Source, make
from local_judge.lab.task_construction.ranking import Ballot, ballot_paper, read_ballot
from local_judge.lab.task_construction.requesting import prompts_digest
from local_judge.lab.task_construction.settings import BuildConfig
from local_judge.lab.task_construction.sources import read_items, read_questions
from local_judge.lab.task_construction.store import BuildManifest, BuildStore


@dataclass(frozen=True)
class Begun:
    """What a build is made from, read and checked before anything is asked."""

    source: Source
    sha256: str | None


def read_source(clarify: Path | None, reformulate: Path | None, given: Path | None) -> Begun:
    """The file that one of the options names; without any, tasks are made from domains.

    Raises:
        InputError: there are two of them, or the file cannot be used.
    """
    named = [path for path in (clarify, reformulate, given) if path is not None]
    if len(named) > 1:
        raise InputError("--clarify, --reformulate and --from exclude each other: a build has one input")
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
    """The config with the day on which the directory was begun, where it names none."""
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
    """Make, filter and settle; go on where the directory is.

    Args:
        store: the directory.
        config: with or without a day.
        begun: what tasks are made from.
        judge: who is asked; its ledger replays what was asked before.
        method: by which duplicates are found.
        change: take another config, judge or input than the directory was begun with.
        stage_done: called after each stage.

    Raises:
        RunError: the directory is none of a build, or was begun with something else.
        LedgerError, EngineError, IndexesError: what concerns all tasks alike.
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
    """What came of a build so far, from what it stored. Raises RunError: there is none."""
    manifest = store.existing()
    return settle(store.read(), manifest.config, store.ballots())


def paper_for(store: BuildStore, voter: str) -> tuple[str, int]:
    """The ballot paper of a person, and how many tasks are on it.

    Raises:
        RunError: there is no build, or nothing in it to rank.
    """
    manifest = store.existing()
    tasks = store.read().unique(manifest.config)
    if not tasks:
        raise RunError(f"{store.root}: no task passed all filters; there is nothing to rank")
    return ballot_paper(tasks, voter, manifest.config.seed), len(tasks)


def count_ballot(store: BuildStore, voter: str, paper: Path) -> tuple[Outcome, Ballot, bool]:
    """Keep a person's votes and settle anew; what came of it, the ballot, and whether it took the place of another.

    Raises:
        RunError: there is no build.
        InputError: the paper cannot be read.
    """
    manifest = store.existing()
    build = store.read()
    ballot = read_ballot(paper, voter, {one.id: one for one in build.unique(manifest.config)})
    again = store.add_ballot(ballot)
    return store.finish(build, manifest), ballot, again


def _digest(path: Path) -> str:
    """Of a file, or of all files of a folder with their names."""
    found = hashlib.sha256()
    every = sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in every:
        if file.is_file():
            found.update(str(file.relative_to(path)).encode("utf-8", "surrogateescape") + b"\0")
            found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()
