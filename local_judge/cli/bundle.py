"""`local-judge bundle` and `audit`: a run in one file, and the proof of its results."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from local_judge.base.errors import RunError, plain
from local_judge.base.output import Table, count
from local_judge.cli.options import AsJson, ConfigFile, Reports, RunLedger, SomeSnapshotDir
from local_judge.cli.output import print_json
from local_judge.runs.planning.run_file import load_run_file
from local_judge.runs.proof.audit import Audit, audit_bundle, audit_run, pack
from local_judge.runs.proof.material import Places, material_of_run
from local_judge.runs.storage.manifest import read_manifest
from local_judge.runs.storage.seal import modified_allowed
from local_judge.runs.storage.store import RunStore
from local_judge.terminal import safe, stdout

NOT_CHECKED = 4
"""Exit code of an audit that found nothing wrong and could not check everything."""

_UNITS = {
    "digests": "file",
    "inputs": "report",
    "scores": "file",
    "findings": "report",
    "quotations": "quotation",
}


def bundle(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New file, such as run.ljz.")],
    public: Annotated[
        bool, typer.Option("--public", help="Leave out page texts and prompts; keep digests and quotations.")
    ] = False,
    reports: Reports = None,
    snapshot: SomeSnapshotDir = None,
    ledger: RunLedger = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Pack a run with its reports, cited pages and used replies into one file, which `audit` verifies.

    The inputs are looked for where the command of the run had them.
    """
    store = RunStore(run)
    read_manifest(store)
    material = material_of_run(store, _places(reports, snapshot, ledger, config))
    if material.reports is None:
        raise RunError(f"{run}: {material.absent}")
    size = asyncio.run(pack(out, material, public=public))
    if as_json:
        print_json({"bundle": str(out), "bytes": size, "public": public})
    else:
        print(plain(f"{out} ({size / 1e6:.1f} MB)"))


def audit(
    path: Annotated[Path, typer.Argument(metavar="FILE|RUN", help="A bundle, or a run directory.")],
    reports: Reports = None,
    snapshot: SomeSnapshotDir = None,
    ledger: RunLedger = None,
    config: ConfigFile = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1, instead of 4, if something was not checked.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Verify a bundle or a run without model, server or network.

    Checks all digests and inputs, that scores follow from findings, that findings follow from replies, and that
    quotations occur in their pages. The exit code is 1 if something is wrong, and 4 if something was not checked.
    """
    if path.is_dir():
        store = RunStore(path)
        with modified_allowed():
            material = material_of_run(store, _places(reports, snapshot, ledger, config))
            found = asyncio.run(audit_run(material))
    else:
        found = asyncio.run(audit_bundle(path))
    if as_json:
        print_json({"audit": str(path), "status": found.status, **found.model_dump(mode="json")})
    else:
        _print(found)
    if found.status != "ok":
        raise SystemExit(1 if strict or found.status == "failed" else NOT_CHECKED)


def _places(
    reports: list[Path] | None, snapshot: Path | None, ledger: Path | None, config: Path | None
) -> Places:
    file = load_run_file(config, {}) if config is not None else None
    named = os.environ.get("LOCAL_JUDGE_LEDGER")
    return Places(tuple(reports or ()), snapshot, ledger or (Path(named) if named else None), file)


def _print(found: Audit) -> None:
    console = stdout()
    table = Table("", ("check", "result", "compared"))
    for check in found.checks:
        compared = count(check.n, _UNITS[check.name]) if check.n else ""
        table.add_row(check.name, check.status, "; ".join(filter(None, (compared, check.note))))
    console.print(table)
    for problem in (problem for check in found.checks for problem in check.problems):
        console.print(safe(problem), soft_wrap=True)
    if found.recorded:
        console.print(f"recorded, not checked: {', '.join(found.recorded)}", soft_wrap=True)
