"""`local-judge results agree` with labels of items, ratings of plans, and a run as ratings."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.stub_replies import fill
from tests.stub_server import StubPlan

from ..protocols.liveresearchbench.depth_cases import answer as compared
from ..protocols.liveresearchbench.lrb_cases import REPORT
from ..stub_thread import PRESET, StubThread
from .conftest import Command

OTHER = REPORT.replace("9 million", "8 million")


def judge(met: str, wins: str) -> Any:
    """A judge for whom the items with these letters are met, whose own words are an issue, and who prefers a report."""

    def told(asked: Mapping[str, Any]) -> str:
        reply = json.loads(fill(asked))
        text: str = asked["messages"][-1]["content"]
        if "first_flaws" in reply:
            first = text.index("8 million") > text.index("9 million")
            return json.dumps(compared(*((20, 5) if first == (wins == "9 million") else (5, 20))))
        if "issues" in reply:
            (issue,) = reply["issues"]
            quotes = ["The town paid half of it", "It opened in 2019"][wins == "8 million" :]
            kept = [
                {
                    **issue,
                    **dict.fromkeys(set(issue) & {"quote", "other"}, quote),
                    "citation": "",
                    "reason": "So.",
                }
                for quote in quotes
            ]
            keys = issue.keys()
            return json.dumps({"issues": [{key: one.get(key, "") for key in keys} for one in kept]})
        return json.dumps({key: {"quote": "", "rationale": "", "met": key in met.split()} for key in reply})

    return told


@pytest.fixture
def run(command: Command, tmp_path: Path) -> Iterator[Path]:
    """A run of two judges on two systems' reports: coverage, citation and depth."""
    tasks = tmp_path / "tasks.jsonl"
    checklist = ["Does it give the cost?", "Does it name who paid?", "Does it say when?"]
    tasks.write_text(json.dumps({"id": "mill", "prompt": "What did it cost?", "checklist": checklist}) + "\n")
    rows = [
        {"id": id, "task_id": "mill", "system": system, "article": text}
        for id, system, text in (("nine", "ada", REPORT), ("eight", "bo", OTHER))
    ]
    reports = tmp_path / "reports.jsonl"
    reports.write_text("".join(json.dumps({**row, "prompt": "What did it cost?"}) + "\n" for row in rows))
    for seed, name in enumerate(("lenient", "strict")):
        preset = PRESET.format(concurrency=8, timeout=60.0) + f"sampling: {{seed: {seed}}}\n"
        (tmp_path / f"{name}.yaml").write_text(preset, encoding="utf-8")
    one, other = judge("q1 q2", "9 million"), judge("q1", "8 million")
    with StubThread(StubPlan(answer=one)) as lenient, StubThread(StubPlan(answer=other)) as strict:
        urls = ("--base-url", f"lenient={lenient.url}", "--base-url", f"strict={strict.url}")
        judges = ("--judge", tmp_path / "lenient.yaml", "--judge", tmp_path / "strict.yaml")
        out = tmp_path / "run"
        ended = command(
            *("run", reports, "--tasks", tasks, *judges, *urls, "--out", out),
            *("--protocol", "liveresearchbench", "--date", "2025-09-30"),
            *("--set", "liveresearchbench.parts=[coverage,citation,depth]"),
            *("--set", "liveresearchbench.depth.against=all"),
        )
        assert (ended.code, ended.err) == (0, "")
        yield out


def write(path: Path, header: str, *rows: Sequence[str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header.split(","), *rows])
    return path


def values(
    found: Mapping[str, Any], metric: str, id: str = "agreement"
) -> dict[str, tuple[float | None, int]]:
    """Value and n of a measure by judge."""
    return {
        name: (one["value"], one["n"])
        for name, measures in found["metrics"][metric]["judges"].items()
        for one in measures
        if one["id"] == id
    }


