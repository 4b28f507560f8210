"""A run that is stopped, or killed with two judges at work, and started again is the run that was not.

Stopped by the count of requests that the server has seen, so that the instants lie in the middle of the work on
machines of any speed. Kills at random instants are in tests/chaos.
"""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from local_judge.demo.outcome import sample_folder
from local_judge.ledger.ledger import Ledger
from tests.stub_server import Fault, Received, StubPlan

from ..stub_thread import StubThread, answer, write_preset
from ..waiting import wait_until
from .conftest import REPORT, finish, start

pytestmark = pytest.mark.slow

Question = tuple[tuple[str, ...], int | None]


def asked(request: Received) -> Question:
    """What a request asks: its messages, and the seed where it generates."""
    body: dict[str, Any] = request.json
    texts = tuple(message["content"] for message in body["messages"])
    return texts, None if body.get("logprobs") else body["seed"]


def stored(ledger: Path) -> set[Question]:
    """The questions whose replies a ledger holds."""
    if not ledger.exists():
        return set()
    with closing(sqlite3.connect(ledger)) as connection:
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return set()
        keys = [key for (key,) in connection.execute("SELECT key FROM replies ORDER BY key")]
    with Ledger.open(ledger, read_only=True) as opened:
        traces = [opened.reply(key) for key in keys]
    return {
        (
            tuple(message.content for message in trace.messages),
            trace.sampling.seed if trace.sampling else None,
        )
        for trace in traces
        if trace is not None
    }


def files(folder: Path) -> dict[str, bytes]:
    """Everything in a run directory but the ledger."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith("ledger.sqlite")
    }


def arguments(folder: Path, snapshot: Path, url: str, *, names: str = "abc") -> list[str]:
    """A run of three reports with many small calls; `--out` is relative, so that two runs have equal manifests."""
    reports = folder / "reports"
    reports.mkdir()
    sample = (sample_folder() / "report.md").read_text(encoding="utf-8")
    texts = {"a": sample, "b": sample.replace("Fernholt", "Tarnholt"), "c": REPORT}
    for name in names:
        (reports / f"{name}.md").write_text(texts[name], encoding="utf-8")
    config = folder / "config.yaml"
    config.write_text("claims: {batch_sentences: 3, claims_per_call: 1}\n", encoding="utf-8")
    judge = write_preset(folder, concurrency=4)
    tasks = folder / "tasks.jsonl"
    tasks.write_text("".join(f'{{"id": "{name}", "task": "What is {name}?"}}\n' for name in names))
    given = ["run", reports, "--tasks", tasks, "--snapshot", snapshot, "--judge", judge, config]
    return [*map(str, given), "--base-url", url, "--out", "run"]


def wait_for(server: StubThread, count: int) -> None:
    """Until the server has been asked this often."""
    wait_until(lambda: len(server.chats) >= count)


def distinct(requests: Sequence[Received]) -> set[Question]:
    return {asked(request) for request in requests}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_says_how_to_go_on_and_the_same_command_does(
    tmp_path: Path, snapshot: Path, number: signal.Signals, code: int
) -> None:
    with StubThread(StubPlan(answer=answer, delay=0.05, slots=1)) as server:
        given = arguments(tmp_path, snapshot, server.url, names="c")
        server.hold(3)
        process = start(*given, cwd=tmp_path)
        wait_until(lambda: stored(tmp_path / "run/ledger.sqlite"))
        process.send_signal(number)
        ended = finish(process)
        assert ended.code == code
        assert (
            ended.line()
            == "Stopped. Finished replies are stored in run/ledger.sqlite; run the same command to continue."
        )
        answered = stored(tmp_path / "run/ledger.sqlite")
        assert answered
        seen = len(server.chats)
        server.release()
        assert finish(start(*given, cwd=tmp_path)).code == 0
        assert distinct(server.chats[seen:]).isdisjoint(answered)
    assert (tmp_path / "run/cases.jsonl").exists()


def test_a_run_whose_server_asks_for_pauses_is_the_run_without_them(tmp_path: Path, snapshot: Path) -> None:
    """Five requests in a row are refused, more than the attempts of a call, while the server's health is good."""
    faults = (*[Fault("429", retry_after="11")] * 2, *[Fault("503")] * 3)
    whole, paused = tmp_path / "whole", tmp_path / "paused"
    whole.mkdir()
    paused.mkdir()
    plan = StubPlan(answer=answer)
    with StubThread(plan) as well:
        given = [*arguments(tmp_path, snapshot, well.url, names="c"), "--attempts", "2"]
        assert finish(start(*given, cwd=whole)).code == 0
    with StubThread(replace(plan, faults=faults), port=well.port) as busy:
        ended = finish(start(*given, cwd=paused))
        assert ended.code == 0
        assert "10 min" in ended.err
        assert len(busy.chats) == len(well.chats) + 5
    assert files(paused / "run") == files(whole / "run")


