"""`local-judge results stats`, on run directories as a run leaves them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from local_judge.runs.storage.records import CaseRecord, ScoreRecord
from local_judge.runs.storage.seal import seal_run
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import write_scores
from local_judge.scoring.node import Score, ScoreNode

from .conftest import Command


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two tasks of three systems each, a report without a task, one without a score, one that could not be read."""
    store = RunStore(tmp_path / "run")
    store.write_json(
        "manifest.json",
        {"format_version": 4, "config": {"protocols": ["deer"]}, "reports": {"n": 0}},
    )
    rows: list[tuple[str, str | None, int, float | None]] = [
        ("a1", "a", 100, 7.0),
        ("a2", "a", 200, 8.0),
        ("a3", "a", 300, 9.0),
        ("b1", "b", 1100, 1.0),
        ("b2", "b", 1200, 3.0),
        ("b3", "[b]c", 1300, 2.0),
        ("none", None, 50, 4.0),
        ("null", "a", 10, None),
    ]
    cases = [
        CaseRecord(id=name, key=name, document=name, task=task, n_words=words, status="done")
        for name, task, words, _ in rows
    ]
    cases.append(CaseRecord(id="bad", key="bad", status="unreadable"))
    store.write_jsonl("cases.jsonl", cases)
    scores = [
        ScoreRecord(
            case=name,
            protocol="deer",
            version="1",
            profile="paper",
            scores=(
                ScoreNode(id="integrity", label="Integrity", score=Score(value=value)),
                ScoreNode(id="flat", label="Flat", score=Score(value=5.0)),
            ),
        )
        for name, _, _, value in rows
    ]
    write_scores(store, "deer", cases, scores)
    seal_run(store)
    return store.root


def test_a_table_of_all_roots(command: Command, run: Path) -> None:
    ended = command("results", "stats", "length", run)
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0].strip() == "deer (paper profile): score and length in words"
    rows = [[cell.strip() for cell in line.split("│")] for line in lines if "│" in line]
    listed = {(row[0], row[1]): row[2:] for row in rows}
    assert listed["integrity", "overall"][0] == "7"
    within, reason = (row[7] for row in rows if row[1] == "within 2 tasks")
    assert within == "df 2" and "each task" in reason and "same" in reason
    assert listed["flat", "overall"][1:-1] == ["–"] * 4 and "same" in listed["flat", "overall"][-1]
    assert "95% bootstrap intervals of 2,000 draws, seed 0" in ended.out
    assert "integrity: left out of 9 reports: 1 not evaluated, 1 without this score" in ended.out
    assert "flat: left out of 9 reports: 1 not evaluated\n" in ended.out


def test_one_score_shows_its_tasks(command: Command, run: Path) -> None:
    out = command("results", "stats", "length", run, "--score", "integrity").out
    assert "task a" in out
    assert "flat" not in out
    assert "tasks with fewer than 3 reports, not listed separately: [b]c (1), b (2)" in out


def test_json_holds_all_numbers(command: Command, run: Path) -> None:
    said = json.loads(command("results", "stats", "length", run, "--seed", "3", "--json").out)
    assert (said["protocol"], said["profile"], said["measure"]) == ("deer", "paper", "words")
    integrity, flat = said["scores"]
    assert (integrity["score"], integrity["n_reports"], integrity["n_null"], integrity["n_unscored"]) == (
        "integrity",
        9,
        1,
        1,
    )
    # Task a: 7 8 9 on 100 200 300 words: a straight line of 10 points per 1,000.
    [task] = integrity["bias"]["tasks"]
    assert (task["task"], task["relation"]["pearson"]["value"]) == ("a", 1.0)
    assert task["relation"]["slope"]["value"] == pytest.approx(10.0)
    # Within tasks a and b: centred lengths -100 0 100 -50 50, scores -1 0 1 -1 1. Products: 300; squares of lengths:
    # 25000, of scores: 4. 300 / sqrt(100000).
    assert integrity["bias"]["within"]["pearson"]["value"] == pytest.approx(300 / 100_000**0.5)
    assert integrity["bias"]["seed"] == 3
    pearson = flat["bias"]["overall"]["pearson"]
    assert "same" in pearson.pop("reason")
    assert pearson == {
        "value": None,
        "n": 8,
        "n_undefined": 0,
        "hits": None,
        "low": None,
        "high": None,
        "n_draws": 0,
        "p_value": None,
    }


def test_lengths_that_no_run_recorded(command: Command, run: Path) -> None:
    out = command("results", "stats", "length", run, "--measure", "sentences", "--score", "integrity").out
    assert "7 without a recorded length" in out
    assert "0 reports, needs 3" in out


def test_mistakes_end_in_one_line(command: Command, run: Path) -> None:
    for arguments in (["--score", "nope"], ["--profile", "upstream"], ["--protocol", "race"]):
        ended = command("results", "stats", "length", run, *arguments)
        assert ended.code == 1
        assert ended.line().startswith("local-judge: ")
    assert command("results", "stats", "length", run, "--measure", "pages").code == 2
    assert command("results", "stats", "length").code == 2
