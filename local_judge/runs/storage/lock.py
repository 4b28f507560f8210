"""Lock of a directory that a command writes to.

Invariant: only the process that holds the lock writes to the directory; the kernel releases the lock when the process
ends for any reason. The content of the lock file is used in messages only.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from local_judge.base.errors import RunError

LOCK = ".lock"

_UNSUPPORTED = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOLCK, errno.EINVAL}
"""Errors of a file system without locks."""

_PROBES_OUTLASTED = 3
_PROBE_SECONDS = 0.02
"""More than `held_since` takes to probe a lock."""


@contextmanager
def locked(root: Path) -> Generator[None]:
    """Lock the directory `root`, made if absent, until the block ends. Not re-entrant.

    On a file system without locks, a line on standard error says so, and the block runs without a lock.

    Raises:
        RunError: another process holds the lock, or the lock file cannot be written.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        descriptor = _acquired(root / LOCK)
    except OSError as error:
        raise RunError(
            f"{root}: cannot be locked ({error.strerror or error}); check the path and its permissions"
        ) from None
    if descriptor is None:
        yield
        return
    try:
        yield
    finally:
        # Removed while it is held: a process that opened it before finds that it was removed, and tries again.
        (root / LOCK).unlink(missing_ok=True)
        os.close(descriptor)


def _acquired(path: Path) -> int | None:
    """Return the descriptor that holds the lock; None if the file system has no locks."""
    while True:
        descriptor = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644
        )
        try:
            _take(descriptor)
            if _is_at(descriptor, path):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, _holder(), 0)
                return descriptor
        except BlockingIOError:
            said = _said(os.pread(descriptor, 4096, 0))
            os.close(descriptor)
            raise RunError(
                f"{path.parent}: {said} is writing to it; wait until it ends, or choose another directory"
            ) from None
        except OSError as error:
            os.close(descriptor)
            if error.errno not in _UNSUPPORTED:
                raise
            path.unlink(missing_ok=True)
            sys.stderr.write(
                f"{path.parent}: its file system has no locks; do not start a second command there now\n"
            )
            return None
        os.close(descriptor)  # removed by its holder in between


def _take(descriptor: int) -> None:
    """Lock an open file, and outlast a process that only probes the lock. Raises BlockingIOError if it is held."""
    for _ in range(_PROBES_OUTLASTED):
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PROBE_SECONDS)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def held_since(root: Path) -> float | None:
    """Return when the process that holds the lock of `root` took it, in seconds since 1970; None if none holds it.

    The kernel shows who holds such a lock only to a process that asks for it: a shared lock is requested, and a free
    one is released at once. No command is refused because of that (see `_take`).

    Raises:
        RunError: the lock file cannot be read.
    """
    path = root / LOCK
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror or error})") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        try:
            since = str(json.loads(os.pread(descriptor, 4096, 0))["since"])
            return datetime.fromisoformat(since).timestamp()
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            return os.fstat(descriptor).st_mtime
    except OSError:  # a file system without locks
        return None
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Check whether the open file is still the one at `path`."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    ours = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def _holder() -> bytes:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    return json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since}).encode()


def _said(content: bytes) -> str:
    try:
        holder = json.loads(content)
        pid, host, since = int(holder["pid"]), str(holder["host"]), str(holder["since"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return "another process"
    return f"process {pid} on {host[:80]}, since {since[:40]},"
