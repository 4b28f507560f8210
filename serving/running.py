"""Judges that run on this machine: start, record, find, watch and stop their servers.

Invariants: a record is written before its server is waited for, so that a killed command leaves no unknown server; a
judge is found for a preset only if it was started with the same
settings and answers with the same model and context; servers that no command was asked to leave running end with the
last process that uses them.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import json
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, NamedTuple

from serving.errors import LaunchFailed, PresetError
from serving.judge_records import (
    Replica,
    RunningJudge,
    end_replicas,
    forget,
    hold_lock,
    holding,
    living,
    read_record,
    read_records,
    sharing,
    start_lock,
    state_folder,
    write_record,
)
from serving.keys import api_key, key_variable, key_variables
from serving.launch import (
    SERVER_KEY,
    Place,
    Wanted,
    check_served,
    command,
    environment,
    log_folder,
    plan_replicas,
    program,
)
from serving.presets import THINKING_SUFFIX, Preset
from serving.processes import (
    Process,
    Progress,
    answer_of,
    start,
    stopping_on_signals,
    wait_until_healthy,
)
from serving.weights import checkpoint, weights_commit

_WATCH_SECONDS = 5.0
"""Seconds between two records of the processes of a judge that a command has started."""


class Started(NamedTuple):
    """A judge that is ready."""

    judge: RunningJudge
    reused: bool
    """True if it ran before."""


def server_name(preset: Preset) -> str:
    """Return the name of a preset's servers.

    It is the name of a running judge with the same settings, such as the same model with other sampling, or else the
    preset's own: with and without optional thinking, the servers are the same.
    """
    optional = preset.reasoning is not None and not preset.reasoning.always
    own = preset.name.removesuffix(THINKING_SUFFIX) if optional else preset.name
    settings = settings_digest(preset)
    alike = [judge.name for judge in read_records() if judge.settings == settings and judge.base_urls]
    return own if own in alike or not alike else alike[0]


def settings_digest(preset: Preset) -> str:
    """Return the SHA-256 over the weights, command line and environment of a preset's servers."""
    weights = [preset.weights.hub, weights_commit(preset), preset.weights.sha256]
    words = command(preset, model=Path("model"), port=0, python="python")
    text = json.dumps([weights, words, environment(preset, Place())])
    return hashlib.sha256(text.encode()).hexdigest()