def test_checklist_verdicts_and_winners(command: Command, tmp_path: Path, run: Path) -> None:
    """Lenient: q1 and q2 met, strict: q1. People: q1 and q3 met in nine, q1 and q2 in eight.

    Lenient agrees on q1 (nine), and q1, q2, q3 (eight): 4 of 6. Strict on q1, q2 (nine), and q1, q3 (eight): 4 of 6.
    One of the two on all but q3 of nine. The lenient one prefers nine, the strict one eight, so that the two tie.
    """
    met = {"nine": "q1 q3", "eight": "q1 q2"}
    rows = [
        (id, "coverage", item, "ann", "Met" if item in own.split() else "no")
        for id, own in met.items()
        for item in ("q1", "q2", "q3")
    ]
    labels = write(
        tmp_path / "labels.csv",
        "report,metric,item,annotator,label",
        *rows,
        ("nine", "", "eight", "ann", "tie"),
    )
    ended = command("results", "agree", labels, run, "--same", "unmet,no", "--json", "--resamples", "20")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    assert values(found, "coverage") == {
        "lenient": (pytest.approx(4 / 6), 6),
        "strict": (pytest.approx(4 / 6), 6),
        "any judge": (pytest.approx(5 / 6), 6),
    }
    over = found["metrics"]["coverage"]["over_judges"]
    assert (over["n_judges"], over["measures"][0]["mean"], over["measures"][0]["std"]) == (
        2,
        pytest.approx(4 / 6),
        0,
    )
    # Of what people call met, lenient also calls met q1 (nine), q1 and q2 (eight), not q3 (nine).
    assert values(found, "coverage", "people:met")["lenient"] == (0.75, 4)
    # Only the ensemble ties.
    assert values(found, "winner") == {
        "ensemble": (1.0, 1),
        "lenient": (0.0, 1),
        "strict": (0.0, 1),
        "any judge": (0.0, 1),
    }
    labels_of_two = write(tmp_path / "two.csv", "report,metric,item,annotator,label", *rows[:2])
    given = ("--input", f"run={run}", "--input", f"labels={labels_of_two}", "--json")
    figures = json.loads(command("lab", "replicate", "lrb-appendix-c", *given).out)["figures"]
    # q1 of nine: met by both judges and people; q2 has a label that no judge gives.
    assert [one["ours"] for one in figures] == [None, 50, None, None, None, None]
    shown = command("results", "agree", labels, run, "--same", "unmet,no", "--resamples", "20").out
    assert "agreement with human labels, coverage" in shown and "over 2 judges" in shown
    assert "coverage: 6 labels by 1 annotator of 6 items in 2 reports" in shown
    strict = command(
        "results",
        "agree",
        labels,
        run,
        "--same",
        "unmet,no",
        "--json",
        "--judge",
        "strict",
        "--resamples",
        "5",
    )
    assert values(json.loads(strict.out), "winner") == {"run": (0.0, 1)}


def test_issues_belong_to_the_judge_that_listed_them(command: Command, tmp_path: Path, run: Path) -> None:
    """Lenient lists two issues a report, strict one of them: people agree with 3 of 4 and 1 of 2, 4 of 6 in all."""
    out = tmp_path / "csv"
    assert command("export", run, out, "--format", "csv").code == 0
    with (out / "items.csv").open(encoding="utf-8", newline="") as file:
        issues = [row for row in csv.DictReader(file) if row["metric"] == "citation"]
    assert [(row["report"], row["judge"], row["item"]) for row in issues] == [
        ("nine", "lenient", "1"),
        ("nine", "lenient", "2"),
        ("nine", "strict", "1"),
        ("eight", "lenient", "1"),
        ("eight", "lenient", "2"),
        ("eight", "strict", "1"),
    ]
    wrong = {("nine", "lenient", "2"), ("eight", "strict", "1")}
    rows = [
        (
            row["report"],
            row["judge"],
            "citation",
            row["item"],
            "ann",
            "none" if key in wrong else row["label"],
        )
        for row in issues
        for key in [(row["report"], row["judge"], row["item"])]
    ]
    labels = write(tmp_path / "labels.csv", "report,judge,metric,item,annotator,label", *rows)
    found = json.loads(command("results", "agree", labels, run, "--json", "--resamples", "5").out)
    assert values(found, "citation") == {
        "lenient": (0.75, 4),
        "strict": (0.5, 2),
        "any judge": (pytest.approx(4 / 6), 6),
    }
    assert found["metrics"]["citation"]["labels_of_no_judge"] == ["none"]


