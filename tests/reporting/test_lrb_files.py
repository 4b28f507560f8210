"""LiveResearchBench's result files of a run: what is left out, and what they are called."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from local_judge.errors import RunError
from local_judge.protocols.liveresearchbench import LiveResearchBench, LrbFindings
from local_judge.protocols.liveresearchbench.depth.games import Pair
from local_judge.protocols.liveresearchbench.metrics.coverage import CoverageFindings
from local_judge.protocols.liveresearchbench.metrics.issues import PUBLISHED, Issue, IssueFindings
from local_judge.protocols.liveresearchbench.upstream import average
from local_judge.reporting.exports import export_files, list_rows
from local_judge.runs.items import findings_file
from local_judge.runs.seal import seal_run
from local_judge.runs.store import RunStore

from ..originals import run_original
from ..protocols.liveresearchbench.depth_cases import against
from ..protocols.liveresearchbench.depth_cases import findings as comparisons
from ..protocols.liveresearchbench.lrb_cases import items, presentation
from ..rubric_run import record


def findings(checks: str | None, delivered: str | None = None) -> LrbFindings:
    return LrbFindings(
        case="a",
        document="d",
        presentation=presentation(checks) if checks else None,
        coverage=CoverageFindings(items=items(delivered), status="given") if delivered else None,
    )


PROTOCOL = "liveresearchbench"
JUDGE = {"name": "small", "identity": {"engine": "vllm", "model": "Small-1B"}, "sampling": {}}


def finished(folder: Path, reports: Mapping[str, tuple[str | None, LrbFindings]]) -> RunStore:
    """A run with these findings, by report, each with its system, told no date."""
    store = RunStore(folder)
    store.write_json(
        "manifest.json",
        {
            "format_version": 4,
            "config": {"protocols": ["liveresearchbench"]},
            "judges": [JUDGE],
            "reports": {"n": 0},
        },
    )
    cases = [record(name, name, system) for name, (system, _) in reports.items()]
    store.write_items(findings_file(PROTOCOL, None), ((name, found) for name, (_, found) in reports.items()))
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
    exported = export_files(finished(tmp_path / "run", reports), tmp_path / "out", PROTOCOL)
    assert list(exported.files) == ["detailed_results.json", "summary.json"]
    assert [(row["criteria"], row["left_out"], row["n_failed"]) for row in list_rows(exported.lists[0])] == [
        (["presentation", "coverage"], "", 0),
        (["presentation"], "", 7),
        (["coverage"], "", 10),
        ([], "no answer of the judge", 12),
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


def compared(*pairs: Pair) -> LrbFindings:
    """A report with issues on citations, and compared with the baseline."""
    misplaced = Issue(quoted=("x",), cited="[1]", reason="So.", fate="counted", misplaced=("c1",))
    missing = Issue(quoted=("y",), reason="So.", fate="counted")
    issues = (misplaced, *[missing] * (len(pairs) * 2))
    association = IssueFindings(metric="citation", issues=issues, limit=25, table=PUBLISHED)
    return findings("mmmmmmmmuu", "mmu").model_copy(
        update={"depth": comparisons(*pairs), "citation": association}
    )


def test_the_published_average_of_two_judges_is_the_same(tmp_path: Path, shared: Path) -> None:
    """`average_results.py` on our two exports, against our average of them and our scores of the ensemble."""
    first = {
        "1": ("ada", compared(against((20, 17), (12, 19)))),
        "2": ("ada", findings("mmmmmuuuuu", "mm")),
        "3": ("bob", compared(against((10, 10), (20, 20)))),
    }
    second = {
        "1": ("ada", compared(against((22, 21), (12, 12)))),
        "2": ("ada", findings("mmmuuuuuuu", "uu")),
        "3": ("bob", findings("mmmmmmmmmm")),
    }
    files = [tmp_path / name / "summary.json" for name in ("a", "b")]
    for reports, file in zip((first, second), files, strict=True):
        export_files(finished(tmp_path / f"run_{file.parent.name}", reports), file.parent, PROTOCOL)
    script, theirs = shared / "originals/lrb/average_results.py", tmp_path / "averaged.json"
    printed = run_original(script, tmp_path, "--input-a", files[0], "--input-b", files[1], "--output", theirs)
    averaged = json.loads(theirs.read_text(encoding="utf-8"))
    one, other = (json.loads(file.read_text(encoding="utf-8")) for file in files)
    assert averaged["results_by_model"] == average(one, other)
    # ada's presentation: (80 + 50) / 2 and (80 + 30) / 2.
    assert averaged["results_by_model"]["ada"]["presentation"]["mean"] == 60
    # ada's citation association: three issues by both, 80. bob's by the first judge alone.
    assert averaged["results_by_model"]["ada"]["citation"]["mean"] == 80
    # ada's games by the first judge: won 20 to 12, lost 17 to 19; by the second: won both. (50 + 100) / 2.
    assert averaged["results_by_model"]["ada"]["depth"]["win_rate"] == 75
    for name in ("presentation", "coverage"):
        ensemble = [
            next(root for root in LiveResearchBench().score([a, b], "upstream") if root.id == name)
            for (_, a), (_, b) in ((first[report], second[report]) for report in ("1", "2"))
        ]
        mean = sum(root.score.value or 0 for root in ensemble) / 2
        assert averaged["results_by_model"]["ada"][name]["mean"] == pytest.approx(mean, abs=1e-12)
    overall = averaged["overall_results"]["presentation"]
    # Of all reports: (80 + 50 + 80) / 3 = 70 and (80 + 30 + 100) / 3 = 70.
    assert f"  presentation: {overall['mean']:.2f} (A: 70.00, B: 70.00)" in printed.splitlines()


def test_a_run_without_results_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    store = finished(tmp_path / "run", {"1": (None, findings("ffffffffff"))})
    with pytest.raises(RunError, match="result for LiveResearchBench's files; no answer"):
        export_files(store, tmp_path / "out", PROTOCOL)
    assert not (tmp_path / "out").exists()
    other = RunStore(tmp_path / "other")
    other.write_json(
        "manifest.json",
        {"format_version": 4, "config": {"protocols": ["deer"]}, "reports": {"n": 0}},
    )
    with pytest.raises(RunError, match="LiveResearchBench was not run"):
        export_files(other, tmp_path / "out", PROTOCOL)
