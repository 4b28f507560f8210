"""Several judges through the command: two servers, of which one fails at half of what it is asked."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.stub_server import StubPlan

from ..stub_thread import PRESET, StubThread, answer, leaning, write_preset
from .conftest import REPORT, Command, finish, start


def shaky(asked: Mapping[str, Any]) -> str:
    """A judge that has no JSON to say of the retrofit, which is one of each report's two claims."""
    claims = asked["messages"][-1]["content"].rpartition("Claims:")[2]
    return "I would rather not." if "retrofit" in claims else answer(asked)


class Panel(NamedTuple):
    """Two judges on two servers."""

    folder: Path
    steady: StubThread
    shaky: StubThread

    def run(self, out: str = "run", *more: str | Path) -> list[str | Path]:
        """The command that has both judge the report."""
        judges = ["--judge", self.folder / "steady.yaml", "--judge", self.folder / "shaky.yaml"]
        urls = ["--base-url", f"steady={self.steady.url}", "--base-url", f"shaky={self.shaky.url}"]
        reports = ["run", self.folder / "reports", "--snapshot", self.folder / "snapshot"]
        return [
            *reports,
            *judges,
            *urls,
            "--set",
            "deer.parts=[verification]",
            "--out",
            self.folder / out,
            *more,
        ]


REPORTS = {
    "bath": REPORT.replace("eleven", "twelve"),
    "mill": REPORT,
    "pool": REPORT.replace("dwellings", "homes").replace("votes", "voices"),
}


@pytest.fixture
def panel(tmp_path: Path, snapshot: Path) -> Iterator[Panel]:
    (tmp_path / "snapshot").symlink_to(snapshot)
    (tmp_path / "reports").mkdir()
    for name, text in REPORTS.items():
        (tmp_path / "reports" / f"{name}.md").write_text(text, encoding="utf-8")
    for name, seed in (("steady", 0), ("shaky", 7)):
        preset = PRESET.format(concurrency=8, timeout=60.0) + f"sampling: {{seed: {seed}}}\n"
        (tmp_path / f"{name}.yaml").write_text(preset, encoding="utf-8")
    with StubThread(StubPlan(answer=answer)) as one, StubThread(StubPlan(answer=shaky)) as other:
        yield Panel(tmp_path, one, other)


def line(table: str, *words: str) -> str:
    """The first line that has all of these words."""
    return next(line for line in table.splitlines() if all(word in line for word in words))


def test_two_judges_of_whom_one_fails_half_of_its_calls(panel: Panel) -> None:
    plan = finish(start(*panel.run("run", "--dry-run", "--json"), cwd=panel.folder))
    assert plan.code == 0
    # One batch a report, which the first judge reads for both.
    assert json.loads(plan.out)["calls_by_judge"] == {"steady": 3, "shaky": 0}

    ended = finish(start(*panel.run(), cwd=panel.folder))
    assert ended.code == 3
    out = panel.folder / "run"
    cases = [json.loads(row) for row in (out / "cases.jsonl").read_text().splitlines()]
    failed = sum(case["n_failed_by_judge"]["shaky"] for case in cases)
    # Of the six verdicts of each judge.
    assert failed == 3
    assert [case["n_failed_by_judge"] for case in cases] == [{"steady": 0, "shaky": 1}] * 3
    assert ended.line().startswith(f"Missing: {failed} of the judges' answers (shaky {failed})")
    assert "deer (paper profile, ensemble of 2 judges)" in ended.out
    assert "deer (paper profile) by judge, means of 3 reports" in ended.out
    assert line(ended.out, "steady ", "│").rstrip().endswith(" 0")
    assert line(ended.out, " shaky ", " 3").rstrip().endswith(" 3")
    assert line(ended.out, "claim_support").rstrip().endswith("shaky 3")

    # What the second judge could not say changes no value of the first, and opens the bounds.
    rows = [json.loads(row) for row in (out / "scores/deer.jsonl").read_text().splitlines()]
    integrity = {(row["case"], row["profile"], row.get("judge")): row["scores"][0]["score"] for row in rows}
    assert len(rows) == 3 * 2 * 3
    for case in cases:
        together, alone = (integrity[case["id"], "paper", judge] for judge in (None, "steady"))
        assert together["value"] == alone["value"] > 0
        assert together["low"] < together["value"]

    # The same command asks again for what is missing, and for nothing else.
    asked = len(panel.steady.chats)
    assert finish(start(*panel.run(), cwd=panel.folder)).code == 3
    assert len(panel.steady.chats) == asked


