"""`results diff`: two runs of the same report by different judges, and mean differences of systems."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.stub_server import StubPlan

from ..stub_thread import StubThread, answer
from .conftest import REPORT, Command


def _run(command: Command, report: Path, snapshot: Path, preset: Path, url: str, out: Path) -> None:
    done = command(
        *("run", report, "--snapshot", snapshot, "--judge", preset, "--base-url", url, "--out", out),
        *("--set", "deer.parts=[verification]"),
    )
    assert done.code == 0, done.err


def doubting(asked: Any) -> str:
    """A judge by whom every claim is contradicted."""
    return answer(asked).replace('"supported"', '"contradicted"')


@pytest.fixture
def runs(
    command: Command, report: Path, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> tuple[Path, Path]:
    """The same report judged by a judge that supports everything and by one that doubts."""
    first, second = tmp_path / "first", tmp_path / "second"
    _run(command, report, snapshot, preset, server.url, first)
    with StubThread(StubPlan(answer=doubting)) as other:
        _run(command, report, snapshot, preset, other.url, second)
    return first, second


def test_flipped_verdicts_and_scores_are_side_by_side(command: Command, runs: tuple[Path, Path]) -> None:
    first, second = runs
    found = json.loads(command("results", "diff", first, second, "--json").out)
    assert (found["matched_by"], found["n_reports"], found["n_first"]) == ("id", 1, 0)
    assert found["inputs"] == [] or all(one.startswith("judges") for one in found["inputs"])
    assert found["verdicts"]["n"] == 2 and found["verdicts"]["n_changed"] == len(found["flips"]) >= 1
    assert {(one["first"], one["second"], one["unstable"]) for one in found["flips"]} == {
        ("supported", "contradicted", None)
    }
    scores = {one["path"][0]: one for one in found["scores"]}
    integrity = scores["information_integrity"]["difference"]
    assert (
        integrity["value"] == pytest.approx(integrity["second"] - integrity["first"])
        and integrity["value"] < 0
    )
    assert integrity["low"] is None and scores["information_integrity"]["within_noise"] is None
    shown = command("results", "diff", first, second).out
    assert "supported → contradicted" in shown and "noise is unknown" in shown


def test_a_repetition_measures_the_noise(command: Command, runs: tuple[Path, Path], tmp_path: Path) -> None:
    """Against a repetition in which the same verdicts changed, every change is unstable."""
    first, second = runs
    again = tmp_path / "again"
    shutil.copytree(second, again)
    found = json.loads(command("results", "diff", first, second, "--again", again, "--json").out)
    assert found["again"] == "again"
    assert found["verdicts"]["n_changed_by_noise"] == found["verdicts"]["n_changed"] == len(found["flips"])
    assert all(one["unstable"] for one in found["flips"])
    assert "in the repetition" in command("results", "diff", first, second, "--again", again).out
    assert "given twice" in command("results", "diff", first, first).line()


def test_runs_without_a_common_report_are_refused(
    command: Command, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.md").write_text(REPORT)
        _run(command, tmp_path / f"{name}.md", snapshot, preset, server.url, tmp_path / f"run-{name}")
    line = command("results", "diff", tmp_path / "run-a", tmp_path / "run-b").line()
    assert "no report of " in line and "matched by id" in line


def test_systems_are_compared_in_pairs(
    command: Command, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    rows = [
        {"id": f"{system}-{task}", "system": system, "task_id": f"t{task}", "report": REPORT + extra}
        for system, extra in (("one", ""), ("two", "\nIt was loud.\n"))
        for task in range(2)
    ]
    reports = tmp_path / "reports.jsonl"
    reports.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(
        "".join(json.dumps({"id": f"t{n}", "prompt": "What did it cost?"}) + "\n" for n in range(2))
    )
    out = tmp_path / "run"
    done = command(
        *(
            "run",
            reports,
            "--tasks",
            tasks,
            "--snapshot",
            snapshot,
            "--judge",
            preset,
            "--base-url",
            server.url,
        ),
        *("--out", out, "--set", "deer.parts=[verification]"),
    )
    assert done.code == 0, done.err
    found = json.loads(command("show", out, "--differences", "--json").out)["differences"]
    assert {(one["first"], one["second"]) for one in found} == {("one", "two")}
    assert all(one["difference"]["n_units"] == 2 and one["difference"]["p"] is None for one in found)
    assert "two - one" in command("show", out, "--differences").out
    ranked = json.loads(command("results", "rank", out, "--score", "information_integrity", "--json").out)
    assert [one["path"] for one in ranked["differences"]] == [["information_integrity"]]
