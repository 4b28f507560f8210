"""`local-judge verify`: verdicts on pairs of a claim and a URL."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from indexes.snapshot import Snapshot
from local_judge.base.output import count
from local_judge.cli.ending import leave_missing, stoppable
from local_judge.cli.judging import CalibrationFiles, OneJudge
from local_judge.cli.options import AsJson, ClaimOptions, ConfigFile, SnapshotDir
from local_judge.cli.output import json_line
from local_judge.reporting.claims import verified_blocks
from local_judge.reporting.progress import RunProgress
from local_judge.reporting.qualification import qualification_lines
from local_judge.runs.execution.qualifications import Qualifications, qualifications_of
from local_judge.runs.execution.verify import VerifiedRow, load_claim_rows, verify_rows
from local_judge.runs.planning.calibrations import given_calibrations, keep
from local_judge.runs.planning.run_file import load_config
from local_judge.runs.storage.store import RunStore
from local_judge.terminal import stdout


def verify(
    claims: Annotated[
        Path, typer.Argument(help="A JSONL file of rows with `claim`, `url` and optionally `id`.")
    ],
    snapshot: SnapshotDir,
    judge: OneJudge,
    how: ClaimOptions,
    out: Annotated[Path | None, typer.Option("--out", help="Write the verdicts to this JSONL file.")] = None,
    config: ConfigFile = None,
    calibration: CalibrationFiles = None,
    as_json: AsJson = False,
) -> None:
    """Verify claims against their pages, without a report."""
    rows, spec = load_claim_rows(claims), judge.spec()
    settings = load_config(config, {"claims": how.changes()})
    frozen, ledger = Snapshot.open(snapshot), judge.ledger_beside(out)

    async def verified() -> tuple[list[VerifiedRow], Qualifications]:
        given = given_calibrations(calibration or (), settings.claims)
        async with judge.open(spec, ledger, settings.reasks, given) as opened:
            await keep([opened])
            qualifications = await qualifications_of({spec.name: opened})
            watch = partial(RunProgress, unit="pages")
            return await verify_rows(rows, frozen, opened, settings.claims, watch), qualifications

    with stoppable(ledger):
        found, qualifications = asyncio.run(verified())
    lines = [json_line(row) for row in found]
    if out is not None:
        RunStore(out.parent).write_text(out.name, "".join(line + "\n" for line in lines))
    if as_json:
        print("\n".join(lines))
    else:
        stdout().print(verified_blocks(found))
        for line in qualification_lines(qualifications):
            stdout().print(line, markup=False, soft_wrap=True)
    _leave(found, settings.claims.reliability)


def _leave(found: Sequence[VerifiedRow], reliability: bool) -> None:
    """Exit with code 3 if verdicts are missing, and print how many."""
    failures = [row.failure for row in found if row.failure is not None]
    unrated = {
        row.text_digest for row in found if reliability and row.status == "ok" and row.reliable is None
    }
    if failures or unrated:
        pages = f" and the reliability of {count(len(unrated), 'page')}" if unrated else ""
        leave_missing(f"{len(failures)} of {len(found)} verdicts{pages}", [one.kind for one in failures])
