"""What a run and a sweep are made of, without their judges' answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from indexes.snapshot import Snapshot
from local_judge.runs.execution.job import Job, is_pending
from local_judge.runs.execution.judges import judge_specs_of
from local_judge.runs.planning.config import RunConfig
from local_judge.runs.storage.store import RunStore
from local_judge.runs.sweeps.sweep import open_sweep

from ..stub_thread import write_preset


async def test_a_judge_that_has_never_answered_is_pending(tmp_path: Path) -> None:
    """No server is named: nothing is asked to find out."""
    specs = judge_specs_of([str(write_preset(tmp_path))], [])
    job = Job([], None, specs, RunConfig(), RunStore(tmp_path / "run"), tmp_path / "ledger.sqlite")
    assert await is_pending(job, specs[0])


@pytest.mark.parametrize(
    ("keys", "ledger"), [({}, "out/ledger.sqlite"), ({"ledger": "l.sqlite"}, "l.sqlite")]
)
def test_the_runs_of_a_sweep_share_a_ledger(
    tmp_path: Path, snapshot: Snapshot, keys: dict[str, str], ledger: str
) -> None:
    (tmp_path / "mill.md").write_text("The mill opened in 1974.")
    file = {
        "reports": ["mill.md"],
        "snapshot": str(snapshot.path),
        "protocols": ["fact"],
        "out": "out",
        "sweep": {"judges": ["qwen3-8b", "qwen3-14b"]},
    }
    (tmp_path / "sweep.yaml").write_text(json.dumps(file | keys))
    sweep = open_sweep(tmp_path / "sweep.yaml", {})
    assert (sweep.root, sweep.ledger) == (tmp_path / "out", tmp_path / ledger)
    assert [(run.name, run.job.ledger) for run in sweep.runs] == [
        ("qwen3-8b", tmp_path / ledger),
        ("qwen3-14b", tmp_path / ledger),
    ]
    assert sweep.reports == 2
