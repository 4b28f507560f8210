"""From runs to matches: pairs of one run and of several, scores, and what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import InputError, RunError
from local_judge.judge.judge import Judge, JudgeSettings
from local_judge.reporting.ranking import ranking_json, ranking_notes
from local_judge.runs.execution.execute import execute
from local_judge.runs.planning.config import RunConfig
from local_judge.runs.planning.inputs import load_reports
from local_judge.runs.results.ranking import by_scores, compared
from local_judge.runs.results.scored import system_scores
from local_judge.runs.storage.manifest import build_manifest
from local_judge.runs.storage.records import CaseRecord, ScoreRecord, load_run_scores, load_scores
from local_judge.runs.storage.seal import reseal_scores, seal_run
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import write_scores
from local_judge.scoring.node import Score, ScoreNode
from local_judge.stats.ranking import Match, rank_systems
from local_judge.tasks.files import TaskFiles
from serving.types import Sampling

from ..protocols.liveresearchbench.depth_cases import BASELINE, first_wins, judge_by, register
from ..scripted_judge import MakeJudge

WORTH = {"ada": 22, "bo": 18, "cy": 10, "9 million": 14}
"""Totals of the systems' reports, and of the baseline."""


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def by_author(text: str) -> int:
    return next(worth for name, worth in WORTH.items() if name in text)


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


async def run(
    judges: Judge | Mapping[str, Judge],
    out: Path,
    systems: Sequence[str] = ("ada", "bo", "cy"),
    protocols: tuple[str, ...] = ("depth",),
    **settings: Any,
) -> Path:
    """Reports of some systems on two tasks, evaluated into `out`."""
    tasks = [{"task_id": number, "prompt": f"What did mill {number} cost?"} for number in (1, 2)]
    rows = [
        {**task, "id": f"{name}-{task['task_id']}", "system": name, "article": f"# Mill\n\nThis is {name}."}
        for name in systems
        for task in tasks
    ]
    out.parent.mkdir(parents=True, exist_ok=True)
    reports = load_reports(
        [write(out.parent / f"{out.name}.jsonl", *rows)],
        TaskFiles(
            references=(
                write(
                    out.parent / "baseline.jsonl",
                    *(
                        {"id": task["task_id"], "prompt": task["prompt"], "article": BASELINE}
                        for task in tasks
                    ),
                ),
            )
        ),
    )
    config = RunConfig(
        protocols=protocols, settings={"depth": {"depth": settings}} if "depth" in protocols else {}
    )
    store = RunStore(out)
    named = judges if isinstance(judges, Mapping) else {"judge": judges}
    store.write_json("manifest.json", await build_manifest(config, named, reports, None, {}))
    records = await execute(reports, judges, None, config, store)
    assert {record.status for record in records} == {"done"}
    seal_run(store)
    return out


async def test_a_baseline_connects_the_systems(make_judge: MakeJudge, tmp_path: Path) -> None:
    judge, engine = make_judge(judge_by(by_author))
    out = await run(judge, tmp_path / "run")
    # Three systems, two tasks, two orders.
    assert len(engine.calls) == 12
    found = compared([out], None, "paper")
    assert found.protocol == "depth"
    assert found.matches == tuple(
        Match(task, name, "baseline", (points,), (True,))
        for name, points in (("ada", 1.0), ("bo", 1.0), ("cy", 0.0))
        for task in ("1", "2")
    )
    assert compared([out], "depth", "upstream").matches[0].points == (1.0, 1.0)
    aggregates = {
        row.system: row.scores[0]
        for row in load_run_scores(RunStore(out), ["depth"])
        if row.profile == "paper"
    }
    assert {name: node.score.value for name, node in aggregates.items()} == {"ada": 100, "bo": 100, "cy": 0}
    by_report = {row.case: row.scores[0] for row in load_scores(RunStore(out), ["depth"])}
    assert by_report["cy-1"].find("margin").score.value == -4


