"""Measure what the tests protect: `scripts/mutants [--number N] [--seed K] [--package NAME]... [TESTS...]`.

Draws small changes of the packages whose numbers people rely on, makes each in a copy of the checkout, and runs the
tests that execute the changed code: first those of the package's own folder, then all others, files with short tests
first. A change is killed when a test fails that passes without it. A first run of all tests, in a copy in which the
drawn places are marked, finds out which tests execute which; `--reached FILE` keeps that for a later call.

Prints the share that is killed, and every survivor with the number of its tests that the budget left out. A timeout
kills too, and is counted apart. Exit code 1 if the share is below 0.9.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import pytest

from scripts.mutation.checkout import Checkout
from scripts.mutation.points import PACKAGES, Mutation, draw, mark, mutations

ROOT = Path(__file__).resolve().parents[2]
TESTS = (*(f"tests/{package}" for package in PACKAGES), "tests/reporting", "tests/test_golden.py")
LEAST = 0.9
"""Share of changes that tests have to notice."""


@dataclass(frozen=True)
class Reached:
    """Tests that pass without a change."""

    seconds: dict[str, float]
    """Test -> time with its fixtures."""
    tests: dict[str, list[str]]
    """Name of each drawn change -> tests that execute what it replaces."""

    def of(self, change: Mutation) -> list[str]:
        """Return the tests that can notice a change: all of them for code that runs on import."""
        return self.tests[change.name] if change.function else list(self.seconds)


@dataclass(frozen=True)
class Outcome:
    """Fate of one change."""

    change: Mutation
    killed_by: str = ""
    """Test that fails, or what ended the tests otherwise; empty for a survivor."""
    is_own: bool = False
    """True if that test is in the package's own folder."""
    is_timeout: bool = False
    """True if the tests took too long, and none failed."""
    n_left_out: int = 0
    """Number of tests that execute a survivor and did not fit into the budget."""


def record(checkout: Checkout, changes: Sequence[Mutation], tests: Sequence[str], workers: int) -> Reached:
    """Run the tests without a change, and note which of them execute the places of the changes."""
    marked: dict[str, list[tuple[int, Mutation]]] = defaultdict(list)
    for number, change in enumerate(changes):
        marked[change.path].append((number, change))
    hits = checkout.folder / "hits"
    hits.touch()
    modules = {path: mark((checkout.root / path).read_bytes(), rows) for path, rows in marked.items()}
    parallel = ["--numprocesses", str(workers), "--dist", "worksteal"] if workers > 1 else []
    with checkout.changed(modules):
        ended = checkout.run([*parallel, *tests], hits=hits)
    passed = {test: seconds for test, seconds in ended.seconds.items() if test not in ended.failed}
    reached: dict[str, set[str]] = {change.name: set() for change in changes}
    for line in hits.read_text(encoding="utf-8").splitlines():
        row: tuple[int, str] = json.loads(line)
        if row[1] in passed:
            reached[changes[row[0]].name].add(row[1])
    if not passed:
        output = (checkout.folder / "output").read_text(encoding="utf-8")
        raise SystemExit(f"no test passes without a change:\n{output}")
    for test in ended.failed:
        print(f"fails without a change, left out: {test}", file=sys.stderr)
    return Reached(passed, {name: sorted(tests) for name, tests in reached.items()})


class Stage(NamedTuple):
    """Tests that run in one process."""

    is_own: bool
    """True for tests in the package's own folder."""
    files: list[str]
    tests: list[str]
    seconds: float
    n_left_out: int
    """Number of tests that do not fit into the budget."""


def stages(change: Mutation, reached: Reached, budget: float) -> list[Stage]:
    """Return the package's own tests and the others, each if there are any.

    Files with short tests come first, and the last are those that still fit into `budget` seconds.
    """
    result: list[Stage] = []
    for is_own in (True, False):
        files: dict[str, list[str]] = defaultdict(list)
        for test in reached.of(change):
            if test.startswith(f"tests/{change.package}/") == is_own:
                files[test.partition("::")[0]].append(test)
        costs = {file: sum(reached.seconds[test] for test in tests) for file, tests in files.items()}
        total, chosen = 0.0, list[str]()
        for file in sorted(files, key=lambda file: (costs[file], file)):
            if not chosen or total + costs[file] <= budget:
                chosen.append(file)
                total += costs[file]
        if chosen:
            tests = [test for file in chosen for test in files[file]]
            result.append(Stage(is_own, chosen, tests, total, sum(map(len, files.values())) - len(tests)))
    return result


