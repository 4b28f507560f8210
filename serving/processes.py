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

from pydantic import Field

from local_judge.base.model import Frozen
from serving.errors import LaunchFailed

Progress = Callable[[float, str], None]
"""Callback, about once a second, that receives the seconds waited and the last log line of a server."""

_GRACE = 10.0
_PROC = Path("/proc")
_STATE, _PARENT, _GROUP, _START = 0, 1, 2, 19
"""Fields of /proc/PID/stat, counted from the state (proc(5))."""
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
    """Boot of the machine, and the start of the process in clock ticks after it."""

    @property
    def lives(self) -> bool:
        """True if the process has not ended."""
        return process(self.pid) == self


def process(pid: int) -> Process | None:
    """Return the process with a number; None if there is none, or it has ended and waits to be reaped."""
    stat = _stat(pid)
    if stat is None or stat[_STATE] in "ZX":
        return None
    return Process(pid=pid, started=f"{_boot()}/{stat[_START]}")


def start(program: Program) -> Process:
    """Start a server in its own process group.

    Raises:
        LaunchFailed: The program or its log cannot be opened.
    """
    name = program.facts["name"]
    with _opened(program.log) as out:
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
    stat = _stat(child.pid)
    assert stat is not None  # it stays in the table, ended or not, until it is reaped
    return Process(pid=child.pid, started=f"{_boot()}/{stat[_START]}")


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
    listening = {
        fields[9]
        for table in ("tcp", "tcp6")
        for fields in _rows(_PROC / "net" / table)
        if fields[3] == "0A" and fields[1].rpartition(":")[2] == f"{port:04X}"
    }
    wanted = {f"socket:[{inode}]" for inode in listening}
    for folder in _PROC.iterdir():
        stat = _stat(int(folder.name)) if folder.name.isdecimal() else None
        if stat is not None and stat[_GROUP] == str(server.pid):
            with contextlib.suppress(OSError):  # it has ended
                if any(_target(one) in wanted for one in (folder / "fd").iterdir()):
                    return True
    return False


def _rows(table: Path) -> list[list[str]]:
    """Return the fields of each socket in /proc/net/tcp (proc(5)): 1 is the address, 3 the state, 9 the inode."""
    try:
        return [line.split() for line in table.read_text(encoding="ascii").splitlines()[1:]]
    except OSError:
        return []


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


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
    boot, known = _boot(), frozenset(known)
    numbers = [int(folder.name) for folder in _PROC.iterdir() if folder.name.isdecimal()]
    stats = {number: stat for number in numbers if number > 1 and (stat := _stat(number)) is not None}
    table = {number: Process(pid=number, started=f"{boot}/{stat[_START]}") for number, stat in stats.items()}
    groups = {str(server.pid) for server in servers if table.get(server.pid) == server}
    found = {number for number, one in table.items() if one in known or stats[number][_GROUP] in groups}
    parents = {number: int(stat[_PARENT]) for number, stat in stats.items()}
    while further := {number for number, parent in parents.items() if parent in found} - found:
        found |= further
    return frozenset(table[number] for number in found if stats[number][_STATE] not in "ZX")


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


def _opened(log: Path) -> BinaryIO:
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


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the state on (proc(5))."""
    try:
        return (
            (_PROC / str(pid) / "stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]
            .split()
        )
    except OSError:
        return None


def _boot() -> str:
    """Return the id of the last boot."""
    return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _signal(servers: Sequence[Process], known: set[Process], sign: signal.Signals) -> None:
    """Send `sign` once to each process of servers, wait up to `_GRACE` seconds, and add the processes to `known`."""
    deadline, told = time.monotonic() + _GRACE, set[Process]()
    while (living := members_of(servers, known)) and time.monotonic() < deadline:
        known |= living
        for one in living - told:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one.pid, sign)
        told |= living
        time.sleep(0.05)
