"""What goes wrong inside a command of the chaos suite; imported by Python itself when this folder is in PYTHONPATH.

    CHAOS_KILL_AT=N     kills the process group at the N-th change of a file: opened to write, renamed, removed
    CHAOS_COUNT=FILE    instead writes the number of such changes there at the end
    CHAOS_MEMORY=BYTES  limits the address space
    CHAOS_CLOCK=SEED    makes the clock jump, by up to ten days either way, at about every eighth look at it

The monotonic clock is left alone.
"""

from __future__ import annotations

import atexit
import datetime
import os
import signal
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "sqlite3.connect"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
TEN_DAYS = 864_000.0


def watch_changes(kill_at: int | None, count: str | None) -> None:
    """Count changes of files by this process, and kill it at one of them."""
    seen, process = 0, os.getpid()

    def hook(event: str, given: tuple[Any, ...]) -> None:
        nonlocal seen
        writes = event == "open" and isinstance(given[2], int) and given[2] & WRITES
        if not (writes or event in CHANGES) or os.getpid() != process or "__pycache__" in str(given[0]):
            return
        seen += 1
        if seen == kill_at:
            os.killpg(0, signal.SIGKILL)

    sys.addaudithook(hook)
    if count is not None:
        target = Path(count)

        def tell() -> None:
            n = seen
            target.write_text(str(n))

        atexit.register(tell)


def make_clock_jump(seed: str) -> None:
    """Shift what `time` and `datetime` say; by amounts that change between two looks."""
    import ctypes
    import gc

    rng, real = Random(seed), time.time
    shift = 0.0

    def shifted() -> float:
        nonlocal shift
        if rng.random() < 1 / 8:
            shift = rng.uniform(-TEN_DAYS, TEN_DAYS)
        return real() + shift

    class Moment(datetime.datetime):
        """The methods that stand in for those of the built-in class."""

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return cls.fromtimestamp(shifted(), tz)

        @classmethod
        def utcnow(cls) -> Any:
            return cls.fromtimestamp(shifted(), datetime.UTC).replace(tzinfo=None)

    class Day(datetime.date):
        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(shifted())

    time.time = shifted
    time.time_ns = lambda: int(shifted() * 1e9)
    # A subclass in the built-in one's place would not be the type that annotations and models know.
    for kind, stand_in, names in (
        (datetime.datetime, Moment, ("now", "utcnow")),
        (datetime.date, Day, ("today",)),
    ):
        methods: Any = gc.get_referents(kind.__dict__)[0]
        for name in names:
            methods[name] = stand_in.__dict__[name]
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


if "CHAOS_MEMORY" in os.environ:
    import resource

    limit = int(os.environ["CHAOS_MEMORY"])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
if "CHAOS_CLOCK" in os.environ:
    make_clock_jump(os.environ["CHAOS_CLOCK"])
if "CHAOS_KILL_AT" in os.environ or "CHAOS_COUNT" in os.environ:
    at = os.environ.get("CHAOS_KILL_AT")
    watch_changes(int(at) if at else None, os.environ.get("CHAOS_COUNT"))
