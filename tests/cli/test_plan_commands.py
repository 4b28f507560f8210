"""`local-judge tasks ... plan`: drafted against a server, shown, checked, decided on; killed and continued."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from indexes.snapshot import Snapshot
from local_judge.agents.result import EvidenceGap
from local_judge.tasks.plans import PLAN_KIND, PlanTranscripts
from tests.stub_replies import fill
from tests.stub_server import StubPlan

from ..stub_thread import StubThread
from ..tasks.dataset_rows import write_jsonl
from .conftest import Command, Ended, finish, start
from .test_interrupted_run import distinct, wait_for

TASKS = [
    {"id": "mill/1", "prompt": "What did the [b]retrofit[/b] of Fernholt connect?"},
    {"id": "pump", "prompt": "How large is the heat pump of the lake?"},
]


def planner(asked: Mapping[str, Any]) -> str:
    """An agent that searches for the request and for zeppelins, and quotes the first line of what it was shown."""
    reply = json.loads(fill(asked))
    text: str = asked["messages"][-1]["content"]
    shown = re.search(r"^address: (\S+)\n(?:.+\n)*\n(.+)$", text, re.MULTILINE)
    if "action" in reply and shown is None:
        request = text.partition("Request:\n```\n")[2].partition("\n```")[0]
        action = {"tool": "search", "queries": [request, "zeppelin hangar"], "k": 2}
        return json.dumps({"thought": "I look.", "action": action})
    if "action" in reply and shown is not None:
        words = shown[2][:120]
        items = [{"url": shown[1], "quote": words, "question": f"Does the report say that {words}"[:200]}]
        items.append(
            {"url": shown[1], "quote": "Invented words.", "question": "Does the report say [i]so[/i]?"}
        )
        return json.dumps({"thought": "Done.", "action": {"tool": "finish", "answer": {"items": items}}})
    if "items" in reply:
        return json.dumps({"items": []})
    if "questions" in reply:
        plan = {"extract": "The figures.", "verify": "The records.", "compare": "One by one."}
        return json.dumps({"questions": [{"question": "Did the [b]retrofit[/b] pay?", **plan}]})
    return json.dumps(reply)


@pytest.fixture
def server() -> Iterator[StubThread]:
    with StubThread(StubPlan(answer=planner)) as running:
        yield running


def draft(
    command: Command, server: StubThread, preset: Path, snapshot: Path, out: Path, *more: str | Path
) -> Ended:
    tasks = write_jsonl(out.parent / "tasks.jsonl", TASKS)
    where = ("--judge", preset, "--base-url", server.url, "--snapshot", snapshot, "--out", out)
    return command("tasks", "draft", "plan", tasks, *where, *more)


@pytest.fixture
def drafted(command: Command, tmp_path: Path, server: StubThread, preset: Path, snapshot: Path) -> Path:
    out = tmp_path / "plans.jsonl"
    ended = draft(command, server, preset, snapshot, out, "--pages", "1")
    assert (ended.code, ended.out.splitlines()) == (
        0,
        [
            "2 items of key information, 2 left out: 2 not in the page",
            "asked by search: 4, of which the snapshot could answer 1",
            f"2 drafted, 0 had a plan, 0 failed: {out}",
        ],
    )
    asked = len(server.chats)
    again = draft(command, server, preset, snapshot, out, "--pages", "1")
    assert again.out.splitlines()[-1].startswith("0 drafted, 2 had a plan") and len(server.chats) == asked
    return out


def test_what_a_draft_leaves(drafted: Path, snapshot: Path) -> None:
    rows = PLAN_KIND.file(drafted).load()
    assert list(rows) == ["mill/1", "pump"]
    [item] = rows["pump"].key_information
    assert item.source is not None and item.source.start is not None
    page = Snapshot.open(snapshot).page(item.source.url)
    assert page.text[item.source.start : item.source.end] == item.source.quote
    assert [one.why for one in rows["pump"].left_out] == ["not_in_page"]
    evidence_gaps = [
        EvidenceGap.model_validate_json(line)
        for line in (drafted.parent / "plans.jsonl.evidence_gaps.jsonl").read_text().splitlines()
    ]
    # The markup in the request is two rare words, which no passage has.
    assert [(one.query, one.why, one.times) for one in evidence_gaps] == [
        (TASKS[0]["prompt"], "weak", 1),
        ("zeppelin hangar", "nothing_found", 2),
    ]
    transcripts = PlanTranscripts(drafted)
    assert [one.task_id for one in transcripts.all()] == ["mill/1", "pump"]
    text = transcripts.path("pump").read_text()
    assert text.startswith("# answered after 2 turns\n") and "How large is the heat pump" in text
    assert transcripts.path("mill/1").parent == drafted.parent / "plans.jsonl.transcripts"


def test_show_and_lint(command: Command, drafted: Path, snapshot: Path) -> None:
    table = command("tasks", "show", "plan", drafted).out.splitlines()
    assert [cell.strip() for cell in table[2].split("│")][:6] == ["mill/1", "drafted", "1", "", "1", "1"]
    shown = command("tasks", "show", "plan", drafted, "--task", "mill/1").out
    assert "What did the [b]retrofit[/b] of Fernholt connect?" in shown
    assert "r1. Did the [b]retrofit[/b] pay?\n   extract: The figures.\n   verify: The records." in shown
    assert 'not in the page: Does the report say [i]so[/i]? "Invented words."' in shown
    assert "agent: answered: 2 turns, 2 calls, " in shown and "transcript: " in shown
    ended = command("tasks", "lint", "plan", drafted, "--snapshot", snapshot)
    assert ended.code == 1
    assert "mill/1: number: has 1 items of key information, should have 5 to 20" in ended.out.splitlines()
    assert "quoted" not in ended.out.partition("\nrules:")[0] and "not checked" not in ended.out
    found = json.loads(command("tasks", "lint", "plan", drafted, "--json").out)
    [(rule, reason)] = found["plans"][0]["unchecked"].items()
    assert rule == "quoted" and "no snapshot" in reason


def test_review(command: Command, drafted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    review = ("tasks", "review", "plan", drafted, "--reviewer", "Ada")
    monkeypatch.setenv("VISUAL", "sed -i 's/The records/The minutes/'")
    assert command(*review, "--task", "pump", "--edit").out == "task pump: reviewed\n"
    assert command(*review, "--reject").out == "task mill/1: rejected\n"
    rows = PLAN_KIND.file(drafted).load()
    assert rows["pump"].reasoning[0].verify == "The minutes." and rows["mill/1"].content is None
    assert "questions as drafted" in command("tasks", "show", "plan", drafted, "--task", "pump").out


def test_what_failed_is_named_and_its_transcript_is_kept(
    command: Command, server: StubThread, preset: Path, snapshot: Path, tmp_path: Path
) -> None:
    out = tmp_path / "plans.jsonl"
    # In its only turn the agent can only finish, and quotes a page that it was never shown.
    ended = draft(command, server, preset, snapshot, out, "--turns", "1")
    assert ended.code == 3 and "0 drafted, 0 had a plan, 2 failed" in ended.out
    assert "task pump: " in ended.err and not out.exists()
    assert len(PlanTranscripts(out).all()) == 2


def test_mistakes_end_in_one_line(
    command: Command, server: StubThread, preset: Path, snapshot: Path, tmp_path: Path
) -> None:
    out = tmp_path / "plans.jsonl"
    nothing = draft(command, server, preset, snapshot, out, "--items", "0", "--questions", "0")
    assert nothing.line().endswith("--items 0 and --questions 0: nothing to draft")
    assert (
        "--tool shell: unknown name"
        in draft(command, server, preset, snapshot, out, "--tool", "shell").line()
    )
    assert "no task 'none'" in command("tasks", "show", "plan", write_plan(out), "--task", "none").line()


def write_plan(out: Path) -> Path:
    return write_jsonl(out, [{"task_id": "pump", "key_information": [{"question": "Does it say so?"}]}])


@pytest.mark.slow
def test_a_draft_that_is_killed_goes_on_to_the_same_file(
    tmp_path: Path, snapshot: Path, preset: Path
) -> None:
    tasks = write_jsonl(tmp_path / "tasks.jsonl", TASKS)
    with StubThread(StubPlan(answer=planner, delay=0.05, slots=1)) as server:
        where = ["--judge", preset, "--base-url", server.url, "--snapshot", snapshot, "--pages", "1"]
        given = ["tasks", "draft", "plan", tasks, *where, "--out", "plans.jsonl"]
        for name in ("whole", "killed"):
            (tmp_path / name).mkdir()
        ended = finish(start(*given, cwd=tmp_path / "whole"))
        assert (ended.code, ended.err) == (0, "")
        n_calls = len(server.chats)
        process = start(*given, cwd=tmp_path / "killed")
        wait_for(server, n_calls + 3)
        time.sleep(0.02)
        process.kill()
        finish(process)
        assert finish(start(*given, cwd=tmp_path / "killed")).code == 0
        # Asked again is at most what was under way when it was killed: one at the server, one being stored.
        assert len(server.chats) <= 2 * n_calls + 2
        assert distinct(server.chats[:n_calls]) == distinct(server.chats)
    rows = [(tmp_path / name / "plans.jsonl").read_bytes() for name in ("whole", "killed")]
    assert rows[0] == rows[1]
