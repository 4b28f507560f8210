"""`local-judge verify`: claims and URLs in, verdicts out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from indexes.snapshot import Snapshot
from local_judge.cli.ending import leave_missing, stoppable
from local_judge.cli.options import (
    ATTEMPTS,
    WAIT_MINUTES,
    AsJson,
    Attempts,
    BaseUrls,
    CalibrationFiles,
    ConfigFile,
    FailAfter,
    JudgeName,
    Method,
    Offline,
    SnapshotDir,
    Terse,
    View,
    WaitForServer,
    claims_settings,
    persistence_of,
)
from local_judge.cli.output import json_line
from local_judge.errors import plain
from local_judge.reporting.progress import RunProgress
from local_judge.reporting.qualification import qualification_lines
from local_judge.reporting.tables import verified_table
from local_judge.runs.calibrations import given_calibrations, keep
from local_judge.runs.config import RunConfig, load_config
from local_judge.runs.judges import open_judge
from local_judge.runs.qualifications import Qualifications, qualifications_of
from local_judge.runs.store import RunStore
from local_judge.runs.verify import ClaimRow, VerifiedRow, load_claim_rows, verify_rows
from local_judge.terminal import count, stdout
from serving.connect import Persistence
from serving.presets import Preset, load_preset


def verify(
    claims: Annotated[
        Path, typer.Argument(help="A JSONL file of rows with `claim`, `url` and optionally `id`.")
    ],
    snapshot: SnapshotDir,
    judge: JudgeName,
    ledger: Annotated[Path, typer.Option("--ledger", help="Where the judge's replies are kept.")],
    out: Annotated[Path | None, typer.Option("--out", help="Write the verdicts here as JSONL.")] = None,
    base_url: BaseUrls = None,
    config: ConfigFile = None,
    method: Method = None,
    view: View = None,
    terse: Terse = False,
    calibration: CalibrationFiles = None,
    offline: Offline = True,
    wait_for_server: WaitForServer = WAIT_MINUTES,
    attempts: Attempts = ATTEMPTS,
    fail_after: FailAfter = None,
    as_json: AsJson = False,
) -> None:
    """Verify claims against their pages, without a report."""
    rows = load_claim_rows(claims)
    preset = load_preset(judge)
    settings = load_config(config, {"claims": claims_settings(method, view, terse)})
    frozen = Snapshot.open(snapshot)
    persistence = persistence_of(wait_for_server, attempts, fail_after)
    ask = partial(_verify, rows, frozen, preset, settings, base_url or (), ledger, offline, calibration or ())
    with stoppable(ledger):
        verified, qualifications = asyncio.run(ask(persistence))
    lines = [json_line(row) for row in verified]
    if out is not None:
        RunStore(out.parent).write_text(out.name, "".join(line + "\n" for line in lines))
    if as_json:
        print("\n".join(lines))
    else:
        stdout().print(verified_table(verified))
        for line in qualification_lines(qualifications):
            stdout().print(line, markup=False, soft_wrap=True)
    failures = [row.failure for row in verified if row.failure is not None]
    asked = settings.claims.reliability
    unrated = {row.text_digest for row in verified if asked and row.status == "ok" and row.reliable is None}
    if failures or unrated:
        why = f" ({failures[0].kind}: {plain(failures[0].detail)})" if failures else ""
        pages = f" and the reliability of {count(len(unrated), 'page')}" if unrated else ""
        leave_missing(f"{len(failures)} of {len(verified)} verdicts{why}{pages}")


async def _verify(
    rows: Sequence[ClaimRow],
    snapshot: Snapshot,
    preset: Preset,
    config: RunConfig,
    base_urls: Sequence[str],
    ledger: Path,
    offline: bool,
    calibrations: Sequence[Path],
    persistence: Persistence,
) -> tuple[list[VerifiedRow], Qualifications]:
    given = given_calibrations(calibrations, config.claims)
    async with open_judge(
        preset,
        base_urls=base_urls,
        ledger=ledger,
        reasks=config.reasks,
        only_engine=offline,
        calibrations=given,
        persistence=persistence,
    ) as judge:
        await keep([judge])
        qualifications = await qualifications_of({preset.name: judge})
        watch = partial(RunProgress, unit="pages")
        return await verify_rows(rows, snapshot, judge, config.claims, watch), qualifications
