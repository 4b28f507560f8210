"""`local-judge results agree` through the real entry point, on stored scores."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from local_judge.runs.planning.config import laid_over
from local_judge.runs.storage.items import file_key
from local_judge.runs.storage.records import CaseRecord, ScoreRecord, load_records
from local_judge.runs.storage.seal import seal_run, sealed_as, unsealed
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import write_scores
from local_judge.scoring.node import Score, ScoreNode
from serving.types import EngineIdentity

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


def records(
    scores: Mapping[tuple[str | None, str | None], float | None], judge: str | None = None
) -> list[ScoreRecord]:
    return [
        ScoreRecord(
            case=f"{task}-{system}",
            protocol="deer",
            version="2",
            profile="paper",
            judge=judge,
            scores=(node("form", 1.0, node("style", value)), node("overall", value)),
        )
        for (task, system), value in scores.items()
    ]


def write_run(
    folder: Path,
    scores: Mapping[tuple[str | None, str | None], float | None],
    judges: Mapping[str, str] | None = None,
) -> Path:
    """A run directory of reports by task and system, with ids `task-system`; judges with versions of engines."""
    store = RunStore(folder)
    judged = [
        {
            "name": name,
            "identity": EngineIdentity(engine="vllm", model="m", engine_version=version).model_dump(
                mode="json"
            ),
            "sampling": {},
        }
        for name, version in (judges or {}).items()
    ]
    store.write_json(
        "manifest.json",
        {
            "format_version": 4,
            "config": {"protocols": ["deer"]},
            "reports": {"n": 0},
            **({"judges": judged} if judged else {}),
        },
    )
    cases = [
        CaseRecord(id=id, key=file_key(id), task=task, system=system, status="done")
        for task, system in scores
        for id in [f"{task}-{system}"]
    ]
    store.write_jsonl("cases.jsonl", cases)
    write_scores(store, "deer", cases, records(scores))
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
    assert (difference["first"], difference["second"]) == ("one", "other")
    assert [run["runs"] for run in (first, second)] == [[str(one)], [str(other)]]
    assert found["joined"] == "2 runs taken as 2 judges, with 5 reports in common"
    assert (difference["n_reports"], difference["only_first"], difference["only_second"]) == (5, 0, 0)
    # 3 of 4 pairs less 1 of 4; in each draw of the two tasks, heat (3/3 less 0/3) and water (0/1 less 1/1).
    pairwise = difference["measures"][0]
    assert (pairwise["id"], pairwise["value"], pairwise["n"]) == ("pairwise", 0.5, 2)
    assert (pairwise["low"], pairwise["high"]) == (-1.0, 1.0)
    assert "differences between judges" in table and "one - other" in table
    assert "+0.500 (-1.00 to +1.00)" in table
    assert (
        "one - other: 5 reports on 2 tasks that both scored, with the same tasks in each bootstrap draw"
        in table
    )
    alone = command("results", "agree", ratings, one, "--resamples", "50")
    assert "differences" not in alone.out


def test_runs_of_systems_are_one_judge(command: Command, ratings: Path, tmp_path: Path) -> None:
    """A run for each system, or for each task, measures what one run of all reports does."""
    whole = write_run(tmp_path / "whole", SCORES)
    options = ("--resamples", "20", "--json")
    [expected] = json.loads(command("results", "agree", ratings, whole, *options).out)["runs"]
    for by in (0, 1):
        parts = [
            write_run(tmp_path / part, {unit: score for unit, score in SCORES.items() if unit[by] == part})
            for part in dict.fromkeys(unit[by] or "" for unit in SCORES)
        ]
        found = json.loads(command("results", "agree", ratings, *parts, *options).out)
        assert found["joined"] == f"{len(parts)} runs without a report in common, taken as one judge's"
        [one] = found["runs"]
        assert (one["name"], one["runs"]) == (f"{parts[0].name} + {len(parts) - 1}", [*map(str, parts)])
        kept = ("n_joined", "coverage", "not_in_run", "not_rated", "measures", "tasks")
        assert {key: one[key] for key in kept} == {key: expected[key] for key in kept}
        over = {one["id"]: (one["mean"], one["std"]) for one in found["over_judges"]["measures"]}
        assert over == {measure["id"]: (measure["value"], None) for measure in one["measures"]}
        assert found["differences"] == []
        alike = json.loads(command("results", "agree", ratings, *parts, *options, "--differ", "systems").out)
        assert alike == found


def test_published_folders_of_systems_give_the_four_measures(command: Command, tmp_path: Path) -> None:
    """DeepResearch Bench, appendix I, from a RACE folder for each system, imported together or one by one.

    Three tasks with the ratings of two people, reports a, b, c:

        task   ann      bob      mean       method       ICC(1,1)                 pairs   Pearson
        1      1 2 3    1 2 3    1 2 3      .1 .2 .3     1: MSW = 0               3 of 3  1
        2      1 2 3    2 3 1    1.5 2.5 2  .3 .2 .1     MSB = .5, MSW = 5/6: < 0  1 of 3  left out
        3      5 6 7    5 7 9    5 6.5 8    .2 .4 .3     > 0                      2 of 3  0.5

    Task 2: means 1.5 2.5 2 order a < c < b, the method c < b < a: only c < b is alike. PAR = 6/9, FAP = FAS = 0.75.
    Means of systems: people 2.5, 11/3, 13/3, method .2, .8/3, .7/3: with 6 times the first 15, 22, 26 and 30 times the
    second 6, 8, 7, deviations -6, 1, 5 and -1, 1, 0: OPC = 7 / sqrt(62 * 2).
    """
    ratings = {"ann": [(1, 2, 3), (1, 2, 3), (5, 6, 7)], "bob": [(1, 2, 3), (2, 3, 1), (5, 7, 9)]}
    method = {"a": (0.1, 0.3, 0.2), "b": (0.2, 0.2, 0.4), "c": (0.3, 0.1, 0.3)}
    rated = tmp_path / "ratings.csv"
    rows = [
        f"{task},{system},{annotator},{score}"
        for annotator, tasks in ratings.items()
        for task, scores in enumerate(tasks, 1)
        for system, score in zip("abc", scores, strict=True)
    ]
    rated.write_text("\n".join(["task,system,annotator,score", *rows]))
    names = ("comprehensiveness", "insight", "instruction_following", "readability", "overall_score")
    for system, values in method.items():
        folder = tmp_path / "race" / system
        folder.mkdir(parents=True)
        lines = [json.dumps({"id": id, **dict.fromkeys(names, one)}) for id, one in enumerate(values, 1)]
        (folder / "raw_results.jsonl").write_text("\n".join(lines))
        assert command("import", folder, tmp_path / f"run_{system}").code == 0
    assert command("import", tmp_path / "race", tmp_path / "all").code == 0
    single = [tmp_path / f"run_{system}" for system in method]
    for runs in ([tmp_path / "all"], single):
        found = json.loads(command("results", "agree", rated, *runs, "--resamples", "20", "--json").out)
        [one] = found["runs"]
        measures = {measure["id"]: measure["value"] for measure in one["measures"]}
        assert [task["filter"] for task in one["tasks"]] == ["kept", "removed", "kept"]
        assert measures["pairwise"] == pytest.approx(6 / 9)
        assert measures["overall_pearson"] == pytest.approx(7 / math.sqrt(62 * 2))
        assert measures["filtered_pearson"] == measures["filtered_spearman"] == 0.75
        assert measures["overall"] == pytest.approx((6 / 9 + 7 / math.sqrt(124) + 0.75 + 0.75) / 4)
    given = ("--input", f"race={tmp_path / 'race'}", "--input", f"ratings={rated}", "--json")
    figures = json.loads(command("lab", "replicate", "drb-table-3-people", *given).out)["figures"]
    assert [one["ours"] for one in figures[1:4]] == [pytest.approx(700 / math.sqrt(62 * 2)), 75, 75]
    # Published folders record no judge: with two files of every system, nothing says which belong together.
    again = [tmp_path / f"again_{system}" for system in method]
    for system, run in zip(method, again, strict=True):
        assert command("import", tmp_path / "race" / system, run).code == 0
    said = command("results", "agree", rated, *single, *again).line()
    assert "put the results of each judge into one run, or give --differ judges" in said
    assert command("import", tmp_path / "race", tmp_path / "other").code == 0
    found = json.loads(command("results", "agree", rated, tmp_path / "all", tmp_path / "other", "--json").out)
    assert found["joined"] == "2 runs taken as 2 judges, with 9 reports in common"


def test_judges_without_a_report_in_common_have_no_difference(
    command: Command, ratings: Path, tmp_path: Path
) -> None:
    runs = [
        write_run(tmp_path / task, {unit: score for unit, score in SCORES.items() if unit[0] == task})
        for task in ("heat", "water")
    ]
    ended = command("results", "agree", ratings, *runs, "--resamples", "5", "--differ", "judges")
    assert (ended.code, ended.err) == (0, "")
    assert "differences between judges" not in ended.out
    assert "taken as 2 judges, with 0 reports in common" in ended.out
    assert "heat - water: pairwise, mean rating; pairwise by task, mean rating; pairwise, each" in " ".join(
        ended.out.split()
    )
    assert "of the four: no " in " ".join(ended.out.split())
    assert "3 reports of heat alone left out; 2 reports of water alone left out" in " ".join(
        ended.out.split()
    )


def test_what_could_be_one_judge_or_several_is_one_line(
    command: Command, ratings: Path, tmp_path: Path
) -> None:
    def part(name: str, *systems: str, **judge: Any) -> Path:
        own = {unit: score for unit, score in SCORES.items() if unit[1] in systems}
        return write_run(tmp_path / name, own, **judge)

    alpha, beta, both = part("a", "alpha"), part("b", "beta"), part("both", "alpha", "beta")
    # `both` has reports of either, and nothing says with which of the two it belongs.
    said = command("results", "agree", ratings, alpha, both, beta).line()
    assert "have reports in common" in said and said.endswith(
        "--differ judges to take each run as another judge"
    )
    assert command("results", "agree", ratings, alpha, both, beta, "--differ", "judges").code == 0
    said = command("results", "agree", ratings, alpha, both, "--differ", "systems").line()
    assert said == (
        f"local-judge: --differ systems: 'heat' by 'alpha' is in {alpha} and in {both}, and a report counts once"
    )
    # Another version of the judge on other reports: its next version, or another judge?
    newer = part("newer", "beta", judges={"one": "1.1"})
    older = part("older", "alpha", judges={"one": "1.0"})
    said = command("results", "agree", ratings, older, newer).line()
    assert said.startswith(
        f"local-judge: {older} and {newer} have different judges and no report in common; "
    )
    found = command("results", "agree", ratings, older, newer, "--differ", "systems", "--json").out
    assert len(json.loads(found)["runs"]) == 1
    # Of two judges with a run for each system, equal judges are joined.
    runs = [older, newer, part("c", "alpha", judges={"one": "1.1"}), part("d", "beta", judges={"one": "1.0"})]
    found = json.loads(command("results", "agree", ratings, *runs, "--json", "--resamples", "5").out)
    assert [run["runs"] for run in found["runs"]] == [
        [str(older), str(tmp_path / "d")],
        [str(newer), str(tmp_path / "c")],
    ]
    assert found["joined"] == "4 runs taken as 2 judges, with 4 reports in common"


def test_each_judge_of_a_run_stands_beside_the_ensemble(
    command: Command, ratings: Path, tmp_path: Path
) -> None:
    """Two judges: one with 3 of 4 pairs, one with 1 of 4; the ensemble is neither, nor their mean."""
    run = write_run(tmp_path / "run", SCORES, judges={"first": "1", "second": "2"})
    store = RunStore(run)
    other = {unit: 1 - (score or 0) for unit, score in SCORES.items()}
    write_scores(
        store,
        "deer",
        load_records(store),
        [
            *records(SCORES, None),
            *records(SCORES, "first"),
            *records(other, "second"),
        ],
    )
    seal_run(store)
    found = json.loads(command("results", "agree", ratings, run, "--resamples", "10", "--json").out)
    assert [(one["name"], one["ensemble"]) for one in found["runs"]] == [
        ("ensemble", True),
        ("first", False),
        ("second", False),
    ]
    over = found["over_judges"]
    # Mean (0.75 + 0.25) / 2; both are 0.25 from it. By task: heat 3/3 and water 0/1, and the opposite.
    measures = {one["id"]: one for one in over["measures"]}
    assert over["n_judges"] == 2
    assert [measures["pairwise"][key] for key in ("mean", "std", "n", "unit")] == [0.5, 0.25, 2, "pairs"]
    assert [measures["pairwise_tasks"][key] for key in ("mean", "std", "n", "unit")] == [0.5, 0.0, 2, "tasks"]
    assert [one["first"] + " - " + one["second"] for one in found["differences"]] == ["first - second"]
    shown = command("results", "agree", ratings, run, "--resamples", "10").out
    assert "over 2 judges" in shown and "ensemble" in shown
    one = json.loads(
        command("results", "agree", ratings, run, "--resamples", "10", "--json", "--judge", "second").out
    )
    assert [each["name"] for each in one["runs"]] == ["run"]
    assert one["runs"][0]["measures"] == found["runs"][2]["measures"]


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


def resettled(run: Path, change: dict[str, Any]) -> Path:
    """Record other settings in the manifest of a run, and seal it again."""
    sealed = json.loads((run / "manifest.json").read_bytes())
    manifest = laid_over(unsealed(sealed), change)
    RunStore(run).write_json("manifest.json", sealed_as(manifest, sealed["seal"]["files"]))
    return run


def test_joined_runs_that_differ_otherwise(command: Command, ratings: Path, tmp_path: Path) -> None:
    """Settings that differ are named, draws tell runs of one judge apart, an ensemble is no single judge."""
    first = {unit: value for unit, value in SCORES.items() if unit[1] == "alpha"}
    second = {unit: value for unit, value in SCORES.items() if unit[1] != "alpha"}

    def joined(*runs: Path, options: tuple[str, ...] = ()) -> Any:
        ended = command("results", "agree", ratings, *runs, "--resamples", "5", "--json", *options)
        return json.loads(ended.out) if ended.code == 0 else ended.line()

    runs = {
        name: write_run(tmp_path / name, scores, {"x": "1"})
        for name, scores in (("a0", first), ("b0", second), ("a1", first), ("b1", second))
    }
    several = write_run(tmp_path / "several", second, {"x": "1", "y": "2"})
    assert "differ" not in joined(runs["a0"], runs["b0"])["joined"]
    for name in ("a1", "b1"):
        resettled(runs[name], {"run": {"draw": 1}})
    found = joined(*runs.values())
    assert found["joined"].startswith("4 runs")
    assert len(found["runs"]) == 2
    for name, scale in (("a0", 10), ("b0", 100)):
        resettled(runs[name], {"config": {"settings": {"deer": {"scale": scale}, name: {}}}})
    assert joined(runs["a0"], runs["b0"])["joined"].endswith("; their settings differ (settings.deer.scale)")
    assert "2 judges" in joined(runs["a0"], several, options=("--differ", "systems"))
