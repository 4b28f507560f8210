"""RACE through the commands: criteria drafted, reports compared, results shown and written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.stub_replies import fill
from tests.stub_server import StubPlan

from ..protocols.race.race_cases import REFERENCE
from ..stub_thread import StubThread
from .conftest import REPORT, Command

TASKS = [{"id": 1, "prompt": "What did the mill cost?"}, {"id": 2, "prompt": "Who paid for it?"}]


def answer(asked: Mapping[str, Any]) -> str:
    """Article 1 is always a little better; criteria and weights are the first that come to mind."""
    reply = json.loads(fill(asked))
    if "readability" in reply:
        return json.dumps({**reply, "comprehensiveness": 0.5, "insight": 0.3, "readability": 0.2})
    if "criteria" in reply:
        points = [{"criterion": f"Point {i}", "explanation": "Says it.", "weight": 0.25} for i in range(4)]
        return json.dumps({"criteria": points})
    return json.dumps({key: {"analysis": "[b]So.[/b]", "article_1": 6, "article_2": 4} for key in reply})


@pytest.fixture
def server() -> Iterator[StubThread]:
    with StubThread(StubPlan(answer=answer)) as running:
        yield running


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_from_tasks_to_the_result_files(
    command: Command, tmp_path: Path, server: StubThread, preset: Path
) -> None:
    judge = ("--judge", preset, "--base-url", server.url)
    criteria = tmp_path / "criteria.jsonl"
    draft = ("tasks", "draft", "criteria", write(tmp_path / "tasks.jsonl", *TASKS), *judge, "--out", criteria)
    ended = command(*draft)
    assert (ended.code, ended.out) == (0, f"2 drafted, 0 had criteria, 0 failed: {criteria}\n")
    asked = len(server.chats)
    assert asked == 2 * (1 + 4)
    assert command(*draft).out == f"0 drafted, 2 had criteria, 0 failed: {criteria}\n"
    assert len(server.chats) == asked

    reports = write(
        tmp_path / "reports.jsonl",
        *({**task, "task_id": task["id"], "article": REPORT, "system": "ada"} for task in TASKS),
    )
    references = write(tmp_path / "reference.jsonl", *({**task, "article": REFERENCE} for task in TASKS))
    run = tmp_path / "run"
    compare = ("run", reports, *judge, "--protocol", "race", "--out", run, "--criteria", criteria)
    line = command(*compare).line()
    assert "race: report '1' (and 1 more): its task '1' has no reference report; give --references" in line
    ended = command(*compare, "--references", references)
    assert (ended.code, ended.err) == (0, "")
    # The report comes first and gets 6, the reference 4: 100 * 6 / 10.
    assert "race (paper profile)" in ended.out and "60.00" in ended.out
    assert len(server.chats) == asked + 2
    assert command(*compare, "--references", references).code == 0
    assert len(server.chats) == asked + 2

    shown = command("show", run, "--report", "1").out
    assert "order: paper, report first" in shown
    assert "[b]So.[/b]" not in shown
    items = command("show", run, "--report", "1", "--items").out
    assert items.count("[b]So.[/b]") == 2 * 16 and "readability.4" in items
    dumped = json.loads(command("show", run, "--report", "1", "--items", "--json").out)
    assert len(dumped["race"]["comparisons"][0]["scores"]) == 16

    ended = command("export", run, tmp_path / "out", "--format", "race")
    written, order = ended.out.splitlines()
    assert written.startswith(f"2 files of 2 of 2 reports in {tmp_path / 'out'}; reports.json ")
    assert order == "order: paper, report first"
    assert (tmp_path / "out/race_result.txt").read_text() == (
        "Comprehensiveness: 0.6000\nInsight: 0.6000\nInstruction Following: 0.6000\nReadability: 0.6000\n"
        "Overall Score: 0.6000\n"
    )


def test_settings_of_race(command: Command, tmp_path: Path, server: StubThread, preset: Path) -> None:
    report = write(tmp_path / "reports.jsonl", {**TASKS[0], "article": REPORT})
    options = ("run", report, "--judge", preset, "--base-url", server.url, "--protocol", "race")
    wrong = (*options, "--out", tmp_path / "a", "--set", "race.positions=both", "--set", "race.mode=vanilla")
    assert "positions=both needs a reference; mode=vanilla shows none" in command(*wrong).line()
    plan = command(*options, "--out", tmp_path / "b", "--set", "race.mode=vanilla", "--dry-run", "--json")
    assert json.loads(plan.out)["calls"] == 1
    assert "its task '1' has no criteria" in command(*options, "--out", tmp_path / "c").line()


def test_a_plan_says_which_reports_will_not_be_evaluated(
    command: Command, tmp_path: Path, server: StubThread, preset: Path
) -> None:
    # The stub's context holds 32,768 tokens of four characters.
    articles = {"short": REPORT, "empty": "", "long": "It goes on and on. " * 10_000}
    rows = ({"id": name, "prompt": f"What of {name}?", "article": text} for name, text in articles.items())
    options = ("run", write(tmp_path / "reports.jsonl", *rows), "--judge", preset, "--base-url", server.url)
    planned = (
        *options,
        "--protocol",
        "race",
        "--set",
        "race.mode=vanilla",
        "--out",
        tmp_path / "a",
        "--dry-run",
    )
    plan = json.loads(command(*planned, "--json").out)
    assert (plan["reports"], plan["calls"]) == (3, 1)
    [unreadable] = plan["unreadable"]
    assert (unreadable["id"], plan["too_long"]) == ("empty", ["long"])
    assert re.search(r"reports\.jsonl:2: .* is empty$", unreadable["why"])
    shown = command(*planned).out
    assert f"cannot be evaluated: empty: {unreadable['why']}\n" in shown
    assert shown.endswith("too long for the judge: long\n")
    assert not (tmp_path / "a").exists() and server.chats == []
