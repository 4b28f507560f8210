"""`local-judge sweep`: many runs over the same reports in one folder."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.ending import leave_runs, stoppable
from local_judge.cli.help import group_with_default
from local_judge.cli.judging import PrintConfig, Replay, ServerOptions
from local_judge.cli.options import AsJson, CommandGroup
from local_judge.cli.output import print_json
from local_judge.cli.run import given_keys
from local_judge.cli.show import print_groups
from local_judge.errors import plain
from local_judge.judge.judge import Judge
from local_judge.reporting.progress import RunProgress
from local_judge.runs.sweep import REPORTS_IN_FLIGHT, Sweep, open_sweep, run_sweep
from local_judge.runs.sweep_folder import sweep_manifest
from local_judge.terminal import is_quiet

app = CommandGroup(
    cls=group_with_default("run"),
    help="Evaluate reports by many runs, which one file describes.",
)

SweepFilePath = Annotated[Path, typer.Argument(metavar="FILE", help="A sweep file (YAML).")]
Out = Annotated[
    Path | None, typer.Option("--out", help="The folder of the sweep; the same command continues it.")
]


@app.command("run")
def run_(
    context: typer.Context,
    file: SweepFilePath,
    servers: ServerOptions,
    out: Out = None,
    replay: Replay = False,
    print_config: PrintConfig = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate all runs of a sweep file and print their scores in one table."""
    options, environment = given_keys(context)
    sweep = open_sweep(file, options, environment, replay=replay)
    if print_config:
        print("---\n".join(f"# {one.name}\n{one.file.as_yaml()}" for one in sweep.runs), end="")
        return
    with stoppable(sweep.ledger):
        shown: list[RunProgress] = []

        def watch(judges: Mapping[str, Judge], total: int) -> RunProgress:
            shown.append(RunProgress(judges, total, at_once=REPORTS_IN_FLIGHT))
            return shown[-1]

        found = asyncio.run(run_sweep(sweep, watch))
    if not shown and not is_quiet():
        sys.stderr.write(f"{plain(str(sweep.root))} is finished; 0 calls\n")
    _print(sweep, as_json)
    leave_runs({str(run.job.store.root): found[run.name] for run in sweep.runs}, replay)


def _print(sweep: Sweep, as_json: bool) -> None:
    """Print the scores of all runs, and the names of what an earlier sweep file had."""
    manifest = sweep_manifest(sweep.root)
    assert manifest is not None
    if as_json:
        data = {
            "runs": {run.name: str(run.job.store.root) for run in sweep.runs},
            "earlier": manifest.earlier,
        }
        print_json(data)
        return
    print_groups([run.job.store.root for run in sweep.runs])
    for name in manifest.earlier:
        print(plain(f"kept from an earlier sweep file: {sweep.root / name}"))
