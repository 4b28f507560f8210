"""Start and stop of vLLM servers.

Invariants: no process of the server survives the `launch` block, however the block ends. A server that does not start
is one line that gives the cause, the log and the remedy.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from platformdirs import user_log_path

from serving.errors import LaunchFailed, PresetError
from serving.presets import Preset
from serving.types import Frozen
from serving.weights import checkpoint, weights_path

Progress = Callable[[float, str], None]
"""Callback, about once a second, that receives the seconds waited and the server's last log line."""

QUIET: Mapping[str, str] = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "DO_NOT_TRACK": "1",
}
"""Environment that switches off network access and telemetry, and overrides the user's environment."""

_GRACE = 10.0
_CAUSES: Sequence[tuple[str, str]] = (
    (
        r"No module named '?vllm'?\b",
        "vLLM is not installed in {python}: in the checkout, pip install '.[gpu]'",
    ),
    (
        r"error: (unrecognized arguments: .*|argument .*)",
        "this vLLM does not know a flag of the preset ({0}); change vllm.args or the version of vLLM",
    ),
    (r"[Aa]ddress already in use", "port {port} is taken; choose another with --port"),
    (
        r"Failed to infer device type|No CUDA GPUs are available|Found no NVIDIA driver|no CUDA-capable",
        "there is no GPU that vLLM can use; a preset for CPUs is qwen2.5-coder-1.5b",
    ),
    (
        r"out of memory|OutOfMemoryError|No available memory for the cache blocks|Free memory on device"
        r"|larger than the (?:available|maximum).*KV cache|Not enough memory",
        "out of memory; lower context_tokens or max_num_seqs, or raise tensor_parallel, in the preset",
    ),
    (
        r"LocalEntryNotFoundError|OfflineModeIsEnabled|does not appear to have a file named"
        r"|Cannot find any model weights",
        "the weights in {model} are missing or incomplete; fetch them: local-judge judge fetch {name}",
    ),
)


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


def command(
    preset: Preset, *, model: Path, host: str = "127.0.0.1", port: int = 8000, python: str = sys.executable
) -> list[str]:
    """Return the command line that serves `preset` from the checkpoint folder `model`.

    It runs the module instead of the command `vllm`, which CPU builds do not have.

    Raises:
        PresetError: The preset is not for vLLM.
    """
    settings = preset.vllm
    if settings is None:
        raise PresetError(f"{preset.name} runs in process ({preset.engine}); there is nothing to serve")
    words = [python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model)]
    words += ["--served-model-name", preset.model, "--host", host, "--port", str(port)]
    words += ["--max-model-len", str(preset.context_tokens), "--dtype", settings.dtype]
    words += ["--tensor-parallel-size", str(settings.tensor_parallel)]
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


def command_line(preset: Preset, *, host: str = "127.0.0.1", port: int = 8000) -> str:
    """Return the shell command that `launch` runs, environment included; needs no weights."""
    path = weights_path(preset)
    model = path.with_name(f"{path.stem}-float32") if preset.weights.file is not None else path
    words = [f"{name}={value}" for name, value in _settings(preset).items()]
    words += command(preset, model=model, host=host, port=port)
    return shlex.join(words)


@contextmanager
def launch(
    preset: Preset,
    *,
    port: int | None = None,
    host: str = "127.0.0.1",
    log: Path | None = None,
    timeout: float = 1800.0,
    progress: Progress | None = None,
) -> Generator[RunningServer]:
    """Serve `preset` with vLLM while the block runs.

    Args:
        preset: Preset with `engine: vllm`.
        port: Port to listen on; None for a free one.
        host: Address to listen on; the default is reachable from this machine only.
        log: File for the server's output; None for a file in the user's log folder.
        timeout: Time limit of the start in seconds.
        progress: Callback for the progress of the start.

    Raises:
        PresetError: The preset is not for vLLM.
        WeightsMissing: The weights are not on this machine.
        LaunchFailed: The server did not start; the message gives the cause.
    """
    chosen = port if port is not None else free_port(host)
    check_port(host, chosen)
    command(preset, model=weights_path(preset))  # raises for another engine, before any conversion starts
    model = checkpoint(preset)
    words = command(preset, model=model, host=host, port=chosen)
    where = log or user_log_path("local_judge") / f"{preset.name}.log"
    facts = {"name": preset.name, "model": str(model), "port": str(chosen), "python": sys.executable}
    with running(
        words,
        {**os.environ, **_settings(preset)},
        health=f"http://{host}:{chosen}/health",
        log=where,
        timeout=timeout,
        progress=progress,
        facts=facts,
    ) as (process, seconds):
        yield RunningServer(
            base_url=f"http://{host}:{chosen}/v1",
            model=preset.model,
            pid=process.pid,
            log=where,
            seconds=seconds,
        )