def test_what_is_stored_can_be_shown_by_judge_and_together(command: Command, panel: Panel) -> None:
    found = json.loads(command(*panel.run("run", "--json")).out)
    out = panel.folder / "run"
    assert {row["judge"] for row in found["scores"]} == {None, "steady", "shaky"}
    assert [row["metric"] for row in found["agreement"]] == ["claim_support", "source_reliability"]
    assert found["agreement"][0]["alike"]["n_draws"] == 1000
    manifest = json.loads((out / "manifest.json").read_text())
    assert [(judge["name"], judge["sampling"]["seed"]) for judge in manifest["judges"]] == [
        ("steady", 0),
        ("shaky", 7),
    ]

    shown = json.loads(command("show", out, "--json").out)
    assert shown["scores"] == [row for row in found["scores"] if row["judge"] is None]
    assert shown["agreement"] == found["agreement"]
    one = json.loads(command("show", out, "--judge", "shaky", "--report", "mill", "--claims", "--json").out)
    assert {row["judge"] for row in one["scores"]} == {"shaky"}
    assert len(one["claims"]["verdicts"]) == 2
    short = command("show", out).out
    assert "ensemble of 2 judges" in short and "all alike" in short and "pairs alike" not in short
    table = command("show", out, "--all-scores").out
    assert "ensemble of 2 judges" in table and "pairs alike" in table
    assert "95% bootstrap" in table and "1,000 draws" in table
    assert "deer (paper profile, judge steady)" in command("show", out, "--judge", "steady").out
    assert "without answer" not in command("show", out, "--judge", "steady").out
    alone = command("show", out, "--report", "mill").out
    assert "deer: mill, ensemble of 2 judges" in alone and "deer (paper profile) by judge" in alone
    assert "--judge: steady, shaky" in command("show", out, "--report", "mill", "--claims").line()
    assert "no judge 'x' to choose; there are: steady, shaky" in command("show", out, "--judge", "x").line()

    before = {name: (out / name).read_bytes() for name in ("scores/deer.jsonl", "agreement.jsonl")}
    assert json.loads(command("rescore", out, "--json").out) == found["scores"]
    assert {name: (out / name).read_bytes() for name in before} == before
    assert "agreement of the judges" in command("rescore", out).out


