"""Processes of servers: start, wait for health, cause of a failure, end.

Invariants: a server runs in its own process group, all of which ends together; a process is known by its number, the
boot and the time of its start, so that another process that gets the number later is left alone. Servers that this
process has started are not reaped before `end`, so that nothing else gets their numbers.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import re
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import BinaryIO, NamedTuple

import psutil
from pydantic import Field

from local_judge.base.model import Frozen
from serving.errors import LaunchFailed

Progress = Callable[[float, str], None]
"""Callback, about once a second, that receives the seconds waited and the last log line of a server."""

_GRACE = 10.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_CHILDREN: dict[int, subprocess.Popen[bytes]] = {}
"""Servers that this process has started, by number: only their parent can reap them and get their exit status."""

_BODY_SECONDS = 5.0
"""Time limit of a whole answer to a health check."""
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))

_CAUSES: Sequence[tuple[str, str]] = (
    (
        r"No module named '?vllm'?\b",
        "vLLM is not installed in {python}: in the checkout, pip install '.[gpu]'",
    ),
    (
        r"error: (unrecognized arguments: .*|argument .*)",
        "this vLLM does not know a flag of the preset ({0}); change vllm.args or the version of vLLM",
    ),
    (
        r"(Model architectures \[[^\]]*\] are not supported|model type `[^`]*` but Transformers does not recognize)",
        "this vLLM or transformers is too old for the model ({0}); install a newer vLLM, or choose another preset",
    ),
    (
        r"NVIDIA driver on your system is too old(?: \(found version (\d+)\))?"
        r"|(CUDA driver version is insufficient)|(forward compatibility was attempted)",
        "the NVIDIA driver is too old for this vLLM's CUDA ({0}); update the driver, or install a vLLM built for an "
        "older CUDA",
    ),
    (
        r"(no kernel image is available|compute capability of at least \d+\.\d+)",
        "this GPU is too old for the preset ({0}); set vllm.dtype to float16, or choose another preset",
    ),
    (
        r"[Aa]ddress already in use",
        "another program took port {port}; repeat the command, or choose another port with --port",
    ),
    (
        r"Failed to infer device type|No CUDA GPUs are available|Found no NVIDIA driver|no CUDA-capable",
        "there is no GPU that vLLM can use; a preset for CPUs is qwen2.5-coder-1.5b",
    ),
    (
        r"Free memory on device \S+ \(([^)]*)\)",
        "another process uses the GPU's memory (free: {0}); end it, choose other GPUs with --gpus, or lower "
        "gpu_memory_utilization in the preset",
    ),
    (
        r"estimated maximum model length is (\d+)",
        "out of memory: the KV cache holds at most {0} tokens; set context_tokens to that or less in the preset, or "
        "raise tensor_parallel",
    ),
    (
        r"out of memory|OutOfMemoryError|No available memory for the cache blocks"
        r"|larger than the (?:available|maximum).*KV cache|Not enough memory",
        "out of memory; lower context_tokens or max_num_seqs, or raise tensor_parallel, in the preset",
    ),
    (
        r"LocalEntryNotFoundError|OfflineModeIsEnabled|does not appear to have a file named"
        r"|Cannot find any model weights",
        "the weights in {model} are missing or incomplete; fetch them: local-judge judge fetch {name}",
    ),
)


class Program(NamedTuple):
    """A server to start."""

    words: Sequence[str]
    """Command line."""
    env: Mapping[str, str]
    """Environment."""
    health: str
    """URL that answers 200 when the server is ready."""
    log: Path
    """File for the output; an existing one is overwritten."""
    facts: Mapping[str, str]
    """`name`, `model`, `port` and `python`, for messages."""


class Process(Frozen):
    """A process of this machine."""

    pid: int = Field(gt=1)
    """Number of the process. 0, 1 and negative numbers stand for groups, or for the first process of the machine."""
    started: str
    """Boot of the machine, and the start of the process in seconds after it."""

    @property
    def lives(self) -> bool:
        """True if the process has not ended."""
        return process(self.pid) == self


def process(pid: int) -> Process | None:
    """Return the process with a number; None if there is none, or it has ended and waits to be reaped."""
    try:
        found = psutil.Process(pid)
        return _identity(found) if _is_running(found) else None
    except (psutil.NoSuchProcess, ValueError):  # psutil refuses negative numbers
        return None


def _identity(found: psutil.Process) -> Process:
    # The start is relative to the boot, because a change of the clock moves both times.
    seconds = found.create_time() - psutil.boot_time()
    return Process(pid=found.pid, started=f"{_BOOT_ID.read_text(encoding='ascii').strip()}/{seconds:.2f}")


def _in_table(process: Process) -> psutil.Process | None:
    """Return a process that is in the process table, ended or not; None if its number is free or another's."""
    try:
        found = psutil.Process(process.pid)
        return found if _identity(found) == process else None
    except psutil.NoSuchProcess:
        return None


