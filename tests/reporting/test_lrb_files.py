"""LiveResearchBench's result files of a run: what is left out, and what they are called."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import RunError
from local_judge.base.failures import Failure
from local_judge.protocols.liveresearchbench import LrbFindings
from local_judge.protocols.liveresearchbench.depth.games import Pair
from local_judge.protocols.liveresearchbench.export import CRITERIA
from local_judge.protocols.liveresearchbench.issue_prompts import Kind
from local_judge.protocols.liveresearchbench.metrics.coverage import CoverageFindings
from local_judge.protocols.liveresearchbench.metrics.issues import PUBLISHED, Fate, Issue, IssueFindings
from local_judge.protocols.liveresearchbench.upstream import average
from local_judge.reporting.exports import export_files, list_rows
from local_judge.runs.execution.importing import import_files
from local_judge.runs.results.tables import system_rows
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.rescoring import rescore
from local_judge.runs.storage.seal import seal_run
from local_judge.runs.storage.store import RunStore

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


def finished(
    folder: Path,
    first: Mapping[str, tuple[str | None, LrbFindings]],
    *others: Mapping[str, tuple[str | None, LrbFindings]],
    date: str | None = None,
    task: str | None = None,
) -> RunStore:
    """A run with each judge's findings, by report, each with its system; its task has its id, unless it is given."""
    store, judges = RunStore(folder), (first, *others)
    names = [f"j{number}" for number in range(len(judges))] if others else []
    store.write_json(
        "manifest.json",
        {
            "format_version": 4,
            "config": {"protocols": ["liveresearchbench"], "date": date},
            "judges": [JUDGE | {"name": name} for name in names or ["small"]],
            "reports": {"n": 0},
        },
    )
    cases = [record(name, task or name, system) for name, (system, _) in first.items()]
    for name, reports in zip(names or [None], judges, strict=True):
        found = [(case.id, reports[case.id][1]) for case in cases]
        store.write_items(findings_file(PROTOCOL, name), found)
    store.write_jsonl("cases.jsonl", cases)
    rescore(store, [PROTOCOL], cases, names)
    seal_run(store)
    return store


def values(store: RunStore) -> dict[str, dict[str, tuple[float | None, float | None, float | None]]]:
    """Each system's `upstream` scores of whole criteria: value, low and high, as `show --profile upstream` has them."""
    found: dict[str, dict[str, tuple[float | None, float | None, float | None]]] = {}
    for row in system_rows(store, "upstream"):
        if row["path"] in CRITERIA:
            figures = row["value"], row["low"], row["high"]
            found.setdefault(row["system"] or "unnamed", {})[row["path"]] = figures
    return found


SUMMARY = """
import json, sys
from unittest.mock import MagicMock
for name in ("datasets", "dotenv", "google", "google.genai", "openai", "pandas", "tqdm", "tqdm.asyncio"):
    sys.modules[name] = MagicMock()
from liveresearchbench.batch_evaluator import BatchEvaluator
evaluator = BatchEvaluator.__new__(BatchEvaluator)
evaluator.provider, evaluator.model = "vllm", "Small-1B"
with open(sys.argv[1], encoding="utf-8") as file:
    print(json.dumps(evaluator._generate_summary(json.load(file), sys.argv[2].split(","))))
"""
"""Calls the function of the published batch evaluator that makes `summary_DATE.json`."""


def published_summary(detailed: Path, scratch: Path, shared: Path) -> dict[str, Any]:
    driver = scratch / "driver.py"
    driver.write_text(SUMMARY, encoding="utf-8")
    root = shared / "originals/lrb"
    return json.loads(
        run_original(driver, scratch, detailed, ",".join(CRITERIA), project=root).splitlines()[-1]
    )


def listed(metric: Kind, fates: Sequence[Fate], **fields: Any) -> IssueFindings:
    """Issues with these fates."""
    issues = tuple(Issue(quoted=(f"q{n}",), reason="So.", fate=fate) for n, fate in enumerate(fates))
    return IssueFindings(metric=metric, issues=issues, limit=25, table=PUBLISHED, **fields)


