"""Records of the judges that run on this machine, their state and their locks.

    running/HOST/NAME.json     of each judge: its servers, their processes, logs and GPUs
    running/HOST/NAME.lock     held while the judge is started
    running/HOST/NAME.users    held, shared, by every process that uses the judge
    running/HOST/.lock         held while a judge chooses its ports and GPUs

They are in `$LOCAL_JUDGE_HOME` or the user's state folder; machines and Slurm jobs that share it have a folder each.

Invariant: a record counts only as far as its processes live.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Literal

from platformdirs import user_state_path
from pydantic import ValidationError

from local_judge.base.files import read_file, replacing
from local_judge.base.model import Frozen
from serving.errors import LaunchFailed
from serving.launch import Place, machine
from serving.metrics import server_load
from serving.processes import Process, body_of, end, is_healthy, members_of


class Replica(Frozen):
    """One server of a judge."""

    place: Place
    process: Process
    log: Path
    members: tuple[Process, ...] = ()
    """Other processes of the server when they were last recorded."""


class RunningJudge(Frozen):
    """A judge whose servers were started on this machine."""

    name: str
    model: str
    """Served model name."""
    context_tokens: int
    settings: str
    """SHA-256 over everything that its servers were started with, except addresses and GPUs."""
    replicas: tuple[Replica, ...]
    since: datetime
    ready: bool = False
    """True if all servers have been healthy."""
    detached: bool = False
    """True if the servers stay when nothing uses them."""

    @property
    def base_urls(self) -> tuple[str, ...]:
        """Base URLs of the servers whose processes live."""
        return tuple(replica.place.base_url for replica in self.replicas if replica.process.lives)

    def with_members(self) -> RunningJudge:
        """Return the judge with the processes that its living servers have now."""
        return self.model_copy(update={"replicas": tuple(map(_with_members, self.replicas))})

    @property
    def gpus(self) -> tuple[str, ...]:
        """GPUs of all servers."""
        return tuple(gpu for replica in self.replicas for gpu in replica.place.gpus)


def end_replicas(replicas: Sequence[Replica]) -> None:
    """End servers with all their processes."""
    end([replica.process for replica in replicas], [member for one in replicas for member in one.members])


def _with_members(replica: Replica) -> Replica:
    if not replica.process.lives:
        return replica  # which processes were its own is known from the record alone
    members = members_of([replica.process], replica.members).difference([replica.process])
    return replica.model_copy(update={"members": tuple(sorted(members, key=lambda one: one.pid))})


def state_folder() -> Path:
    """Return the folder of the records of this machine."""
    home = os.environ.get("LOCAL_JUDGE_HOME")
    base = Path(home) if home else user_state_path("local_judge")
    return base / "running" / machine()


def read_records() -> list[RunningJudge]:
    """Return the records of this machine, by name; the processes may have ended."""
    found = (read_record(path.stem) for path in sorted(state_folder().glob("*.json")))
    return [judge for judge in found if judge is not None]


def living(name: str) -> RunningJudge | None:
    """Return a recorded judge of which a process lives; a record without one is removed."""
    there = read_record(name)
    if there is None or there.base_urls:
        return there
    end_replicas(there.replicas)  # children of a server that was killed
    forget(name)
    return None


def _path(name: str) -> Path:
    return state_folder() / f"{name}.json"


def read_record(name: str) -> RunningJudge | None:
    """Return the record of a judge; None if it has none, or one of another version."""
    try:
        return RunningJudge.model_validate_json(read_file(_path(name)), strict=True)
    except (OSError, ValidationError):
        return None


def write_record(judge: RunningJudge) -> None:
    """Write the record of a judge.

    Raises:
        LaunchFailed: It cannot be written.
    """
    path = _path(judge.name)
    try:
        with replacing(path) as file:
            file.write(judge.model_dump_json(indent=1).encode() + b"\n")
    except OSError as error:
        raise LaunchFailed(
            f"{path}: cannot be written ({error.strerror}); LOCAL_JUDGE_HOME names another folder"
        ) from error


def forget(name: str) -> None:
    """Remove the record of a judge."""
    with contextlib.suppress(OSError):
        _path(name).unlink(missing_ok=True)


def start_lock(name: str) -> Path:
    """Return the file that is locked while a judge is started."""
    return state_folder() / f"{name}.lock"


@asynccontextmanager
async def sharing(name: str) -> AsyncGenerator[IO[bytes]]:
    """Count this process as a user of a judge while the block runs; wait while it is being stopped."""
    async with holding(state_folder() / f"{name}.users", kind=fcntl.LOCK_SH) as users:
        yield users


@asynccontextmanager
async def holding(
    path: Path, waiting: Callable[[], None] = lambda: None, kind: int = fcntl.LOCK_EX
) -> AsyncGenerator[IO[bytes]]:
    """Hold a lock while the block runs; call `waiting` once if another process holds it, and wait for its end."""
    announced = False
    while True:
        with hold_lock(path, kind) as lock:
            if lock is not None:
                yield lock
                return
        if not announced:
            announced = True
            waiting()
        await asyncio.sleep(0.1)


@contextmanager
def hold_lock(path: Path, kind: int) -> Generator[IO[bytes] | None]:
    """Yield the open file that holds a lock; None if another process holds one that excludes it.

    Raises:
        LaunchFailed: The file cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
    except OSError as error:
        raise LaunchFailed(
            f"{path}: cannot be written ({error.strerror}); LOCAL_JUDGE_HOME names another folder"
        ) from error
    with file:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        yield file


class ReplicaStatus(Frozen):
    """State of one server."""

    base_url: str
    state: Literal["ready", "starting", "not answering", "ended"]
    gpus: tuple[str, ...]
    running: int | None = None
    """Requests that are computed; None if the server does not say."""
    waiting: int | None = None
    """Requests in the queue."""
    kv_usage: float | None = None
    """Used share of the KV cache, from 0 to 1."""
    pid: int
    log: Path


class JudgeStatus(Frozen):
    """State of a judge."""

    name: str
    model: str
    since: datetime
    detached: bool
    replicas: tuple[ReplicaStatus, ...]


def status() -> list[JudgeStatus]:
    """Return the state of every recorded judge."""
    return [
        JudgeStatus(
            name=judge.name,
            model=judge.model,
            since=judge.since,
            detached=judge.detached,
            replicas=tuple(_replica_status(replica, judge.ready) for replica in judge.replicas),
        )
        for judge in read_records()
    ]


def _replica_status(replica: Replica, ready: bool) -> ReplicaStatus:
    root = replica.place.root
    metrics = ""
    if not replica.process.lives:
        state = "ended"
    elif is_healthy(f"{root}/health"):
        state = "ready"
        body = body_of(f"{root}/metrics")
        metrics = "" if body is None else body.decode("utf-8", "replace")
    else:
        state = "not answering" if ready else "starting"
    load = server_load(metrics)
    return ReplicaStatus(
        base_url=replica.place.base_url,
        state=state,
        gpus=replica.place.gpus,
        running=load.running,
        waiting=load.waiting,
        kv_usage=load.kv_usage,
        pid=replica.process.pid,
        log=replica.log,
    )
