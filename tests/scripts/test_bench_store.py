"""Runs that `scripts/bench_store` measures: copies are reused, and scored as their originals."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_judge.runs.storage.records import load_records, load_scores
from local_judge.runs.storage.store import RunStore
from scripts.benchmarking import stored_runs

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("most", [10, 5])
def test_copied_reports_have_the_scores_of_their_originals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Of a run of 8 reports, 6 or all are copies of 3: with `MOST` below 8 the last ones are copied too."""
    monkeypatch.setattr(stored_runs, "EVALUATED", 2)
    monkeypatch.setattr(stored_runs, "COPIED", 3)
    monkeypatch.setattr(stored_runs, "MOST", most)
    stored_runs.write_inputs(tmp_path, 8)
    stored_runs.fill(tmp_path)
    stored_runs.finish_run(tmp_path)
    found, copied = RunStore(tmp_path / "run"), RunStore(tmp_path / "copied")
    assert [record.id for record in load_records(found)] == [f"report-{n}" for n in range(8)]
    scores, originals = (load_scores(store, ["deer", "fact"]) for store in (found, copied))
    for n in range(6 if most == 10 else 8):
        own = [row.scores for row in scores if row.case == f"report-{n}"]
        assert own == [row.scores for row in originals if row.case == f"report-{n % 3}"] != []
    # All is stored: the finished run asks nothing again.
    stored_runs.evaluate(tmp_path, "run", stop=True)
    assert len(load_records(found)) == 8