def test_a_run_of_two_judges_killed_in_the_middle_asks_neither_again(tmp_path: Path, snapshot: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    plan = StubPlan(answer=answer, delay=0.02, slots=4)
    with StubThread(plan) as one, StubThread(plan) as other:
        given = arguments(tmp_path, snapshot, f"stub={one.url}", names="bc")
        second = tmp_path / "second.yaml"
        second.write_text((tmp_path / "stub.yaml").read_text() + "sampling: {seed: 7}\n", encoding="utf-8")
        given += ["--judge", str(second), "--base-url", f"second={other.url}"]
        given += ["--set", "deer.parts=[verification]"]
        assert finish(start(*given, cwd=whole)).code == 0
        n_one, n_other = len(one.chats), len(other.chats)
        half = n_other + n_other // 2
        other.hold(half)
        process = start(*given, cwd=killed)
        wait_for(other, half)
        process.kill()
        other.release()
        assert finish(process).code == -signal.SIGKILL
        answered = stored(killed / "run/ledger.sqlite")
        seen = len(one.chats), len(other.chats)
        assert finish(start(*given, cwd=killed)).code == 0
        # The seeds tell whose question it is. What is not sampled has none, and two judges on one model share it.
        last = distinct([*one.chats[seen[0] :], *other.chats[seen[1] :]])
        assert {question for question in last if question[1] is not None}.isdisjoint(answered)
        assert {question[1] for question in answered} >= {0, 7}
        assert files(killed / "run") == files(whole / "run")
        assert "agreement.jsonl" in files(whole / "run")
        assert n_one > n_other > 0


def test_a_run_on_three_servers_of_which_one_dies_and_returns_is_that_on_one(
    tmp_path: Path, snapshot: Path, ports: Callable[[int], list[int]]
) -> None:
    alone, spread = tmp_path / "alone", tmp_path / "spread"
    alone.mkdir()
    spread.mkdir()
    plan = StubPlan(answer=answer, delay=0.05, slots=2)
    first, second, third = (StubThread(plan, port) for port in ports(3))
    with first as one, second as two, third as three:
        given = arguments(tmp_path, snapshot, one.url)
        assert finish(start(*given, cwd=alone)).code == 0
        n_calls = len(one.chats)
        process = start(*given, "--base-url", two.url, "--base-url", three.url, cwd=spread)
        wait_for_all([one, two, three], n_calls + n_calls // 4)
        busiest = max((two, three), key=lambda server: len(server.chats))
        busiest.kill()
        n_killed = len(busiest.chats)
        wait_for_all([one, two, three], n_calls + n_calls // 2)
        busiest.restart()
        ended = finish(process)
        assert len(busiest.chats) >= n_killed
    assert ended.code == 0
    reported = [line for line in ended.err.splitlines() if "does not answer" in line]
    assert len(reported) == 1 and busiest.url in reported[0]
    lines = ended.err.splitlines()[-3:]
    assert [line.partition(": ")[0] for line in lines] == [one.url, two.url, three.url]
    assert sum(int(line.partition(": ")[2].split()[0]) for line in lines) == n_calls
    same, other = files(alone / "run"), files(spread / "run")
    for found in (same, other):
        del found["manifest.json"]  # has the command line
    assert same == other


def wait_for_all(servers: Sequence[StubThread], count: int) -> None:
    """Until the servers have been asked this often together."""
    wait_until(lambda: sum(len(server.chats) for server in servers) >= count)
