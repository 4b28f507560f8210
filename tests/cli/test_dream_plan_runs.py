"""A run of DREAM by plans: key information and reasoning, shown, scored again, missed pages listed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.stub_replies import fill
from tests.stub_server import StubPlan

from ..stub_thread import StubThread
from ..tasks.dataset_rows import write_jsonl
from .conftest import Command, Ended

MINUTES = "https://council.example/minutes/2021-03-18"
DWELLINGS = "The retrofit connected 1,240 dwellings"
VOTES = "It was approved by eleven votes to four"

PLAN = {
    "task_id": "mill",
    "status": "reviewed",
    "reviewer": "Ada",
    "as_of": "2024-06-30",
    "key_information": [
        {
            "question": "Does the report say that the retrofit connected 1,240 dwellings?",
            "source": {
                "url": "https://heat.example/fernholt/renewal",
                "quote": "1,240 [b]dwellings[/b]",
                "published": "2024-01-31",
            },
        },
        {"question": "Does the report say that gas was banned?"},
    ],
    "reasoning": [
        {
            "question": "Did the council [i]agree[/i]?",
            "extract": "Votes.",
            "verify": "Minutes.",
            "compare": "Both.",
        }
    ],
}


def judge(asked: Mapping[str, Any]) -> str:
    """Key information: yes with the quotation if the question names dwellings. An agent: searches, then finds fault."""
    reply = json.loads(fill(asked))
    text: str = asked["messages"][-1]["content"]
    if "action" not in reply:
        yes = {"quote": DWELLINGS, "rationale": "It says so.", "met": True}
        no = {"quote": "Gas is banned", "rationale": "It does not.", "met": False}
        return json.dumps({key: yes if key == "k1" else no for key in reply})
    if "Turn 1, your reply" not in text:
        action = {"tool": "search", "queries": ["minutes council votes", "zeppelin hangar"], "k": 2}
        return json.dumps({"thought": "I look.", "action": action})
    fault = {
        "quote": VOTES,
        "kind": "gap",
        "reason": "Who voted?",
        "url": "",
        "page_quote": "",
        "severity": "major",
    }
    unproven = {**fault, "quote": DWELLINGS, "url": MINUTES, "page_quote": "No such words stand there."}
    answer = {"extracted": [VOTES], "deductions": [fault, unproven]}
    return json.dumps({"thought": "Done.", "action": {"tool": "finish", "answer": answer}})


@pytest.fixture
def server() -> Iterator[StubThread]:
    with StubThread(StubPlan(answer=judge)) as running:
        yield running


@pytest.fixture
def run(
    command: Command, tmp_path: Path, server: StubThread, preset: Path, snapshot: Path, report: Path
) -> tuple[Path, Ended]:
    tasks = write_jsonl(tmp_path / "tasks.jsonl", [{"id": "mill", "task": "What of the retrofit?"}])
    plans = write_jsonl(tmp_path / "plans.jsonl", [PLAN])
    out = tmp_path / "run"
    given = ("--tasks", tasks, "--plans", plans, "--snapshot", snapshot, "--judge", preset, "--out", out)
    parts = ("--protocol", "dream", "--set", "dream.parts=[key_information,reasoning]")
    ended = command("run", report, *given, *parts, "--base-url", server.url)
    return out, ended


def test_a_run_by_plans(run: tuple[Path, Ended], command: Command, server: StubThread) -> None:
    out, ended = run
    assert (ended.code, ended.err) == (0, "")
    # One of two items said; of ten points three are taken, and what no page shows takes none.
    scores = json.loads((out / "scores" / "dream.jsonl").read_text().splitlines()[0])["scores"]
    assert [(node["id"], node["score"]["value"]) for node in scores] == [
        ("key_information", 50.0),
        ("reasoning", 70.0),
    ]
    assert len(json.loads((out / "inputs.jsonl").read_text())["plan_sha256"]) == 64
    assert json.loads((out / "evidence_gaps.jsonl").read_text())["query"] == "zeppelin hangar"
    shown = command("show", out, "--report", "mill").out
    assert (
        "key information: 1 yes, 1 no; 1 quotation not in the report; 1 of 2 items on a page with a date; plan "
        "reviewed as on 2024-06-30, joined by id"
    ) in " ".join(shown.split())
    assert (
        "reasoning: 1 assessed, by agents; 2 deductions (1 counted, 1 unproven); 1 thing asked"
        in " ".join(shown.split())
    )
    asked = len(server.chats)
    assert command("rescore", out).code == 0 and len(server.chats) == asked


def test_items(run: tuple[Path, Ended], command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    out, _ = run
    shown = command("show", out, "--report", "mill", "--items").out
    assert '2024-01-31, https://heat.example/fernholt/renewal: "1,240 [b]dwellings[/b]"' in shown
    assert 'not in the report: "Gas is banned"' in shown and "Did the council [i]agree[/i]?" in shown
    assert all(text in shown for text in ("-3", "major gap", "Who voted?", f'"{VOTES}"'))
    assert "unproven" in shown and f'"{DWELLINGS}"' in shown
    assert f'page: "No such words stand there." {MINUTES} (the page does not have it)' in shown
    assert "r1: what the agent did" in shown and "# answered after 2 turns" in shown
    data = json.loads(command("show", out, "--report", "mill", "--items", "--json").out)
    assert data["dream"]["reasoning"]["questions"][0]["run"]["outcome"] == "answered"


def test_another_plan_is_another_run(
    run: tuple[Path, Ended],
    command: Command,
    tmp_path: Path,
    server: StubThread,
    preset: Path,
    snapshot: Path,
    report: Path,
) -> None:
    out, _ = run
    plans = write_jsonl(tmp_path / "plans.jsonl", [{**PLAN, "reviewer": "Bob"}])
    given = ("--tasks", tmp_path / "tasks.jsonl", "--plans", plans, "--snapshot", snapshot, "--judge", preset)
    parts = ("--protocol", "dream", "--set", "dream.parts=[key_information,reasoning]")
    line = command("run", report, *given, "--out", out, *parts, "--base-url", server.url).line()
    assert "run with different reports (reports.'mill'.plan_sha256)" in line


def test_a_run_without_plans_ends_in_one_line(
    command: Command, tmp_path: Path, server: StubThread, preset: Path, snapshot: Path, report: Path
) -> None:
    tasks = write_jsonl(tmp_path / "tasks.jsonl", [{"id": "mill", "task": "What of the retrofit?"}])
    given = ("--tasks", tasks, "--snapshot", snapshot, "--judge", preset, "--out", tmp_path / "run")
    parts = ("--protocol", "dream", "--set", "dream.parts=[writing,reasoning]")
    line = command("run", report, *given, *parts, "--base-url", server.url).line()
    assert "has no plan; " in line and "give --plans " in line
    assert line.endswith("--set dream.parts=[writing]")
