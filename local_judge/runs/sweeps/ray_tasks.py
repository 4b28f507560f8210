"""Shards of a sweep as tasks of a Ray cluster.

Each task does what `local-judge sweep FILE --shard i/n` does: it writes into the folder of its shard, in a file system
that all nodes share, or in a temporary folder that it uploads (see `runs.shard_storage`). Invariants: Ray repeats a
task only if its process or node is lost; it continues from the shard's ledger, so that only the calls in flight,
and those whose replies were not yet uploaded, are made again. A failed call is a failure of the shard's results and
repeats no task. Ray is imported when a cluster is used, not before.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from indexes.errors import IndexesError
from local_judge.base.errors import (
    ConfigError,
    JudgeError,
    RunError,
    UserError,
    one_line,
    optional_module,
    os_errors,
)
from local_judge.ledger.merge import merge
from local_judge.runs.execution.job import unwatched
from local_judge.runs.planning.inputs import task_of
from local_judge.runs.storage.lock import held_since
from local_judge.runs.sweeps import shard_storage
from local_judge.runs.sweeps.folder import LEDGER, SHARDS
from local_judge.runs.sweeps.remote_folder import RemoteFolder
from local_judge.runs.sweeps.sharding import run_shard, shards
from local_judge.runs.sweeps.sweep import Sweep, open_sweep
from serving.errors import ServingError

SHARDS_PER_WORKER = 4
"""Shards for each worker, so that a worker that ends early takes another one."""
RETRIES = 10
"""Number of times that a task is repeated because its process or node was lost."""
CONNECT_SECONDS = 5.0
"""Time for a connection to the head node."""
ANSWER_SECONDS = 60.0
"""Time for the cluster to accept a driver; an idle machine takes about 3 s."""
LOCK_SECONDS = 120.0
"""Time that a repeated task waits for its shard's lock: network file systems keep that of a lost node for a while."""

_PROBE = "import sys, ray; ray.init(address=sys.argv[1], log_to_driver=False, logging_level='ERROR'); ray.shutdown()"


class ShardTask(NamedTuple):
    """Everything that a worker needs to evaluate a shard."""

    number: int
    of: int
    folder: Path
    """Working folder of the command, to which its paths are relative."""
    file: Path
    """Sweep file."""
    options: Mapping[str, Any]
    """Keys of a run file that the command line sets."""
    environment: Mapping[str, Any]
    """Keys of a run file that the environment sets."""
    reports: int
    """Number of reports over all runs."""
    storage: str | None = None
    """URL of the storage of shards; None for the sweep's folder."""
    allow_preset_code: bool = False
    """Permission for the presets; see `job_of`."""

    @property
    def shard(self) -> str:
        """Name of the shard and of its folder."""
        return f"{self.number}-of-{self.of}"

    @property
    def name(self) -> str:
        """Name of the task in Ray's dashboard."""
        return f"shard {self.shard}"


class EndedShard(NamedTuple):
    """A task that has ended."""

    task: ShardTask
    problem: str | None
    """Error that stopped it; None if the shard is evaluated."""


