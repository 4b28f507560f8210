"""Processes that read untrusted pages or that an offline run starts: their command line and their restrictions.

Invariants: this very package is run, whatever the working directory holds; a restriction also holds for everything that
the process or thread starts from then on.

Sockets are denied by a seccomp filter, which needs no rights and exists on Linux alone; elsewhere `deny_sockets` says
that nothing was done. The filter refuses the system calls that make a socket: `socket`, and `io_uring_setup`, whose
rings can make one behind the filter's back. It refuses all calls of a foreign architecture, whose numbers mean
something else. Sockets that are open already and pairs of sockets stay usable.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import struct
import sys
from pathlib import Path

from indexes.limits import PAGE_MEMORY

_ROOT = str(Path(__file__).resolve().parents[1])

_ARCHITECTURES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""Machine name -> its number in `seccomp_data`, and the number of its call `socket`."""
_IO_URING_SETUP = 425  # on every architecture
_X32 = 0x40000000  # the bit that marks calls of the x32 variant of x86_64
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # of classic BPF
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_SET_NO_NEW_PRIVS, _SET_SECCOMP, _MODE_FILTER = 38, 22, 2


def child_command(module: str) -> tuple[list[str], dict[str, str]]:
    """The command line and the environment that run `module` as a program."""
    path = os.environ.get("PYTHONPATH")
    env = {
        **os.environ,
        "PYTHONPATH": f"{_ROOT}{os.pathsep}{path}" if path else _ROOT,
        # One thread each: there are as many processes as there should be threads, and each thread's stack and
        # arena count against the process's memory.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    # -P: the working directory is no place to import from.
    return [sys.executable, "-P", "-m", module], env


def limit_memory() -> None:
    """Bound this process's address space, so that no page finds more or less memory than another.

    Raises:
        SystemExit: the limit that is set is below that already; the message is for standard error.
    """
    try:
        resource.setrlimit(resource.RLIMIT_AS, (PAGE_MEMORY, PAGE_MEMORY))
    except ValueError:
        raise SystemExit(
            f"reading a page takes up to {PAGE_MEMORY:,} bytes; raise the limit (ulimit -v)"
        ) from None


def deny_sockets() -> bool:
    """Let this thread, and all threads and processes that it starts, make no socket any more.

    Returns:
        Whether it took effect.
    """
    if sys.platform != "linux" or platform.machine() not in _ARCHITECTURES or sys.maxsize < 1 << 32:
        return False
    architecture, socket = _ARCHITECTURES[platform.machine()]
    deny = _ERRNO | errno.EACCES
    # Each jump is counted in instructions to the last, which refuses, or the one before it, which allows.
    program = [
        (_LOAD, 0, 0, 4),  # the architecture
        (_EQUAL, 0, 5, architecture),
        (_LOAD, 0, 0, 0),  # the number of the call
        (_AT_LEAST, 3, 0, _X32),
        (_EQUAL, 2, 0, socket),
        (_EQUAL, 1, 0, _IO_URING_SETUP),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, deny),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in program))
    filter = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(code)))
    prctl = ctypes.CDLL(None).prctl
    zero = ctypes.c_ulong(0)
    if prctl(_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero):
        return False
    return prctl(_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), filter, zero, zero) == 0
