"""`python -m tests.cli.forked`: commands under conditions that a machine can have, each in a fork of this process.

Reads one JSON object a line (`argv`, `condition`, `world`, `scratch`) and answers each with how the command ended.
The commands are imported once, which takes longer than most of them run; what a fork changes (limits, mounts, streams)
ends with it. In `argv`, `@` at the front of a path is the fork's own copy of the folder `world`.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import io
import json
import os
import pkgutil
import resource
import selectors
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from indexes.text import language
from local_judge import cli
from local_judge.base.output import QUIET

SECONDS = 300.0
"""After which a command is ended as one that hangs."""
ROOM = 8_192
"""Bytes that are left where a disk is full."""
_NEWNS, _RDONLY, _REMOUNT, _REC, _PRIVATE = 0x20000, 1, 32, 16384, 1 << 18

_libc = ctypes.CDLL(None, use_errno=True)


def _mount(target: Path, flags: int, data: str = "") -> None:
    kind = None if flags & _PRIVATE else b"tmpfs"
    if _libc.mount(kind, os.fsencode(target), kind, flags, data.encode() or None):
        raise OSError(ctypes.get_errno(), f"mount {target}")


def can_mount() -> bool:
    """Whether a process here may have mounts of its own."""
    if (pid := os.fork()) == 0:
        os._exit(bool(_libc.unshare(_NEWNS)) or bool(_libc.mount(None, b"/", None, _REC | _PRIVATE, None)))
    return os.waitpid(pid, 0)[1] == 0


def _full_disk(world: Path) -> None:
    free = os.statvfs(world).f_bavail * os.statvfs(world).f_frsize
    with (world / "filler").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free - ROOM)


def _full_temporary(world: Path) -> None:
    for folder in ("/tmp", "/var/tmp"):
        _mount(Path(folder), 0, "size=16k")


def _read_only(world: Path) -> None:
    for folder in (Path("/tmp"), Path("/var/tmp")):
        _mount(folder, _RDONLY, "size=16k")
    _mount(world, _REMOUNT | _RDONLY)


def _limit(kind: int, value: int) -> None:
    resource.setrlimit(kind, (value, value))


def _little_memory(world: Path) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    _limit(resource.RLIMIT_AS, pages * resource.getpagesize() + (32 << 20))


def _few_files(world: Path) -> None:
    _limit(resource.RLIMIT_NOFILE, 3 + len(list(Path("/proc/self/fd").iterdir())))


def _bare(world: Path) -> None:
    """No home, a working directory that is gone; streams are ASCII, and paths not UTF-8 (see `_prepare`)."""
    for name in list(os.environ):
        if name == "HOME" or (name.startswith(("XDG_", "LOCAL_JUDGE_")) and name != QUIET):
            del os.environ[name]
    os.environ["HOME"] = "/proc/self/nowhere"
    gone = world / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()


def _interrupted(world: Path) -> None:
    def interrupt(number: int, frame: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGVTALRM, interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.01)
    # An alarm after the interpreter has put the handlers away would end the process by itself.
    atexit.register(signal.setitimer, signal.ITIMER_VIRTUAL, 0)


def _redirect(path: str) -> Callable[[Path], None]:
    return lambda _: (os.dup2(os.open(path, os.O_WRONLY), 1), None)[1]


def _no_streams(world: Path) -> None:
    for stream in (0, 1, 2):
        os.close(stream)


def _nobody_reads(world: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    os.dup2(writing, 1)
    os.close(writing)


CONDITIONS: dict[str, Callable[[Path], None]] = {
    "none": lambda _: None,
    "bare": _bare,
    "output full": _redirect("/dev/full"),
    "output unread": _nobody_reads,
    "no streams": _no_streams,
    "small files": lambda _: _limit(resource.RLIMIT_FSIZE, 1_000),
    "few files": _few_files,
    "little memory": _little_memory,
    "interrupted": _interrupted,
    "disk full": _full_disk,
    "temporary full": _full_temporary,
    "read-only": _read_only,
}
MOUNTED = ("disk full", "temporary full", "read-only")
"""Conditions that need mounts."""

WHOLE_ENDS = ("none", "output full", "output unread")
"""Conditions under which a fork's interpreter also takes its modules apart, which copies all that the forks share."""

