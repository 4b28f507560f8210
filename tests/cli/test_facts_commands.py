"""Facts of DeepResearchEval through the commands: checked, shown with transcripts, written, read; resumed."""

from __future__ import annotations

import csv
import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from local_judge.agents.result import read_evidence_gaps
from tests.stub_server import StubPlan

from ..stub_thread import StubThread, answer
from .conftest import Command, finish, start
from .test_interrupted_run import arguments, distinct, files, stored, wait_for

FACTS = ("--protocol", "deepresearcheval", "--set", "deepresearcheval.parts=facts")


def test_from_a_report_to_files_and_back(
    command: Command, tmp_path: Path, snapshot: Path, server: StubThread, preset: Path, report: Path
) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    given = ("run", report, "--judge", preset, "--base-url", server.url, *FACTS, "--out", run)
    assert "give --snapshot" in command(*given).line()
    given = (*given, "--snapshot", snapshot)
    assert (
        "deepresearcheval.facts.method" in command(*given, "--set", "deepresearcheval.facts.method=x").line()
    )
    assert server.chats == []
    ended = command(*given, "--set", "deepresearcheval.facts.limits.turns=3")
    assert (ended.code, ended.err) == (0, "")
    assert "deepresearcheval (paper profile)" in ended.out
    everything = command("show", run, "--all-scores").out
    assert "Active fact-checking ratio" in everything and "a report" in everything
    # One question for both sentences' statements, and two turns for each statement.
    assert len(server.chats) == 1 + 2 * 2
    manifest = json.loads((run / "manifest.json").read_text())
    facts = manifest["config"]["settings"]["deepresearcheval"]["facts"]
    assert (facts["limits"]["turns"], facts["limits"]["calls"], facts["seed"]) == (3, 16, 0)

    shown = command("show", run, "--report", "mill").out
    assert "facts: 2 statements in 1 segment" in shown and "2 runs of 4 turns: 2 answered" in shown
    assert "asked by search: 2, " in shown
    items = command("show", run, "--items").out
    assert "L2.S1.1" in items and "supports: " in items and "# answered after" in items
    dumped: Any = json.loads(command("show", run, "--items", "--json").out)["deepresearcheval"]["facts"]
    steps = dumped["runs"][0]["result"]["transcript"]["steps"]
    assert [step["action"]["tool"] for step in steps] == ["search", "finish"]
    script = command("show", run, "--transcripts", "--item", "L2.S2.1").out
    assert script.startswith("# deepresearcheval, mill: L2.S2.1\n\n# answered after 2 turns\n")
    assert script.count("## Turn") == 2 and "address:" not in script
    assert command("show", run, "--transcripts").out.count("# answered") == 2
    unknown = command("show", run, "--transcripts", "--item", "L9.S9.1").line()
    assert "contains no run of an agent about 'L9.S9.1'" in unknown
    assert {gap.tool for gap in read_evidence_gaps(run)} <= {"search"}

    before = files(run)
    assert command("rescore", run).code == 0
    assert command(*given, "--set", "deepresearcheval.facts.limits.turns=3").code == 0
    assert files(run) == before and len(server.chats) == 5  # the ledger answered

    ended = command("export", run, out, "--format", "deepresearcheval")
    assert ended.out.startswith(f"facts of 1 of 1 report in {out}; facts.json ")
    [entry] = json.loads((out / "facts.json").read_text())
    assert entry["file"] == "results/unnamed/task_1.json" and entry["n_failed"] == 0
    rows = json.loads((out / entry["file"]).read_text())
    assert [row["verification"] for row in rows] == ["Right", "Right"]
    assert list(rows[0]) == ["statement", "verification", "evidence", "reasoning"]
    assert list(rows[0]["evidence"][0]) == ["source", "excerpt"]

    again = tmp_path / "again"
    ended = command("import", out / "results" / "unnamed", again, "--format", "deepresearcheval")
    assert ended.code == 0 and "unnamed" in ended.out
    assert "not looked up" in command("show", again, "--items").out
    assert command("export", again, tmp_path / "third", "--format", "deepresearcheval").code == 0
    [third] = (tmp_path / "third").glob("results/*/task_1.json")
    assert json.loads(third.read_text()) == rows
    assert f"{again}: not an empty" in command("import", out, again, "--format", "deepresearcheval").line()


