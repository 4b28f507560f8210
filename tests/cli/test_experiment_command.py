"""`local-judge lab experiment`, with a server whose judge believes everything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from local_judge.base.errors import ConfigError
from local_judge.cli.commands import app
from local_judge.lab.experiments.model import Experiment
from local_judge.runs.execution import judges
from local_judge.runs.planning.config import RunConfig, laid_over
from serving.engines.scripted import ScriptedEngine

from ..lab.experiments.conftest import PAPER, PAPER_HERE, fenced
from ..lab.experiments.truth import judge_by_truth, passages, topic_of
from ..scripted_judge import MakeJudge
from ..stub_thread import StubThread
from .conftest import Command


@pytest.fixture
def judged(server: StubThread, preset: Path) -> tuple[str, ...]:
    """The options that name the judge."""
    return ("--judge", str(preset), "--base-url", server.url)


SMALL = ("--protocol", "fact", "--rates", "0,1", "--topics", "2")


def test_the_table_says_what_a_score_did_and_what_it_should_do(
    command: Command, judged: tuple[str, ...], tmp_path: Path
) -> None:
    ended = command("lab", "experiment", "corruption", *judged, *SMALL, "--out", tmp_path / "out")
    assert (ended.code, ended.err) == (0, "")
    rows = [[cell.strip() for cell in line.split("│")] for line in ended.out.splitlines() if "│" in line]
    assert rows[:3] == [
        ["fact: Citation Accuracy", "1.00", "1.00", "+0.00", "–", "0.00", "flat", "as expected"],
        ["ideal", "1.00", "1.00", "", "", "", "", ""],
        ["paper", "1.00", "1.00", "", "", "", "", ""],
    ]
    assert "2 reports of 1 unit, paper profile, seed 0" in ended.out
    # What it leaves is an ordinary run.
    assert command("show", tmp_path / "out" / "run").code == 0


def test_an_oracle_that_quotes_both_sides_finds_what_is_right(
    command: Command,
    make_judge: MakeJudge,
    monkeypatch: pytest.MonkeyPatch,
    preset: Path,
    tmp_path: Path,
) -> None:
    """Of 15 claims 0, 6 and 15 are false: 15/15, 9/15 and 0/15 are Right."""
    _, engine = make_judge(judge_by_truth)

    def connect(*_: object, **__: object) -> ScriptedEngine:
        return engine

    monkeypatch.setattr(judges, "connect", connect)
    ended = command(
        *("lab", "experiment", "corruption", "--judge", preset, "--base-url", "http://127.0.0.1:9/v1"),
        *("--protocol", "deepresearcheval", "--rates", "0,0.4,1", "--out", tmp_path / "out"),
    )
    assert (ended.code, ended.err) == (0, "")
    rows = [[cell.strip() for cell in line.split("│")] for line in ended.out.splitlines() if "│" in line]
    assert rows[0][:4] == [
        "deepresearcheval: Active fact-checking ratio",
        "100.00",
        "60.00",
        "0.00",
    ]
    assert (rows[1][:4], rows[0][-1]) == (["ideal", "100.00", "60.00", "0.00"], "as expected")
    asked = [call.prompt for call in engine.calls if "Statement:" in call.prompt]
    # 15 true claims and 15 false ones, each asked about once, with the pages of both sides.
    assert len(asked) == 30
    for prompt in asked:
        topic, _ = topic_of(fenced(prompt, "Statement:").splitlines()[0].removeprefix("[s1] "))
        shown = "".join(passages(prompt).values())
        assert all(page.url in shown for page in topic.pages)


def test_json_is_what_is_kept(command: Command, judged: tuple[str, ...], tmp_path: Path) -> None:
    ended = command("lab", "experiment", "corruption", *judged, *SMALL, "--out", tmp_path / "out", "--json")
    assert json.loads(ended.out) == json.loads((tmp_path / "out" / "results.json").read_text())


@pytest.mark.parametrize("name", ["corruption", "temporal", "reasoning"])
def test_without_protocols_an_experiment_uses_its_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []

    def keep(chosen: Experiment, out: Path, *, config: RunConfig, **_: object) -> None:
        found.extend((chosen, config))
        raise ConfigError("far enough")

    monkeypatch.setattr("local_judge.cli.lab.experiment.prepare", keep)
    arguments = ("--judge", "qwen3-8b", "--topics", "1", "--dry-run", "--out", "out")
    with pytest.raises(ConfigError, match="far enough"):
        CliRunner().invoke(app, ["lab", "experiment", name, *arguments], catch_exceptions=False)
    chosen, config = found
    assert config.protocols == chosen.protocols
    assert config.claims.extraction == "sentences"
    for protocol in chosen.protocols:
        usual = chosen.settings.get(protocol, {})
        assert laid_over(config.settings[protocol], usual) == config.settings[protocol]


def test_a_dry_run_says_what_would_be_asked_and_leaves_nothing(
    command: Command, judged: tuple[str, ...], server: StubThread, tmp_path: Path
) -> None:
    ended = command(
        "lab", "experiment", "corruption", *judged, *SMALL, "--out", tmp_path / "out", "--dry-run", "--json"
    )
    # Two reports of two claims on a page each, none of which is in both; and no page's reliability for FACT.
    assert json.loads(ended.out)["calls"] == 4
    assert server.chats == [] and not (tmp_path / "out").exists()


def test_the_judge_may_have_to_extract_the_claims(
    command: Command, judged: tuple[str, ...], server: StubThread, tmp_path: Path
) -> None:
    ended = command(
        "lab", "experiment", "corruption", *judged, *SMALL, "--out", tmp_path / "out", "--extract"
    )
    assert ended.code == 0
    assert sum("Sentences:" in chat.json["messages"][-1]["content"] for chat in server.chats) == 2


@pytest.mark.parametrize("name", ["temporal", "reasoning"])
def test_the_others_run_with_any_protocol(
    command: Command, judged: tuple[str, ...], tmp_path: Path, name: str
) -> None:
    ended = command(
        "lab",
        "experiment",
        name,
        *judged,
        "--protocol",
        "liveresearchbench",
        "--topics",
        "2",
        "--out",
        tmp_path / "out",
    )
    assert ended.code == 0
    assert "pairs right" in ended.out


def test_plans_are_drafted_in_three_ways_and_rated(
    command: Command, judged: tuple[str, ...], server: StubThread, tmp_path: Path
) -> None:
    started = ("lab", "experiment", "plans", *judged, "--topics", "1", "--out", tmp_path / "out")
    ended = command(*started)
    assert (ended.code, ended.err) == (0, "")
    rows = [[cell.strip() for cell in line.split("│")] for line in ended.out.splitlines() if "│" in line]
    assert [row[:2] for row in rows[:3]] == [
        ["request alone", "1/1"],
        ["one retrieval", "1/1"],
        ["agent", "1/1"],
    ]
    # The stub takes the first of a menu: 1 of 1 to 3, which is 0 of 0 to 1.
    assert [row[1:4] for row in rows[3:6]] == [
        ["key information", "request alone", "0.00"],
        ["key information", "one retrieval", "0.00"],
        ["key information", "agent", "0.00"],
    ]
    # The same command asks nothing twice.
    asked = len(server.chats)
    ended = command(*started, "--json")
    assert (ended.code, len(server.chats)) == (0, asked)
    assert json.loads(ended.out) == json.loads((tmp_path / "out" / "plans.json").read_text())


def test_reports_are_judged_by_plans_that_the_judge_drafts(
    command: Command, judged: tuple[str, ...], tmp_path: Path
) -> None:
    started = ("lab", "experiment", "temporal", *judged, "--topics", "1", "--protocol", "dream")
    ended = command(*started, "--draft-plans", "agent", "--out", tmp_path / "out")
    assert (ended.code, ended.err) == (0, "")
    plan = json.loads((tmp_path / "out" / "plans.agent.jsonl").read_text())
    assert (plan["task_id"], plan["method"], plan["reasoning"]) == ("tide", "agent", [])
    findings = (tmp_path / "out" / "run" / "findings" / "dream.jsonl").read_text()
    assert plan["key_information"][0]["question"] in findings
    # The same command continues it.
    assert command(*started, "--draft-plans", "agent", "--out", tmp_path / "out").code == 0
    # The plans can be given as a file as well.
    given = ("--plans", tmp_path / "out" / "plans.agent.jsonl", "--out", tmp_path / "given")
    assert command(*started, *given).code == 0


def test_reasoning_goes_by_drafted_questions_though_its_pages_have_no_dates(
    command: Command, judged: tuple[str, ...], tmp_path: Path
) -> None:
    started = ("lab", "experiment", "reasoning", *judged, "--topics", "1", "--protocol", "dream")
    ended = command(*started, "--draft-plans", "agent", "--out", tmp_path / "out")
    assert (ended.code, ended.err) == (0, "")
    plan = json.loads((tmp_path / "out" / "plans.agent.jsonl").read_text())
    assert (plan["task_id"], plan["as_of"], len(plan["reasoning"])) == ("speed-limit", None, 1)


OWN = """
- id: ferry
  request: Should the ferry of Osk run at night?
  page: {url: "https://osk.example/counts", title: Counts, text: "12 of 200 people asked for a night ferry."}
  report: Of 200 people 12 asked for a night ferry. That is 6 percent.
  question: Does the report compute the share?
  extract: The share in the report.
  verify: The counts of the page.
  compare: Whether both agree.
  flaws:
    - {kind: arithmetic_slip, sound: That is 6 percent., flawed: That is 60 percent., why: 12 / 200 is 6 percent.}
