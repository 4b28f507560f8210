"""Reports of three days, judged by what is known on the last."""

from __future__ import annotations

import re
from typing import Any

import pytest

from local_judge.documents import parse_report
from local_judge.experiments.affairs import load_affairs
from local_judge.experiments.temporal import temporal
from serving.engines.scripted import Call, Reply

from .conftest import Carry, fenced
from .truth import curve, values

STATEMENTS = {item.question: item.statement for affair in load_affairs() for item in affair.items}


def judge_who_reads(call: Call) -> dict[str, dict[str, Any]]:
    """Yes exactly where the report has the statement, whatever stands around it."""
    title = "Questions, each with its id in brackets:"
    title = title if title in call.prompt else "Items, each with its id in brackets:"
    report = re.sub(r" \[\d+\]", "", fenced(call.prompt, "Report:"))
    asked: list[tuple[str, str]] = re.findall(r"^\[(\w+)\] (.+)$", fenced(call.prompt, title), re.MULTILINE)
    return {
        name: {"quote": "", "rationale": "", "met": STATEMENTS[question] in report}
        for name, question in asked
    }


def test_a_report_says_what_was_known_on_its_day_and_no_more() -> None:
    made = temporal()
    assert [(trial.report, len(trial.planted)) for trial in made.design.trials] == [
        ("tide-1-oldest", 8),
        ("orchard-1-oldest", 8),
        ("tide-2-middle", 5),
        ("orchard-2-middle", 5),
        ("tide-3-latest", 0),
        ("orchard-3-latest", 0),
    ]
    for trial, report in zip(made.design.trials, made.reports, strict=True):
        text = re.sub(r" \[\d+\]", "", report.content.decode())
        assert report.task is not None and report.task.plan is not None
        for item in report.task.plan.key_information:
            assert (STATEMENTS[item.question] in text) == (item.question not in trial.planted)
        assert all(citation.url for citation in parse_report(report.content).citations)


@pytest.mark.parametrize(
    ("protocol", "path"), [("dream", "key_information"), ("liveresearchbench", "coverage")]
)
def test_coverage_rises_with_the_day(carried: Carry, protocol: str, path: str) -> None:
    done, engine = carried(temporal(), judge_who_reads, protocols=[protocol])
    found = curve(done.results, protocol, path)
    # Of each affair's ten items 2, 5 and 10 are known.
    assert values(found) == [20.0, 50.0, 100.0]
    # x = 0, 1, 2: (20 * -1 + 50 * 0 + 100 * 1) / 2.
    assert (found.slope, found.spearman, found.distance) == (40.0, 1.0, 0.0)
    assert found.verdict == "as expected"
    assert found.pairs is not None
    assert (found.pairs.n, found.pairs.right, found.pairs.mean_change) == (2, 2, 80.0)
    assert len(engine.calls) == 6


def test_the_papers_figures_stand_beside_those_of_dream_alone() -> None:
    papers = {one.protocol: one.paper for one in temporal().design.expectations}
    assert papers == {"dream": (0.223, 0.448, 0.794), "liveresearchbench": ()}


def test_a_judge_that_says_yes_to_all_is_not_as_expected(carried: Carry) -> None:
    def yes(call: Call) -> Reply:
        return {name: {**one, "met": True} for name, one in judge_who_reads(call).items()}

    done, _ = carried(temporal(1), yes, protocols=["dream"])
    found = curve(done.results, "dream", "key_information")
    assert (values(found), found.verdict, found.pairs) == ([100.0] * 3, "not as expected", None)