def test_a_sample_of_the_statements_has_an_interval(
    command: Command, tmp_path: Path, snapshot: Path, server: StubThread, preset: Path, report: Path
) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    given = ("run", report, "--judge", preset, "--base-url", server.url, *FACTS, "--snapshot", snapshot)
    ended = command(*given, "--set", "deepresearcheval.facts.max_statements=1", "--out", run)
    # One of two statements is drawn, and Right: so 1 or 2 of 2 are.
    assert ended.code == 0 and "100.00 (50.00 to 100.00)" in ended.out
    shown = command("show", run, "--report", "mill").out
    assert "95 % interval" in shown and "50.00 to 100.00" in shown
    assert re.search("1 of 2 statements .*drawn at random: .* all 2", shown)
    command("export", run, out, "--format", "csv")
    rows = list(csv.DictReader((out / "scores.csv").read_text().splitlines()))
    assert {
        (row["path"], row["interval_low"], row["interval_high"]) for row in rows if row["interval_low"]
    } == {("facts", "50.0", "100.0")}


def test_a_dry_run_asks_nothing(
    command: Command, tmp_path: Path, snapshot: Path, server: StubThread, preset: Path, report: Path
) -> None:
    given = ("run", report, "--judge", preset, "--base-url", server.url, *FACTS, "--snapshot", snapshot)
    ended = command(*given, "--out", tmp_path / "run", "--dry-run")
    assert ended.code == 0 and server.chats == []


def test_two_judges_of_the_claim_set_vote(
    command: Command, tmp_path: Path, snapshot: Path, server: StubThread, preset: Path, report: Path
) -> None:
    second = tmp_path / "second.yaml"
    second.write_text(preset.read_text() + "sampling: {seed: 7}\n", encoding="utf-8")
    run = tmp_path / "run"
    given = (
        "run",
        report,
        "--judge",
        preset,
        "--judge",
        second,
        "--snapshot",
        snapshot,
        *FACTS,
        "--out",
        run,
    )
    urls = ("--base-url", f"stub={server.url}", "--base-url", f"second={server.url}")
    shared = ("--set", "deepresearcheval.facts.statements=shared")
    ended = command(*given, *urls, *shared, "--terse")
    assert (ended.code, ended.err) == (0, "")
    rows = [json.loads(line) for line in (run / "agreement.jsonl").read_text().splitlines()]
    assert {row["metric"] for row in rows} == {"facts"}
    assert "--judge: stub, second" in command("show", run, "--transcripts").line()
    assert command("show", run, "--transcripts", "--judge", "second").out.count("# answered") == 2


@pytest.mark.slow
def test_killed_and_resumed_no_call_is_made_twice(tmp_path: Path, snapshot: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    with StubThread(StubPlan(answer=answer, delay=0.02, slots=4)) as server:
        given = [*arguments(tmp_path, snapshot, server.url, names="ac"), *FACTS]
        ended = finish(start(*given, cwd=whole))
        assert (ended.code, ended.err) == (0, "")
        n_calls = len(server.chats)
        assert n_calls == len(distinct(server.chats)) > 30
        half = n_calls + n_calls // 2
        server.hold(half)
        process = start(*given, cwd=killed)
        wait_for(server, half)
        process.kill()
        server.release()
        assert finish(process).code == -signal.SIGKILL
        answered, seen = stored(killed / "run/ledger.sqlite"), len(server.chats)
        assert finish(start(*given, cwd=killed)).code == 0
        last = server.chats[seen:]
        assert distinct(last).isdisjoint(answered)
        assert len(distinct(last)) == len(last) == n_calls - len(answered)
        assert files(killed / "run") == files(whole / "run")
        assert "evidence_gaps.jsonl" in files(whole / "run")