ISSUES: tuple[Kind, ...] = ("consistency", "citation")
LOST = Failure(kind="timeout", detail="none")
WHOLE = findings("mmmmmmmmuu", "mmu").model_copy(
    update={
        # Five and three listed, of which one and none count by the paper: 70 and 80 by the published code, 90 and 100.
        "consistency": listed("consistency", ("counted", "rejected", "repeated", "rejected", "rejected")),
        "citation": listed("citation", ("covered", "rejected", "covered")),
        "depth": comparisons(
            against((10, 10), (20, 20), ("refusal",)), against((20, 10), (10, 20)), leave_out=True
        ),
    }
)
"""The baseline that is a refusal is left out; the report wins and loses against the other."""
REPORTS = {
    "1": ("ada", WHOLE),
    # Less than half of the checks, no item and no list are known; the order that is known is won.
    "2": (
        "ada",
        findings("mmmfffffff", "ff").model_copy(
            update={
                "consistency": listed("consistency", (), failure=LOST),
                "citation": listed("citation", ("counted",), checked=False, chosen=85.0),
                "depth": comparisons(against((20, None), (10, 0))),
            }
        ),
    ),
    "3": ("ada", findings("mmmmmuufff", "mf").model_copy(update={"consistency": listed("consistency", ())})),
    "4": (None, findings("mmmmmmmmmm").model_copy(update={"depth": comparisons(against((9, 9), (9, 9)))})),
}


def test_the_published_summary_of_our_files_gives_upstreams_scores(tmp_path: Path, shared: Path) -> None:
    store = finished(tmp_path / "run", REPORTS, date="2025-09-01")
    ours = values(store)
    # Presentation (80 + 50) / 2, coverage (200/3 + 50) / 2, consistency (70 + 100) / 2, citation (80 + 85) / 2; two
    # games won and one lost.
    assert {name: value for name, (value, _, _) in ours["ada"].items()} == pytest.approx(
        {"presentation": 65, "coverage": 175 / 3, "consistency": 85, "citation": 82.5, "depth": 200 / 3}
    )
    export_files(store, tmp_path / "out", PROTOCOL)
    detailed, summary = (tmp_path / f"out/{name}_2025-09-01.json" for name in ("detailed_results", "summary"))
    theirs, written = published_summary(detailed, tmp_path, shared), json.loads(summary.read_text("utf-8"))
    for key in ("results_by_model", "overall_results"):
        assert theirs[key] == written[key]
    for system, criteria in theirs["results_by_model"].items():
        for name, figures in criteria.items():
            value = (
                figures["mean"]
                if name != "depth"
                else figures["win_rate"]
                if figures["decisive_games"]
                else None
            )
            assert value == pytest.approx(ours[system][name][0], abs=1e-12), (system, name)
    assert theirs["results_by_model"].keys() == ours.keys()


