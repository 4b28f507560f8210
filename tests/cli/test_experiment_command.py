"""`local-judge experiment`, with a server whose judge believes everything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..stub_thread import StubThread
from .conftest import Command


@pytest.fixture
def judged(server: StubThread, preset: Path) -> tuple[str, ...]:
    """The options that name the judge."""
    return ("--judge", str(preset), "--base-url", server.url)


SMALL = ("--protocols", "fact", "--rates", "0,1", "--topics", "2")


def test_the_table_says_what_a_score_did_and_what_it_should_do(
    command: Command, judged: tuple[str, ...], tmp_path: Path
) -> None:
    ended = command("experiment", "corruption", *judged, *SMALL, "--out", tmp_path / "out")
    assert (ended.code, ended.err) == (0, "")
    rows = [[cell.strip() for cell in line.split("│")] for line in ended.out.splitlines() if "│" in line]
    assert rows[:3] == [
        ["fact: Citation Accuracy", "1.00", "1.00", "+0.00", "–", "0.00", "flat", "as expected"],
        ["ideal", "1.00", "1.00", "", "", "", "", ""],
        ["paper", "–", "–", "", "", "", "", ""],
    ]
    assert "2 reports of 1 unit, paper profile, seed 0" in ended.out
    # What it leaves is an ordinary run.
    assert command("show", tmp_path / "out" / "run").code == 0


def test_json_is_what_is_kept(command: Command, judged: tuple[str, ...], tmp_path: Path) -> None:
    ended = command("experiment", "corruption", *judged, *SMALL, "--out", tmp_path / "out", "--json")
    assert json.loads(ended.out) == json.loads((tmp_path / "out" / "results.json").read_text())


def test_a_dry_run_says_what_would_be_asked_and_leaves_nothing(
    command: Command, judged: tuple[str, ...], server: StubThread, tmp_path: Path
) -> None:
    ended = command(
        "experiment", "corruption", *judged, *SMALL, "--out", tmp_path / "out", "--dry-run", "--json"
    )
    # Two reports of two claims on a page each, none of which is in both; and no page's reliability for FACT.
    assert json.loads(ended.out)["calls"] == 4
    assert server.chats == [] and not (tmp_path / "out").exists()


def test_the_judge_may_have_to_extract_the_claims(
    command: Command, judged: tuple[str, ...], server: StubThread, tmp_path: Path
) -> None:
    ended = command("experiment", "corruption", *judged, *SMALL, "--out", tmp_path / "out", "--extract")
    assert ended.code == 0
    assert sum("Sentences:" in chat.json["messages"][-1]["content"] for chat in server.chats) == 2


@pytest.mark.parametrize("name", ["temporal", "reasoning"])
def test_the_others_run_with_any_protocol(
    command: Command, judged: tuple[str, ...], tmp_path: Path, name: str
) -> None:
    ended = command(
        "experiment",
        name,
        *judged,
        "--protocols",
        "liveresearchbench",
        "--topics",
        "2",
        "--out",
        tmp_path / "out",
    )
    assert ended.code == 0
    assert "pairs right" in ended.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("corruption", "--rates", "0,x"), "--rates 0,x: expected numbers"),
        (("temporal", "--rates", "0,1"), "--rates: only the experiment corruption has it, not temporal"),
        (("reasoning", "--seed", "1"), "--seed: only the experiment corruption has it, not reasoning"),
        (("temporal", "--topics", "9"), "--topics 9: there are 2 affairs; take 1 to 2"),
        (("reasoning", "--topics", "9"), "--topics 9: there are 6 pairs of reports; take 1 to 6"),
        (("corruption", "--protocols", "nothing"), "no protocol 'nothing'"),
    ],
)
def test_a_mistake_ends_in_one_line(
    command: Command, judged: tuple[str, ...], tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    ended = command("experiment", *arguments, *judged, "--out", tmp_path / "out")
    assert ended.code == 1
    assert said in ended.line()
    assert not (tmp_path / "out").exists()


def test_a_directory_of_something_else_is_left_alone(
    command: Command, judged: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    ended = command("experiment", "corruption", *judged, *SMALL, "--out", tmp_path / "out")
    assert (ended.code, "not empty and no experiment" in ended.line()) == (1, True)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]
    ended = command("experiment", "corruption", *judged, *SMALL, "--out", tmp_path / "out" / "mine.txt")
    assert (ended.code, "cannot hold an experiment (Not a directory)" in ended.line()) == (1, True)
