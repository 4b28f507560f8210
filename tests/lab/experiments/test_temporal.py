"""Reports of three days, judged by what is known on the last."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from local_judge.documents import parse_report
from local_judge.lab.experiments.run import with_files
from local_judge.lab.experiments.temporal import load_published, load_timelines, temporal
from local_judge.tasks.files import TaskFiles
from serving.engines.scripted import Call, Reply

from .conftest import PAPER, PAPER_HERE, RunWhole, fenced, row, table_of
from .truth import criteria_asked, curve, values

SCORES = ("comprehensiveness", "insight", "key_information")
STATEMENTS = {item.question: item.statement for timeline in load_timelines() for item in timeline.items}


def bare(text: str) -> str:
    return re.sub(r" \[\d+\]", "", text)


def judge_who_reads(call: Call) -> Reply:
    """Yes exactly where the report has the statement; of two articles, a point for each statement that one has."""
    if "Article 1:" in call.prompt:
        points = [
            min(10, sum(statement in bare(fenced(call.prompt, title)) for statement in STATEMENTS.values()))
            for title in ("Article 1:", "Article 2:")
        ]
        return {
            name: {"analysis": "", "article_1": points[0], "article_2": points[1]}
            for name in criteria_asked(call.prompt)
        }
    title = "Questions, each with its id in brackets:"
    title = title if title in call.prompt else "Items, each with its id in brackets:"
    report = bare(fenced(call.prompt, "Report:"))
    asked: list[tuple[str, str]] = re.findall(r"^\[(\w+)\] (.+)$", fenced(call.prompt, title), re.MULTILINE)
    return {
        name: {"quote": "", "rationale": "", "met": STATEMENTS[question] in report}
        for name, question in asked
    }


def test_a_report_says_what_was_known_on_its_day_and_no_more() -> None:
    made = temporal(3)
    # The invented ones have ten items, of which 2, 5 and 10 are known; the others five: 1, 3 and 5.
    assert [(trial.report, len(trial.planted)) for trial in made.design.trials] == [
        ("tide-latest", 0),
        ("orchard-latest", 0),
        ("webb-latest", 0),
        ("tide-middle", 5),
        ("orchard-middle", 5),
        ("webb-middle", 2),
        ("tide-oldest", 8),
        ("orchard-oldest", 8),
        ("webb-oldest", 4),
    ]
    whole = temporal()
    for trial, report in zip(whole.design.trials, whole.reports, strict=True):
        text = bare(report.content.decode())
        assert report.task is not None and report.task.plan is not None
        for item in report.task.plan.key_information:
            assert (STATEMENTS[item.question] in text) == (item.question not in trial.planted)
        assert all(citation.url for citation in parse_report(report.content).citations)


@pytest.mark.parametrize(
    ("protocol", "path"), [("dream", "key_information"), ("liveresearchbench", "coverage")]
)
def test_an_oracle_prints_the_ideal_curve(run_whole: RunWhole, protocol: str, path: str) -> None:
    done, engine = run_whole(temporal(), judge_who_reads, protocols=[protocol])
    found = curve(done.results, protocol, path)
    # 2 timelines with 100, 50 and 20 percent, 18 with 100, 60 and 20: (2 * 50 + 18 * 60) / 20 = 59.
    assert values(found) == [100.0, 59.0, 20.0]
    # x = 0, 1, 2: (100 * -1 + 59 * 0 + 20 * 1) / 2.
    assert (found.slope, found.spearman, found.distance) == (-40.0, 1.0, 0.0)
    assert found.verdict == "as expected"
    assert found.pairs is not None
    assert (found.pairs.n, found.pairs.right, found.pairs.mean_change) == (20, 20, -80.0)
    assert len(engine.calls) == 60
    printed = table_of(done.results)
    judged, ideal = row(printed, f"{protocol}: "), row(printed, "ideal")
    assert judged[:3] == ideal[:3] == ["100.00", "59.00", "20.00"]
    # (20 - 100) / 100.
    assert (judged[8], ideal[8]) == ("-80.0 %", "-80.0 %")
    paper = row(printed, "paper")
    expected = ["79.35", "44.80", "22.34"] if protocol == "dream" else ["–"] * 3
    # Mean over the 20 queries; of the means it is (22.34 - 79.35) / 79.35 = -71.8 %.
    assert (paper[:3], paper[8]) == (expected, "-72.6 %" if protocol == "dream" else "–")
    # Each timeline has other questions: none has a curve.
    assert all(one.path in ("coverage", "key_information") for one in done.results.curves)


def test_race_runs_beside_dream_with_a_chronicle_as_its_reference(run_whole: RunWhole) -> None:
    made = temporal(2)
    done, engine = run_whole(made, judge_who_reads, protocols=["dream", "race"])
    assert len(engine.calls) == 12
    asked = [call.prompt for call in engine.calls if "Article 1:" in call.prompt]
    assert all(fenced(prompt, "Article 2:").startswith("# Chronicle") for prompt in asked)
    # Each report has 10, 5 or 2 statements and the reference all ten: 10/20, 5/15, 2/12.
    found = curve(done.results, "race", "overall")
    assert [round(value or 0, 2) for value in values(found)] == [50.0, 33.33, 16.67]
    # (16.67 - 50) / 50.
    assert found.pairs is not None and found.pairs.relative_change == pytest.approx(-2 / 3)
    # The paper expects nothing of RACE; its two columns are shown beside ours.
    assert (found.expected, found.verdict) == (None, None)
    dimension = curve(done.results, "race", "insight")
    assert dimension.expected is not None and dimension.verdict is None
    assert row(table_of(done.results), "race: Insight")[9:] == ["–", ""]
    # Their means over its queries, and the means of the queries' relative changes.
    assert row(table_of(done.results), "paper", 2)[:3] == ["50.54", "48.78", "41.68"]
    assert row(table_of(done.results), "paper", 2)[8] == "-17.1 %"


def test_the_papers_table_is_as_printed() -> None:
    """The last row of Table 4 has the means of each column."""
    published = load_published()
    assert (len(published), published[1].topic) == (20, "DOGE agency authority & funding")
    assert published[4].comprehensiveness == (48.32, 48.72, 0)
    papers = {(one.protocol, one.path): one.paper for one in temporal().design.expectations}
    assert papers == {
        ("dream", "key_information"): (0.7935, 0.448, 0.2234),
        ("liveresearchbench", "coverage"): (),
        ("race", "comprehensiveness"): (0.5002, 0.5004, 0.4481),
        ("race", "insight"): (0.5054, 0.4878, 0.4168),
    }


@PAPER_HERE
def test_the_papers_table_is_that_of_its_text() -> None:
    printed = [line.split("\t") for line in PAPER.read_text().splitlines() if line.count("\t") == 10]
    rows = [cells for cells in printed if cells[0].isdecimal()]
    ours = [
        [str(one.id), one.topic, *(f"{score:.2f}" for name in SCORES for score in getattr(one, name))]
        for one in load_published()
    ]
    assert ours == [[cell.replace("’", "'") for cell in cells] for cells in rows]


def test_a_judge_that_says_yes_to_all_is_not_as_expected(run_whole: RunWhole) -> None:
    def yes(call: Call) -> Reply:
        reply: Any = judge_who_reads(call)
        return {name: {**one, "met": True} for name, one in reply.items()}

    done, _ = run_whole(temporal(1), yes, protocols=["dream"])
    found = curve(done.results, "dream", "key_information")
    assert (values(found), found.verdict, found.pairs) == ([100.0] * 3, "not as expected", None)


def write_plan(path: Path, **items: str | None) -> None:
    """A file with a plan for the timeline `tide`: questions with the words that they rest on."""
    url = "https://energy-audit.example/2025/brennick-report"
    row = {
        "task_id": "tide",
        "key_information": [
            {"question": f"Does the report say {name}?", "source": words and {"url": url, "quote": words}}
            for name, words in items.items()
        ],
    }
    path.write_text(json.dumps(row) + "\n")


def test_the_ideal_goes_by_the_plans_that_are_given(tmp_path: Path) -> None:
    plans = tmp_path / "plans.jsonl"
    # Known on the first day, on the last, and never said by a report.
    write_plan(
        plans,
        vote="approved the tidal plant at Brennick Sound by 19 votes to 12",
        cost="The final cost of the plant was 117 million crowns.",
        filler="The office looked at the first full year.",
    )
    made = with_files(temporal(1), TaskFiles(plans=plans))
    assert [one.ideal for one in made.design.expectations if one.shape] == [
        (0.666666667, 0.333333333, 0.333333333),
        (1.0, 0.5, 0.2),
    ]
    # A plan that names no words has no ideal, and neither has a task without a plan.
    write_plan(plans, vote=None)
    assert with_files(temporal(1), TaskFiles(plans=plans)).design.expectations[0].ideal == ()
    made = with_files(temporal(2), TaskFiles(plans=plans))
    assert made.design.expectations[0].ideal == ()
    assert {report.task and report.task.plan is None for report in made.reports} == {True, False}