async def test_round_robin_asks_each_pair_once_in_both_orders(make_judge: MakeJudge, tmp_path: Path) -> None:
    judge, engine = make_judge(judge_by(by_author))
    out = await run(judge, tmp_path / "run", against="all")
    # Four reports on each of two tasks, the baseline among them: six pairs, both orders.
    assert len(engine.calls) == 2 * 6 * 2 == len({call.prompt for call in engine.calls})
    found = compared([out], None, "paper")
    met = [(match.task, match.one, match.other) for match in found.matches]
    assert len(set(met)) == 12
    assert [match for match in met if match[0] == "1"] == [
        ("1", "ada", "baseline"),
        ("1", "ada", "bo"),
        ("1", "ada", "cy"),
        ("1", "bo", "baseline"),
        ("1", "bo", "cy"),
        ("1", "cy", "baseline"),
    ]
    points = {match[1:3]: match.points for match in found.matches}
    assert points["ada", "bo"] == points["bo", "cy"] == (1.0,)
    # What a report gets is what it gets alone.
    alone = await run(judge, tmp_path / "alone")
    names = [RunStore(place) for place in (out, alone)]
    one, other = (load_scores(store, ["depth"]) for store in names)
    assert [row.scores[0].score for row in one] == [row.scores[0].score for row in other]


async def test_the_order_of_the_reports_changes_no_question(make_judge: MakeJudge, tmp_path: Path) -> None:
    judge, engine = make_judge(judge_by(by_author), ledger="one.sqlite")
    await run(judge, tmp_path / "run", against="all")
    again, asked = make_judge(judge_by(by_author), ledger="one.sqlite")
    await run(again, tmp_path / "turned", ("cy", "bo", "ada"), against="all")
    assert len(engine.calls) == 24 and asked.calls == []


async def test_judges_of_several_runs_are_pooled(make_judge: MakeJudge, tmp_path: Path) -> None:
    one, _ = make_judge(judge_by(by_author))
    other, _ = make_judge(first_wins, model="partial")
    runs = [await run(judge, tmp_path / f"run{place}") for place, judge in enumerate((one, other))]
    found = compared(runs, None, "paper")
    assert len(found.matches) == 12
    assert {match.points for match in found.matches[6:]} == {(0.5,)}
    assert {match.consistent for match in found.matches[6:]} == {(False,)}


async def test_judges_of_one_run_are_taken_together(make_judge: MakeJudge, tmp_path: Path) -> None:
    one, _ = make_judge(judge_by(by_author))
    other, _ = make_judge(first_wins, model="partial")
    out = await run({"one": one, "other": other}, tmp_path / "run")
    found = compared([out], None, "paper").matches
    # ada +8 by the one and 0 by the other: 4 on average; bo +4 and 0: 2; cy -4 and 0: -2.
    assert {(match.one, match.points) for match in found} == {("ada", (1.0,)), ("bo", (1.0,)), ("cy", (0.0,))}
    assert {match.consistent for match in found} == {(True, False)}
    games = {match.one: match.points for match in compared([out], None, "upstream").matches}
    # Both games of the one, then a win and a loss of the other.
    assert games == {"ada": (1.0, 1.0, 1.0, 0.0), "bo": (1.0, 1.0, 1.0, 0.0), "cy": (0.0, 0.0, 1.0, 0.0)}
    rows = load_run_scores(RunStore(out), ["depth"])
    [ada] = [row for row in rows if (row.system, row.profile, row.judge) == ("ada", "upstream", None)]
    # Three of four games on each of two tasks: pooled.
    assert (ada.scores[0].score.value, ada.scores[0].find("games").score.value) == (75, 8)
    alone = await run(one, tmp_path / "alone", ("cy",))
    with pytest.raises(InputError, match="counts once"):
        compared([out, alone], None, "paper")


