"""`local-judge tasks build`: in this process, in its own, and killed."""

from __future__ import annotations

import csv
import json
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from indexes.search.local import MODEL_PACKAGE
from tests.stub_replies import fill
from tests.stub_server import StubPlan

from ..stub_thread import StubThread, write_preset
from ..tasks.building_script import matter, served
from .conftest import Command, finish, start
from .test_interrupted_run import distinct, files, stored, wait_for

SMALL = (
    "--domains",
    "1",
    "--personas",
    "3",
    "--tasks",
    "4",
    "--duplicates",
    "lexical",
    "--date",
    "2026-03-01",
)


@pytest.fixture
def server() -> Iterator[StubThread]:
    with StubThread(StubPlan(answer=served)) as running:
        yield running


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split("[│┃]", line)]


def test_build_show_and_rank(command: Command, tmp_path: Path, server: StubThread, preset: Path) -> None:
    out = tmp_path / "out"
    make = ("tasks", "build", out, "--judge", preset, "--base-url", server.url, *SMALL)
    ended = command(*make)
    assert ended.code == 0
    lines = ended.out.splitlines()
    header = "domain expected made qualified necessary unique kept dropped failed"
    assert cells(lines[0]) == header.split()
    # Of persons 1 to 3: 1.1, 1.2 not qualified; 2.1, 2.2, 2.3 answered from memory; none says what another says.
    row = ["Transportation", "12", "12", "10", "7", "7", "7", "5", "0"]
    assert row in [cells(line) for line in lines]
    assert "1 task dropped in qualify: not_confident" in lines
    # The judge of this script states a time in every request, and writes nine words of each person.
    assert "0 of 3 backgrounds have 100 to 150 words" in lines
    assert "12 of 12 requests have 10 to 50 words" in lines
    assert any(re.fullmatch(r"12 of 12 .* \(asked of 70 %\)", line) for line in lines)
    assert lines[-1] == f"7 tasks: {out / 'tasks.jsonl'}"
    n_calls = len(server.chats)
    assert command(*make).out == ended.out
    assert command(*make[:2], *make[3:], out).out == ended.out  # wherever the directory stands
    assert len(server.chats) == n_calls
    shown = command("tasks", "build", out, "--drops").out.splitlines()
    assert shown[: len(lines) - 1] == lines[:-1]
    assert any(line.endswith("not_confident: confidence 0.7 is not above 0.7") for line in shown)
    dumped = json.loads(command("tasks", "build", out, "--json").out)
    assert len(dumped["kept"]) == 7 and len(dumped["audit"]) == 5

    papers = {voter: tmp_path / f"{voter}.csv" for voter in ("ada", "ben")}
    for voter, paper in papers.items():
        said = command("tasks", "build", out, "--voter", voter, "--out", paper).out
        assert said == f"7 tasks to rank: {paper}\n"
    written = {
        voter: list(csv.DictReader(paper.read_text("utf-8").splitlines())) for voter, paper in papers.items()
    }
    assert {row["prompt"] for row in written["ada"]} == {line["prompt"] for line in dumped["kept"]}
    # Nobody reads the tasks in the order of another.
    assert [row["id"] for row in written["ada"]] != [row["id"] for row in written["ben"]]
    for voter, best in (("ada", "032"), ("ben", "032")):
        for number, row in enumerate(written[voter], 2):
            row["rank"] = "1" if row["prompt"] == matter(best) else str(number)
        with papers[voter].open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(written[voter][0]))
            writer.writeheader()
            writer.writerows(written[voter])
        ended = command("tasks", "build", out, "--voter", voter, "--read", papers[voter])
        assert ended.out == f"7 tasks ranked; 7 kept: {out / 'tasks.jsonl'}\n"
    again = command("tasks", "build", out, "--voter", "ben", "--read", papers["ben"])
    assert "replacing an earlier ranking" in again.out
    tasks = [json.loads(line) for line in (out / "tasks.jsonl").read_text("utf-8").splitlines()]
    assert (tasks[0]["prompt"], tasks[0]["place"]) == (matter("032"), 1)
    votes = [json.loads(line)["voter"] for line in (out / "votes.jsonl").read_text("utf-8").splitlines()]
    assert votes == ["ada", "ben"]
    assert "ranked by 2 people" in command("tasks", "build", out).out
    # What people voted outlives the next start.
    assert command(*make).code == 0
    assert json.loads((out / "tasks.jsonl").read_text("utf-8").splitlines()[0])["place"] == 1


def test_run_takes_what_was_built(
    command: Command, tmp_path: Path, server: StubThread, preset: Path, report: Path
) -> None:
    out = tmp_path / "out"
    options = ("--judge", preset, "--base-url", server.url)
    assert command("tasks", "build", out, *options, *SMALL).code == 0
    task = json.loads((out / "tasks.jsonl").read_text("utf-8").splitlines()[0])
    answers = tmp_path / f"{task['id']}.md"
    answers.write_text(report.read_text("utf-8"), encoding="utf-8")
    with StubThread(StubPlan(answer=fill)) as rubric:
        command(
            *("run", answers, "--tasks", out / "tasks.jsonl", "--set", "deer.parts=[rubric]"),
            *("--judge", preset, "--base-url", rubric.url, "--out", tmp_path / "run"),
        )
        assert rubric.chats
        assert all(task["prompt"] in chat.json["messages"][-1]["content"] for chat in rubric.chats)


