"""Some seconds of the chaos suite, and what it would notice. `scripts/chaos` runs it for as long as you like."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from .commands import Results
from .process import Ended, State
from .scenarios import SCENARIOS
from .server import ANSWERED, Asked, Faults, ModelServer
from .soak import answered_twice, arguments, soak
from .suite import print_table
from .trial import Bench, Trial
from .web import WebSite

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with ModelServer() as server, WebSite() as site:
        yield Bench(tmp_path_factory.mktemp("bench"), server, site)


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("kills", 1),
        ("faults", 1006),
        ("bit-flips", 1009),
        ("full-disk", 1010),
        ("pauses", 15),
        ("pauses", 13),
        ("bundle", 1),
        ("labels", 2),
        ("sweep", 30),
    ],
)
def test_a_disturbed_command_leaves_nothing_wrong(bench: Bench, tmp_path: Path, name: str, seed: int) -> None:
    trial = Trial(bench, seed, tmp_path / "trial")
    with trial.kept_on_violation():
        SCENARIOS[name](trial)
    assert trial.violations == [], trial.done


@pytest.mark.parametrize(
    ("code", "err", "state"),
    [
        (0, "", "done"),
        (0, "Traceback (most recent call last):\n", "broken"),
        (3, "Missing: 1 of the judge's answers, 0 of 2 reports. More.\n", "missing"),
        (3, "", "broken"),
        (3, "local-judge: 2 searches failed\n", "missing"),
        (4, "", "unchecked"),
        (1, "local-judge: a: cannot be read\n", "refused"),
        (1, "local-judge: a: cannot be read\nand more\n", "broken"),
        (1, "", "broken"),
        (2, "Usage\n", "broken"),
        (-9, "", "killed"),
        (-11, "", "broken"),
    ],
)
def test_endings_are_told_apart(code: int, err: str, state: State) -> None:
    assert Ended(code, "", err, 1.0).state == state


def test_a_wrong_byte_and_a_call_made_twice_are_violations(bench: Bench, tmp_path: Path) -> None:
    command = bench.commands["run"]
    results = bench.baseline("run").results

    def violations(changed: Results, asked: str = "ab", lost: str = "") -> list[str]:
        trial = Trial(bench, 0, tmp_path)
        bench.server.asked = [Asked(body, "", ANSWERED) for body in asked]
        trial.same_results(command, changed)
        trial.asked_once(bench.baseline("run").answered, set(lost))
        assert trial.outcome == ("violation" if trial.violations else "equal")
        return trial.violations

    assert violations(results) == violations(results, "aba", lost="a") == []
    for name in ("run/scores/deer.jsonl", "run/new"):
        assert violations({**results, name: b"{}"}) == [f"1 result files differ without a word: {name}"]
    assert violations(results, "abab", lost="b") == ["1 calls were answered with success and made again"]


def test_faults_depend_on_the_body_and_not_on_the_order() -> None:
    faults = Faults(7, 0.5, ("reset", "nan", "no json", "500"), side_share=0.5)
    chat, choice = {"logprobs": False}, {"logprobs": True}
    first = {(body, n): faults.of(body, n, chat) for body in "abcdefgh" for n in (1, 2, 3)}
    again = {(body, n): faults.of(body, n, chat) for n in (3, 1, 2) for body in "hgfedcba"}
    assert first == again
    assert {None, "reset", "no json", "500"} == set(first.values())
    assert "no json" not in {faults.of(str(n), 1, choice) for n in range(100)}
    assert {faults.of(str(n), 1, None) for n in range(100)} == {None, "reset", "500"}


def test_the_table_counts_by_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    print_table({"kills": Counter({"equal": 3, "violation": 1})})
    assert capsys.readouterr().out.split("\n")[2].split() == ["kills", "4", "3", "0", "0", "0", "1"]


def test_a_client_loses_no_call_and_little_time_when_servers_are_killed() -> None:
    """Every 12 s, a server is killed and started 4 s later: 44 seconds of servers, of which at most 3 are lost.

    The client finds it within 2 s, and its first answers take 1 s: the share is at least 41/44 = 0.93 on an idle
    machine.
    """
    given = ["--minutes", "0.6", "--kill-every", "12", "--away", "4", "--slots", "4", "--delay", "1"]
    figures = soak(arguments(given))
    assert figures["failed"] == {} and figures["kills"] >= 2, (
        figures
    )  # a slow start of a server leaves no time for a third
    assert [figures[name] for name in ("lost", "mistaken", "answered_twice")] == [0, 0, 0], figures
    if os.getloadavg()[0] <= (
        os.cpu_count() or 1
    ):  # else the client waits for the processor, not for the servers
        assert figures["share"] >= 0.85, figures


@pytest.mark.parametrize(
    ("lives", "expected"),
    [
        ([[1, 2, 3], [4, 5]], (0, 0)),
        ([[1, 2, 3], [3, 4]], (1, 0)),  # 3 was the last answer of a life
        ([[1, 2, 3], [1, 4]], (0, 1)),  # 1 was not
        ([[1, 3], [3], [4, 5, 3]], (1, 0)),  # each life ended with it
        ([[3, 1, 2], [3, 5], [4, 3]], (0, 1)),  # two did not
    ],
)
def test_answers_of_servers_are_counted(lives: list[list[int]], expected: tuple[int, int]) -> None:
    assert answered_twice(lives, in_flight=1) == expected
