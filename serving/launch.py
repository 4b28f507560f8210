"""vLLM servers of a preset: command lines, environments, and the start of one server for the duration of a block.

Invariants: no process of the server survives the `launch` block, however the block ends. A server that does not start
is one line that gives the cause, the log and the remedy.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import platform
import re
import shlex
import socket
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_log_path

from local_judge.base.model import Frozen
from serving.errors import LaunchFailed, PresetError
from serving.gpus import VISIBLE, chosen_gpus, groups_of, visible_gpus
from serving.keys import API_KEY, api_key, key_variable
from serving.preset_code import check_code
from serving.presets import Preset
from serving.processes import Program, Progress, end, start, stopping_on_signals, wait_until_healthy
from serving.weights import checkpoint, weights_path

QUIET: Mapping[str, str] = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "DO_NOT_TRACK": "1",
}
"""Environment that switches off network access and telemetry, and overrides the user's environment."""

SERVER_KEY = "VLLM_API_KEY"
"""Environment variable with the key that vLLM demands of its clients."""

FIRST_PORT = 8000


class RunningServer(Frozen):
    """A server that has passed its health check."""

    base_url: str
    """Base URL of the OpenAI-compatible API: `http://HOST:PORT/v1`."""
    model: str
    """Served model name."""
    pid: int
    log: Path
    seconds: float
    """Duration of the start."""


class Place(Frozen):
    """Address and GPUs of one server of a judge."""

    host: str = "127.0.0.1"
    port: int = FIRST_PORT
    gpus: tuple[str, ...] = ()
    """Ids of its GPUs; empty if it sees all, or there are none."""
    data_parallel: int = 1
    """Number of engines behind the server."""

    @property
    def root(self) -> str:
        """Root of vLLM's own routes."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def base_url(self) -> str:
        """Base URL of the OpenAI-compatible API."""
        return f"{self.root}/v1"


LOCAL = Place()

START_SECONDS = 1800.0
"""Time limit of a start: a large model on a slow disk takes many minutes."""


class Wanted(NamedTuple):
    """GPUs, address and time limit of a judge to start."""

    gpus: str | None = None
    """See `serving.gpus.chosen_gpus`."""
    host: str = "127.0.0.1"
    port: int | None = None
    """Port of the first server; None for the first free ports."""
    seconds: float = START_SECONDS
    """Time limit of the start."""


def command(
    preset: Preset,
    *,
    model: Path,
    host: str = "127.0.0.1",
    port: int = FIRST_PORT,
    data_parallel: int = 1,
    python: str = sys.executable,
) -> list[str]:
    """Return the command line that serves `preset` from the checkpoint folder `model`.

    It runs the module instead of the command `vllm`, which CPU builds do not have. `data_parallel` is the number of
    engines behind the server, which share the experts of a mixture-of-experts model among their GPUs.

    Raises:
        PresetError: The preset is not for vLLM.
    """
    settings = preset.vllm
    if settings is None:
        raise PresetError(f"{preset.name}: local_judge starts no servers for engine: {preset.engine}")
    words = [python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model)]
    words += ["--served-model-name", preset.model, "--host", host, "--port", str(port)]
    words += ["--max-model-len", str(preset.context_tokens), "--dtype", settings.dtype]
    words += ["--tensor-parallel-size", str(settings.tensor_parallel)]
    if data_parallel > 1:
        words += ["--data-parallel-size", str(data_parallel), "--enable-expert-parallel"]
    words += ["--kv-cache-dtype", settings.kv_cache_dtype, "--max-num-seqs", str(settings.max_num_seqs)]
    if settings.gpu_memory_utilization is not None:
        words += ["--gpu-memory-utilization", str(settings.gpu_memory_utilization)]
    words.append("--enable-prefix-caching" if settings.prefix_caching else "--no-enable-prefix-caching")
    # The client sends every sampling parameter; the checkpoint's defaults must not be used.
    words += ["--max-logprobs", str(settings.max_logprobs), "--generation-config", "vllm", "--seed", "0"]
    words += ["--enable-prompt-tokens-details", "--uvicorn-log-level", "warning"]
    if settings.compact_json:
        compact = {"backend": "xgrammar", "disable_any_whitespace": True}
        words += ["--structured-outputs-config", json.dumps(compact)]
    if settings.tokenizer_mode != "auto":
        words += ["--tokenizer-mode", settings.tokenizer_mode]
    if preset.config_overrides is not None:
        words += ["--hf-overrides", json.dumps(preset.config_overrides)]
    if preset.reasoning is not None:
        words += ["--reasoning-parser", preset.reasoning.parser]
    return [*words, *settings.args]


def environment(preset: Preset, place: Place) -> dict[str, str]:
    """Return the environment variables that a server gets besides the user's, without the API key."""
    visible = {VISIBLE: ",".join(place.gpus)} if place.gpus else {}
    return {**QUIET, **preset.server_env, **visible}