def test_files_name_their_profile_and_come_back_from_an_import(tmp_path: Path) -> None:
    store = finished(tmp_path / "run", REPORTS, date="2025-09-01")
    export_files(store, tmp_path / "out", PROTOCOL)
    detailed, summary = (
        json.loads((tmp_path / f"out/{name}_2025-09-01.json").read_text("utf-8"))
        for name in ("detailed_results", "summary")
    )
    assert detailed["metadata"]["profile"] == summary["metadata"]["input_metadata"]["profile"] == "upstream"
    # All listed issues are written, in the judge's words where the report does not have them.
    assert detailed["reports"][0]["citation_grading_results"]["specific_issues"] == [
        '"q0": So.', '"q1": So.', '"q2": So.',
    ]  # fmt: skip
    again = RunStore(tmp_path / "again")
    import_files([tmp_path / "out"], again, PROTOCOL)
    assert values(again) == values(store)
    export_files(again, tmp_path / "back", PROTOCOL)
    for name in ("detailed_results_2025-09-01.json", "summary_2025-09-01.json"):
        assert (tmp_path / "back" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_reports_of_a_system_on_one_task_have_ids_of_their_own(tmp_path: Path) -> None:
    reports = {name: ("ada", findings("mmmmmmmmmm")) for name in ("a", "b", "c")}
    out = tmp_path / "out"
    export_files(finished(tmp_path / "run", reports, task="t"), out, PROTOCOL)
    rows = json.loads((out / "detailed_results.json").read_text("utf-8"))["reports"]
    assert [row["query_id"] for row in rows] == ["t", "t#2", "t#3"]
    assert len(import_files([out], RunStore(tmp_path / "again"), PROTOCOL)) == 3


def test_baselines_without_a_place_are_named(tmp_path: Path) -> None:
    depth = comparisons(against((20, 20), (10, 10)), against((1, 1), (9, 9)))
    reports = {"1": ("ada", findings(None).model_copy(update={"depth": depth}))}
    exported = export_files(finished(tmp_path / "run", reports), tmp_path / "out", PROTOCOL)
    [outcome] = exported.lists[0].outcomes
    assert (outcome.written, outcome.left_out) == (True, "depth against 1 more baseline")


def judged(checks: str, delivered: str, n_issues: int, *pairs: Pair) -> LrbFindings:
    parts = {kind: listed(kind, ("counted", "rejected") * n_issues) for kind in ISSUES}
    return findings(checks, delivered).model_copy(update={**parts, "depth": comparisons(*pairs)})


UNLISTED = {"citation": listed("citation", (), failure=LOST)}
TIED, HALF = against((9, 9), (9, 9)), against((20, 10), (10, 20))
JUDGES = (
    {
        "1": ("ada", judged("mmmmmmmmuu", "mmu", 1, against((20, 9), (10, 9)))),
        "2": ("ada", judged("mmmmmuuuuu", "mm", 4, TIED)),
        "3": ("bob", judged("mmmmmmmmuu", "mu", 0, HALF)),
    },
    {
        "1": ("ada", judged("mmmuuuuuuu", "uuu", 2, HALF)),
        "2": ("ada", judged("mmmmmmmmmm", "mu", 0, against((10, 10), (20, 20))).model_copy(update=UNLISTED)),
        "3": ("bob", judged("mmmmmmmmmm", "mm", 3, HALF)),
    },
)


def averaged(tmp_path: Path, shared: Path) -> tuple[RunStore, dict[str, Any]]:
    """A run of two judges, and the published average of its two summaries."""
    store = finished(tmp_path / "run", *JUDGES)
    files = [tmp_path / name / "summary.json" for name in ("j0", "j1")]
    for file in files:
        export_files(store, file.parent, PROTOCOL, file.parent.name)
    script, theirs = shared / "originals/lrb/average_results.py", tmp_path / "averaged.json"
    run_original(script, tmp_path, "--input-a", files[0], "--input-b", files[1], "--output", theirs)
    return store, json.loads(theirs.read_text("utf-8"))["results_by_model"]


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


def test_the_published_average_of_two_judges_is_upstreams(tmp_path: Path, shared: Path) -> None:
    store, theirs = averaged(tmp_path, shared)
    one, other = (json.loads((tmp_path / name / "summary.json").read_text("utf-8")) for name in ("j0", "j1"))
    assert theirs == average(one, other)
    ours = values(store)
    # ada's checks: (80 + 50) / 2 by one judge, (30 + 100) / 2 by the other. Two and eight contradictions listed by the
    # first: (90 + 60) / 2; four and none by the second: (80 + 100) / 2. The second did not list report 2's citations:
    # ((90 + 60) / 2 + 80) / 2, where the mean over reports is ((90 + 80) / 2 + 60) / 2 = 72.5.
    assert {
        name: value for name, (value, _, _) in ours["ada"].items() if name in ("presentation", *ISSUES)
    } == {
        "presentation": 65,
        "consistency": 82.5,
        "citation": 77.5,
    }
    found = {
        (system, name): figures["mean"]
        for system, criteria in theirs.items()
        for name, figures in criteria.items()
        if name != "depth"
    }
    assert len(found) == 8
    assert found == {key: pytest.approx(ours[key[0]][key[1]][0], abs=1e-12) for key in found}


def test_the_published_average_of_two_judges_win_rates_is_upstreams(tmp_path: Path, shared: Path) -> None:
    store, theirs = averaged(tmp_path, shared)
    # ada won its one decisive game by one judge, and one of four by the other: (100 + 25) / 2.
    assert theirs["ada"]["depth"]["win_rate"] == 62.5
    assert {system: rows["depth"][0] for system, rows in values(store).items()} == {
        system: rows["depth"]["win_rate"] for system, rows in theirs.items()
    }


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
