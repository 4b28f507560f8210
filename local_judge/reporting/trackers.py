"""Results of a run for experiment trackers: TensorBoard and Weights & Biases, both written to disk.

Invariants: nothing is sent: `wandb sync` uploads an offline run when the user asks for it; the numbers are those of
`show`; a score without a value is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from local_judge.errors import UserError, optional_module, os_errors
from local_judge.reporting.leaderboard import as_markdown, leaderboard
from local_judge.runs.manifest import judge_of, protocols_of, read_manifest
from local_judge.runs.seal import modifications
from local_judge.runs.store import RunStore
from local_judge.runs.tables import COLUMNS, Row, TableName, claim_rows, item_rows, joined, system_rows
from local_judge.scoring.node import Profile


def write_tensorboard(
    store: RunStore, out: Path, judge: str | None = None, profile: Profile = "paper"
) -> dict[str, int]:
    """Write one folder of event files for each system; returns the number of scalars of each.

    Raises:
        RunError: the run is not finished or was modified, or it has no such judge.
        UserError: tensorboardX is missing, or a file cannot be written.
    """
    tensorboard = optional_module("tensorboardX", "TensorBoard", "tracking")
    board = as_markdown(leaderboard(store, profile, judge))
    marks = "".join(f"\n\nmodified: {line}" for line in modifications())
    written: dict[str, int] = {}
    systems = list(_systems(store, judge, profile))
    with os_errors(UserError, f"{out}: cannot be written"):
        for number, (system, values) in enumerate(systems):
            folder = _folder(system, number)
            writer = tensorboard.SummaryWriter(str(out / folder))
            for name, value in values.items():
                writer.add_scalar(name, value, 0)
            writer.add_text("leaderboard", board + marks, 0)
            writer.close()
            written[folder] = len(values)
    return written


def write_wandb(
    store: RunStore, out: Path, judge: str | None = None, profile: Profile = "paper"
) -> dict[str, int]:
    """Write an offline run with the scores as its summary, and tables of claims and items; returns their sizes.

    Raises:
        RunError: the run is not finished or was modified, or it has no such judge.
        UserError: wandb is missing, or a file cannot be written.
    """
    wandb = optional_module("wandb", "Weights & Biases", "tracking")
    manifest = read_manifest(store)
    scores = {
        f"{system}/{name}": value
        for system, values in _systems(store, judge, profile)
        for name, value in values.items()
    }
    tables: dict[TableName, list[Row]] = {
        "claims": claim_rows(store, judge),
        "items": item_rows(store, judge),
    }
    with os_errors(UserError, f"{out}: cannot be written"):
        out.mkdir(parents=True, exist_ok=True)
        # Nothing about this machine: no paths, packages, hardware or commits.
        settings = wandb.Settings(
            silent=True,
            console="off",
            save_code=False,
            disable_git=True,
            x_disable_meta=True,
            x_disable_stats=True,
            x_save_requirements=False,
        )
        run = wandb.init(
            project="local_judge",
            name=store.root.name,
            dir=os.fspath(out),
            mode="offline",
            settings=settings,
            config={
                "profile": profile,
                "protocols": list(protocols_of(store)),
                "judges": [one["identity"]["model"] for one in manifest.get("judges", [])],
                "snapshot": manifest.get("snapshot"),
                "settings": manifest["config"]["settings"],
                **({"modified": list(modifications())} if modifications() else {}),
            },
        )
        for name, value in scores.items():
            run.summary[name] = value
        for name, rows in tables.items():
            columns = list(COLUMNS[name])
            data = [[joined(row[column]) for column in columns] for row in rows]
            run.log({name: wandb.Table(columns=columns, data=data)})
        run.finish()
        wandb.teardown()  # its own process writes the file, and has it complete when it ends
    return {"summary": len(scores), **{name: len(rows) for name, rows in tables.items()}}


def _systems(store: RunStore, judge: str | None, profile: Profile) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield each system with its scores by `protocol/path`."""
    found: dict[str, dict[str, float]] = {}
    for row in system_rows(store, profile, judge_of(store, judge)):
        scores = found.setdefault(row["system"] or "all reports", {})
        if row["value"] is not None:
            scores[f"{row['protocol']}/{row['path']}"] = row["value"]
    yield from found.items()


def _folder(system: str, number: int) -> str:
    """Return a name for the folder of a system that is valid on every file system and unique."""
    plain = "".join(one if one.isascii() and (one.isalnum() or one in "-_") else "_" for one in system)
    return plain[:80] if plain == system and len(plain) <= 80 else f"{number}_{plain[:80]}"