def test_what_cannot_be_joined_is_counted_or_one_line(command: Command, tmp_path: Path, run: Path) -> None:
    header = "task,system,metric,item,text,annotator,label"
    good = ("mill", "ada", "coverage", "q1", "", "ann", "met")

    def agree(*rows: Sequence[str], options: Sequence[str] = ()) -> Any:
        return command(
            "results", "agree", write(tmp_path / "l.csv", header, *rows), run, *options, "--resamples", "5"
        )

    ended = agree(
        good,
        (*good[:3], "q9", *good[4:]),
        ("mill", "cy", *good[2:]),
        (*good[:3], "q2", "Another question?", *good[5:]),
        (*good[:3], "q3", "", "ann", "unclear"),
    )
    assert (ended.code, ended.err) == (0, "")
    for line in (
        "labels without their item in the runs: 2 (q9 of mill by ada, q1 of mill by cy)",
        "labels of items with another text: 1 (q2 of mill by ada)",
        "1 row without label, or unclear",
    ):
        assert line in ended.out
    place, nothing = f"local-judge: {tmp_path / 'l.csv'}:2:", "none of 1 label is of an item of the runs"
    for row, said in (
        (
            (*good[:6], "yes"),
            "local-judge: coverage: people's labels (yes) are no answers of judges (met,",
        ),
        (("mill", "cy", *good[2:]), f"{place} {nothing}; they have no report 'mill' by 'cy', but "),
        (
            (*good[:3], "q9", *good[4:]),
            f"{place} {nothing}; 'mill' by 'ada' has no coverage 'q9'; items are: ",
        ),
        ((*good[:4], "Other?", *good[5:]), f"{place} {nothing}; the items of 1 have another text there"),
        (("mill", "", *good[2:]), f"{place} a label needs `report`, or `task` and `system`"),
        ((*good[:5], "", "met"), f"{place} a label needs `annotator` and `item`"),
    ):
        assert agree(row).line().startswith(said)
    assert (
        f"{tmp_path / 'l.csv'}:3: 'ann' has already labelled 'q1' of 'mill' by 'ada', in "
        in agree(good, good).line()
    )
    assert (
        agree(good, options=("--unfiltered",))
        .line()
        .endswith("--unfiltered: has no meaning for labels; leave it out")
    )
    assert agree(good, options=("--protocol", "race")).line().endswith("'race'; there are: liveresearchbench")


def test_an_item_that_each_judge_has_another_of_needs_the_judge(
    command: Command, tmp_path: Path, run: Path
) -> None:
    """The first issue of one judge is the second of the other."""
    rows = (("nine", "1", "", "ann", "covered"), ("nine", "2", "", "ann", "none"))
    labels = write(tmp_path / "labels.csv", "report,item,text,annotator,label", *rows)
    said = command("results", "agree", labels, run).line()
    assert said == (
        f"local-judge: {labels}:2: item '1' of 'nine' is another item for each judge; name the `judge` or the `text`"
    )
    rows = (("nine", "1", "It opened in 2019", "ann", "covered"),)
    labels = write(tmp_path / "labels.csv", "report,item,text,annotator,label", *rows)
    ended = command("results", "agree", labels, run, "--json", "--resamples", "5")
    assert (ended.code, ended.err) == (0, "")
    assert values(json.loads(ended.out), "citation") == {"strict": (1.0, 1)}


