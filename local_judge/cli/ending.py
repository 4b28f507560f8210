"""Exit codes and last lines of commands that ask a judge.

Invariant: a stopped run and missing answers have different exit codes, and the message says how to continue.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from local_judge.runs.records import CaseRecord

ASKS_AGAIN = "The same command asks again for what no server answered, and keeps replies that are no answer."
"""End of the line with the number of missing answers."""


def relax_collector() -> None:
    """Make the garbage collector run rarely. This affects the whole process: only commands call it, not the library.

    Objects that exist now are excluded, and a collection waits for many new objects. Each call in flight has about a
    hundred long-lived objects. The default thresholds scan them repeatedly, which takes a quarter of the client's time
    at ten thousand calls (`scripts/bench_client`).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)


@contextmanager
def stoppable(ledger: Path) -> Generator[None]:
    """Let Ctrl-C end the enclosed calls with exit code 130 and a message that names the ledger."""
    relax_collector()
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(
            f"Stopped. Finished replies are stored in {ledger}; run the same command to continue.\n"
        )
        raise SystemExit(130) from None


def leave_missing(what: str) -> NoReturn:
    """Print which answers are missing and exit with code 3."""
    sys.stderr.write(f"Missing: {what}. {ASKS_AGAIN}\n")
    raise SystemExit(3)


def leave(records: Sequence[CaseRecord], out: Path) -> None:
    """Exit with code 3 if answers or reports are missing, and print how many."""
    missing = sum(record.n_calls_failed for record in records)
    not_done = sum(record.status != "done" for record in records)
    if missing or not_done:
        by_judge: Counter[str] = Counter()
        for record in records:
            by_judge.update(record.n_failed_by_judge)
        listed = ", ".join(f"{judge} {n}" for judge, n in by_judge.items() if n)
        answers = (
            f"{missing} of the judges' answers ({listed})" if listed else f"{missing} of the judge's answers"
        )
        too_long = sum(record.n_too_long for record in records)
        hopeless = (
            f" {too_long} of the questions do not fit the judge's context: only a judge with a longer one can answer."
            if too_long
            else ""
        )
        sys.stderr.write(
            f"Missing: {answers}, {not_done} of {len(records)} reports. {ASKS_AGAIN} "
            f"`local-judge show {out}` says what is missing.{hopeless}\n"
        )
        raise SystemExit(3)
