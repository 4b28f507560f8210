"""Adaptive quality through the commands: dimensions drafted, reviewed and joined, reports judged, results written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.stub_replies import fill
from tests.stub_server import StubPlan

from ..protocols.deepresearcheval.dre_cases import drafting
from ..stub_thread import PRESET, StubThread
from .conftest import Command

TASKS = [{"id": 1, "prompt": "What did the mill cost?"}, {"id": 2, "prompt": "Who paid for it?"}]
TEXT = "# The mill\n\nIt cost 8 million and a half, of which the town paid three."


def answer(asked: Mapping[str, Any]) -> str:
    """Drafts as the cases do; gives general criteria 8 and others 5, and quotes the report."""
    wanted: dict[str, Any] = json.loads(fill(asked))
    drafted = drafting(wanted)
    if drafted is not None:
        return json.dumps(drafted)
    general = ("coverage", "insight", "instruction_following", "clarity")
    return json.dumps(
        {
            name: {
                "quote": "It cost 8 million and a half",
                "analysis": "[b]So.[/b]",
                "score": 8 if name.startswith(general) else 5,
            }
            for name in wanted
        }
    )


@pytest.fixture
def server() -> Iterator[StubThread]:
    with StubThread(StubPlan(answer=answer)) as running:
        yield running


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """The published layout: two systems on two tasks."""
    base = tmp_path / "method_results"
    for system in ("ada", "bob"):
        (base / system).mkdir(parents=True)
        for task in TASKS:
            data = {
                "query_id": task["id"],
                "entries": [{"query": task["prompt"], "response": f"{TEXT} {system}"}],
            }
            (base / system / f"{task['id']}.json").write_text(json.dumps(data))
    return base


def test_from_tasks_to_the_result_file(
    command: Command, tmp_path: Path, server: StubThread, preset: Path, reports: Path
) -> None:
    judge = ("--judge", preset, "--base-url", server.url)
    tasks, drafted = tmp_path / "tasks.jsonl", tmp_path / "dimensions.jsonl"
    tasks.write_text("".join(json.dumps(task) + "\n" for task in TASKS))
    draft = ("tasks", "draft", "dimensions", tasks, *judge, "--out", drafted)
    assert command(*draft).out == f"2 drafted, 0 had dimensions, 0 failed: {drafted}\n"
    asked = len(server.chats)
    assert asked == 2 * (1 + 1 + 6)
    assert command(*draft).out == f"0 drafted, 2 had dimensions, 0 failed: {drafted}\n"
    assert len(server.chats) == asked

    table = command("tasks", "show", "dimensions", drafted).out
    assert "Cost accounting 0.20 (2)" in table and "drafted" in table
    review = ("tasks", "review", "dimensions", drafted, "--reviewer", "Ada")
    assert command(*review, "--task", "1", "--accept").out == "task 1: reviewed\n"
    shown = command("tasks", "show", "dimensions", drafted, "--task", "1").out
    assert "reviewed by Ada" in shown and "Sources-of money (specific, 0.10)" in shown

    run = tmp_path / "run"
    options = (
        "run",
        reports,
        *judge,
        "--protocol",
        "deepresearcheval",
        "--out",
        run,
        "--dimensions",
        drafted,
    )
    parts = ("--set", "deepresearcheval.parts=quality")
    ended = command(*options, *parts)
    assert (ended.code, ended.err) == (0, "")
    # General 8 with 0.7 of the weight, specific 5 with 0.3: 5.6 + 1.5.
    assert "deepresearcheval (paper profile)" in ended.out and "7.10" in ended.out and "3.00" not in ended.out
    assert len(server.chats) == asked + 4 * 6
    assert "reports together" not in ended.out
    shown = command("show", run, "--all-scores").out
    assert "3.00" in shown and "2 reports of ada together" in shown

    one = command("show", run, "--report", "ada/1").out
    assert "12 criteria of 6 dimensions (reviewed, joined by id)" in one
    assert "task-specific: Cost accounting (0.20), Sources-of money (0.10)" in one
    assert "[b]So.[/b]" not in one
    items = command("show", run, "--report", "ada/1", "--items").out
    assert items.count("[b]So.[/b]") == 12 and "sources_of_money.2" in items
    dumped = json.loads(command("show", run, "--report", "ada/1", "--items", "--json").out)
    assert len(dumped["deepresearcheval"]["quality"]["scores"]) == 12

    profile = command("show", run, "--verticals").out
    assert "2 reports of ada (paper profile)" in profile and "Task compliance" in profile
    assert "deepresearcheval: Insight" in profile and "80.0" in profile
    line = json.loads(command("show", run, "--verticals", "--report", "bob/1", "--json").out)["metrics"][0]
    assert (line["path"], line["vertical"], line["normalised"]) == (
        ["quality", "general", "clarity"],
        "presentation",
        80.0,
    )
    assert "no report 'x'" in command("show", run, "--verticals", "--report", "x").line()

    out = tmp_path / "out"
    ended = command("export", run, out, "--format", "deepresearcheval")
    assert ended.out.startswith(f"quality_results.json of 4 of 4 reports in {out}; reports.json ")
    results = json.loads((out / "quality_results.json").read_text())
    assert results["model_names"] == ["ada", "bob"] and results["timestamp"] is None
    found = results["query_results"]["1"]
    assert (found["query_id"], found["query_prompt"]) == (1, TASKS[0]["prompt"])
    assert [one["meta_dimension_name"] for one in found["additional_dimensions"]] == [
        "Cost accounting",
        "Sources-of money",
    ]
    assert found["model_results"]["bob"]["final_scores"]["sources_of_money_score"] == 5.0
    assert found["model_results"]["bob"]["final_scores"]["total_weighted_score"] == pytest.approx(7.1)
    assert results["summary"]["models"]["ada"]["total_queries"] == 2
    # What was written is read as dimensions again, and asks nothing new.
    again = (*options[:-1], out / "quality_results.json", *parts)
    line = command(*again).line()
    assert "run with different reports" in line
    once_more = ("run", reports, *judge, "--protocol", "deepresearcheval", "--out", tmp_path / "again")
    dry = command(*once_more, *parts, "--dimensions", out / "quality_results.json", "--dry-run", "--json")
    assert json.loads(dry.out)["calls"] == 4 * 6


def test_dimensions_are_drafted_once_in_a_run(
    command: Command, tmp_path: Path, server: StubThread, preset: Path, reports: Path
) -> None:
    run = tmp_path / "run"
    options = ("run", reports, "--judge", preset, "--base-url", server.url, "--protocol", "deepresearcheval")
    parts = ("--set", "deepresearcheval.parts=quality")
    given = ("--set", "deepresearcheval.quality.draft=false")
    line = command(*options, "--out", run, *parts, *given).line()
    assert "its task '1' " in line and "give --dimensions" in line and server.chats == []
    ended = command(*options, "--out", run, *parts)
    assert (ended.code, ended.err) == (0, "")
    # Two tasks drafted once each for both systems, four reports judged.
    assert len(server.chats) == 2 * 8 + 4 * 6
    assert "(drafted by this judge)" in command("show", run, "--report", "bob/2").out


def test_what_failed_is_left_out_of_the_file(
    command: Command, tmp_path: Path, preset: Path, reports: Path
) -> None:
    def silent_on_insight(asked: Mapping[str, Any]) -> str:
        reply = json.loads(answer(asked))
        return json.dumps({name: one for name, one in reply.items() if name != "insight.1"})

    run, out = tmp_path / "run", tmp_path / "out"
    with StubThread(StubPlan(answer=silent_on_insight)) as server:
        options = ("run", reports / "ada", "--judge", preset, "--base-url", server.url, "--out", run)
        parts = ("--protocol", "deepresearcheval", "--set", "deepresearcheval.parts=quality")
        assert command(*options, *parts).code == 3
    line = command("export", run, out, "--format", "deepresearcheval").line()
    assert "1 of 12 answers missing: the published code would count them as 0" in line
    summary = command("show", run, "--bounds").out
    # Without insight.1, three quarters of insight's weight 0.2: 7.1, from 7.1 - 0.15 * 8 to 7.1 + 0.15 * 2.
    assert "5.90" in summary and "7.40" in summary


def test_two_judges_each_with_its_dimensions_or_with_those_that_are_given(
    command: Command, tmp_path: Path, server: StubThread, reports: Path
) -> None:
    for name, seed in (("one", 0), ("two", 7)):
        preset = PRESET.format(concurrency=8, timeout=60.0) + f"sampling: {{seed: {seed}}}\n"
        (tmp_path / f"{name}.yaml").write_text(preset, encoding="utf-8")
    judges = ("--judge", tmp_path / "one.yaml", "--judge", tmp_path / "two.yaml", "--base-url", server.url)
    options = ("run", reports / "ada", *judges, "--protocol", "deepresearcheval")
    parts = ("--set", "deepresearcheval.parts=quality", "--out", tmp_path / "run")
    ended = command(*options, *parts)
    assert (ended.code, ended.err) == (0, "")
    # Each drafts its own, the same here, and scores the same: 7.1 by both.
    assert "ensemble of 2 judges" in ended.out and "7.10" in ended.out
    dumped = json.loads(command("show", tmp_path / "run", "--json").out)
    assert {row["judge"] for row in dumped["scores"]} == {None}
    over = [row for row in dumped["aggregates"] if row["profile"] == "paper"]
    assert over[0]["scores"][0]["score"]["value"] == pytest.approx(7.1)
