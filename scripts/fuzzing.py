"""Fuzz the parsers for long: `scripts/fuzz [TARGET...] [--cases N] [--seconds S] [--seed K] [--growth]`.

Prints a row for each target: cases, seconds, different failures, the slowest case in CPU seconds. The smallest input
of each failure is saved in `tests/fuzz/corpus/TARGET/`, which every test run replays; so is a slowest case that takes
long.
`--growth` prints how CPU time grows as the inputs of each nasty shape are doubled; linear is 2.

A case that takes more than two minutes of CPU time is a failure. Two failures are different when they are raised as
another type or at another line of ours. Exit code 1 on any.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.fuzz.registry import TARGETS  # noqa: E402
from tests.fuzz.target import Shape, Target, corpus, keep  # noqa: E402

BATCH = 500
LEAST_SECONDS = 0.05
"""CPU time from which an input is compared with one of twice its size: shorter times are noise."""
LONGEST = 120
"""CPU seconds after which a case is a failure."""
SLOW = 5.0
"""Seconds from which the slowest case of a target is saved in the corpus."""
MOST_REPETITIONS = 1 << 18
BOUND = 3.0
"""A doubling that takes longer than this many times the time is no n log n."""


@dataclass
class Outcome:
    """Result of one target."""

    cases: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    slowest_input: bytes = b""
    failures: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Place and type of each error -> the smallest input that does."""

    def run(self, target: Target, data: bytes) -> None:
        """Check one input."""
        started = time.process_time()
        signal.signal(signal.SIGVTALRM, _too_long)
        signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
        try:
            target.check(data)
        except Exception as error:
            known = self.failures.setdefault(signature(error), data)
            if len(data) < len(known):
                self.failures[signature(error)] = data
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        took = time.process_time() - started
        self.cases += 1
        if took > self.slowest:
            self.slowest, self.slowest_input = took, data


def _too_long(*_: object) -> None:
    raise TimeoutError(f"takes more than {LONGEST} s of CPU time")


def signature(error: Exception) -> str:
    """The type of an error, and the last two lines of this project that it passed."""
    ours = [
        frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(str(ROOT))
    ]
    places = [f"{Path(frame.filename).relative_to(ROOT)}:{frame.lineno}" for frame in ours]
    return f"{type(error).__name__} at {' <- '.join(list(dict.fromkeys(reversed(places)))[:2])}"


def fuzz(target: Target, cases: int, seconds: float, first_seed: int) -> Outcome:
    """The kept inputs, then new ones until there are enough of them or the time is over."""
    outcome = Outcome()
    started = time.monotonic()
    for path in corpus(target.name):
        outcome.run(target, path.read_bytes())
    number = first_seed
    while outcome.cases < cases and time.monotonic() - started < seconds:
        _batch(target, outcome, min(BATCH, cases - outcome.cases), number)
        number += 1
    outcome.seconds = time.monotonic() - started
    return outcome


def _batch(target: Target, outcome: Outcome, size: int, number: int) -> None:
    @seed(number)
    @settings(
        max_examples=size,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    @given(data=target.inputs)
    def run(data: bytes) -> None:
        outcome.run(target, data)

    before = outcome.cases
    run()
    if outcome.cases == before:  # all inputs of this target are known
        outcome.cases += size


def doubling(check: Callable[[bytes], None], make: Shape) -> tuple[int, float, float]:
    """Size in bytes, CPU seconds, and how many times as long the double takes: best of three each."""
    size = 64
    while _best(check, make(size)) < LEAST_SECONDS and size < MOST_REPETITIONS:
        size *= 2
    small = _best(check, make(size))
    return len(make(size)), small, _best(check, make(2 * size)) / small


def _best(check: Callable[[bytes], None], data: bytes) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        check(data)
        best = min(best, time.process_time() - started)
    return best


def grow(chosen: list[Target]) -> int:
    """The table of growth; how many shapes grow faster than n log n."""
    worse = 0
    print(f"{'target':20} {'shape':22} {'bytes':>10} {'seconds':>8} {'doubled':>8}", flush=True)
    for target in chosen:
        for shape, make in target.shapes.items():
            if make is TARGETS[target.name].shapes.get("merges"):
                continue
            size, took, ratio = doubling(target.check, make)
            steep = ratio > BOUND and took >= LEAST_SECONDS
            worse += steep
            mark = "  <-- superlinear" if steep else ""
            print(f"{target.name:20} {shape:22} {size:>10,} {took:>8.3f} {ratio:>7.2f}x{mark}", flush=True)
    return worse


def main() -> int:
    """Runs what was asked for; 1 on a failure."""
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"default: all of {', '.join(TARGETS)}")
    parser.add_argument("--cases", type=int, default=100_000, help="for each target (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for each target at most")
    parser.add_argument("--seed", type=int, default=0, help="of the first batch (default: %(default)s)")
    parser.add_argument("--growth", action="store_true", help="measure how the cost grows, and nothing else")
    given_ = parser.parse_args()
    unknown = [name for name in given_.targets if name not in TARGETS]
    if unknown:
        parser.error(f"no target {unknown[0]!r}; there are: {', '.join(TARGETS)}")
    chosen = [TARGETS[name] for name in given_.targets or TARGETS]
    if given_.growth:
        return 1 if grow(chosen) else 0
    failed = 0
    print(f"{'target':20} {'cases':>8} {'seconds':>8} {'failures':>8}  slowest case", flush=True)
    for target in chosen:
        outcome = fuzz(target, given_.cases, given_.seconds, given_.seed)
        failed += len(outcome.failures)
        slowest = f"{outcome.slowest:.3f} s ({len(outcome.slowest_input):,} bytes)"
        if outcome.slowest > SLOW:
            slowest += f", saved as {keep(target.name, outcome.slowest_input).relative_to(ROOT)}"
        row = f"{target.name:20} {outcome.cases:>8,} {outcome.seconds:>8.1f} {len(outcome.failures):>8}  {slowest}"
        print(row, flush=True)
        for said, data in sorted(outcome.failures.items()):
            print(f"    {said}: saved as {keep(target.name, data).relative_to(ROOT)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