def command_line(preset: Preset, place: Place = LOCAL) -> str:
    """Return the shell command that starts a server, environment included; needs no weights."""
    path = weights_path(preset)
    model = path.with_name(f"{path.stem}-float32") if preset.weights.file is not None else path
    words = [f"{name}={value}" for name, value in environment(preset, place).items()]
    words += command(preset, model=model, host=place.host, port=place.port, data_parallel=place.data_parallel)
    variable = key_variable(preset.name)
    key = "" if variable is None else f'{SERVER_KEY}="${variable}" '
    return key + shlex.join(words)


def program(preset: Preset, place: Place, *, log: Path, model: Path = Path()) -> Program:
    """Return the process of a server that serves `preset` from the checkpoint folder `model`."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(API_KEY)}
    key = api_key(preset.name)
    if key is not None:
        env[SERVER_KEY] = key
    return Program(
        words=command(
            preset, model=model, host=place.host, port=place.port, data_parallel=place.data_parallel
        ),
        env={**env, **environment(preset, place)},
        health=f"{place.root}/health",
        log=log,
        facts={
            "name": preset.name,
            "model": str(model),
            "port": str(place.port),
            "python": sys.executable,
        },
    )


@contextmanager
def launch(
    preset: Preset,
    *,
    port: int | None = None,
    host: str = "127.0.0.1",
    log: Path | None = None,
    timeout: float = 1800.0,
    progress: Progress | None = None,
    model: Path | None = None,
) -> Generator[RunningServer]:
    """Serve `preset` with vLLM while the block runs. Not inside a running event loop.

    Args:
        preset: Preset with `engine: vllm`.
        port: Port to listen on; None for a free one.
        host: Address to listen on; the default is reachable from this machine only.
        log: File for the server's output; None for a file in the user's log folder.
        timeout: Time limit of the start in seconds.
        progress: Callback for the progress of the start.
        model: Checkpoint folder; None for the preset's own weights.

    Raises:
        PresetError: As `check_served`.
        WeightsMissing: The weights are not on this machine.
        LaunchFailed: The server did not start; the message gives the cause.
    """
    check_served(preset)
    if port is not None:
        check_port(host, port)
    where = log or log_folder() / f"{preset.name}.log"
    model = model or checkpoint(preset)
    with stopping_on_signals(), ExitStack() as held:
        place = Place(host=host, port=port if port is not None else free_ports(host, 1, held)[0])
        server = program(preset, place, model=model, log=where)
        process = start(server)
        try:
            seconds = asyncio.run(wait_until_healthy([(process, server)], timeout, progress))
            yield RunningServer(
                base_url=place.base_url,
                model=preset.model,
                pid=process.pid,
                log=where,
                seconds=seconds,
            )
        finally:
            end([process])


def plan_replicas(
    preset: Preset,
    wanted: Wanted,
    used_gpus: Sequence[str] = (),
    held: ExitStack | None = None,
) -> list[Place]:
    """Return the address and the GPUs of each server to start.

    Args:
        preset: Preset of the judge.
        wanted: GPUs and addresses to use.
        used_gpus: GPUs of other judges, which are not used.
        held: Context until whose end the ports are reserved; None does not look at this machine: any GPUs and ports are
            free.

    Raises:
        PresetError: As `check_served`.
        LaunchFailed: GPUs or ports are not available.
    """
    check_served(preset)
    assert preset.vllm is not None
    visible = () if held is None and wanted.gpus is not None else visible_gpus()
    gpus = chosen_gpus(wanted.gpus, visible, used_gpus)
    groups = groups_of(preset, gpus, wanted.gpus is not None)
    engines = 1
    if preset.vllm.expert_parallel and len(groups) > 1:
        engines, groups = len(groups), [tuple(gpu for group in groups for gpu in group)]
    if held is None or wanted.port is not None:
        first = wanted.port if wanted.port is not None else Place().port
        ports = list(range(first, first + len(groups)))
        for port in () if held is None else ports:
            check_port(wanted.host, port)
    else:
        ports = free_ports(wanted.host, len(groups), held)
    return [
        Place(host=wanted.host, port=port, gpus=group, data_parallel=engines)
        for port, group in zip(ports, groups, strict=True)
    ]


def check_served(preset: Preset) -> None:
    """Raise PresetError if a preset is not for vLLM, or can run code that the user has not allowed."""
    command(preset, model=weights_path(preset))
    check_code(preset)


def log_folder() -> Path:
    """Return the folder of this machine's servers' logs, in `$LOCAL_JUDGE_HOME/logs` or the user's log folder."""
    home = os.environ.get("LOCAL_JUDGE_HOME")
    return (Path(home) / "logs" if home else user_log_path("local_judge")) / machine()


