"""`local-judge results rank`: from reports to a table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.stub_server import StubPlan

from ..protocols.liveresearchbench.depth_cases import BASELINE, answer, register, shown
from ..stub_thread import StubThread
from .conftest import Command

WORTH = {"[b]ada[/b]": 20, "bo says": 17, "cy says": 5, "9 million": 15}


def judged(asked: Mapping[str, Any]) -> str:
    """bo is as good as the baseline on the second task."""
    text: str = asked["messages"][-1]["content"]
    first, second = (next(worth for name, worth in WORTH.items() if name in one) for one in shown(text))
    if "mill 2" in text:
        first, second = (15 if total == 17 else total for total in (first, second))
    return json.dumps(answer(first, second))


@pytest.fixture
def server() -> Iterator[StubThread]:
    with StubThread(StubPlan(answer=judged)) as running:
        yield running


@pytest.fixture(autouse=True)
def known_protocols(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def made(command: Command, tmp_path: Path, server: StubThread, preset: Path) -> Path:
    """A run of three systems against each other and the baseline."""
    tasks = [{"task_id": number, "prompt": f"What did mill {number} cost?"} for number in (1, 2)]
    rows = [
        {**task, "id": f"{name}{task['task_id']}", "system": name, "article": f"# Mill\n\nSo {name} says."}
        for name in ("[b]ada[/b]", "bo", "cy")
        for task in tasks
    ]
    baselines = [{"prompt": task["prompt"], "article": BASELINE} for task in tasks]
    out = tmp_path / "run"
    ended = command(
        "run",
        write(tmp_path / "reports.jsonl", *rows),
        *("--references", write(tmp_path / "baseline.jsonl", *baselines)),
        *(
            "--judge",
            preset,
            "--base-url",
            server.url,
            "--protocol",
            "depth",
            "--set",
            "depth.depth.against=all",
        ),
        *("--out", out),
    )
    assert (ended.code, ended.err) == (0, "")
    return out


def test_the_table(command: Command, made: Path) -> None:
    ended = command("results", "rank", made)
    assert (ended.code, ended.err) == (0, "")
    lines = [" ".join(line.replace("│", "").split()) for line in ended.out.splitlines()]
    assert lines[0] == "depth (paper profile): reports compared"
    names = [line.split(" ")[0] for line in lines if line.startswith(("[b]ada", "bo ", "cy ", "baseline "))]
    assert names == ["[b]ada[/b]", "bo", "baseline", "cy"]
    # ada beat all three on both tasks, cy lost to all three.
    ada = next(line for line in lines if line.startswith("[b]ada"))
    assert ada.startswith("[b]ada[/b] > +") and ada.endswith("100.0 (100.0 to 100.0) 6 6 0 0 0 6/6")
    bo = next(line for line in lines if line.startswith("bo "))
    # Against the baseline one win and one tie, against cy two wins, against ada two losses.
    assert "60.0 (50.0 to 66.7) 6 3 2 1 0 6/6" in bo
    assert "unbounded, because they only won or only lost: [b]ada[/b] (above), cy (below)" in ended.out
    assert "over 2 tasks of 1,000 draws, seed 0" in ended.out


def test_as_json(command: Command, made: Path) -> None:
    ended = command(
        "results", "rank", made, "--json", "--profile", "upstream", "--seed", "7", "--resamples", "200"
    )
    found = json.loads(ended.out)
    assert (found["protocol"], found["profile"], found["score"], found["seed"]) == (
        "depth",
        "upstream",
        None,
        7,
    )
    assert (found["n_tasks"], found["n_groups"], found["resamples"]) == (2, 1, 200)
    ada = found["systems"][0]
    assert (ada["system"], ada["games"], ada["wins"], ada["unbounded"]) == ("[b]ada[/b]", 12, 12, "above")
    assert ada["strength_interval"] == {
        "low": None,
        "high": None,
        "n_draws": 200,
        "unlimited": ["low", "high"],
    }
    assert [row["system"] for row in found["systems"]] == ["[b]ada[/b]", "bo", "baseline", "cy"]


def test_by_a_score(command: Command, made: Path) -> None:
    found = json.loads(command("results", "rank", made, "--score", "margin", "--json").out)
    named = command("results", "rank", made, "--score", f"{found['protocol']}:margin", "--json")
    assert json.loads(named.out) == found
    two = command("results", "rank", made, "--score", "race:margin", "--protocol", "deer")
    assert "names another protocol than --protocol deer" in two.line()
    # Margins over the baseline: ada +5, bo +2 and 0, cy -10: no baseline among the systems.
    assert [(row["system"], row["wins"]) for row in found["systems"]] == [
        ("[b]ada[/b]", 4),
        ("bo", 2),
        ("cy", 0),
    ]


def test_mistakes_are_one_line(command: Command, made: Path, tmp_path: Path) -> None:
    assert "no such folder" in command("results", "rank", tmp_path / "nowhere").line()
    assert "counts once" in command("results", "rank", made, made).line()
    assert "no judge 'x' to choose" in command("results", "rank", made, "--judge", "x").line()
    line = command("results", "rank", made, "--protocol", "race").line()
    assert re.search("race compared .*--score", line)
    assert (
        "there are: depth"
        in command("results", "rank", made, "--protocol", "race", "--score", "overall").line()
    )