def test_stats_agree_and_export_take_one_judge_or_all(command: Command, panel: Panel) -> None:
    command(*panel.run())
    out = panel.folder / "run"
    lengths = [
        json.loads(command("results", "stats", "length", out, *more, "--json").out)
        for more in ((), ("--judge", "steady"))
    ]
    assert [said["judge"] for said in lengths] == [None, "steady"]
    stable = json.loads(command("results", "stats", "stability", out, "--json", "--resamples", "5").out)
    assert stable["judges"] == ["steady", "shaky"]
    assert [row["n_reports"] for row in stable["scores"]] == [3] * len(stable["scores"])
    ratings = panel.folder / "ratings.csv"
    ratings.write_text("report,task,annotator,score\nmill,t,ann,5\nbath,t,ann,3\npool,t,ann,4\n")
    for more in ((), ("--judge", "shaky")):
        ended = command("results", "agree", ratings, out, "--score", "information_integrity", *more, "--json")
        assert json.loads(ended.out)["runs"][0]["n_joined"] == 3
    assert "no judge 'x'" in command("results", "agree", ratings, out, "--score", "x", "--judge", "x").line()

    for name, more in (("all", ()), ("one", ("--judge", "shaky", "--profile", "upstream"))):
        ended = command("export", out, panel.folder / name, "--format", "csv", *more)
        assert (ended.code, ended.err) == (0, "")
    with (panel.folder / "all/scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["judge"] for row in rows} == {""}
    assert {(row["report"], row["profile"]) for row in rows} == {(name, "paper") for name in REPORTS}
    with (panel.folder / "all/systems.csv").open(newline="") as file:
        [integrity] = [row for row in csv.DictReader(file) if row["path"] == "information_integrity"]
    # One system without a name, and no rule over reports: the mean over the three, as every table has it.
    values = [float(row["value"]) for row in rows if row["path"] == "information_integrity"]
    assert float(integrity["value"]) == pytest.approx(sum(values) / 3)
    assert (integrity["n_reports"], integrity["n_values"], integrity["aggregate"]) == ("3", "3", "mean")
    with (panel.folder / "all/agreement.csv").open(newline="") as file:
        (support, _) = list(csv.DictReader(file))
    assert (support["judges"], support["metric"]) == ("steady; shaky", "claim_support")
    assert not (panel.folder / "one/agreement.csv").exists()
    with (panel.folder / "one/scores.csv").open(newline="") as file:
        assert {(row["judge"], row["profile"]) for row in csv.DictReader(file)} == {("shaky", "upstream")}
    refused = command("export", out, panel.folder / "x", "--format", "fact", "--profile", "paper")
    assert "the files of fact have the numbers of `upstream` only" in refused.line()

    refused = command("export", out, panel.folder / "deer", "--format", "deer")
    assert refused.line().endswith(
        "2 judges, and these files belong to one; choose it with --judge: steady, shaky"
    )
    assert command("export", out, panel.folder / "deer", "--format", "deer", "--judge", "steady").code == 0


def test_two_presets_of_one_server(command: Command, panel: Panel) -> None:
    judges = ["--judge", panel.folder / "steady.yaml", "--judge", panel.folder / "shaky.yaml"]
    given = ["run", panel.folder / "reports/mill.md", "--snapshot", panel.folder / "snapshot", *judges]
    given += ["--set", "deer.parts=[verification]", "--base-url", panel.steady.url]
    ended = command(*given, "--out", panel.folder / "run")
    assert (ended.code, ended.err) == (0, "")
    assert panel.shaky.chats == []
    assert "1.00 2/2" in line(ended.out, "claim_support")


def test_a_judge_that_cannot_be_reached_at_all_ends_the_run(command: Command, panel: Panel) -> None:
    given = panel.run()
    given[given.index(f"shaky={panel.shaky.url}")] = "shaky=http://127.0.0.1:9/v1"
    ended = command(*given)
    assert ended.code == 1
    assert "127.0.0.1:9" in ended.line()
    assert panel.steady.chats == []
    assert not (panel.folder / "run/manifest.json").exists()


def test_a_judge_is_not_asked_twice_as_two(command: Command, panel: Panel) -> None:
    (panel.folder / "copy.yaml").write_bytes((panel.folder / "steady.yaml").read_bytes())
    for other, said in (("steady", "are called 'steady'"), ("copy", "the same model")):
        judges = ["--judge", panel.folder / "steady.yaml", "--judge", panel.folder / f"{other}.yaml"]
        given = ["run", panel.folder / "reports", "--snapshot", panel.folder / "snapshot", *judges]
        given += ["--set", "deer.parts=[verification]", "--base-url", panel.steady.url]
        assert said in command(*given, "--out", panel.folder / "run").line()


def test_a_run_of_one_judge_is_as_it_was(command: Command, panel: Panel) -> None:
    given = ["run", panel.folder / "reports/mill.md", "--snapshot", panel.folder / "snapshot"]
    given += ["--judge", panel.folder / "steady.yaml", "--base-url", f"steady={panel.steady.url}"]
    out = panel.folder / "run"
    found = json.loads(command(*given, "--set", "deer.parts=[verification]", "--out", out, "--json").out)
    assert "agreement" not in found and {row["judge"] for row in found["scores"]} == {None}
    assert found["cases"][0]["n_failed_by_judge"] == {}
    assert not (out / "agreement.jsonl").exists()
    assert (out / "findings/deer.jsonl").is_file() and not (out / "findings/deer").exists()
    assert "only one judge" in command("show", out, "--judge", "steady").line()


def test_one_judge_chooses_the_claims_that_all_check(
    command: Command, snapshot: Path, report: Path, tmp_path: Path
) -> None:
    """DREAM's choice of salient claims belongs to the extraction: else judges label different claims."""
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps({"id": "mill", "prompt": "What did it cost?"}) + "\n", encoding="utf-8")
    first = write_preset(tmp_path)
    second = first.with_name("other.yaml")
    second.write_text(first.read_text().replace("model:", "sampling: {seed: 7}\nmodel:"))
    chosen: list[int] = []

    def choosing(asked: Mapping[str, Any]) -> str:
        if "Choose 1 of these 2 claims." not in asked["messages"][-1]["content"]:
            return answer(asked)
        chosen.append(asked["seed"])
        return json.dumps({"claims": [1 if asked["seed"] == 0 else 2]})

    with StubThread(StubPlan(answer=choosing, alternatives=leaning)) as server:
        ended = command(
            *("run", report, "--tasks", tasks, "--judge", first, "--judge", second, "--base-url", server.url),
            *("--snapshot", snapshot, "--protocol", "dream", "--set", "dream.parts=[factuality]"),
            *("--set", "dream.factuality.n_claims=1", "--out", tmp_path / "run"),
        )
    assert (ended.code, chosen) == (0, [0]), ended.err
    found = sorted((tmp_path / "run" / "findings").rglob("*.jsonl"))
    assert len(found) == 2
    for path in found:
        facts = json.loads(path.read_text(encoding="utf-8"))["factuality"]["facts"]
        assert [fact["id"] for fact in facts] == ["L2.S1.1"], path
