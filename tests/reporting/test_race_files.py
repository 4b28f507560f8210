"""RACE's result files of a run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import RunError
from local_judge.protocols.race import RaceFindings
from local_judge.protocols.race.upstream import result_row
from local_judge.reporting.exports import export_files, list_rows
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.rescoring import rescore
from local_judge.runs.storage.seal import seal_run
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import load_system_scores
from local_judge.tasks.criteria import DIMENSIONS

from ..originals import run_original
from ..protocols.race.race_cases import IDS, REFERENCE_SCORES, TARGET_SCORES, comparison, findings
from ..rubric_run import record

TARGET: dict[str, float | None] = {**TARGET_SCORES}
REFERENCE: dict[str, float | None] = {**REFERENCE_SCORES}


def finished(folder: Path, reports: Mapping[str, tuple[str | None, RaceFindings]]) -> RunStore:
    """A run with these findings, by report, each with its system."""
    store = RunStore(folder)
    store.write_json(
        "manifest.json",
        {"format_version": 4, "config": {"protocols": ["race"]}, "reports": {"n": 0}},
    )
    cases = [record(name, found.task, system) for name, (system, found) in reports.items()]
    store.write_items(findings_file("race", None), ((name, found) for name, (_, found) in reports.items()))
    cases.append(record("broken", "3", next(iter(reports.values()))[0], status="unreadable"))
    store.write_jsonl("cases.jsonl", cases)
    rescore(store, ["race"], cases)
    seal_run(store)
    return store


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_rows_and_means_as_published(tmp_path: Path) -> None:
    whole = findings(comparison(TARGET, REFERENCE), task="10", request="磨坊?")
    even = findings(comparison(dict.fromkeys(IDS, 5.0), dict.fromkeys(IDS, 5.0)), task="9")
    lost = findings(comparison(dict.fromkeys(IDS), REFERENCE), task="11")
    store = finished(tmp_path / "run", {"a": (None, whole), "b": (None, even), "c": (None, lost)})
    exported = export_files(store, tmp_path / "out", "race")
    assert len(exported.files) == 2
    listed = list_rows(exported.lists[0])
    assert [(row["report"], row["written"]) for row in listed] == [
        ("a", True),
        ("b", True),
        ("c", False),
        ("broken", False),
    ]
    assert "drops the report" in listed[2]["left_out"]
    assert listed[3]["left_out"] == "unreadable"
    written = rows(tmp_path / "out/raw_results.jsonl")
    assert [list(row) for row in written] == [
        [
            "id",
            "prompt",
            "comprehensiveness",
            "insight",
            "instruction_following",
            "readability",
            "overall_score",
        ]
    ] * 2
    assert [row["id"] for row in written] == [9, 10]
    assert "磨坊?" in (tmp_path / "out/raw_results.jsonl").read_text(encoding="utf-8")
    assert {key: written[1][key] for key in list(written[1])[2:]} == result_row(whole)
    # (.5 + 7.05/15.65) / 2 = .47524; 5.8/14.4 = .40278; 8.3/17.3 = .47977; 7.55/16.1 = .46894; 6.9375/15.61 = .44443.
    assert (tmp_path / "out/race_result.txt").read_text(encoding="utf-8") == (
        "Comprehensiveness: 0.4752\nInsight: 0.4514\nInstruction Following: 0.4899\nReadability: 0.4845\n"
        "Overall Score: 0.4722\n"
    )
    mapping = json.loads((tmp_path / "out/reports.json").read_text(encoding="utf-8"))
    assert mapping[0]["arrangement"] == "order: paper, report first"


def test_the_published_script_writes_the_same_means_of_our_rows(tmp_path: Path, shared: Path) -> None:
    odd = [7.0, 3.5, 9.0, 0.0, 10.0, 8.5, 2.0, 6.0, 5.5]
    reports = {
        "a": findings(comparison(TARGET, REFERENCE), task="10", request="磨坊?"),
        "b": findings(comparison(dict(zip(IDS, odd, strict=True)), REFERENCE), task="9"),
        "c": findings(comparison(dict.fromkeys(IDS), REFERENCE), task="11"),
        "d": findings(comparison(TARGET | {"insight.1": None}, REFERENCE), task="8"),
    }
    store = finished(tmp_path / "run", {name: (None, found) for name, found in reports.items()})
    out, theirs = tmp_path / "out", tmp_path / "theirs"
    export_files(store, out, "race")
    theirs.mkdir()
    shutil.copy(out / "raw_results.jsonl", theirs)
    query = tmp_path / "query.jsonl"
    tasks = (
        {"id": row["id"], "prompt": row["prompt"], "language": "en"}
        for row in rows(theirs / "raw_results.jsonl")
    )
    query.write_text("".join(json.dumps(task) + "\n" for task in tasks), encoding="utf-8")
    # With a row for every task, the script asks no judge and takes the means.
    script = shared / "originals/drb/deepresearch_bench_race.py"
    options = ("--query_file", query, "--output_dir", theirs)
    run_original(script, tmp_path, "ada", *options, recorder="http://127.0.0.1:9")
    for name in ("race_result.txt", "raw_results.jsonl"):
        assert (theirs / name).read_bytes() == (out / name).read_bytes()
    scores = load_system_scores(store, ["race"])
    values = {
        row.path[0]: row.score.value for row in scores if row.profile == "upstream" and len(row.path) == 1
    }
    printed = [line.rpartition(" ")[2] for line in (theirs / "race_result.txt").read_text().splitlines()]
    assert [f"{(values[name] or 0) / 100:.4f}" for name in (*DIMENSIONS, "overall")] == printed


def test_a_folder_for_each_system(tmp_path: Path) -> None:
    one = findings(comparison(TARGET, REFERENCE))
    turned = findings(
        comparison(TARGET, REFERENCE), comparison(REFERENCE, TARGET, target_first=False), task="t-1"
    )
    store = finished(tmp_path / "run", {"a": ("ada", one), "b": ("../bo", turned)})
    exported = export_files(store, tmp_path / "out", "race")
    folders = [row["folder"] for row in list_rows(exported.lists[0]) if row["written"]]
    assert folders[0] == "ada" and "/" not in folders[1]
    [row] = rows(tmp_path / "out" / folders[1] / "raw_results.jsonl")
    # A report and its reference exchanged: x and 1 - x.
    assert (row["id"], row["overall_score"]) == ("t-1", pytest.approx(0.5))


def test_what_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    whole = findings(comparison(TARGET, REFERENCE))
    store = finished(tmp_path / "run", {"a": (None, whole)})
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    with pytest.raises(RunError, match="full: not an empty"):
        export_files(store, tmp_path / "full", "race")
    vanilla = findings(comparison({"overall": 6.0}, None), mode="vanilla", criteria=None)
    other = finished(tmp_path / "other", {"a": (None, vanilla)})
    with pytest.raises(RunError, match="result for RACE's files; the published code has no such mode"):
        export_files(other, tmp_path / "out", "race")
    store.write_json(
        "manifest.json",
        {"format_version": 4, "config": {"protocols": ["deer"]}, "reports": {"n": 0}},
    )
    with pytest.raises(RunError, match=r"RACE was not run; .*: deer"):
        export_files(store, tmp_path / "out", "race")