def test_a_score_of_a_run_as_ratings(command: Command, tmp_path: Path) -> None:
    """DREAM, section 4.5: tau-b of two scores' orders of systems, by task.

    Task 1: orders 123456 and 213465 have 2 of 15 pairs otherwise, tau 11/15; task 2: 123456 and 132546 have 2 as well.
    Task 3: 123456 and 321456 have 3: tau 9/15 = 0.6, the figure that the paper prints as the average.
    """
    names = ("comprehensiveness", "insight", "instruction_following", "readability", "overall_score")
    orders = {"1": "213465", "2": "132546", "3": "321456"}
    for number in range(6):
        folder = tmp_path / "race" / f"s{number}"
        folder.mkdir(parents=True)
        rows = [
            {"id": id, **dict.fromkeys(names, int(order[number]) / 10), "readability": (number + 1) / 10}
            for id, order in orders.items()
        ]
        (folder / "raw_results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = tmp_path / "run"
    assert command("import", tmp_path / "race", run).code == 0
    given = ("results", "agree", run, run, "--rating", "race:readability", "--score", "race:insight")
    found = json.loads(command(*given, "--json", "--resamples", "20").out)
    assert (found["filtered"], found["rating"]) == (False, "race:readability")
    measures = {one["id"]: one for one in found["runs"][0]["measures"]}
    assert [task["tau_b"] for task in found["runs"][0]["tasks"]] == pytest.approx([11 / 15, 11 / 15, 0.6])
    assert measures["unfiltered_tau"]["value"] == pytest.approx((11 + 11 + 9) / 45)
    # Sums over tasks 2+1+3, 1+3+2, 3+2+1, 4+5+4, 6+4+5, 5+6+6: 6, 6, 6, 13, 15, 17: three ties, 12 pairs alike.
    assert measures["overall_tau"]["value"] == pytest.approx(12 / (12 * 15) ** 0.5)
    assert measures["overall_tau"]["unit"] == "systems"
    assert "agreement with race:readability as ratings, race: race:insight" not in command(*given).out
    assert "agreement with race:readability as ratings, race: insight" in command(*given).out
    for options in ((run, run), (tmp_path / "none.csv", run, "--rating", "overall")):
        said = command("results", "agree", *options).line()
        assert said.endswith("names the score of a run that serves as RATINGS; give both or neither")


def test_ratings_of_plans(command: Command, tmp_path: Path) -> None:
    """Two people and a judge rate an item of each of two ways of drafting plans, by two aspects.

    Relevance: ann 3 and 1, bob 2 and 1, the judge 3 and 1: both order them alike, W = 1. The majority of the first is
    tied, of the second 1, as the judge. Clarity: ann 3 and 1, bob 1 and 3, whose orders cancel: W = 0.
    """
    grades = {"ann": ((3, 3), (1, 1)), "bob": ((2, 1), (1, 3)), "qwen": ((3, 3), (1, 2))}

    def rows(*raters: str) -> str:
        return "".join(
            json.dumps(
                {
                    "task_id": "t",
                    "method": method,
                    "item": "k1",
                    "rater": rater,
                    "relevance": relevance,
                    "clarity": clarity,
                    "reason": "",
                }
            )
            + "\n"
            for rater in raters
            for method, (relevance, clarity) in zip(("request", "agent"), grades[rater], strict=True)
        )

    people, out = tmp_path / "people.jsonl", tmp_path / "plans"
    people.write_text(rows("ann", "bob"))
    out.mkdir()
    (out / "ratings.jsonl").write_text(rows("qwen"))
    found = json.loads(command("results", "agree", people, out, "--json", "--resamples", "5").out)
    assert list(found["metrics"]) == ["relevance", "clarity", "average"]
    orders = {
        metric: {one["id"]: (one["value"], one["n"]) for one in own["people"]}["kendall_w"]
        for metric, own in found["metrics"].items()
    }
    # Averages: ann 3 and 1, bob 1.5 and 2.
    assert orders == {"relevance": (1.0, 2), "clarity": (0.0, 2), "average": (0.0, 2)}
    assert values(found, "relevance") == {"qwen": (1.0, 1)}
    # |3 - 3| + |3 - 2| + |1 - 1| + |1 - 1| over four labels.
    assert values(found, "relevance", "difference") == {"qwen": (0.25, 4)}
    given = ("--input", f"plans={out}", "--input", f"people={people}", "--json")
    figures = json.loads(command("lab", "replicate", "dream-table-9", *given).out)["figures"]
    assert [one["ours"] for one in figures if one["column"] == "Kendall's W"] == [1, None, 0, None, 0]
    assert "Kendall's W of the methods" in command("results", "agree", people, out, "--resamples", "5").out
    people.write_text(rows("ann").replace('"relevance": 3', '"relevance": 4'))
    assert command("results", "agree", people, out).line() == (
        f"local-judge: {people}:1: relevance '4' is not a rating from 1 to 3"
    )
