"""Shards of a sweep: parts that machines evaluate independently, each into a folder of its own.

    shards/<i>-of-<n>/      a sweep of the shard's reports, with its own ledger

    parts = shards(sweep, n)                       on every machine the same
    await run_shard(sweep, parts[i], watch)        on one machine each, in any order, again after a kill
    await merge_shards(sweep, watch)               once, or again

Invariants: a report belongs to one shard, and all reports on a task to the same one; the shards depend on the reports
alone, so that every machine computes the same; a shard reads the replies of the sweep's ledger and writes only into its
own folder; merging twice changes nothing, and the merged runs have the bytes of a sweep that was never divided.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from local_judge.base.errors import ConfigError, RunError
from local_judge.ledger.merge import Merged, merge
from local_judge.runs.execution.job import Watch, job_of
from local_judge.runs.execution.judges import with_identities
from local_judge.runs.planning.inputs import task_of
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.sweeps.file import selections
from local_judge.runs.sweeps.folder import LEDGER, RUNS, SHARDS
from local_judge.runs.sweeps.grouping import divided
from local_judge.runs.sweeps.sweep import Sweep, SweepRun, run_sweep


class Shard(NamedTuple):
    """One of the shards of a sweep."""

    number: int
    """Number from 1."""
    of: int
    """Number of shards."""
    tasks: tuple[str, ...]
    """Ids of the tasks whose reports are in it."""

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"{self.number}-of-{self.of}"


def shards(sweep: Sweep, n: int) -> tuple[Shard, ...]:
    """Divide a sweep into `n` shards of about equal length, in which reports that share pages are together.

    Some shards may be empty if there are few tasks.

    Raises:
        ConfigError: `n` is less than 1.
    """
    if n < 1:
        raise ConfigError(f"{n} shards: give at least 1")
    reports = [report for run in sweep.runs for report in run.job.reports]
    return tuple(Shard(number, n, tuple(tasks)) for number, tasks in enumerate(divided(reports, n), 1))


def parse_shard(text: str) -> tuple[int, int]:
    """Return the number and the count of `i/n`, such as `3/8`.

    Raises:
        ConfigError: it is not of this form, or i is not from 1 to n.
    """
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise ConfigError(f"--shard {text[:40]}: expected i/n with i from 1 to n, such as 3/8")
    return int(found[1]), int(found[2])


def part_of(sweep: Sweep, shard: Shard) -> Sweep:
    """Return the sweep of a shard's reports, in a folder of its own; it may have no runs."""
    root = sweep.root / SHARDS / shard.name
    tasks = set(shard.tasks)
    runs: list[SweepRun] = []
    for run in sweep.runs:
        every = [(one.system or "", task_of(one)) for one in sweep.inputs.reports(run.file)]
        chosen = [(one.system or "", task_of(one)) for one in run.job.reports if task_of(one) in tasks]
        if chosen:
            changes = {
                "select": tuple(selections(list(dict.fromkeys(chosen)), list(dict.fromkeys(every)))),
                "limit": None,
                "out": root / RUNS / run.name,
                "ledger": root / LEDGER,
            }
            file = run.file.model_copy(update=changes)
            allowed = any(spec.preset.code_allowed for spec in run.job.judge_specs)
            job = job_of(file, replay=run.job.replay, inputs=sweep.inputs, allow_preset_code=allowed)
            base = sweep.ledger if sweep.ledger.exists() else None
            runs.append(SweepRun(run.name, file, replace(job, grows=True, base=base)))
    return replace(sweep, root=root, ledger=root / LEDGER, runs=tuple(runs))


async def run_shard(sweep: Sweep, shard: Shard, watch: Watch) -> dict[str, list[CaseRecord]]:
    """Evaluate a shard, and return the records of its runs by name; the same call continues it.

    Raises:
        UserError, EngineError, LedgerError: as `run_sweep`.
    """
    part = part_of(sweep, shard)
    return await run_sweep(part, watch) if part.runs else {}


async def merge_shards(
    sweep: Sweep, watch: Watch, ledgers: Sequence[Path] = ()
) -> tuple[Merged, dict[str, list[CaseRecord]]]:
    """Merge the ledgers of shards into that of the sweep, and derive all runs from it; no judge is asked.

    A reply that the sweep's ledger has stays, since finished runs rest on it (see `ledger.merge`). Replies that
    are missing are failures of the kind `not_in_ledger`.

    Args:
        sweep: the sweep, opened with `replay`.
        watch: display of the progress.
        ledgers: ledgers of the shards; those in the sweep's folder if there are none.

    Raises:
        RunError: there is no ledger to merge, or none has a reply of a judge of the sweep.
        LedgerError: a ledger cannot be read.
    """
    found = list(ledgers) or sorted((sweep.root / SHARDS).glob(f"*/{LEDGER}"))
    if not found:
        raise RunError(
            f"{sweep.root / SHARDS}: no shard there; `local-judge sweep FILE --shard i/n` evaluates one"
        )
    sweep.root.mkdir(parents=True, exist_ok=True)
    merged = merge(sweep.ledger, found)
    for spec in with_identities([spec for run in sweep.runs for spec in run.job.judge_specs], sweep.ledger):
        if spec.recorded is None:
            raise RunError(
                f"{sweep.root}: no shard has replies by judge {spec.name!r} yet; merge again when a shard has ended"
            )
    return merged, await run_sweep(sweep, watch)
