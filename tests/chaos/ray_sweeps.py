"""A sweep on a Ray cluster of two nodes, whose driver or workers are killed."""

from __future__ import annotations

import os
import signal
from importlib.util import find_spec
from random import Random

from ..ray_cluster import NotStarted, RayCluster, environment
from .commands import Results
from .process import Process
from .trial import UNDER_WAY, Trial


def ray(trial: Trial) -> None:
    """The driver or a worker is killed once or twice; the same command ends with the results of one machine."""
    if find_spec("ray") is None:
        _skip(trial, "Ray is not installed")
        return
    try:
        with RayCluster(nodes=2) as cluster:
            _disturb(trial, cluster)
    except NotStarted:
        _skip(trial, "Ray does not start")


def _skip(trial: Trial, reason: str) -> None:
    trial.done.append(reason)
    trial.settle("skipped")


def _disturb(trial: Trial, cluster: RayCluster) -> None:
    bench, rng = trial.bench, trial.rng
    command = trial.command("sweep")
    # Shards have ledgers of their own, so that two may ask the same.
    answered = bench.baseline("first shard").answered + bench.baseline("second shard").answered
    bench.server.reset(command.plan)
    arguments = (*command.arguments, "--ray", cluster.address, "--ray-workers", "2")
    if rng.random() < 0.5:
        arguments += ("--storage", f"file://{trial.cwd}/storage")
        trial.done.append("with storage")
    env = {name: value for name, value in environment().items() if name.startswith("RAY_")}
    lost: set[str] = set()
    for _ in range(rng.randint(1, 2)):
        process = trial.start(arguments, env)
        seen = len(bench.server.asked)
        count = rng.randint(1, max(1, answered.total() - seen))
        bench.server.wait_for(seen + count, process.runs)
        trial.done.append(f"{_kill(rng, cluster, process)} killed after {count} requests")
        lost |= bench.server.in_flight(2 * UNDER_WAY)
        trial.ended(process.finish(), killed=True)
    ended = trial.run(arguments, env)
    if ended.state == "done":
        trial.same_results(command, _undivided(command.results(trial.cwd)))
    else:
        trial.violate(f"undisturbed at last, it does not end well: {ended.brief()}")
    trial.asked_once(answered, lost)


def _kill(rng: Random, cluster: RayCluster, process: Process) -> str:
    """Kill the driver, or a worker if there is one; return which."""
    workers = cluster.processes("ray::shard")
    if workers and rng.random() < 0.6:
        os.kill(rng.choice(workers), signal.SIGKILL)
        return "worker"
    process.kill()
    return "driver"


def _undivided(results: Results) -> Results:
    """The files of a sweep without those of its shards."""
    return {name: content for name, content in results.items() if not name.startswith("sweep/shards/")}
