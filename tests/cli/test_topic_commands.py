"""`local-judge tasks draft topic`, `draft need` and `show topic`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.stub_replies import fill
from tests.stub_server import Fault, StubPlan

from ..stub_thread import StubThread, write_preset
from ..tasks.dataset_rows import write_jsonl
from .conftest import Command

TASKS = [
    {"id": 1, "prompt": "Which mill is the oldest of all?", "topic": "History"},
    {"id": 2, "prompt": "What does a mill earn a year?", "topic": "Finance & Business"},
    {"id": 3, "prompt": "Where is lunch served?"},
]


def judged(asked: Mapping[str, Any]) -> str:
    """All is history; what earns needs deep research."""
    reply = json.loads(fill(asked))
    earns = "earn" in asked["messages"][-1]["content"].partition("Task:")[0]
    changes = {"topic": "History"} if "topic" in reply else {"needs_deep_research": earns, "confidence": 0.9}
    return json.dumps({**reply, "rationale": "So it seems.", **changes})


@pytest.fixture
def server() -> Iterator[StubThread]:
    with StubThread(StubPlan(answer=judged)) as running:
        yield running


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "tasks.jsonl", TASKS)


def test_classify_and_compare(
    command: Command, tasks: Path, tmp_path: Path, server: StubThread, preset: Path
) -> None:
    out = tmp_path / "topics.jsonl"
    classify = ("tasks", "draft", "topic", tasks, "--judge", preset, "--base-url", server.url, "--out", out)
    assert command(*classify).out == f"3 drafted, 0 had a row, 0 failed: {out}\n"
    assert command(*classify).out == f"0 drafted, 3 had a row, 0 failed: {out}\n"
    assert len(server.chats) == 3
    ended = command("tasks", "show", "topic", out, tasks)
    lines = ended.out.splitlines()
    history = next(line for line in lines if line.startswith("History"))
    assert [cell.strip() for cell in history.split("│")] == ["History", "3", "100.0%", "1", "50.0%", "-50.0"]
    assert lines[-3:] == [
        "tasks.jsonl: 1 task without a topic, in no share",
        # 1/2 (|1 - 1/2| + |0 - 1/2|)
        "total variation distance, 1/2 sum |p - q|: 0.500",
        # By chance as often: one of them has a single topic.
        "topics.jsonl: the topic given is the judge's in 1 of 2 tasks (50.0%), Cohen's kappa 0.000",
    ]
    dumped = json.loads(command("tasks", "show", "topic", out, tasks, "--json").out)
    assert dumped["total_variation"] == 0.5
    assert dumped["agreement"]["differ"] == [{"id": "2", "given": "Finance & Business", "judge": "History"}]
    assert [file["without_topic"] for file in dumped["files"]] == [0, 1]
    alone = command("tasks", "show", "topic", tasks)
    assert "difference" not in alone.out and "distance" not in alone.out and "kappa" not in alone.out
    other = tmp_path / "other"
    other.mkdir()
    same_name = write_jsonl(other / "tasks.jsonl", TASKS)
    assert "other/tasks.jsonl: 1 task" in command("tasks", "show", "topic", tasks, same_name).out


def test_filter(command: Command, tasks: Path, tmp_path: Path, server: StubThread, preset: Path) -> None:
    out = tmp_path / "needs.jsonl"
    keep = ("tasks", "draft", "need", tasks, "--judge", preset, "--base-url", server.url, "--out", out)
    assert command(*keep).out == f"1 kept, 2 dropped\n3 drafted, 0 had a row, 0 failed: {out}\n"
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [(row["id"], row["kept"], row["topic"]) for row in rows] == [
        ("1", False, "History"),
        ("2", True, "Finance & Business"),
        ("3", False, None),
    ]
    assert json.loads(command("tasks", "show", "topic", out, "--json").out)["files"][0]["n"] == 1


def test_what_failed_is_kept_apart_and_asked_again(command: Command, tasks: Path, tmp_path: Path) -> None:
    out = tmp_path / "topics.jsonl"
    with StubThread(StubPlan(answer=judged, faults=(Fault("400"),))) as server:
        options = ("--judge", write_preset(tmp_path), "--base-url", server.url, "--out", out)
        ended = command("tasks", "draft", "topic", tasks, *options)
        assert (ended.code, ended.out) == (3, f"2 drafted, 0 had a row, 1 failed: {out}\n")
        assert ": refused: " in ended.line()
        assert command("tasks", "draft", "topic", tasks, *options).out.startswith("1 drafted, 2 had a row")
    assert [json.loads(line)["id"] for line in out.read_text("utf-8").splitlines()] == ["1", "2", "3"]
