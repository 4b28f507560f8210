"""LiveResearchBench's result files of a run: what is left out, and what they are called."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from local_judge.errors import RunError
from local_judge.protocols.liveresearchbench import LrbFindings
from local_judge.protocols.liveresearchbench.coverage.findings import CoverageFindings
from local_judge.reporting.lrb_files import export_liveresearchbench
from local_judge.runs.seal import seal_run
from local_judge.runs.store import RunStore

from ..protocols.liveresearchbench.lrb_cases import items, presentation
from ..rubric_run import record


def findings(checks: str | None, delivered: str | None = None) -> LrbFindings:
    return LrbFindings(
        case="a",
        document="d",
        presentation=presentation(checks) if checks else None,
        coverage=CoverageFindings(items=items(delivered), status="given") if delivered else None,
    )


JUDGE = {"name": "small", "identity": {"engine": "vllm", "model": "Small-1B"}, "sampling": {}}


def finished(folder: Path, reports: Mapping[str, tuple[str | None, LrbFindings]]) -> RunStore:
    """A run with these findings, by report, each with its system, told no date."""
    store = RunStore(folder)
    store.write_json(
        "manifest.json", {"config": {"protocols": ["liveresearchbench"]}, "judges": [JUDGE], "reports": []}
    )
    cases = [record(name, name, system) for name, (system, _) in reports.items()]
    for case, (_, found) in zip(cases, reports.values(), strict=True):
        store.write_json(f"findings/liveresearchbench/{case.key}.json", found)
    store.write_jsonl("cases.jsonl", cases)
    seal_run(store)
    return store


def test_what_failed_is_left_out_and_named(tmp_path: Path) -> None:
    reports = {
        "1": ("ada", findings("mmmmmmmmmm", "mu")),
        "2": ("ada", findings("mmmmmfffff", "ff")),
        "3": (None, findings("ffffffffff", "mm")),
        "4": (None, findings("ffffffffff", "ff")),
    }
    exported = export_liveresearchbench(finished(tmp_path / "run", reports), tmp_path / "out")
    assert exported.files == ("detailed_results.json", "summary.json")
    assert [(one.criteria, one.left_out, one.n_failed) for one in exported.reports] == [
        (("presentation", "coverage"), "", 0),
        (("presentation",), "", 7),
        (("coverage",), "", 10),
        ((), "no answer of the judge", 12),
    ]
    summary = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
    # 100 and 50, what failed being 0 in the published code; report 2's checklist has no answer at all.
    assert summary["results_by_model"] == {
        "ada": {
            "presentation": {"mean": 75.0, "count": 2, "min": 50.0, "max": 100.0},
            "coverage": {"mean": 50.0, "count": 1, "min": 50.0, "max": 50.0},
        },
        "unnamed": {"coverage": {"mean": 100.0, "count": 1, "min": 100.0, "max": 100.0}},
    }
    assert summary["metadata"]["input_metadata"]["use_realtime"] is False
    mapping = json.loads((tmp_path / "out/reports.json").read_text(encoding="utf-8"))
    assert [row["report"] for row in mapping] == ["1", "2", "3", "4"]


def test_a_run_without_results_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    store = finished(tmp_path / "run", {"1": (None, findings("ffffffffff"))})
    with pytest.raises(RunError, match="no report has a result of LiveResearchBench's files; no answer"):
        export_liveresearchbench(store, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    other = RunStore(tmp_path / "other")
    other.write_json("manifest.json", {"config": {"protocols": ["deer"]}, "reports": []})
    with pytest.raises(RunError, match="LiveResearchBench was not run there"):
        export_liveresearchbench(other, tmp_path / "out")