def _all_processes() -> Generator[psutil.Process]:
    """Yield every process of the machine; unlike those of `psutil.process_iter`, none is remembered from before."""
    for pid in psutil.pids():
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended
            yield psutil.Process(pid)


def _is_running(found: psutil.Process) -> bool:
    try:
        return found.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def start(program: Program) -> Process:
    """Start a server in its own process group.

    Raises:
        LaunchFailed: The program or its log cannot be opened.
    """
    name = program.facts["name"]
    with _open_log(program.log) as out:
        try:
            child = subprocess.Popen(
                program.words,
                env=dict(program.env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise LaunchFailed(f"{name}: cannot run {program.words[0]}: {error.strerror}") from error
    _CHILDREN[child.pid] = child
    return _identity(psutil.Process(child.pid))  # it stays in the table, ended or not, until it is reaped


async def wait_until_healthy(
    servers: Sequence[tuple[Process, Program]], seconds: float, progress: Progress | None = None
) -> float:
    """Wait at most `seconds` until all servers answer, and return the seconds that it took.

    Raises:
        LaunchFailed: A server ended, or did not answer in time; the message gives the cause.
    """
    began = time.monotonic()
    waiting = list(servers)
    while True:
        waited = time.monotonic() - began
        for server, program in waiting:
            code = exit_code(server)
            if code is not None or waited > seconds:
                text = program.log.read_text(encoding="utf-8", errors="replace")
                why = explain(text, code, program.facts)
                raise LaunchFailed(f"{program.facts['name']} did not start: {why} (log: {program.log})")
        waiting = [
            (server, program)
            for server, program in waiting
            if not (_listens(server, int(program.facts["port"])) and is_healthy(program.health))
        ]
        if not waiting:
            return time.monotonic() - began
        if progress is not None:
            progress(waited, _last_line(waiting[0][1].log))
        await asyncio.sleep(min(1.0, 0.05 + waited / 10))


def _listens(server: Process, port: int) -> bool:
    """Check whether a process of a server's group listens on a port, which another program may have taken."""
    for member in _all_processes():
        with contextlib.suppress(psutil.Error, ProcessLookupError):  # it has ended
            if os.getpgid(member.pid) == server.pid and any(
                socket.status == psutil.CONN_LISTEN and socket.laddr.port == port
                for socket in member.net_connections("tcp")
            ):
                return True
    return False


def is_healthy(health: str) -> bool:
    """Check whether a server answers 200 within two seconds."""
    return body_of(health) is not None


def body_of(url: str, key: str | None = None) -> bytes | None:
    """Return the body of a 200 answer within two seconds; None for any other outcome."""
    status, body = answer_of(url, key)
    return body if status == 200 else None


def answer_of(url: str, key: str | None = None) -> tuple[int | None, bytes]:
    """Return status and body of an answer within a few seconds; no status if there is none."""
    request = urllib.request.Request(url, headers={} if key is None else {"Authorization": f"Bearer {key}"})
    end = time.monotonic() + _BODY_SECONDS
    try:
        with _OPENER.open(request, timeout=2.0) as answer:
            # The time limit is one of each read, which a server that sends byte by byte never exceeds.
            body = bytearray()
            while len(body) < 1 << 24 and (piece := answer.read1(1 << 16)):
                body += piece
                if time.monotonic() > end:
                    return None, b""
            return answer.status, bytes(body)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, b""
    except (OSError, http.client.HTTPException):
        return None, b""  # not listening, or not ready


def exit_code(server: Process) -> int | None:
    """Return the exit status of a server that has ended, 0 if it is unknown; None if it runs."""
    if server.pid not in _CHILDREN:
        return None if server.lives else 0
    ended = os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def explain(log: str, code: int | None, facts: Mapping[str, str]) -> str:
    """Return the cause of a failed start as one line, derived from the server's log.

    Args:
        log: Output of the server.
        code: Exit status; None if it is still running.
        facts: See `Program`.
    """
    for pattern, message in _CAUSES:
        found = re.search(pattern, log)
        if found:
            detail = next((one for one in found.groups() if one), found[0]).strip()
            return message.format(detail, **facts)
    errors = re.findall(r"^.*?\b(\w*(?:Error|Exception): .+)$", log, re.MULTILINE)
    last = (errors or log.strip().splitlines() or ["it wrote nothing"])[-1].strip()[:300]
    if code is None:
        return f"no answer in time; its last words: {last}"
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
    return f"it {how}: {last}"


def end(servers: Sequence[Process], members: Iterable[Process] = ()) -> None:
    """End servers with all processes of their groups: with SIGTERM, then, or at a second Ctrl-C, with SIGKILL.

    Args:
        servers: Leaders of the groups.
        members: Processes that were in the groups (`members_of`). Of a leader that has ended and was reaped, these and
            their descendants are ended, because another program may have got its number, and so its group.
    """
    known = set(servers) | set(members)
    try:
        _signal(servers, known, signal.SIGTERM)
    finally:  # also at a second Ctrl-C during the wait
        _signal(servers, known, signal.SIGKILL)
        for server in servers:
            child = _CHILDREN.pop(server.pid, None)
            if child is not None:
                child.wait()


def members_of(servers: Sequence[Process], known: Iterable[Process] = ()) -> frozenset[Process]:
    """Return the living processes of servers' groups and among `known`, with all their descendants.

    No other process gets the number of a group while its leader is in the process table. So a group is a server's if
    the process with its number is the server, ended or not.
    """
    groups = {server.pid for server in servers if _in_table(server) is not None}
    found = {one.pid for one in known if _in_table(one) is not None}
    table: dict[int, psutil.Process] = {}
    parents: dict[int, int] = {}
    for one in _all_processes():
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):  # it has ended
            table[one.pid], parents[one.pid] = one, one.ppid()
            if os.getpgid(one.pid) in groups:
                found.add(one.pid)
    while further := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= further
    return frozenset(_identity(table[pid]) for pid in found & table.keys() if _is_running(table[pid]))


@contextmanager
def stopping_on_signals() -> Generator[None]:
    """Turn SIGTERM, and SIGHUP of a closing terminal, into SystemExit, so that `finally` blocks run.

    SIGINT raises KeyboardInterrupt by default. Signals that are ignored, for `nohup`, or handled already stay so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may install handlers
        return

    def stop(number: int, frame: FrameType | None) -> None:
        del frame
        raise SystemExit(128 + number)

    caught = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) == signal.SIG_DFL]
    for number in caught:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)


def _open_log(log: Path) -> BinaryIO:
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        return log.open("wb")
    except OSError as error:
        raise LaunchFailed(f"the log {log} cannot be written ({error.strerror})") from error


def _last_line(log: Path) -> str:
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 4096))
        lines = stream.read().decode("utf-8", errors="replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _signal(servers: Sequence[Process], known: set[Process], sign: signal.Signals) -> None:
    """Send `sign` once to each process of servers, wait up to `_GRACE` seconds, and add the processes to `known`."""
    deadline, signalled = time.monotonic() + _GRACE, set[Process]()
    while (living := members_of(servers, known)) and time.monotonic() < deadline:
        known |= living
        for one in living - signalled:
            if (found := _in_table(one)) is not None:
                with contextlib.suppress(psutil.Error):  # it has ended, or belongs to another user
                    found.send_signal(sign)
        signalled |= living
        time.sleep(0.05)
