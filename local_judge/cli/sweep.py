"""`local-judge sweep`: many runs over the same reports in one folder."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from local_judge.base.errors import ConfigError, RunError, brief, plain
from local_judge.base.output import count, is_quiet
from local_judge.cli.ending import leave_runs, stoppable
from local_judge.cli.judging import PrintConfig, Replay, ServerOptions
from local_judge.cli.options import AsJson, DryRun, refuse
from local_judge.cli.output import print_json, print_left_out
from local_judge.cli.run import given_keys
from local_judge.cli.show import print_groups
from local_judge.judge.judge import Judge
from local_judge.ledger.merge import Merged
from local_judge.reporting.progress import RunProgress
from local_judge.reporting.shard_progress import ShardProgress
from local_judge.reporting.tables import sweep_plan_notes, sweep_plan_tables
from local_judge.runs.storage.lock import locked
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.sweeps import shard_storage
from local_judge.runs.sweeps.folder import SHARDS, earlier_in
from local_judge.runs.sweeps.plan import SweepPlan, plan_sweep
from local_judge.runs.sweeps.ray_tasks import EndedShard, connected, evaluate_shards, tasks_of, workers_of
from local_judge.runs.sweeps.remote_folder import RemoteFolder
from local_judge.runs.sweeps.sharding import merge_shards, parse_shard, part_of, shards
from local_judge.runs.sweeps.sweep import REPORTS_IN_FLIGHT, Sweep, open_sweep, run_sweep
from local_judge.terminal import stdout


def sweep_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A sweep file (YAML).")],
    servers: ServerOptions,
    ledgers: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[LEDGER...]",
            help="With --merge: ledgers of shards; by default those in the sweep's folder.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder of the sweep; the same command continues it.")
    ] = None,
    replay: Replay = False,
    shard: Annotated[
        str | None,
        typer.Option("--shard", metavar="I/N", help="Evaluate only the I-th of N shards; then use --merge."),
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Merge the shards of the sweep, without model calls.")
    ] = False,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            metavar="ADDRESS",
            help="Evaluate the shards as tasks of the Ray cluster at HOST:PORT, or `auto`; then merge them.",
        ),
    ] = None,
    ray_workers: Annotated[
        int | None,
        typer.Option(
            "--ray-workers",
            min=1,
            help="With --ray: number of shards evaluated concurrently.",
            show_default="one per node",
        ),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            "--storage",
            metavar="URL",
            help="With --ray: keep shards at a URL of fsspec, such as s3://bucket/folder, not in the sweep's folder.",
        ),
    ] = None,
    dry_run: DryRun = False,
    rate: Annotated[
        list[str] | None,
        typer.Option(
            "--rate",
            metavar="[NAME=]N",
            help="With --dry-run: prompt and output tokens per second of a judge; by default measured from the ledger.",
        ),
    ] = None,
    print_config: PrintConfig = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate reports by many runs, which one file describes."""
    options, environment = given_keys(context)
    if merge:
        given = {
            "--shard": shard,
            "--ray": ray,
            "--ray-workers": ray_workers,
            "--storage": storage,
            "--rate": rate,
        }
        flags = {"--replay": replay, "--dry-run": dry_run, "--print-config": print_config}
        refuse({name: bool(value) for name, value in (given | flags).items()}, "--merge")
        _merge(open_sweep(file, options, environment, replay=True), ledgers or (), as_json)
        return
    if ledgers:
        raise ConfigError(f"{ledgers[0]}: only --merge takes ledgers")
    sweep = open_sweep(file, options, environment, replay=replay, allow_preset_code=servers.allow_preset_code)
    if print_config:
        print("---\n".join(f"# {one.name}\n{one.file.as_yaml()}" for one in sweep.runs), end="")
        return
    print_left_out(dict.fromkeys(path for one in sweep.runs for path in one.file.reports))
    if shard is not None:
        number, of = parse_shard(shard)
        sweep = part_of(sweep, shards(sweep, of)[number - 1])
        if not sweep.runs:
            sys.stderr.write(f"shard {shard} has no reports\n")
            return
    if dry_run:
        _print_plan(asyncio.run(plan_sweep(sweep, _rates(rate or ()))), as_json)
        return
    if ray is not None:
        if shard is not None or replay:
            raise ConfigError("--ray: excludes --shard and --replay")
        place = RemoteFolder(storage) if storage is not None else None
        _evaluate_on_ray(ray, sweep, ray_workers, options, environment, place)
        _merge(open_sweep(file, options, environment, replay=True), (), as_json)
        return
    if storage is not None:
        raise ConfigError("--storage: give --ray too")
    watch = _Watch()
    with stoppable(sweep.ledger):
        found = asyncio.run(run_sweep(sweep, watch))
    _end(sweep, found, watch, replay, as_json)