"""


def test_data_of_ones_own(
    command: Command, judged: tuple[str, ...], server: StubThread, tmp_path: Path
) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(OWN)
    started = ("lab", "experiment", "reasoning", *judged, "--data", own, "--protocol", "liveresearchbench")
    ended = command(*started, "--out", tmp_path / "out")
    assert (ended.code, ended.err, "2 reports of 1 unit" in ended.out) == (0, "", True)
    assert "Of 200 people 12 asked" in server.chats[-1].json["messages"][-1]["content"]
    # Another text under the same ids is another experiment.
    own.write_text(OWN.replace("60 percent", "16 percent"))
    ended = command(*started, "--out", tmp_path / "out")
    assert (ended.code, "contains another experiment" in ended.line()) == (1, True)
    own.write_text("- id: ferry\n")
    ended = command(*started, "--out", tmp_path / "other")
    assert (ended.code, f"{own}: entry 1: request" in ended.line()) == (1, True)


@PAPER_HERE
def test_data_of_the_paper(command: Command, judged: tuple[str, ...], tmp_path: Path) -> None:
    asked = ("--data", f"paper={PAPER}", "--out", tmp_path / "out")
    ended = command("lab", "experiment", "reasoning", *judged, *asked)
    assert (ended.code, "has the 10 requests of" in ended.out) == (0, True)
    tasks = [json.loads(line) for line in (tmp_path / "out" / "tasks.jsonl").read_text().splitlines()]
    assert (len(tasks), tasks[9]["id"]) == (10, "dream-10")
    ended = command("lab", "experiment", "temporal", *judged, *asked)
    assert (ended.code, f"--data paper={PAPER}: " in ended.line()) == (1, True)
    other = tmp_path / "other.txt"
    other.write_text("Another paper.\n")
    ended = command(
        "lab", "experiment", "plans", *judged, "--data", f"paper={other}", "--out", tmp_path / "o"
    )
    assert (ended.code, f"{other}: " in ended.line()) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("corruption", "--rates", "0,x"), "--rates 0,x: expected numbers"),
        (
            ("temporal", "--rates", "0,1"),
            "--rates: only the experiment corruption has this option, not temporal",
        ),
        (
            ("reasoning", "--seed", "1"),
            "--seed: only the experiment corruption has this option, not reasoning",
        ),
        (("temporal", "--topics", "21"), "--topics 21: there are 20 timelines; choose 1 to 20"),
        (("reasoning", "--topics", "11"), "--topics 11: there are 10 pairs of reports; choose 1 to 10"),
        (("corruption", "--protocol", "nothing"), "no protocol 'nothing'"),
        (("temporal", "--plans", "none.jsonl"), "none.jsonl: no such file"),
        (
            ("temporal", "--ratings", "x.jsonl"),
            "--ratings: only the experiment plans uses ratings, not temporal",
        ),
        (("corruption", "--draft-plans", "agent"), "--draft-plans: the experiment corruption uses no"),
        (
            ("temporal", "--draft-plans", "agent", "--plans", "x"),
            "--draft-plans and --plans exclude each other",
        ),
        (
            ("temporal", "--draft-plans", "agent", "--dry-run"),
            "--draft-plans: --dry-run needs finished plans",
        ),
        (("plans", "--protocol", "dream"), "--protocol: the experiment plans does not have this option"),
        (("plans", "--dry-run"), "--dry-run: the experiment plans does not have this option"),
    ],
)
def test_a_mistake_ends_in_one_line(
    command: Command, judged: tuple[str, ...], tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    ended = command("lab", "experiment", *arguments, *judged, "--out", tmp_path / "out")
    assert ended.code == 1
    assert said in ended.line()
    assert not (tmp_path / "out").exists()


def test_a_directory_of_something_else_is_left_alone(
    command: Command, judged: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    ended = command("lab", "experiment", "corruption", *judged, *SMALL, "--out", tmp_path / "out")
    assert (ended.code, "not empty and no experiment" in ended.line()) == (1, True)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]
    ended = command(
        "lab", "experiment", "corruption", *judged, *SMALL, "--out", tmp_path / "out" / "mine.txt"
    )
    assert (ended.code, "cannot hold an experiment (Not a directory)" in ended.line()) == (1, True)