@contextlib.contextmanager
def connected(address: str) -> Generator[Any]:
    """Connect this process to a cluster, and yield the module `ray`.

    Args:
        address: `HOST:PORT` of the head node, or `auto` for the cluster of this machine.

    Raises:
        ConfigError: `address` has another form.
        UserError: Ray is not installed, or no cluster of this version of Ray and Python answers at the address.
    """
    ray = optional_module("ray", "--ray", "ray")
    _check_answers(address)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # it was reachable a moment ago
        raise UserError(f"{address}: {one_line(error)}") from None
    finally:
        signal.signal(signal.SIGTERM, handler)  # Ray sets its own
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_answers(address: str) -> None:
    """Check that a cluster accepts a driver from this machine, without Ray's retries, which last for many minutes."""
    if address != "auto":
        host, _, port = address.rpartition(":")
        if not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise ConfigError(
                f"{address[:80]!r} is not the address of a Ray cluster; expected HOST:PORT or auto"
            )
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
        except OSError as error:
            raise UserError(
                f"{address}: no Ray cluster there ({error.strerror or error}); start one with `ray start --head`"
            ) from None
    try:
        probe = subprocess.run(
            [sys.executable, "-c", _PROBE, address], capture_output=True, text=True, timeout=ANSWER_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise UserError(
            f"{address}: not a Ray cluster, or overloaded: no answer in {ANSWER_SECONDS:.0f} s; give the port of "
            "`ray start --head --port`"
        ) from None
    if probe.returncode != 0:
        last = (probe.stderr.strip().splitlines() or ["no message"])[-1]
        raise UserError(f"{address}: {last}")


def workers_of(ray: Any) -> int:
    """Return the number of live nodes that have a CPU for tasks.

    Raises:
        UserError: there is none.
    """
    n = sum(bool(node["Alive"] and node["Resources"].get("CPU", 0) >= 1) for node in ray.nodes())
    if n == 0:
        raise UserError("no node of the Ray cluster has a CPU for tasks; start one with --num-cpus=1 or more")
    return n


def tasks_of(
    sweep: Sweep,
    workers: int,
    options: Mapping[str, Any],
    environment: Mapping[str, Any],
    storage: RemoteFolder | None = None,
) -> list[ShardTask]:
    """Return the tasks of a sweep, without those of empty shards.

    The replies in shards of another number, which an earlier command made, are merged into the sweep's ledger first.

    Raises:
        ConfigError: a judge would be started by the tasks.
        UserError: the storage cannot be read or written.
        LedgerError: a shard's ledger cannot be read.
    """
    for run in sweep.runs:
        if run.file.serve:
            raise ConfigError("--ray: start the judges' servers first; tasks do not start them (serve)")
    n = SHARDS_PER_WORKER * workers
    found = sorted((sweep.root / SHARDS).glob(f"*/{LEDGER}"))
    others = [one for one in found if not one.parent.name.endswith(f"-of-{n}")]
    if others:
        merge(sweep.ledger, others)
    if storage is not None:
        shard_storage.begin(storage, sweep, n)
    by_task = Counter(task_of(report) for run in sweep.runs for report in run.job.reports)
    return [
        ShardTask(
            shard.number,
            n,
            Path.cwd(),
            sweep.file.path,
            options,
            environment,
            sum(by_task[task] for task in shard.tasks),
            None if storage is None else storage.url,
            any(spec.preset.code_allowed for run in sweep.runs for spec in run.job.judge_specs),
        )
        for shard in shards(sweep, n)
        if shard.tasks
    ]


def evaluate_shards(ray: Any, tasks: Sequence[ShardTask], workers: int) -> Iterator[EndedShard]:
    """Evaluate shards, `workers` at a time, and yield each when it has ended."""
    remote = ray.remote(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD")(evaluate_shard)
    waiting, running = list(reversed(tasks)), dict[Any, ShardTask]()

    def fill() -> None:
        while waiting and len(running) < workers:
            task = waiting.pop()
            running[remote.options(name=task.name).remote(task)] = task

    fill()
    while running:
        [reference], _ = ray.wait(list(running))
        task = running.pop(reference)
        fill()  # before the caller reads the results
        try:
            yield EndedShard(task, ray.get(reference))
        except ray.exceptions.RayError as error:
            yield EndedShard(task, _reason(ray, error))


def _reason(ray: Any, error: Exception) -> str:
    if isinstance(error, ray.exceptions.RayTaskError):
        if "ModuleNotFoundError" in str(error):
            return "a node cannot import local_judge; install the same version on all nodes"
        cause: Any = getattr(error, "cause", error)
        return f"{type(cause).__name__}: {cause}; the task's log in Ray has the traceback"
    return f"its process or node was lost {RETRIES + 1} times; {str(error).splitlines()[0]}"


def evaluate_shard(task: ShardTask) -> str | None:
    """Evaluate a shard in this process, a worker of Ray; return what stopped it, None if it is evaluated."""
    try:
        with os_errors(
            RunError, f"{task.folder}: not on node {socket.gethostname()}; all nodes need it at this path"
        ):
            os.chdir(task.folder)
        sweep = open_sweep(
            task.file, task.options, task.environment, allow_preset_code=task.allow_preset_code
        )
        shard = shards(sweep, task.of)[task.number - 1]
        if task.storage is not None:
            shard_storage.evaluate(RemoteFolder(task.storage), sweep, shard)
        else:
            _wait_for_lock(sweep.root / SHARDS / shard.name)
            asyncio.run(run_shard(sweep, shard, unwatched))
    except (UserError, ServingError, IndexesError, JudgeError) as error:
        return one_line(error)
    return None


def _wait_for_lock(folder: Path) -> None:
    """Wait until no lost worker holds the lock of a shard; a lock that stays is an error of the run."""
    end = time.monotonic() + LOCK_SECONDS
    while held_since(folder) is not None and time.monotonic() < end:
        time.sleep(0.5)
