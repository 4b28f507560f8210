"""LiveResearchBench through the commands: a batch read, metrics judged, results shown and written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.stub_replies import fill
from tests.stub_server import StubPlan

from ..protocols.liveresearchbench.lrb_cases import REPORT
from ..stub_thread import StubThread
from .conftest import Command


def answer(asked: Mapping[str, Any]) -> str:
    """Nothing is met, and one contradiction is made up."""
    reply = json.loads(fill(asked))
    if "issues" in reply:
        (issue,) = reply["issues"]
        quotes = {"quote": "[b]The mill cost 7 million[/b]", "reason": "So."}
        return json.dumps({"issues": [issue | quotes]})
    return json.dumps(
        {key: {"quote": "The town paid half", "rationale": "No.", "met": False} for key in reply}
    )


@pytest.fixture
def server() -> Iterator[StubThread]:
    with StubThread(StubPlan(answer=answer)) as running:
        yield running


def batch(folder: Path) -> Path:
    """Two systems' reports on one task, of which the second is empty, and which metrics to judge."""
    rows: list[dict[str, str]] = []
    for system, text in (("ada", REPORT), ("bob", "\n")):
        path = folder / "reports" / system / "qid_t1_report.md"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        rows.append(
            {
                "model_name": system,
                "query_id": "t1",
                "query": "As of {{date}}?",
                "report_file_path": str(path),
            }
        )
    (folder / "reports_1.json").write_text(json.dumps({"metadata": {}, "reports": rows}))
    file = folder / "batch.yaml"
    file.write_text("input_files: [reports_1.json]\ncriteria: [presentation, consistency]\n")
    return file


def test_from_a_batch_to_its_results(
    command: Command, tmp_path: Path, server: StubThread, preset: Path
) -> None:
    run = tmp_path / "run"
    judge = ("--judge", preset, "--base-url", server.url, "--protocol", "liveresearchbench")
    options = ("run", batch(tmp_path), *judge, "--out", run)
    assert "({{date}}); give --date" in command(*options).line()
    ended = command(*options, "--date", "2025-09-30")
    assert "liveresearchbench (paper profile)" in ended.out
    assert (ended.code, "bob/t1" in ended.out) == (3, True)  # the second cannot be read
    assert len(server.chats) == 2  # presentation and consistency, and nothing else
    manifest = json.loads((run / "manifest.json").read_text())
    settings = manifest["config"]["settings"]["liveresearchbench"]
    assert settings["parts"] == ["presentation", "consistency"]

    shown = command("show", run, "--report", "ada/t1").out
    assert "presentation: 4 met, 6 unmet; 4 of 10 decided by code" in shown
    assert "consistency: 1 issue listed (0 counted, 1 rejected, 0 covered, 0 repeated)" in shown
    items = command("show", run, "--report", "ada/t1", "--items").out
    assert "[b]The mill cost 7 million[/b]" in items and "rejected" in items
    dumped = json.loads(command("show", run, "--report", "ada/t1", "--items", "--json").out)
    assert dumped["liveresearchbench"]["request"] == "As of 2025-09-30?"

    out = tmp_path / "out"
    ended = command("export", run, out, "--format", "liveresearchbench")
    written, left_out = ended.out.splitlines()
    files = "detailed_results_2025-09-30.json and summary_2025-09-30.json"
    assert written.startswith(f"{files} of 1 of 2 reports in {out}; reports.json ")
    assert left_out == "bob/t1: left out: unreadable"
    detailed = json.loads((out / "detailed_results_2025-09-30.json").read_text())
    assert detailed["metadata"] == {
        "timestamp": "2025-09-30",
        "total_reports": 2,
        "total_models": 2,
        "base_path": "",
        "use_realtime": True,
        "profile": "upstream",
    }
    first, second = detailed["reports"]
    assert list(second) == ["model_name", "query_id", "query", "report_file_path"]
    assert (first["model_name"], first["query_id"]) == ("ada", "t1")
    assert first["report_file_path"] == "ada/qid_t1_report.md"
    assert first["presentation_grading_results"]["summary"]["average_pass_rate"] == 40
    assert first["presentation_grading_results"]["graded_at"] == "2025-09-30"
    assert (
        first["consistency_grading_results"]["score"] == 90
    )  # the issue, which is not in the report, counts there
    summary = json.loads((out / "summary_2025-09-30.json").read_text())
    assert summary["metadata"]["criteria_evaluated"] == ["presentation", "consistency"]
    assert summary["metadata"]["input_metadata"] == detailed["metadata"]
    figures = {"mean": 40.0, "count": 1, "min": 40.0, "max": 40.0}
    assert summary["results_by_model"]["ada"]["presentation"] == figures
    assert summary["overall_results"]["presentation"] == figures
    assert "bob" not in summary["results_by_model"]
    assert f"{out}: not an empty" in command("export", run, out, "--format", "liveresearchbench").line()


def test_settings_that_cannot_be(command: Command, tmp_path: Path, server: StubThread, preset: Path) -> None:
    options = ("run", batch(tmp_path), "--judge", preset, "--base-url", server.url, "--out", tmp_path / "run")
    lrb = (*options, "--protocol", "liveresearchbench")
    for setting, said in (
        ("penalties=[[1,100]]", "for 0 issues"),
        ("limit=0", "liveresearchbench.issues.limit"),
    ):
        assert said in command(*lrb, "--set", f"liveresearchbench.issues.{setting}").line()
    assert "parts" in command(*lrb, "--set", "liveresearchbench.parts=polish").line()
    assert server.chats == []
