"""The protocol as a whole: what it needs, what it asks, several judges, and its files."""

from __future__ import annotations

from typing import Any

import pytest

from local_judge.base.errors import ConfigError
from local_judge.protocols.liveresearchbench import LiveResearchBench, LrbFindings
from local_judge.protocols.liveresearchbench.export import grading_results
from local_judge.protocols.liveresearchbench.metrics.accuracy import AccuracyFindings, CitedPage
from local_judge.protocols.liveresearchbench.metrics.coverage import CoverageFindings
from local_judge.protocols.liveresearchbench.metrics.issues import PUBLISHED, Issue, IssueFindings

from ...scripted_judge import MakeJudge
from .lrb_cases import FAILURE, STORED, TASK, believing, case, context, items, presentation


def protocol(**settings: Any) -> LiveResearchBench:
    return LiveResearchBench.configured(settings)


def issues(n: int, failed: bool = False) -> IssueFindings:
    listed = tuple(Issue(quoted=(f"{i}",), reason="So.", fate="counted") for i in range(n))
    failure = FAILURE if failed else None
    return IssueFindings(metric="citation", issues=listed, limit=25, table=PUBLISHED, failure=failure)


def findings(checks: str, delivered: str, n_issues: int, failed: bool = False) -> LrbFindings:
    return LrbFindings(
        case="a",
        document="d",
        task=TASK.id,
        request=TASK.prompt,
        presentation=presentation(checks),
        coverage=CoverageFindings(items=items(delivered), status="given"),
        citation=issues(n_issues, failed),
    )


def test_what_it_needs() -> None:
    whole = protocol()
    assert whole.needs_claims
    assert str(whole.without_task).startswith(
        "--set liveresearchbench.parts=[presentation,consistency,citation"
    )
    alone = protocol(parts="presentation")
    assert (alone.needs_claims, alone.without_task, alone.missing_inputs(None)) == (False, None, None)
    assert whole.missing_inputs(TASK) is None
    bare = TASK.model_copy(update={"checklist": None})
    assert alone.missing_inputs(bare) is None
    lacking = protocol(parts=["coverage", "citation"]).missing_inputs(bare) or ""
    drafting = "`local-judge tasks draft checklist`"
    assert lacking.startswith(
        f"its task 'mill' has no checklist; give --checklists ({drafting} makes them), "
    )
    assert lacking.endswith(": --set liveresearchbench.parts=[citation]")
    with pytest.raises(ConfigError):
        protocol(parts=[])
    with pytest.raises(ConfigError):
        protocol(parts=["polish"])


