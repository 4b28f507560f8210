"""`local-judge results agree` through the real entry point, on stored scores."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest

from local_judge.runs.items import file_key
from local_judge.runs.records import CaseRecord, ScoreRecord
from local_judge.runs.seal import seal_run
from local_judge.runs.store import RunStore
from local_judge.runs.summaries import write_scores
from local_judge.scoring.node import Score, ScoreNode

from .conftest import Command

RATINGS = """score,annotator,system,task
9,ann,alpha,heat
8,bob,alpha,heat
4,ann,beta,heat
5,bob,beta,heat
2,ann,gamma,heat
7,ann,alpha,water
9,bob,alpha,water
3,ann,beta,water
,bob,beta,water
"""
SCORES: dict[tuple[str | None, str | None], float | None] = {
    ("heat", "alpha"): 0.6,
    ("heat", "beta"): 0.5,
    ("heat", "gamma"): 0.1,
    ("water", "alpha"): 0.4,
    ("water", "beta"): 0.5,
}


def node(id: str, value: float | None, *children: ScoreNode) -> ScoreNode:
    return ScoreNode(id=id, label=id, score=Score(value=value), children=children)


def write_run(folder: Path, scores: Mapping[tuple[str | None, str | None], float | None]) -> Path:
    """A run directory of reports by task and system, with ids `task-system`."""
    store = RunStore(folder)
    store.write_json(
        "manifest.json",
        {"format_version": 4, "config": {"protocols": ["deer"]}, "reports": {"n": 0}},
    )
    cases = [
        CaseRecord(id=id, key=file_key(id), task=task, system=system, status="done")
        for task, system in scores
        for id in [f"{task}-{system}"]
    ]
    store.write_jsonl("cases.jsonl", cases)
    write_scores(
        store,
        "deer",
        cases,
        [
            ScoreRecord(
                case=case.id,
                protocol="deer",
                version="2",
                profile="paper",
                scores=(node("form", 1.0, node("style", value)), node("overall", value)),
            )
            for case, value in zip(cases, scores.values(), strict=True)
        ],
    )
    seal_run(store)
    return folder


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    path.write_text(RATINGS, encoding="utf-8")
    return path


def test_runs_side_by_side(command: Command, ratings: Path, tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", SCORES)
    other = write_run(tmp_path / "other", {unit: 1 - (score or 0) for unit, score in SCORES.items()})
    ended = command("results", "agree", ratings, one, other, "--resamples", "50", "--json")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    people, first, second = found["people"], *found["runs"]
    assert (people["n_ratings"], people["n_missing"], people["n_empty"]) == (8, 2, 1)
    rates = [run["measures"][0] for run in (first, second)]
    # Of four pairs the first run inverts the one of water.
    assert [(rate["id"], rate["hits"], rate["n"], rate["value"]) for rate in rates] == [
        ("pairwise", 3.0, 4, 0.75),
        ("pairwise", 1.0, 4, 0.25),
    ]
    assert [task["filter"] for task in first["tasks"]] == ["kept", "kept"]
    assert [task["spearman"] for task in first["tasks"]] == [1.0, -1.0]

    table = command("results", "agree", ratings, one, other, "--resamples", "50").out
    for text in (
        "one",
        "other",
        "0.750",
        "3/4",
        "Kendall's W",
        "50 draws, seed 0",
        "8 ratings by 2 annotators",
    ):
        assert text in table
    assert command("results", "agree", ratings, one, other, "--resamples", "50").out == table

    [difference] = found["differences"]
    assert (difference["first"], difference["second"]) == (str(one), str(other))
    assert (difference["n_reports"], difference["only_first"], difference["only_second"]) == (5, 0, 0)
    # 3 of 4 pairs less 1 of 4; in each draw of the two tasks, heat (3/3 less 0/3) and water (0/1 less 1/1).
    pairwise = difference["measures"][0]
    assert (pairwise["id"], pairwise["value"], pairwise["n"]) == ("pairwise", 0.5, 2)
    assert (pairwise["low"], pairwise["high"]) == (-1.0, 1.0)
    assert "differences between runs" in table and "one - other" in table
    assert "+0.500 (-1.00 to +1.00)" in table
    assert (
        "one - other: 5 reports on 2 tasks that both runs scored, with the same tasks in each bootstrap draw"
        in table
    )
    alone = command("results", "agree", ratings, one, "--resamples", "50")
    assert "differences" not in alone.out


def test_runs_without_a_report_in_common_have_no_difference(
    command: Command, ratings: Path, tmp_path: Path
) -> None:
    runs = [
        write_run(tmp_path / task, {unit: score for unit, score in SCORES.items() if unit[0] == task})
        for task in ("heat", "water")
    ]
    ended = command("results", "agree", ratings, *runs, "--resamples", "5")
    assert (ended.code, ended.err) == (0, "")
    assert "differences between runs" not in ended.out
    assert "heat - water: pairwise, mean rating; pairwise, each annotator; overall Pearson; " in ended.out
    assert "of the four: no " in " ".join(ended.out.split())
    assert "3 reports of heat alone left out; 2 reports of water alone left out" in " ".join(
        ended.out.split()
    )


def test_one_annotator_gives_correlations_of_all_tasks_and_no_rows_of_dashes(
    command: Command, tmp_path: Path
) -> None:
    scores = {**SCORES, ("water", "gamma"): 0.3}
    run = write_run(tmp_path / "run", scores)
    ratings = tmp_path / "ratings.csv"
    given = {"heat": (9, 4, 2), "water": (7, 5, 3)}
    rows = [
        f"{task},{system},ann,{score}"
        for task, all_three in given.items()
        for system, score in zip(("alpha", "beta", "gamma"), all_three, strict=True)
    ]
    ratings.write_text("\n".join(["task,system,annotator,score", *rows]), encoding="utf-8")
    filtered = command("results", "agree", ratings, run, "--resamples", "20")
    said = " ".join(filtered.out.split())
    assert "0 kept, 0 removed (negative), 2 undefined; --unfiltered uses all tasks" in said
    assert "annotators: no report has two ratings, so their agreement is unknown" in said
    assert "–" not in filtered.out and "filtered Pearson │" not in filtered.out
    ended = command("results", "agree", ratings, run, "--resamples", "20", "--unfiltered")
    assert (ended.code, ended.err) == (0, "")
    assert "correlations within all 2 tasks, not filtered by ICC(1,1)" in " ".join(ended.out.split())
    assert "of the four" not in ended.out and "–" not in ended.out
    found = json.loads(
        command("results", "agree", ratings, run, "--resamples", "20", "--unfiltered", "--json").out
    )
    assert found["filtered"] is False
    measures = {one["id"]: one for one in found["runs"][0]["measures"]}
    # heat: ranks 3 2 1 and 3 2 1: 1. water: ranks 3 2 1 and 2 3 1: 1 - 6 * 2 / 24 = 0.5.
    assert (measures["unfiltered_spearman"]["value"], measures["unfiltered_spearman"]["n"]) == (0.75, 2)
    # tau: heat 3/3; water (2 - 1)/3.
    assert measures["unfiltered_tau"]["value"] == pytest.approx(2 / 3)


def test_joins_that_failed_are_named(command: Command, ratings: Path, tmp_path: Path) -> None:
    scores = {**SCORES, ("heat", "gamma"): None, ("ice", "[red]zeta[/red]\x1b[2J"): 0.3}
    del scores["water", "beta"]
    run = write_run(tmp_path / "run", scores)
    found = json.loads(command("results", "agree", ratings, run, "--json", "--resamples", "5").out)["runs"][0]
    assert found["not_in_run"] == ["water by beta"]
    assert found["without_score"] == ["heat by gamma"]
    assert found["not_rated"] == ["ice-[red]zeta[/red]\x1b[2J"]
    shown = command("results", "agree", ratings, run, "--resamples", "5").out
    assert "rated, but not in the run: 1 (water by beta)" in shown
    assert "rated, but without a score: 1 (heat by gamma)" in shown
    assert "in the run, but not rated: 1 (ice-[red]zeta[/red] [2J)" in shown
    assert "\x1b" not in shown


def test_reports_by_id_take_task_and_system_from_the_run(command: Command, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {**SCORES, (None, None): 0.2})
    path = tmp_path / "ratings.jsonl"
    rows = [("heat-alpha", 9), ("heat-beta", 4), ("water-alpha", 7), ("water-beta", 8), ("None-None", 3)]
    path.write_text(
        "".join(json.dumps({"report": id, "annotator": "ann", "score": score}) + "\n" for id, score in rows)
    )
    found = json.loads(command("results", "agree", path, run, "--json", "--resamples", "5").out)
    assert found["people"]["task_unknown"] == ["None-None"]
    assert found["runs"][0]["n_joined"] == 4
    assert found["runs"][0]["measures"][0]["hits"] == 2.0
    path.write_text('{"report": "heat-alpha", "task": "water", "annotator": "ann", "score": 1}\n')
    ended = command("results", "agree", path, run)
    assert ended.code == 1
    assert ended.line() == (
        f"local-judge: {path}:1: task of 'heat-alpha' is 'water' here, and 'heat' in {run}"
    )


def test_a_score_is_named_by_its_path(command: Command, ratings: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", SCORES)
    for name in ("form/style", "style", "overall"):
        found = json.loads(
            command("results", "agree", ratings, run, "--score", name, "--json", "--resamples", "5").out
        )
        assert found["runs"][0]["measures"][0]["value"] == 0.75
    ended = command("results", "agree", ratings, run, "--score", "insight")
    assert ended.code == 1
    assert re.search("deer: score 'insight' .*: form, form/style, overall$", ended.line())
    assert (
        "no profile 'upstream'" in command("results", "agree", ratings, run, "--profile", "upstream").line()
    )
    assert "'race'; there are: deer" in command("results", "agree", ratings, run, "--protocol", "race").line()
    assert command("results", "agree", ratings, tmp_path).code == 1


def test_what_cannot_be_joined_is_one_line(command: Command, ratings: Path, tmp_path: Path) -> None:
    strange = write_run(tmp_path / "strange", {("x", "y"): 1.0})
    assert command("results", "agree", ratings, strange).line() == (
        f"local-judge: {strange}: none of its reports is rated: it has 'x-y' (task 'x', system 'y'), "
        "the ratings 'heat by alpha'"
    )
    null = write_run(tmp_path / "null", {unit: None for unit in SCORES})
    assert (
        command("results", "agree", ratings, null).line().endswith("none of its 5 rated reports has a score")
    )
    twice = write_run(tmp_path / "twice", SCORES)
    lines = (twice / "cases.jsonl").read_text().splitlines()
    again = json.loads(lines[0]) | {"id": "second draft"}
    store = RunStore(twice)
    store.digests.update(RunStore(twice).read_json("manifest.json")["seal"]["files"])
    store.write_text("cases.jsonl", "\n".join([*lines, json.dumps(again)]) + "\n")
    seal_run(store)
    assert (
        "'heat-alpha' and 'second draft' are both by 'alpha' on 'heat'"
        in command("results", "agree", ratings, twice).line()
    )


def test_the_plot_is_one_well_formed_file(command: Command, tmp_path: Path) -> None:
    hostile = '"><script>alert(1)</script>&amp;\u0007\ufffe]]>'
    path = tmp_path / "ratings.jsonl"
    rows = [
        {"task": "t<1>", "system": system, "annotator": "ann", "score": score}
        for system, score in ((hostile, 3), ("b" * 500, 9))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = write_run(tmp_path / "<run>", {("t<1>", hostile): 0.5, ("t<1>", "b" * 500): 0.7})
    plots = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for plot in plots:
        assert command("results", "agree", path, run, "--resamples", "5", "--plot", plot).code == 0
    text = plots[0].read_text(encoding="utf-8")
    assert text == plots[1].read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert "script" not in {element.tag.rpartition("}")[2] for element in root.iter()}
    assert '"><script>alert(1)' in "".join(root.itertext())


def test_a_plot_without_matplotlib_is_refused_in_one_line(
    command: Command, ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "run", SCORES)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = command("results", "agree", ratings, run, "--plot", tmp_path / "plot.svg").line()
    assert said.endswith("plots need the extra `plots`: pip install 'local-judge[plots]'")