def machine() -> str:
    """Return a folder name for this machine, which may share its files with others.

    A Slurm job counts as a machine of its own: its servers end with it, and other jobs must not use them.
    """
    job = os.environ.get("SLURM_JOB_ID")
    name = platform.node() or "localhost"
    return re.sub(r"[^\w.-]", "_", name if job is None else f"{name}-{job}")


def free_ports(host: str, number: int, held: ExitStack) -> list[int]:
    """Return the first free ports of `host` from 8000 on.

    A server takes its port seconds after its start. Until `held` is closed, no other call of this function by the same
    user, in any process, returns the same ports.

    Raises:
        LaunchFailed: `host` is no address of this machine, or there are too few.
    """
    found: list[int] = []
    for port in range(FIRST_PORT, 1 << 16):
        if len(found) == number:
            break
        if _port_problem(host, port, shared=False) is None and _reserve(port, held):
            found.append(port)
        elif port == FIRST_PORT:
            check_host(host)
    if len(found) < number:
        raise LaunchFailed(f"{host} has no {number} free ports from {FIRST_PORT} on; name one with --port")
    return found


def _reserve(port: int, held: ExitStack) -> bool:
    """Lock a port for this user's processes until `held` is closed; False if another one holds it."""
    folder = Path(tempfile.gettempdir()) / f"local_judge-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        file = (folder / f"port-{port}.lock").open("ab")
    except OSError:
        return True  # without a place for locks, a taken port is noticed when the server starts
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return False
    held.enter_context(file)
    return True


def check_host(host: str) -> None:
    """Raise LaunchFailed if `host` is no address of this machine."""
    why = _port_problem(host, 0)
    if why is not None:
        raise LaunchFailed(f"nothing can listen on {host} ({why}); choose another with --host")


def check_port(host: str, port: int) -> None:
    """Raise LaunchFailed if no server can listen on `port`."""
    why = _port_problem(host, port)
    if why is not None:
        raise LaunchFailed(f"port {port} on {host} cannot be used ({why}); choose another with --port")


def _port_problem(host: str, port: int, shared: bool = True) -> str | None:
    """Return why no server can listen on a port; None if one can.

    `shared` accepts a port whose last connections have just ended, but also one that a starting vLLM has bound and does
    not listen on yet.
    """
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, shared)
            probe.bind((host, port))
    except OverflowError:
        return "a port is a number from 1 to 65535"
    except OSError as error:
        return error.strerror or str(error)
    return None