UNLOADED = ("little memory", "small files", "temporary full", "read-only")
"""Conditions that decide whether the model that tells languages can be loaded."""


def _stream(number: int, mode: str, encoding: str) -> Any:
    """What the interpreter makes of a file descriptor when it starts."""
    try:
        os.fstat(number)
    except OSError:
        return None
    errors = "backslashreplace" if number == 2 else "strict"
    raw: Any = os.fdopen(number, mode + "b", closefd=False)
    return io.TextIOWrapper(raw, encoding, errors, newline="\n", write_through=number == 2)


def _prepare(case: dict[str, Any], mounts: bool) -> None:
    """Become the command's process, in a copy of its world."""
    condition: str = case["condition"]
    name = os.fsdecode(b"w\xff") if condition == "bare" else "w"
    if mounts:
        _libc.unshare(_NEWNS)
        _mount(Path("/"), _REC | _PRIVATE)
        _mount(Path("/mnt"), 0, "size=64m")
        world = Path("/mnt") / name
    else:
        world = Path(case["scratch"]) / name
    shutil.copytree(case["world"], world)
    os.chdir(world)
    sys.argv = [
        "local-judge",
        *(str(world) + one[1:] if one.startswith("@") else one for one in case["argv"]),
    ]
    if condition in UNLOADED:
        language._identifier.cache_clear()  # pyright: ignore[reportPrivateUsage]
    CONDITIONS[condition](Path("/mnt") if mounts and condition in MOUNTED else world)
    encoding = "ascii" if condition == "bare" else "utf-8"
    for number, stream, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        setattr(sys, stream, _stream(number, mode, encoding))


def _collect(pid: int, pipes: dict[int, str]) -> dict[str, Any]:
    """What a fork prints, and how it ends."""
    begun, printed = time.monotonic(), dict.fromkeys(pipes.values(), b"")
    with selectors.DefaultSelector() as ready:
        for pipe, name in pipes.items():
            ready.register(pipe, selectors.EVENT_READ, name)
        while ready.get_map() and (left := begun + SECONDS - time.monotonic()) > 0:
            for key, _ in ready.select(left):
                part = os.read(key.fd, 1 << 16)
                printed[key.data] += part
                if not part:
                    ready.unregister(key.fd)
        hangs = bool(ready.get_map())
    if hangs:
        os.killpg(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    for pipe in pipes:
        os.close(pipe)
    texts = {name: data.decode("utf-8", "backslashreplace") for name, data in printed.items()}
    return {"code": None if hangs else code, "pid": pid, "seconds": time.monotonic() - begun, **texts}


def _end(code: object) -> None:
    """End as the interpreter does, but leave the modules as they are."""
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage, reportUnknownMemberType]
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    gc.collect()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)


def main() -> None:
    """Answer until the input ends."""
    modules = [one.name for one in pkgutil.walk_packages(cli.__path__, "local_judge.cli.")]
    for slow in (*modules, "mcp.server.stdio", "mcp.server.lowlevel"):
        importlib.import_module(slow)
    language.detect_language("The model is loaded once, which takes longer than most commands run.")
    mounts = can_mount()
    print(json.dumps({"mounts": mounts}), flush=True)
    gc.freeze()
    for line in sys.stdin:
        case = json.loads(line)
        ends = {name: os.pipe() for name in ("out", "err")}
        if (pid := os.fork()) == 0:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for number, name in ((1, "out"), (2, "err")):
                os.dup2(ends[name][1], number)
            os.closerange(3, 64)
            _prepare(case, mounts)
            try:
                cli.main()
            except SystemExit as ended:
                if case["condition"] in WHOLE_ENDS:
                    raise
                _end(ended.code)
            return
        for _, writing in ends.values():
            os.close(writing)
        print(json.dumps(_collect(pid, {reading: name for name, (reading, _) in ends.items()})), flush=True)


if __name__ == "__main__":
    main()
