"""Output of `--dry-run` and `--batch`."""

from __future__ import annotations

import asyncio
import sys

from local_judge.base.errors import plain
from local_judge.cli.output import print_json
from local_judge.reporting.tables import plan_notes, plan_table
from local_judge.runs.execution.job import Job, next_batch, plan
from local_judge.terminal import stdout

SHOWN = 10
"""Maximum number of unreadable lines that are named."""


def print_plan(job: Job, as_json: bool) -> None:
    """Print the calls that a job would make, without making them."""
    planned = asyncio.run(plan(job))
    if as_json:
        print_json(planned)
        return
    console = stdout()
    console.print(plan_table(planned))
    for line in plan_notes(planned):
        console.print(line, soft_wrap=True)


def print_batch(job: Job, as_json: bool) -> None:
    """Read finished batch jobs and print the next ones; exit with code 3 unless every call has an answer."""
    rounds = asyncio.run(next_batch(job))
    calls = sum(one.calls for one in rounds)
    if as_json and calls:
        print_json([one.model_dump(mode="json") for one in rounds])
    for one in rounds:
        failed = ", ".join(f"{kind} {n}" for kind, n in sorted(one.failures.items()))
        told = [f"{one.judge}: {one.replies} replies stored" + (f", failures: {failed}" if failed else "")]
        told += [f"{one.judge}: no answer in {place}" for place in one.unreadable[:SHOWN]]
        sys.stderr.writelines(f"{plain(line)}\n" for line in told)
        if one.command is not None and not as_json:
            print(plain(f"# {one.judge}: {one.calls} calls"))
            print(plain(one.command))
    if calls:
        sys.stderr.write(
            f"{calls} calls need an answer. Run the commands above as jobs, then this command again.\n"
        )
        raise SystemExit(3)