async def test_one_judge_of_several(make_judge: MakeJudge, tmp_path: Path) -> None:
    one, _ = make_judge(judge_by(by_author))
    other, _ = make_judge(first_wins, model="partial")
    out = await run({"one": one, "other": other}, tmp_path / "run")
    points = {
        judge: {
            match.one: (match.points, match.consistent)
            for match in compared([out], None, "paper", judge).matches
        }
        for judge in ("one", "other")
    }
    assert points == {
        "one": {"ada": ((1.0,), (True,)), "bo": ((1.0,), (True,)), "cy": ((0.0,), (True,))},
        "other": dict.fromkeys(("ada", "bo", "cy"), ((0.5,), (False,))),
    }
    # By the margins over the baseline: 8, 4 and -4 of the one; 0 of the other, whoever it reads.
    first, second = (by_scores([out], None, "paper", "margin", judge) for judge in ("one", "other"))
    assert [match.points for match in first.matches] == [(1.0,)] * 6
    assert [match.points for match in second.matches] == [(0.5,)] * 6
    with pytest.raises(RunError, match="no judge 'third' to choose; there are: one, other"):
        compared([out], None, "paper", "third")
    alone = await run(one, tmp_path / "alone", ("cy",))
    with pytest.raises(RunError, match="it has only one judge; omit --judge"):
        compared([alone], None, "paper", "one")


async def test_a_comparison_counts_once(make_judge: MakeJudge, tmp_path: Path) -> None:
    judge, _ = make_judge(judge_by(by_author))
    runs = [await run(judge, tmp_path / "one"), await run(judge, tmp_path / "two", ("bo",))]
    with pytest.raises(
        InputError, match=r"'bo-1' and 'baseline' were compared by the same judge in .*one: a comp"
    ):
        compared(runs, None, "paper")
    with pytest.raises(InputError, match="a comparison counts once"):
        compared([runs[0], runs[0]], None, "paper")
    parts = [await run(judge, tmp_path / name, (name,)) for name in ("ada", "cy")]
    assert len(compared(parts, None, "paper").matches) == 4


async def test_one_model_sampled_in_two_ways_is_two_judges(make_judge: MakeJudge, tmp_path: Path) -> None:
    one, _ = make_judge(judge_by(by_author))
    other = Judge(one.engine, one.ledger, JudgeSettings(sampling=Sampling(temperature=0.6, seed=7)))
    runs = [await run(judge, tmp_path / f"run{place}") for place, judge in enumerate((one, other))]
    assert len(compared(runs, None, "paper").matches) == 12
    assert len(by_scores(runs, None, "paper", "margin").matches) == 12


async def test_a_system_called_baseline_does_not_meet_itself(make_judge: MakeJudge, tmp_path: Path) -> None:
    judge, _ = make_judge(judge_by(lambda text: 14))
    with pytest.raises(RunError, match="compared no reports of two systems"):
        compared([await run(judge, tmp_path / "run", ("baseline",))], None, "paper")
    judge, _ = make_judge(judge_by(lambda text: 22 if "ada" in text else 14))
    found = compared([await run(judge, tmp_path / "both", ("ada", "baseline"), against="all")], None, "paper")
    assert found.own == 2
    assert {(match.one, match.other, match.points) for match in found.matches} == {
        ("ada", "baseline", (1.0,))
    }


async def test_scores_are_compared_by_task(make_judge: MakeJudge, tmp_path: Path) -> None:
    judge, _ = make_judge(judge_by(by_author))
    # "This is ada." is longer than "This is bo.", and as long as that of eve.
    out = await run(judge, tmp_path / "run", ("ada", "bo", "eve"), protocols=("length",))
    found = by_scores([out], None, "paper", "overall")
    assert found.matches == tuple(
        Match(task, one, other, (points,))
        for task in ("1", "2")
        for one, other, points in (("ada", "bo", 1.0), ("ada", "eve", 0.5), ("bo", "eve", 0.0))
    )
    with pytest.raises(InputError, match="report 'ada-1' stands in"):
        by_scores([out, out], None, "paper", "overall")
    alone = await run(judge, tmp_path / "alone", ("ada",), protocols=("length",))
    with pytest.raises(RunError, match="no task with reports of two systems"):
        by_scores([alone], None, "paper", "overall")