@contextmanager
def running(
    words: Sequence[str],
    env: Mapping[str, str],
    *,
    health: str,
    log: Path,
    timeout: float,
    progress: Progress | None = None,
    facts: Mapping[str, str],
) -> Generator[tuple[subprocess.Popen[bytes], float]]:
    """Run a server process in its own process group while the block runs.

    Args:
        words: Command line.
        env: Environment.
        health: URL that answers 200 when the server is ready.
        log: File for the output; an existing one is overwritten.
        timeout: Time limit of the start in seconds.
        progress: Callback for the progress of the start.
        facts: `name`, `model`, `port` and `python`, for messages.

    Yields:
        The process, and the duration of the start in seconds.

    Raises:
        LaunchFailed: The process ended, or did not answer in time.
    """
    with _stopping_on_signals():
        with _opened(log) as out:
            try:
                process = subprocess.Popen(
                    words,
                    env=dict(env),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise LaunchFailed(f"{facts['name']}: cannot run {words[0]}: {error.strerror}") from error
        try:
            seconds = _wait_until_healthy(process, health, log, timeout, progress, facts)
            yield process, seconds
        finally:
            _end_group(process)


def _opened(log: Path) -> BinaryIO:
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        return log.open("wb")
    except OSError as error:
        raise LaunchFailed(
            f"the log {log} cannot be written ({error.strerror}); name another with --log"
        ) from error


def free_port(host: str) -> int:
    """Return a free port of `host`."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def check_port(host: str, port: int) -> None:
    """Raise LaunchFailed if no server can listen on `port`."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            why = error.strerror if isinstance(error, OSError) else "a port is a number from 1 to 65535"
            raise LaunchFailed(
                f"port {port} on {host} cannot be used ({why}); choose another with --port"
            ) from error


def explain(log: str, code: int | None, facts: Mapping[str, str]) -> str:
    """Return the cause of a failed start as one line, derived from the server's log.

    Args:
        log: Output of the server.
        code: Exit status; None if it is still running.
        facts: See `running`.
    """
    for pattern, message in _CAUSES:
        found = re.search(pattern, log)
        if found:
            detail = (found[1] if found.groups() else found[0]).strip()
            return message.format(detail, **facts)
    errors = re.findall(r"^.*?\b(\w*(?:Error|Exception): .+)$", log, re.MULTILINE)
    last = (errors or log.strip().splitlines() or ["it wrote nothing"])[-1].strip()[:300]
    if code is None:
        return f"no answer in time; its last words: {last}"
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
    return f"it {how}: {last}"


def _settings(preset: Preset) -> dict[str, str]:
    return {**QUIET, **preset.server_env}


def _wait_until_healthy(
    process: subprocess.Popen[bytes],
    health: str,
    log: Path,
    timeout: float,
    progress: Progress | None,
    facts: Mapping[str, str],
) -> float:
    began = time.monotonic()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        waited = time.monotonic() - began
        code = process.poll()
        if code is not None or waited > timeout:
            text = log.read_text(encoding="utf-8", errors="replace")
            raise LaunchFailed(f"{facts['name']} did not start: {explain(text, code, facts)} (log: {log})")
        try:
            with opener.open(health, timeout=2.0) as answer:
                if answer.status == 200:
                    return time.monotonic() - began
        except (OSError, http.client.HTTPException):
            pass  # not listening yet, or not ready
        if progress is not None:
            progress(waited, _last_line(log))
        time.sleep(min(1.0, 0.05 + waited / 10))


def _last_line(log: Path) -> str:
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 4096))
        lines = stream.read().decode("utf-8", errors="replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End the server and its children: with SIGTERM, then, or at a second Ctrl-C, with SIGKILL."""
    try:
        _signal_group(process, signal.SIGTERM)
    finally:  # also at a second Ctrl-C during the wait
        _signal_group(process, signal.SIGKILL)
        process.wait()


def _signal_group(process: subprocess.Popen[bytes], sign: signal.Signals) -> None:
    """Send `sign` to the group and wait up to `_GRACE` seconds for its end."""
    with contextlib.suppress(ProcessLookupError):  # the group has ended
        os.killpg(process.pid, sign)
        deadline = time.monotonic() + _GRACE
        while time.monotonic() < deadline and _group_lives(process):
            time.sleep(0.05)


def _group_lives(process: subprocess.Popen[bytes]) -> bool:
    process.poll()  # reaps the leader, which would count as alive otherwise
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def _stopping_on_signals() -> Generator[None]:
    """Turn SIGTERM, and SIGHUP of a closing terminal, into SystemExit, so that `finally` blocks run.

    SIGINT raises KeyboardInterrupt by default. An ignored signal stays ignored, for `nohup`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may install handlers
        return

    def stop(number: int, frame: FrameType | None) -> None:
        del frame
        raise SystemExit(128 + number)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    caught = {number: handler for number, handler in before.items() if handler != signal.SIG_IGN}
    for number in caught:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in caught.items():
            signal.signal(number, handler)