def test_a_missing_answer_ends_with_3_and_is_asked_for_again(
    command: Command, tmp_path: Path, preset: Path
) -> None:
    out = tmp_path / "out"
    config = tmp_path / "build.yaml"
    listed = "domain_list: [{name: Education & Jobs}]\n"
    config.write_text(listed, encoding="utf-8")

    def unsure(asked: Mapping[str, Any]) -> str:
        reply = json.loads(served(asked))
        return json.dumps({"rationale": "Unsure."} if "needs_deep_research" in reply else reply)

    with StubThread(StubPlan(answer=unsure)) as server:
        make = (
            "tasks",
            "build",
            out,
            "--judge",
            preset,
            "--base-url",
            server.url,
            "--config",
            config,
            *SMALL,
        )
        ended = command(*make)
        assert ended.code == 3
        assert "--drops" in ended.line()
        assert "12 tasks failed in qualify: invalid_reply" in ended.out
        assert ended.out.splitlines()[-1] == f"0 tasks: {out / 'tasks.jsonl'}"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--domains", "11"), "11 domains asked for; the list has 10"),
        (("--domains", "0"), r"make\.domains .*at least 1 "),
        (("--duplicates", "guess"), r"duplicates\.method: 'guess' .*embedding, lexical, off"),
        (("--date", "yesterday"), "date: 'yesterday' .*YYYY-MM-DD"),
        ((), "`--duplicates lexical`"),
    ],
)
def test_a_mistake_is_one_line_before_anything_is_asked(
    command: Command,
    tmp_path: Path,
    preset: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    says: str,
) -> None:
    monkeypatch.setitem(sys.modules, MODEL_PACKAGE, None)  # as without the extra `dense`
    ended = command("tasks", "build", tmp_path / "out", "--judge", preset, *options)
    assert ended.code == 1
    assert re.search(says, ended.line())
    assert not (tmp_path / "out").exists()


def test_a_config_with_an_unknown_key_is_refused(command: Command, tmp_path: Path, preset: Path) -> None:
    config = tmp_path / "build.yaml"
    for text, says in {
        "make: {persona: 2}\n": "make.persona: unknown key; did you mean make.personas?",
        "confidence: 2\n": "confidence must be at most 1 (got 2)",
        "language: xx\n": "no prompt can name language 'xx'",
        "domain_list: [{name: A-B}, {name: A B}]\n": "domains 'A-B' and 'A B' would share their ids",
        "domain_list: [{name: 医学}]\n": "needs a letter a to z or a digit",
        "- 1\n": "expected a mapping of settings",
        "seed: 1\nseed: 2\n": "the key 'seed' appears twice",
    }.items():
        config.write_text(text, encoding="utf-8")
        ended = command("tasks", "build", tmp_path / "out", "--judge", preset, "--config", config)
        assert (ended.code, says in ended.line()) == (1, True), ended.err


def test_inputs_exclude_each_other(command: Command, tmp_path: Path, preset: Path) -> None:
    two = ("--clarify", tmp_path / "a", "--from", tmp_path / "b")
    ended = command("tasks", "build", tmp_path / "out", "--judge", preset, *two)
    assert "exclude each other" in ended.line()


def test_nothing_to_show_or_rank(command: Command, tmp_path: Path) -> None:
    assert "contains no build" in command("tasks", "build", tmp_path).line()
    paper = tmp_path / "paper.csv"
    assert "contains no build" in command("tasks", "build", tmp_path, "--voter", "A", "--out", paper).line()
    assert command("tasks", "build", tmp_path, "--voter", "A").code == 2


@pytest.mark.slow
def test_a_build_killed_at_any_instant_goes_on_to_the_same_files(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    rng = Random(7)
    preset = write_preset(tmp_path, concurrency=4)
    with StubThread(StubPlan(answer=served, delay=0.005, slots=4)) as server:
        options = ("--duplicates", "lexical", "--date", "2026-03-01")
        given = ("tasks", "build", "out", "--judge", preset, "--base-url", server.url, *options)
        ended = finish(start(*given, cwd=whole))
        assert ended.code == 3 and "139 tasks: out/tasks.jsonl" in ended.out  # one fails, whoever asks
        uninterrupted = server.chats
        n_calls = len(uninterrupted)
        # 11 for persons, 50 for tasks, 202 needs, 179 answers and as many assessments: see `test_build_tasks`.
        assert n_calls == len(distinct(uninterrupted)) == 621
        seen = n_calls
        for fraction in (0.03, 0.3, 0.65):
            count = max(seen + 1, n_calls + int(n_calls * (fraction + rng.uniform(0, 0.1))))
            server.hold(count + 20)
            process = start(*given, cwd=killed)
            wait_for(server, count)
            time.sleep(rng.uniform(0, 0.03))  # at another instant each time
            process.kill()
            assert finish(process).code == -signal.SIGKILL
            server.release()
            answered = stored(killed / "out/ledger.sqlite")
            this_start, seen = server.chats[seen:], len(server.chats)
            # Asked and not stored is only what was under way.
            assert len(distinct(this_start) - answered) <= 8
        before_last = stored(killed / "out/ledger.sqlite")
        assert finish(start(*given, cwd=killed)).code == 3
        last = server.chats[seen:]
        # No finished call is made twice, and all calls together are those of the build that was not killed.
        assert distinct(last).isdisjoint(before_last)
        assert len(distinct(last)) == len(last) == n_calls - len(before_last)
        assert distinct(server.chats[n_calls:]) == distinct(uninterrupted)
        assert files(killed / "out") == files(whole / "out")
        assert {"tasks.jsonl", "audit.jsonl", "build.json", "summary.json"} < set(files(whole / "out"))