async def test_all_prompts_share_the_report_and_only_what_is_set_is_asked(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(believing)
    chosen = protocol(parts=["presentation", "coverage", "consistency", "citation"])
    found = await chosen.examine(case(), context(judge))
    assert len(engine.calls) == 4
    openings = {call.messages[1].content.partition("\n```\n\n")[0] for call in engine.calls}
    assert len(openings) == 1
    assert all("Today is 2025-09-30." in call.prompt for call in engine.calls)
    assert all(call.prompt.count(f"Request:\n```\n{TASK.prompt}\n```") == 1 for call in engine.calls)
    assert (found.task, found.request, found.accuracy) == ("mill", TASK.prompt, None)
    stored = STORED.model_validate_json(found.model_dump_json())
    assert stored == found
    for profile in chosen.profiles:
        assert {root.id: root.score.value for root in LiveResearchBench().score([stored], profile)} == {
            "presentation": 100,
            "coverage": 100,
            "consistency": 100,
            "citation": 100,
        }


async def test_one_metric_alone_needs_no_task(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(believing)
    found = await protocol(parts="citation").examine(case(task=None), context(judge))
    assert (len(engine.calls), found.task, found.request) == (1, None, None)
    for profile in LiveResearchBench.profiles:
        for judges in ([found], [found, found]):
            [root] = LiveResearchBench().score(judges, profile)
            assert root.id == "citation"
            assert root.score.note.startswith("judged without the request: the report has no task")


def test_an_ensemble_of_two_one_of_them_failing_half() -> None:
    """The second has no list of issues and answered two of four items."""
    judges = [findings("mmmmmmmmmm", "mmuu", 3), findings("mmmmmuuuuu", "umff", 0, failed=True)]
    scores = {root.id: root.score for root in LiveResearchBench().score(judges, "paper")}
    assert scores["presentation"].value == 75  # five checks at 1, five at 1/2
    coverage = scores["coverage"]
    # q1 (1 + 0) / 2, q2 1, q3 and q4 0 by the first alone: 1.5 / 4. Open: q3 and q4 up to 1/2 each.
    assert coverage.value == pytest.approx(37.5)
    assert (coverage.low, coverage.high) == (pytest.approx(37.5), pytest.approx(62.5))
    assert (coverage.n_expected, coverage.n_failed, coverage.note) == (8, 2, "2 of 8 answers failed")
    citation = scores["citation"]
    # 3 issues are 80; the other judge's score is between 10 and 100.
    assert (citation.value, citation.low, citation.high) == (80, 45, 90)
    assert (citation.n_expected, citation.n_failed, citation.note) == (2, 1, "1 of 2 judges failed")
    [root] = [one for one in LiveResearchBench().score(judges, "paper") if one.id == "citation"]
    counted = root.find("counted").score
    # How many issues the second judge would have listed nobody knows.
    assert (counted.value, counted.low, counted.high, counted.n_failed) == (3, None, None, 1)


def test_upstream_takes_the_mean_of_the_judges_scores() -> None:
    judges = [findings("mmmmmmmmmm", "mmuu", 3), findings("mmmmmuuuuu", "umff", 1)]
    scores = {root.id: root.score.value for root in LiveResearchBench().score(judges, "upstream")}
    assert scores == {
        "presentation": 75,
        "coverage": (50 + 25) / 2,  # 2 of 4; 1 of 4, what failed being 0
        "citation": (80 + 90) / 2,
    }


def test_decisions_that_judges_can_be_compared_by() -> None:
    found = findings("mumfmmmmmn", "muf", 2)
    coded = found.presentation
    assert coded is not None
    by_code = coded.items[0].model_copy(update={"by": "code"})
    accuracy = AccuracyFindings(
        pages=(
            CitedPage(url="https://a.example/", status="ok", on_topic=True),
            CitedPage(url="https://b.example/", status="dead"),
            CitedPage(url="https://c.example/", status="ok", failure=FAILURE),
        ),
        claims=(),
    )
    found = found.model_copy(
        update={
            "presentation": coded.model_copy(update={"items": (by_code, *coded.items[1:])}),
            "accuracy": accuracy,
        }
    )
    decisions = LiveResearchBench().decisions(found)
    assert len({(row.metric, row.item) for row in decisions}) == len(decisions) == 9 + 3 + 1 + 2
    values = {(row.metric, row.item): row.value for row in decisions}
    assert ("presentation", "p1") not in values  # code decided it
    assert values["presentation", "p2"] == "unmet" and values["presentation", "p4"] is None
    assert values["coverage", "q3"] is None
    assert values["citation", "issues"] == 2
    assert values["on_topic", "https://a.example/"] == "yes"
    assert values["on_topic", "https://c.example/"] is None


def test_what_failed_is_counted() -> None:
    assert findings("mmmmmmmmff", "mf", 0, failed=True).n_failed == 2 + 1 + 1


def test_results_as_the_published_files_have_them() -> None:
    found = findings("mmmmmmuuff", "mmuf", 1)
    results = grading_results(found)
    assert list(results) == [
        "presentation_grading_results",
        "coverage_grading_results",
        "citation_grading_results",
    ]
    assert list(results["presentation_grading_results"]["evaluations"]) == [f"p{n}" for n in range(1, 9)]
    assert results["presentation_grading_results"]["summary"] == {
        "total_criteria": 10,
        "total_score": 6,
        "passed_count": 6,
        "failed_count": 4,
        "average_pass_rate": 60,
    }
    assert results["coverage_grading_results"] == {
        "evaluations": {
            "q1": {"score": 1, "justification": "So."},
            "q2": {"score": 1, "justification": "So."},
            "q3": {"score": 0, "justification": "So."},
        },
        "summary": {
            "total_checklists": 4,
            "total_score": 2,
            "addressed_count": 2,
            "not_addressed_count": 2,
            "percentage_addressed": 50,
        },
    }
    assert results["citation_grading_results"] == {
        "specific_issues": ['"0": So.'],
        "total_issues": 1,
        "score": 90,
        "justification": "1 issue listed; the score is the table's",
    }
    # What has no score has none of the keys that the published summary reads.
    assert grading_results(findings("mmmmffffff", "f", 0, failed=True)) == {
        "presentation_grading_results": {
            "evaluations": {f"p{n}": {"score": 1, "justification": "So."} for n in range(1, 5)},
            "summary": {"total_criteria": 10, "total_score": 4, "passed_count": 4, "failed_count": 6},
        },
        "coverage_grading_results": {
            "evaluations": {},
            "summary": {
                "total_checklists": 1,
                "total_score": 0,
                "addressed_count": 0,
                "not_addressed_count": 1,
            },
        },
        "citation_grading_results": {
            "specific_issues": [],
            "justification": "no list of issues: incomplete",
        },
    }
