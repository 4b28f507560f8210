"""The chaos suite: seeded trials in turn, a line for each, and a table at the end.

    scripts/chaos [SCENARIO...] [--minutes M] [--trials N] [--seed K] [--keep FOLDER]

The trial with number n has the seed K + n and takes the scenarios in turn. Everything that a trial chooses comes from
its seed, so that `scripts/chaos SCENARIO --trials 1 --seed SEED` does it again.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from .scenarios import SCENARIOS
from .server import ModelServer
from .trial import Bench, Outcome, Trial
from .web import WebSite

OUTCOMES: tuple[Outcome, ...] = ("equal", "typed", "refused", "skipped", "violation")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run trials; 1 if one of them violates the invariant."""
    parser = argparse.ArgumentParser(
        prog="scripts/chaos", description="Disturb the long commands, and check that no result is wrong."
    )
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(SCENARIOS))
    parser.add_argument("--minutes", type=float, default=5.0, help="start no trial after so long")
    parser.add_argument("--trials", type=int, help="so many at most")
    parser.add_argument("--seed", type=int, default=0, help="of the first trial; each further one adds 1")
    parser.add_argument(
        "--keep", type=Path, help="where trials with a violation stay (default: a temporary folder)"
    )
    given = parser.parse_args(arguments)
    unknown = [name for name in given.scenarios if name not in SCENARIOS]
    if unknown:
        parser.error(f"no scenario {unknown[0]!r}; there are {', '.join(SCENARIOS)}")
    folder: Path = given.keep.resolve() if given.keep else Path(tempfile.mkdtemp(prefix="chaos-"))
    counts = run_trials(
        given.scenarios or list(SCENARIOS),
        folder,
        seed=given.seed,
        minutes=given.minutes,
        trials=given.trials,
    )
    print_table(counts)
    n_violations = sum(count["violation"] for count in counts.values())
    if not n_violations and not given.keep:
        shutil.rmtree(folder)
    return 1 if n_violations else 0


def run_trials(
    names: Sequence[str], folder: Path, *, seed: int = 0, minutes: float = 5.0, trials: int | None = None
) -> dict[str, Counter[Outcome]]:
    """Carry trials out, the scenarios `names` in turn, and count their outcomes by scenario; Ctrl-C ends it early."""
    counts: dict[str, Counter[Outcome]] = {name: Counter() for name in names}
    work = Path(tempfile.mkdtemp(prefix="work-", dir=_made(folder)))
    deadline = time.monotonic() + 60 * minutes
    with ModelServer() as server, WebSite() as site, contextlib.suppress(KeyboardInterrupt):
        bench = Bench(work, server, site)
        number = 0
        while (trials is None or number < trials) and time.monotonic() < deadline:
            name = names[number % len(names)]
            trial = Trial(bench, seed + number, folder / f"{name}-{seed + number}")
            begun = time.monotonic()
            with trial.kept_on_violation():
                SCENARIOS[name](trial)
            counts[name][trial.outcome] += 1
            _print_trial(name, trial, time.monotonic() - begun)
            number += 1
    if any(count["violation"] for count in counts.values()):
        print(f"\nThe undisturbed runs: {work / 'baselines'}")
    else:
        shutil.rmtree(work)
    return counts


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _print_trial(name: str, trial: Trial, seconds: float) -> None:
    print(f"{name} seed {trial.seed}: {'; '.join(trial.done)}: {trial.outcome} ({seconds:.1f} s)")
    for violation in trial.violations:
        print(f"    VIOLATION: {violation}")
    if trial.violations:
        print(f"    its files: {trial.folder}; again: scripts/chaos {name} --trials 1 --seed {trial.seed}")
    sys.stdout.flush()


def print_table(counts: dict[str, Counter[Outcome]]) -> None:
    """How the trials of each scenario came out."""
    print(f"\n{'scenario':<12}{'trials':>8}" + "".join(f"{outcome:>11}" for outcome in OUTCOMES))
    for name, count in counts.items():
        print(f"{name:<12}{count.total():>8}" + "".join(f"{count[outcome]:>11}" for outcome in OUTCOMES))


if __name__ == "__main__":
    sys.exit(main())
