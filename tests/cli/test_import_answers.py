"""Published answers of LiveResearchBench and DeepResearchEval as runs, and other commands on imported runs."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from local_judge.protocols.liveresearchbench.upstream import summary

from .conftest import Command
from .published_results import DETAILED, LOST, WON, checks, depth, detailed, issues, quality, reply, written
from .test_import_published import jsonl, race_row

CRITERIA = ("presentation", "coverage", "consistency", "citation", "depth")


def means(command: Command, run: Path, profile: str = "upstream") -> dict[str, dict[str, float | None]]:
    """Root scores of each system."""
    found = json.loads(command("show", run, "--by", "system", "--profile", profile, "--json").out)
    names = [column["path"][0] for column in found["columns"]]
    return {
        group["key"]["system"]: dict(zip(names, (cell["value"] for cell in group["cells"]), strict=True))
        for group in found["groups"]
    }


def test_detailed_results_give_the_published_means(command: Command, tmp_path: Path) -> None:
    file, run = written(tmp_path / "detailed_results_2025.json", DETAILED), tmp_path / "run"
    ended = command("import", file, run)
    assert (ended.code, ended.err) == (0, "")
    found = means(command, run)
    assert found["ada"] == pytest.approx(
        {"presentation": 85, "coverage": 200 / 3, "consistency": 90, "citation": 85, "depth": 100 / 3}
    )
    assert found["bob"]["depth"] is None  # no decisive game is no rate of 0
    assert found["bob"]["citation"] == 90
    # The paper takes the score from the number of issues: three score 80, where the judge chose 85.
    assert means(command, run, "paper")["ada"]["citation"] == 80
    shown = command("show", run, "--report", "ada/mill", "--items").out
    assert "Reason 3." in shown
    assert "Issue 1." in shown


def test_detailed_results_go_back_unchanged(command: Command, tmp_path: Path) -> None:
    run, out, again = tmp_path / "run", tmp_path / "out", tmp_path / "again"
    folder = written(tmp_path / "results" / "detailed_results_2025.json", DETAILED).parent
    written(folder / "summary_2025.json", summary(DETAILED["reports"], CRITERIA))
    assert command("import", folder, run).code == 0
    assert command("rescore", run).code == 0
    assert command("export", run, out, "--format", "liveresearchbench").code == 0
    exported = json.loads((out / "detailed_results.json").read_text())
    assert exported["reports"] == DETAILED["reports"]
    ours = json.loads((out / "summary.json").read_text())
    assert ours["results_by_model"] == summary(DETAILED["reports"], CRITERIA)["results_by_model"]
    assert command("import", out, again).code == 0
    assert means(command, again) == means(command, run)


def test_a_summary_is_one_mean_for_each_system(command: Command, tmp_path: Path) -> None:
    data: dict[str, Any] = {"metadata": {}, **summary(DETAILED["reports"], CRITERIA)}
    run = tmp_path / "run"
    assert command("import", written(tmp_path / "summary_2025.json", data), run).code == 0
    found = means(command, run)
    assert found["ada"]["depth"] == pytest.approx(100 / 3)
    assert found["bob"]["depth"] is None
    assert found["ada"]["presentation"] == 85
    assert "85.00" in command("show", run, "--report", "ada").out  # a score without a counterpart in `paper`
    line = command("export", run, tmp_path / "out", "--format", "liveresearchbench").line()
    assert "a mean over reports, which has no row" in line


def test_a_rate_that_does_not_follow_from_the_items_is_stated(command: Command, tmp_path: Path) -> None:
    """The published code counts surplus items: 12 passes of 10 checks are 120 %."""
    surplus = checks("111111111111", "p")
    surplus["summary"] |= {"total_criteria": 10, "average_pass_rate": 120.0}
    rows = (
        {"model": "ada", "task": "mill", "presentation": surplus},
        {
            "model": "ada",
            "task": "heat",
            "presentation": checks("1111100000", "p"),
        },
    )
    run = tmp_path / "run"
    assert command("import", written(tmp_path / "d.json", detailed(*rows)), run).code == 0
    assert means(command, run)["ada"] == {"presentation": 85}  # (120 + 50) / 2
    assert "120.00" in command("show", run, "--report", "mill").out


def test_a_comparison_without_scores_keeps_its_winner(command: Command, tmp_path: Path) -> None:
    row = {"model": "ada", "task": "mill", "depth": depth((WON, LOST), reply(9, 1, "A"), {"winner": "A"})}
    run = tmp_path / "run"
    assert command("import", written(tmp_path / "d.json", detailed(row)), run).code == 0
    assert means(command, run)["ada"] == {"depth": 50}
    assert means(command, run, "paper")["ada"] == {"depth": None}  # needs the scores, 0 to 5


def test_quality_gives_the_published_totals_and_goes_back(command: Command, tmp_path: Path) -> None:
    data = quality(ada=(8, 4), bob=(6, 10))
    run, out = tmp_path / "run", tmp_path / "out"
    assert command("import", written(tmp_path / "q.json", data), run).code == 0
    found = means(command, run)
    assert found["ada"]["quality"] == 7  # 0.75 * 8 + 0.25 * 4
    assert found["bob"]["quality"] == 7  # 0.75 * 6 + 0.25 * 10
    assert found["bob"]["general_gap"] == -4  # 6 - 10
    assert command("export", run, out, "--format", "deepresearcheval").code == 0
    written_back = json.loads((out / "quality_results.json").read_text())
    assert written_back["query_results"] == data["query_results"]
    assert written_back["summary"]["models"]["ada"]["average_total_score"] == 7


def test_quality_and_facts_of_a_folder_are_one_run(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "dre"
    written(folder / "quality_results.json", quality(ada=(8, 4), bob=(6, 10)))
    rows: list[dict[str, Any]] = [
        {"statement": f"It cost {n}.", "verification": label, "evidence": [], "reasoning": "Read."}
        for n, label in enumerate(("Right", "Right", "Wrong", "Partly"))
    ]
    written(folder / "results" / "ada" / "task_1.json", rows)
    run, out = tmp_path / "run", tmp_path / "out"
    assert command("import", folder, run).code == 0
    found = means(command, run)
    assert found["ada"]["facts"] == 50  # 2 of 4; a label that is none counts as a statement
    assert "facts" not in found["bob"] or found["bob"]["facts"] is None
    assert found["bob"]["quality"] == 7
    assert command("export", run, out, "--format", "deepresearcheval").code == 0
    assert json.loads((out / "results" / "ada" / "task_1.json").read_text()) == rows


def test_two_files_of_facts_of_one_report_are_refused(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "dre"
    rows: list[dict[str, Any]] = [
        {"statement": "It cost 8.", "verification": "Right", "evidence": [], "reasoning": "Read."}
    ]
    for place in (folder / "ada", folder / "results" / "ada"):
        written(place / "task_1.json", rows)
    line = command("import", folder, tmp_path / "run", "--format", "deepresearcheval").line()
    assert "results/ada/task_1.json: a second file of ada on task 1" in line


def test_a_dimension_without_answers_is_no_zero(command: Command, tmp_path: Path) -> None:
    """The published code counts the dimension as 0: total 0.75 * 8 + 0.25 * 0 = 6."""
    data = quality(ada=(8, 4))
    report = data["query_results"]["1"]["model_results"]["ada"]
    report["raw_scores"]["cost_of_money"] = []
    report["final_scores"] |= {"cost_of_money_score": 0.0, "total_weighted_score": 6.0}
    run = tmp_path / "run"
    assert command("import", written(tmp_path / "q.json", data), run).code == 0
    assert means(command, run)["ada"]["quality"] is None
    assert means(command, run, "paper")["ada"]["quality"] == 8  # of the answers that are there
    assert command("export", run, tmp_path / "out", "--format", "deepresearcheval").code == 0
    back = json.loads((tmp_path / "out" / "quality_results.json").read_text())
    assert back["query_results"] == data["query_results"]


def broken(data: dict[str, Any], *path: str | int, value: object) -> dict[str, Any]:
    """A copy of a file with one other value."""
    found = copy.deepcopy(data)
    at: Any = found
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return found


ADA = ("query_results", "1", "model_results", "ada")
COVERAGE = ("raw_scores", "coverage", 0)
DEPTH = ("results_by_model", "ada", "depth")
SUMMARY: dict[str, Any] = {"metadata": {}, **summary(DETAILED["reports"], CRITERIA)}
GOOD = quality(ada=(8, 4))
AVERAGED = {**issues(2, 90), "averaged_at": "2025-10-31"}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (detailed(), "no list reports with a report in it"),
        (detailed({"model": "ada", "task": "mill"}), "no report has results"),
        (broken(DETAILED, "reports", 1, "query_id", value="mill"), "'mill' occurs twice"),
        (broken(DETAILED, "reports", 0, "consistency_grading_results", value=AVERAGED), "two judges"),
        (
            broken(DETAILED, "reports", 0, "depth_grading_results", "winner_comparison_1", value=LOST),
            "winner_comparison_1 is reference_model, and its reply names another",
        ),
        (broken(DETAILED, "reports", 0, "depth_grading_results", "winner_comparison_1", value=7), "one of"),
        (broken(DETAILED, "reports", 0, "presentation_grading_results", "summary", value=7), "JSON object"),
        (broken(DETAILED, "reports", 0, "citation_grading_results", "score", value="\x1b"), "not a score"),
        (broken(DETAILED, "reports", 0, "citation_grading_results", "score", value=10**400), "not a score"),
        (
            broken(DETAILED, "reports", 0, "depth_grading_results", "winner_comparison_1", value=["x"]),
            "not one of",
        ),
        (broken(SUMMARY, *DEPTH, "wins", value=10**400), "depth.wins: '1000"),
        (broken(DETAILED, "reports", 0, "consistency_grading_results", "score", value=500), "from 0 to 100"),
        # ada has 1 win and 2 losses of 4 games: 100 / 3.
        (broken(SUMMARY, *DEPTH, "win_rate", value=99), "33.3333 follows from 1 wins of 3"),
        (broken(SUMMARY, *DEPTH, "total", value=7.5), "total: 7.5 is not a whole number"),
        (broken(SUMMARY, *DEPTH, "ties", value=2), "total: 4 is not the sum"),
        (broken(SUMMARY, *DEPTH, "decisive_games", value=0), "0 is not the sum of 1 wins and 2 losses"),
        ({"results_by_model": {}}, "no model"),
        ({"results_by_model": {"ada": {"speed": {"mean": 1}}}}, "none of presentation"),
        ({"results_by_model": {"ada": {"coverage": {"mean": 101}}}}, "ada.coverage.mean: '101'"),
        ({"results_by_model": {"ada": {"depth": {"win_rate": 50}}}}, "depth.wins: 'None'"),
        ({"query_results": {}}, "no report in query_results"),
        (broken(GOOD, *ADA, "final_scores", "coverage_score", value=9), "8.0 follows from raw_scores"),
        (broken(GOOD, *ADA, "final_scores", "speed_score", value=9), "final_scores.speed_score is 9"),
        (broken(GOOD, *ADA, "final_scores", "coverage_score", value=10**400), "coverage_score is 1000"),
        (broken(GOOD, *ADA, *COVERAGE, "report_score_0_to_10", value=10**400), "raw_scores: not in the form"),
        (broken(GOOD, "query_results", "1", "dimension_weights", "coverage", value=10**400), "weight"),
        (broken(GOOD, "query_results", "1", "dimension_weights", value={}), "no entry for 'coverage'"),
        (broken(GOOD, "query_results", "1", "query_prompt", value=None), "query_prompt"),
    ],
)
def test_a_file_with_a_fault_is_one_line(
    command: Command, tmp_path: Path, data: dict[str, Any], problem: str
) -> None:
    line = command("import", written(tmp_path / "file.json", data), tmp_path / "run").line()
    assert problem in line
    assert "\x1b" not in line
    assert not (tmp_path / "run").exists()


def _race(folder: Path, better: float) -> Path:
    rows = [race_row(id, *[0.25 * id + better] * 5) for id in (1, 2, 3)]
    return jsonl(folder / "raw_results.jsonl", *rows)


def _lrb(folder: Path, better: float) -> Path:
    passed = 4 + round(better * 10)
    rows = [
        {"model": "ada", "task": str(id), "presentation": checks("1" * passed + "0" * (10 - passed), "p")}
        for id in (1, 2, 3)
    ]
    return written(folder / "detailed_results.json", detailed(*rows))


def _dre(folder: Path, better: float) -> Path:
    return written(folder / "quality_results.json", quality(ada=(6 + better, 5)))


@pytest.mark.parametrize(
    ("make", "score"),
    [(_race, "race:overall"), (_lrb, "liveresearchbench:presentation"), (_dre, "deepresearcheval:quality")],
)
def test_commands_accept_an_imported_run(command: Command, tmp_path: Path, make: Any, score: str) -> None:
    runs = [tmp_path / "one", tmp_path / "two"]
    for run, better in zip(runs, (0.0, 0.2), strict=True):
        folder = tmp_path / f"files_{run.name}"
        folder.mkdir()
        assert command("import", make(folder, better), run, "--system", run.name).code == 0
    one = str(runs[0])
    rows = [json.loads(line) for line in (runs[0] / "inputs.jsonl").read_text().splitlines()]
    ratings = jsonl(
        tmp_path / "ratings.jsonl",
        *({"report": row["id"], "annotator": "ann", "score": n} for n, row in enumerate(rows)),
    )
    protocol, path = score.split(":")
    ask = ("--protocol", protocol, "--score", path)
    assert "finished" in command("show", one, "--watch").out
    assert command("results", "rank", *map(str, runs), *ask).code == 0
    assert command("results", "agree", ratings, one, *ask).code == 0
    assert command("show", one, "--verticals").code == 0
    assert command("show", one, "--report", rows[0]["id"], "--items").code == 0
    assert command("results", "diff", *map(str, runs)).code == 0
    assert command("report", *map(str, runs), "--out", tmp_path / "page.html").code == 0
    audited = command("audit", one)
    assert (audited.code, audited.err) == (4, "")
    found = {
        check["name"]: check["status"] for check in json.loads(command("audit", one, "--json").out)["checks"]
    }
    assert found == {
        "digests": "ok",
        "inputs": "not checked",
        "scores": "ok",
        "findings": "not checked",
        "quotations": "not checked",
    }
    assert "imported from published files" in command("bundle", one, "--out", tmp_path / "b").line()
    scores = runs[0] / "scores" / f"{protocol}.jsonl"
    scores.write_text(scores.read_text().replace('"value":', '"value": ', 1))
    assert command("audit", one).code == 1