async def up(
    preset: Preset,
    wanted: Wanted = Wanted(),  # noqa: B008 - immutable
    *,
    detached: bool = False,
    progress: Progress | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Started:
    """Start the servers of a judge and wait until all are healthy, or use those that run already.

    Args:
        preset: Preset with `engine: vllm`, whose weights are on this machine.
        wanted: GPUs and addresses to use.
        detached: Leave the servers running when nothing uses them.
        progress: Callback for the progress of the start.
        tell: Callback for a line to the user.

    Raises:
        PresetError: As `check_served`.
        WeightsMissing: The weights are not on this machine.
        LaunchFailed: A server did not start, or a judge of this name runs with other settings; nothing is left running.
    """
    check_served(preset)
    name = server_name(preset)
    waiting = f"waiting for another command that starts {name}"
    async with holding(start_lock(name), lambda: tell(waiting)):
        there = living(name)
        if there is not None:
            _check_same(there, preset, wanted)
        with stopping_on_signals():
            judge = await _start(preset, name, there, wanted, detached, progress)
        before = [replica.process for replica in there.replicas] if there is not None else []
        return Started(judge, [one.process for one in judge.replicas] == before)


async def _start(
    preset: Preset,
    name: str,
    there: RunningJudge | None,
    wanted: Wanted,
    detached: bool,
    progress: Progress | None,
) -> RunningJudge:
    """Start the servers that do not live, wait for all, and record them."""
    begun: list[Process] = []
    judge = there

    def watch(seconds: float, line: str) -> None:
        nonlocal judge
        assert judge is not None
        judge = _record_members(judge)
        if progress is not None:
            progress(seconds, line)

    held = contextlib.ExitStack()
    try:
        if there is None or not all(one.process.lives for one in there.replicas):
            model = checkpoint(preset)
            async with holding(state_folder() / ".lock"):  # no other start takes the same ports and GPUs
                for judge in _starts(preset, name, there, wanted, model, detached, held):
                    begun.append(judge.replicas[-1].process)
                    write_record(judge)
        assert judge is not None
        servers = [
            (replica.process, program(preset, replica.place, log=replica.log)) for replica in judge.replicas
        ]
        await wait_until_healthy(servers, wanted.seconds, watch)
        changes = {"ready": True, "detached": judge.detached or detached}
        ready = judge.with_members().model_copy(update=changes)
        if ready != there:
            write_record(ready)
        return ready
    except BaseException:
        end_replicas([one for one in (judge.replicas if judge else ()) if one.process in begun])
        if there is not None:
            write_record(there)
        elif begun:
            forget(name)
        raise
    finally:
        held.close()


def _record_members(judge: RunningJudge) -> RunningJudge:
    """Return the judge with the processes that its servers have now, and write its record if they have changed."""
    now = judge.with_members()
    if now != judge:
        write_record(now)
    return now


def _starts(
    preset: Preset,
    name: str,
    there: RunningJudge | None,
    wanted: Wanted,
    model: Path,
    detached: bool,
    held: contextlib.ExitStack,
) -> Generator[RunningJudge]:
    """Start each server that does not live, and yield the record after each start; the last replica is the new one."""
    if there is None:
        others = [judge for judge in read_records() if judge.name != name and judge.base_urls]
        used_gpus = [gpu for judge in others for gpu in judge.gpus]
        replicas, todo = list[Replica](), plan_replicas(preset, wanted, used_gpus, held)
    else:
        replicas = [replica for replica in there.replicas if replica.process.lives]
        todo = [one.place for one in there.replicas if not one.process.lives]
    for place in todo:
        log = log_folder() / f"{name}-{place.port}.log"
        process = start(program(preset, place, model=model, log=log))
        replicas.append(Replica(place=place, process=process, log=log))
        yield RunningJudge(
            name=name,
            model=preset.model,
            context_tokens=preset.context_tokens,
            settings=settings_digest(preset),
            replicas=tuple(replicas),
            since=datetime.now(UTC).replace(microsecond=0),
            detached=detached or (there is not None and there.detached),
        )


def _check_same(there: RunningJudge, preset: Preset, wanted: Wanted) -> None:
    """Refuse to use servers that were started with other settings.

    Raises:
        LaunchFailed: They differ.
    """
    stop = f"stop it first: local-judge judge down {there.name}"
    if there.settings != settings_digest(preset):
        raise LaunchFailed(f"{there.name} is running with other settings of the preset; {stop}")
    places = [replica.place for replica in there.replicas]
    if wanted.port is not None and wanted.port != places[0].port:
        raise LaunchFailed(f"{there.name} is running on port {places[0].port}; {stop}")
    if wanted.host not in (Wanted().host, places[0].host):
        raise LaunchFailed(f"{there.name} is running on {places[0].host}; {stop}")
    gpus = wanted.gpus
    if gpus is not None and not (
        int(gpus) == len(there.gpus)
        if gpus.isdecimal()
        else sorted(one.strip() for one in gpus.split(",") if one.strip()) == sorted(there.gpus)
    ):
        raise LaunchFailed(f"{there.name} is running on GPUs {','.join(there.gpus) or 'none'}; {stop}")


def find(preset: Preset) -> RunningJudge | None:
    """Return the running judge that serves a preset, or None.

    It was started with the same settings, and its servers serve the preset's model with its context.

    Raises:
        LaunchFailed: The servers are still starting, do not answer, or serve something else.
    """
    # A record without living servers is left to `up` and `down`, which hold the lock of the start.
    there = read_record(server_name(preset)) if preset.vllm is not None else None
    if there is None or not there.base_urls or there.settings != settings_digest(preset):
        return None
    if not there.ready:
        raise LaunchFailed(
            f"{there.name} is still starting; `local-judge judge up {there.name}` waits until it is ready"
        )
    for url in there.base_urls:
        _check_serves(url, preset)
    return there


def _check_serves(url: str, preset: Preset) -> None:
    name = server_name(preset)
    code, body = answer_of(f"{url}/models", api_key(preset.name))
    if code == 401:
        variable = key_variable(preset.name) or key_variables(name)[0]
        raise LaunchFailed(
            f"{url} refuses the API key: set {variable} to the key that {name} was started with (also that of "
            f"{SERVER_KEY})"
        )
    if code != 200:
        raise LaunchFailed(
            f"{name} is running, and {url} does not answer (`local-judge judge show --running`); if it stays so: "
            f"local-judge judge down {name}"
        )
    try:
        cards = {card["id"]: card.get("max_model_len") for card in json.loads(body)["data"]}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        cards = {}
    if cards.get(preset.model, -1) not in (preset.context_tokens, None):
        raise LaunchFailed(
            f"{url} does not serve {preset.model} with a context of {preset.context_tokens} tokens, as {name} shall; "
            f"stop it: local-judge judge down {name}"
        )


@asynccontextmanager
async def using(
    preset: Preset,
    *,
    serve: bool = False,
    progress: Progress | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> AsyncGenerator[RunningJudge | None]:
    """Yield the running judge of a preset; it stays while the block runs.

    Args:
        preset: Preset of the judge.
        serve: Start its servers if it is not running.
        progress: Callback for the progress of the start.
        tell: Callback for a line to the user.

    Yields:
        The judge; None if it is not running and was not to be started.

    Raises:
        LaunchFailed: Its servers do not answer, or did not start.
        WeightsMissing: The weights are not on this machine.
    """
    if preset.vllm is None:
        raise PresetError(f"{preset.name}: local_judge starts no servers for engine: {preset.engine}")
    name = server_name(preset)
    async with sharing(name) as users:
        try:
            if serve:
                with stopping_on_signals():
                    judge = (await up(preset, progress=progress, tell=tell)).judge
                    async with _recording_members(name):
                        yield judge
            else:
                yield find(preset)
        finally:
            _stop_unused(name, users)


async def hold(judge: RunningJudge) -> None:
    """Wait until the servers of a judge are stopped by `down`.

    Raises:
        LaunchFailed: A server ended by itself.
    """
    async with _recording_members(judge.name):
        while True:
            ended = next((replica for replica in judge.replicas if not replica.process.lives), None)
            if ended is not None:
                break
            await asyncio.sleep(0.5)
    async with holding(start_lock(judge.name)):  # `down` holds it until all have ended
        if read_record(judge.name) is None:
            return
    raise LaunchFailed(f"{judge.name}: {ended.place.base_url} has stopped by itself (log: {ended.log})")


@asynccontextmanager
async def _recording_members(name: str) -> AsyncGenerator[None]:
    """Keep the recorded processes of a judge's servers up to date while the block runs."""

    async def watch() -> None:
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            there = read_record(name)
            if there is not None and there.with_members() != there:
                with contextlib.suppress(LaunchFailed), hold_lock(start_lock(name), fcntl.LOCK_EX) as lock:
                    there = read_record(name) if lock is not None else None  # it may have been stopped
                    if there is not None:
                        _record_members(there)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()


def down(name: str) -> bool:
    """Stop the servers of a judge, and return whether any lived. A start in progress fails and removes the record."""
    with hold_lock(start_lock(name), fcntl.LOCK_EX) as lock:
        there = read_record(name)
        if there is None:
            return False
        lived = bool(there.base_urls)
        end_replicas(there.replicas)
        if lock is not None:
            forget(name)
        return lived


def _stop_unused(name: str, users: IO[bytes]) -> None:
    """Stop a judge that is not detached if no other process uses it."""
    there = read_record(name)
    if there is None or there.detached:
        return
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    down(name)