def scored(folder: Path, *rows: tuple[str, str, Score]) -> Path:
    """A run of `length` whose reports, on one task, have these ids, systems and scores."""
    store = RunStore(folder)
    store.write_json(
        "manifest.json",
        {
            "format_version": 4,
            "config": {"protocols": ["length"]},
            "reports": {"n": 0},
            "judges": [],
        },
    )
    cases = [
        CaseRecord(id=id, key=id, document="d", task="t", system=system, status="done")
        for id, system, _ in rows
    ]
    store.write_jsonl("cases.jsonl", cases)
    seal_run(store)
    found = [
        ScoreRecord(
            case=id,
            protocol="length",
            version="1",
            profile="paper",
            scores=(ScoreNode(id="overall", label="Overall", score=score),),
        )
        for id, _, score in rows
    ]
    write_scores(store, "length", cases, found)
    reseal_scores(store)
    return folder


def test_scores_that_differ_in_their_last_bits_tie_and_say_how_much_is_known(tmp_path: Path) -> None:
    """0.1 + 0.2 and 0.3 are one score. Three of four parts of it are known: 75 %, bounds 0.2 wide."""

    def partly(value: float) -> Score:
        return Score(value=value, n_expected=4, n_failed=1, low=0.2, high=0.4)

    run = scored(tmp_path / "run", ("a", "ada", partly(0.1 + 0.2)), ("b", "bo", partly(0.3)))
    found = by_scores([run], None, "paper", "overall")
    assert found.matches == (Match("t", "ada", "bo", (0.5,)),)
    assert found.coverage is not None and (found.coverage.n_in_part, found.coverage.known) == (2, 0.75)
    table = rank_systems(found.matches, seed=0, draws=10)
    known = r"2 of 2 scores rest .*: 75\.0 % known .*0\.20 wide"
    assert any(re.fullmatch(known, note) for note in ranking_notes(table, found))
    assert ranking_json(table, found)["coverage"]["n_in_part"] == 2


def test_systems_that_were_run_one_by_one_may_use_the_same_ids(tmp_path: Path) -> None:
    one = scored(tmp_path / "one", ("51", "ada", Score(value=2)))
    other = scored(tmp_path / "other", ("51", "bo", Score(value=1)))
    assert by_scores([one, other], None, "paper", "overall").matches == (Match("t", "ada", "bo", (1.0,)),)
    with pytest.raises(InputError, match="report '51' stands in"):
        by_scores([one, one], None, "paper", "overall")


async def test_a_system_has_one_number(make_judge: MakeJudge, tmp_path: Path) -> None:
    judge, _ = make_judge(judge_by(by_author))
    out = await run(judge, tmp_path / "run", ("ada", "bo"), protocols=("length", "depth"))
    found = by_scores([out], "length", "paper", "overall").scores
    lengths = {row.case: row.scores[0].score.value for row in load_scores(RunStore(out), ["length"])}
    # No rule over reports: the mean of two, of which both have a value.
    assert {
        name: (one.score.value, one.by_rule, one.n_values, one.n_reports) for name, one in found.items()
    } == {
        name: (((lengths[f"{name}-1"] or 0) + (lengths[f"{name}-2"] or 0)) / 2, False, 2, 2)
        for name in ("ada", "bo")
    }
    # Depth pools games: four won of four.
    pooled = {
        one.path: one for one in system_scores(RunStore(out), "depth", "upstream") if one.system == "ada"
    }
    root = pooled["depth",]
    assert (root.score.value, root.by_rule, root.n_reports, root.n_values) == (100.0, True, 2, 2)
    # What only the reports have is a mean: the margins are 8 and 8.
    margin = {one.path: one for one in system_scores(RunStore(out), "depth", "paper") if one.system == "ada"}
    assert (margin["depth", "margin"].score.value, margin["depth", "margin"].by_rule) == (8.0, False)


async def test_a_run_without_comparisons_says_so(make_judge: MakeJudge, tmp_path: Path) -> None:
    judge, _ = make_judge(judge_by(by_author))
    out = await run(judge, tmp_path / "run", protocols=("length",))
    with pytest.raises(RunError, match=r"no protocol compared reports \(length\); give --score"):
        compared([out], None, "paper")
    with pytest.raises(RunError, match="length compared no reports there; give --score"):
        compared([out], "length", "paper")
    with pytest.raises(RunError, match="depth compared no reports there"):
        compared([out], "depth", "paper")