def try_change(checkout: Checkout, change: Mutation, reached: Reached, budget: float) -> Outcome:
    """Run the tests with a change until a test fails, and that test again without it."""
    module = change.apply((checkout.root / change.path).read_bytes())
    planned = stages(change, reached, budget)
    for is_own, files, tests, seconds, _ in planned:
        limit = 60 + 10 * seconds
        while tests:
            with checkout.changed({change.path: module}):
                ended = checkout.run(["-x", *files], limit, tests)
            if ended.code in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
                break
            if ended.code is None:
                return Outcome(change, f"a timeout of {limit:.0f} s", is_own, is_timeout=True)
            if not ended.failed:
                return Outcome(change, "an error outside of tests", is_own)
            killer = ended.failed[0]
            if checkout.run([killer.partition("::")[0]], selected=[killer]).code == 0:
                return Outcome(change, killer, is_own)
            tests = [test for test in tests if test != killer]
    return Outcome(change, n_left_out=sum(stage.n_left_out for stage in planned))


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the counts of each package as Markdown, and a line for every survivor."""
    lines = [
        "| package | changes | killed by its own tests | killed by a timeout | killed | share |",
        "|---|---|---|---|---|---|",
    ]
    groups = [(name, [row for row in outcomes if row.change.package == name]) for name in PACKAGES]
    for name, rows in [*groups, ("all", list(outcomes))]:
        if rows:
            killed = [row for row in rows if row.killed_by]
            n_own, n_timeout = sum(row.is_own for row in killed), sum(row.is_timeout for row in killed)
            lines.append(
                f"| {name} | {len(rows)} | {n_own} | {n_timeout} | {len(killed)} | {len(killed) / len(rows):.2f} |"
            )
    survivors = [row for row in outcomes if not row.killed_by]
    n_partly = sum(row.n_left_out > 0 for row in survivors)
    if n_partly:
        lines.append(
            f"\n{n_partly} of {len(survivors)} survivors had tests left out; a larger --budget runs them"
        )
    for row in survivors:
        change = row.change
        left_out = f" ({row.n_left_out} tests left out)" if row.n_left_out else ""
        lines.append(f"\n{change.path}:{change.line}: `{change.before}` -> `{change.after}`{left_out}")
    return "\n".join(lines)


def measure(
    root: Path, folder: Path, changes: Sequence[Mutation], reached: Reached, workers: int, budget: float
) -> list[Outcome]:
    """Try each change in a copy of the checkout, and print its fate when it is known."""
    copies: SimpleQueue[Checkout] = SimpleQueue()
    for number in range(workers):
        copies.put(Checkout(root, folder / str(number)))

    def fate(change: Mutation) -> Outcome:
        checkout = copies.get()
        try:
            outcome = try_change(checkout, change, reached, budget)
        finally:
            copies.put(checkout)
        end = f"killed by {outcome.killed_by}" if outcome.killed_by else "SURVIVES"
        print(f"{change.path}:{change.line}: {change.before} -> {change.after}: {end}", file=sys.stderr)
        return outcome

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(fate, changes))


def main() -> int:
    """Run what the command line asks for; 1 if too many changes survive."""
    parser = argparse.ArgumentParser(prog="scripts/mutants", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "tests",
        nargs="*",
        metavar="TESTS",
        help=f"default: {' '.join(TESTS)}; what only others, such as tests/cli, notice counts as a survivor",
    )
    parser.add_argument("--number", type=int, default=60, help="of changes (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default: %(default)s)")
    parser.add_argument(
        "--package", action="append", choices=PACKAGES, help="try the changes of this one only"
    )
    parser.add_argument(
        "--only", metavar="FILE:LINE", action="append", help="try the changes of this line only"
    )
    parser.add_argument(
        "--reached", type=Path, help="file with the tests of each change; made if it is missing"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument(
        "--budget", type=float, default=60, help="seconds of tests in a stage (default: %(default)s)"
    )
    options = parser.parse_args()
    drawn = draw(mutations(ROOT), options.number, options.seed)
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name)
        if options.reached and options.reached.exists():
            reached = Reached(**json.loads(options.reached.read_text(encoding="utf-8")))
            if not reached.tests.keys() >= {change.name for change in drawn}:
                raise SystemExit(
                    f"--reached {options.reached}: made for another sample; delete it or name another file"
                )
        else:
            reached = record(
                Checkout(ROOT, folder / "marked"), drawn, options.tests or TESTS, options.workers
            )
            if options.reached:
                options.reached.write_text(json.dumps(asdict(reached)), encoding="utf-8")
        chosen = [
            change
            for change in drawn
            if change.package in (options.package or PACKAGES)
            and f"{change.path}:{change.line}" in (options.only or [f"{change.path}:{change.line}"])
        ]
        outcomes = measure(ROOT, folder, chosen, reached, options.workers, options.budget)
    print(table(outcomes))
    return int(sum(bool(row.killed_by) for row in outcomes) < LEAST * len(outcomes))


if __name__ == "__main__":
    sys.exit(main())
