"""Output of `--dry-run`."""

from __future__ import annotations

import asyncio

from local_judge.cli.output import print_json
from local_judge.reporting.tables import plan_notes, plan_table
from local_judge.runs.execution.job import Job, plan
from local_judge.terminal import stdout


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
