"""`local-judge bundle` and `audit`: a run in one file, and the proof of its results."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from indexes.errors import IndexesError
from local_judge.cli.options import AsJson, ConfigFile, Reports, RunLedger, SomeSnapshotDir
from local_judge.cli.output import print_json
from local_judge.cli.run import recorded_file
from local_judge.demo.outcome import sample_folder
from local_judge.errors import RunError, UserError, plain
from local_judge.judge.ledger_place import LedgerPlace, PostgresUrl, ledger_place
from local_judge.runs.audit import Audit, audit_bundle, audit_run, pack
from local_judge.runs.bundle import Material
from local_judge.runs.job import job_of
from local_judge.runs.manifest import read_manifest
from local_judge.runs.run_file import RunFile, load_run_file
from local_judge.runs.seal import modified_allowed
from local_judge.runs.store import RunStore
from local_judge.terminal import count, plain_table, safe, stdout
from serving.connect import limits_of
from serving.errors import ServingError

_DATABASE = "the ledger is a database, which only you can name; give --ledger or LOCAL_JUDGE_LEDGER"
IMPORTED = "the run was imported from published files, without reports and replies"

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
    material = material_of_run(store, tuple(reports or ()), snapshot, ledger, config)
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
    as_json: AsJson = False,
) -> None:
    """Verify a bundle or a run without model, server or network.

    Checks all digests and inputs, that scores follow from findings, that findings follow from replies, and that
    quotations occur in their pages. The exit code is 1 if something is wrong.
    """
    if path.is_dir():
        store = RunStore(path)
        with modified_allowed():
            found = asyncio.run(
                audit_run(material_of_run(store, tuple(reports or ()), snapshot, ledger, config))
            )
    else:
        found = asyncio.run(audit_bundle(path))
    if as_json:
        print_json({"audit": str(path), "ok": found.ok, **found.model_dump(mode="json")})
    else:
        _print(found)
    if not found.ok:
        raise SystemExit(1)


def _print(found: Audit) -> None:
    console = stdout()
    table = plain_table("", ("check", "result", "compared"))
    for check in found.checks:
        compared = count(check.n, _UNITS[check.name]) if check.n else ""
        table.add_row(check.name, check.status, "; ".join(filter(None, (compared, safe(check.note)))))
    console.print(table)
    for problem in (problem for check in found.checks for problem in check.problems):
        console.print(safe(problem), soft_wrap=True)


def material_of_run(
    store: RunStore,
    reports: tuple[Path, ...],
    snapshot: Path | None,
    ledger: LedgerPlace | None,
    config: Path | None,
) -> Material:
    """Return a run with the inputs that its command or a run file names, or the reason why they are not at hand."""
    moved = {
        name: value
        for name, value in (("reports", reports), ("snapshot", snapshot), ("ledger", ledger))
        if value
    }
    if "imported" in read_manifest(store):
        return Material(store, None, None, None, None, absent=IMPORTED)
    own = ledger or (store.ledger if store.ledger.exists() else None)
    try:
        file = load_run_file(config, {}) if config is not None else _recorded(store, moved)
        hidden = config is None and not ledger and _is_unnamed(file.ledger)
        if hidden:
            file = file.model_copy(update={"ledger": None})
        job = job_of(file.model_copy(update={**moved, "out": store.root}), replay=True)
    except (UserError, IndexesError, ServingError) as error:
        absent = f"{error}; give --reports, --snapshot and --ledger, or a run file with --config"
        return Material(store, None, None, own, None, absent=absent)
    return Material(
        store=store,
        reports=job.reports,
        snapshot=job.snapshot.path if job.snapshot else None,
        ledger=job.ledger if job.ledger.exists() else own,
        limits={spec.name: limits_of(spec.preset) for spec in job.judge_specs},
        absent=_DATABASE if hidden else "the ledger is not there; give --ledger",
    )


def _is_unnamed(place: LedgerPlace | None) -> bool:
    """Check whether a place is a database that the environment does not name.

    A received run must not choose the server to which the user's password is sent.
    """
    named = os.environ.get("LOCAL_JUDGE_LEDGER")
    return isinstance(place, PostgresUrl) and (not named or ledger_place(named) != place)


def _recorded(store: RunStore, moved: Mapping[str, Any]) -> RunFile:
    """Return the settings of a run from its command line, or from its manifest if its reports are given.

    Raises:
        ConfigError: the command line cannot be read.
    """
    manifest = read_manifest(store)
    words: list[str] = manifest["arguments"]
    named = [after for word, after in pairwise(words) if word == "--judge"]
    judges = named or [judge["name"] for judge in manifest.get("judges", ())]
    settings = {**manifest["config"], "judges": judges}
    if words[:1] == ["demo"]:
        sample = {"reports": [sample_folder() / "report.md"], "snapshot": store.root.parent / "snapshot"}
        return RunFile.model_validate({**settings, **sample})
    if words[:1] != ["run"] and "reports" in moved:
        return RunFile.model_validate(settings)
    return recorded_file(words)
