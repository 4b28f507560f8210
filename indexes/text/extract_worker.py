"""`python -m indexes.text.extract_worker`: pages on standard input, their readings on standard output.

Invariant: runs alone in a process that its parent may end, in bounded memory, and keeps nothing of one page for the
next but the libraries' caches. The messages are those of `extracting`.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path

from indexes.confining import deny_sockets, limit_memory
from indexes.text.extracting import Job, message, read_page
from indexes.text.language import detect_language
from indexes.text.walls import Arrival

_HELD_KB = 1 << 20
"""A worker that has held more kilobytes than this is replaced, so that no page finds less memory than another did."""


def peak_kilobytes() -> int:
    """Return the largest amount of memory that this process has held, in kilobytes.

    On Linux from /proc: `ru_maxrss` of a new process begins with what its parent held, so that each worker of a parent
    with a gigabyte would be replaced after one page.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Answer until the input ends, or until this process is used up."""
    limit_memory()
    deny_sockets()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pages, answers = sys.stdin.buffer, sys.stdout.buffer
    # What a library prints must not get among the answers.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    sys.stdout = sys.stderr
    detect_language("The model is loaded before the clock of the first page runs.")
    answers.write(message(b""))
    answers.flush()
    last = False
    while not last and (size := pages.read(8)):
        fields, arrived = json.loads(pages.read(int.from_bytes(size, "big")))
        data = pages.read(int.from_bytes(pages.read(8), "big"))
        reading = read_page(Job("", data, **fields, arrived=Arrival(*arrived)))
        last = peak_kilobytes() > _HELD_KB
        answer = json.dumps({"reading": reading.model_dump(), "last": last}, ensure_ascii=False)
        answers.write(message(answer.encode()))
        answers.flush()


if __name__ == "__main__":
    main()