def _merge(sweep: Sweep, ledgers: Sequence[Path], as_json: bool) -> None:
    watch = _Watch()
    with stoppable(sweep.ledger):
        merged, found = asyncio.run(merge_shards(sweep, watch, ledgers))
    if not is_quiet():
        sys.stderr.write(f"{merged.replies:,} replies merged, {merged.present:,} present before\n")
    _write_problems(merged)
    _end(sweep, found, watch, True, as_json)


def _write_problems(merged: Merged) -> None:
    """Write a line for each conflict and each damaged row of a merge."""
    for line in (*merged.conflicts, *merged.damaged):
        sys.stderr.write(f"{plain(line)}\n")


def _evaluate_on_ray(
    address: str,
    sweep: Sweep,
    workers: int | None,
    options: Mapping[str, Any],
    environment: Mapping[str, Any],
    storage: RemoteFolder | None,
) -> None:
    """Evaluate the shards of a sweep on a Ray cluster.

    Raises:
        RunError: a shard could not be evaluated; the others are.
        UserError: the storage of the shards cannot be used.
    """
    failed: list[EndedShard] = []
    if storage is not None:
        shard_storage.check(storage, sweep)
    with ExitStack() as stack:
        try:
            ray = stack.enter_context(connected(address))
            workers = workers or workers_of(ray)
        except ConfigError as error:
            raise typer.BadParameter(str(error), param_hint="--ray") from None
        stack.enter_context(stoppable(sweep.root / SHARDS))
        stack.enter_context(locked(sweep.root))
        tasks = tasks_of(sweep, workers, options, environment, storage)
        progress = stack.enter_context(ShardProgress(sweep.root, tasks, workers))
        for ended in evaluate_shards(ray, tasks, workers):
            if storage is not None and ended.problem is None:
                shard = ended.task.shard
                _write_problems(shard_storage.fetch(storage, shard, sweep.root / SHARDS / shard))
            progress.ended(ended)
            failed += [ended] if ended.problem is not None else []
    if failed:
        first = failed[0]
        raise RunError(
            f"{len(failed)} of {count(len(tasks), 'shard')} not evaluated: {first.task.name}: {first.problem}; "
            "the same command continues, and `local-judge sweep --merge` merges the others"
        )


class _Watch:
    """Display of the progress of a sweep, one after another if judges take turns."""

    def __init__(self) -> None:
        self.shown = False

    def __call__(self, judges: Mapping[str, Judge], total: int) -> RunProgress:
        self.shown = True
        return RunProgress(judges, total, at_once=REPORTS_IN_FLIGHT)


def _rates(given: Sequence[str]) -> dict[str, float]:
    """Return tokens per second by judge; "" for all others."""
    found: dict[str, float] = {}
    for text in given:
        name, _, number = text.rpartition("=")
        try:
            found[name] = float(number)
        except ValueError:
            found[name] = 0.0
        if not 0 < found[name] < float("inf"):
            raise ConfigError(
                f"--rate {brief(text)}: expected tokens per second, such as 2500 or qwen3-14b=2500"
            )
    return found


def _print_plan(plan: SweepPlan, as_json: bool) -> None:
    if as_json:
        print_json(plan)
        return
    console = stdout()
    console.print(*sweep_plan_tables(plan), sep="\n")
    for line in sweep_plan_notes(plan):
        console.print(line, soft_wrap=True, markup=False)


def _end(
    sweep: Sweep, found: Mapping[str, Sequence[CaseRecord]], watch: _Watch, replay: bool, as_json: bool
) -> None:
    if not watch.shown and not is_quiet():
        sys.stderr.write(f"{plain(str(sweep.root))} is finished; 0 calls\n")
    _print(sweep, as_json)
    leave_runs({str(run.job.store.root): found[run.name] for run in sweep.runs}, replay)


def _print(sweep: Sweep, as_json: bool) -> None:
    """Print the scores of all runs, and the names of what an earlier sweep file had."""
    earlier = earlier_in(sweep.root)
    if as_json:
        data = {
            "runs": {run.name: str(run.job.store.root) for run in sweep.runs},
            "earlier": earlier,
        }
        print_json(data)
        return
    print_groups([run.job.store.root for run in sweep.runs])
    for name in earlier:
        print(plain(f"kept from an earlier sweep file: {sweep.root / name}"))
