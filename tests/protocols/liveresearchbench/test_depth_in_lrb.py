"""Depth as one of the metrics of LiveResearchBench."""

from __future__ import annotations

from typing import Any

import pytest

from local_judge.protocols.base import OtherReport
from local_judge.protocols.liveresearchbench import LiveResearchBench, LrbFindings
from local_judge.protocols.liveresearchbench.export import grading_results
from local_judge.protocols.liveresearchbench.upstream import summary
from serving.engines.scripted import Call, Reply

from ...scripted_judge import MakeJudge
from .depth_cases import TASK, against, answer, case, context, findings, judge_by
from .lrb_cases import STORED


def protocol(**settings: Any) -> LiveResearchBench:
    return LiveResearchBench.configured(settings)


def found(*pairs: Any) -> LrbFindings:
    return LrbFindings(case="a", document="d", depth=findings(*pairs))


def test_it_is_judged_where_it_is_asked_for() -> None:
    assert "depth" not in protocol().settings.parts
    assert protocol().missing_inputs(TASK.model_copy(update={"checklist": None}))
    chosen = protocol(parts="depth")
    assert (chosen.needs_claims, chosen.missing_inputs(TASK)) == (False, None)
    bare = TASK.model_copy(update={"references": ()})
    assert "its task '900' has no reference" in str(chosen.missing_inputs(bare))
    assert protocol(parts="depth", depth={"against": "all"}).missing_inputs(bare) is None
    assert str(chosen.without_task).startswith("--set liveresearchbench.parts=[presentation,")


async def test_it_shares_the_report_with_the_other_metrics(make_judge: MakeJudge) -> None:
    def judge_all(call: Call) -> Reply:
        assert call.schema is not None
        return {"issues": []} if "issues" in call.schema["properties"] else answer(20, 12)

    judge, engine = make_judge(judge_all)
    others = [OtherReport(id="b", system="bo", content=b"So says Bo.")]
    chosen = protocol(parts=["citation", "depth"], depth={"against": "all"})
    examined = await chosen.examine(case(others=others), context(judge))
    assert examined.depth is not None and len(examined.depth.pairs) == 2
    assert STORED.model_validate_json(examined.model_dump_json()) == examined
    # One question on citations and four on depth, of which two put the report first.
    openings = [opening(call) for call in engine.calls]
    assert (len(openings), openings.count(openings[0])) == (5, 3)


def opening(call: Call) -> str:
    """The first fenced text of a prompt."""
    text = call.messages[1].content
    return text[: text.index("\n```", text.index("```") + 3)]


def test_its_scores_are_among_the_others() -> None:
    won, lost = against((20, 20), (10, 10)), against((10, 10), (20, 20))
    lrb = LiveResearchBench()
    [root] = lrb.score([found(won)], "paper")
    assert (root.id, root.score.value) == ("depth", 100)
    # +10 by the one and -10 by the other: a tie; or two games each.
    judges = [found(won), found(lost)]
    assert [node.score.value for node in lrb.score(judges, "paper")] == [None]
    assert [node.score.value for node in lrb.score(judges, "upstream")] == [50]
    [over] = lrb.aggregate([[found(won)], [found(won)], [found(lost)]], "paper", 0)
    assert over.score.value == pytest.approx(200 / 3)
    [both] = lrb.aggregate([judges, judges], "upstream", 0)
    assert (both.score.value, both.find("games").score.value) == (50, 8)
    [contest] = lrb.contests(judges, "upstream")
    assert contest.points == (1.0, 1.0, 0.0, 0.0)
    assert len(lrb.decisions(found(won))) == 23


def test_without_it_there_is_nothing_over_a_run() -> None:
    other = LrbFindings(case="a", document="d")
    lrb = LiveResearchBench()
    assert lrb.aggregate([[other]], "paper", 0) == tuple(lrb.contests([other], "paper")) == ()


async def test_failures_are_counted(make_judge: MakeJudge) -> None:
    judge, _ = make_judge(judge_by(lambda text: 26))
    examined = await protocol(parts="depth").examine(case(), context(judge))
    assert examined.n_failed == 2


def test_it_has_its_place_in_the_files() -> None:
    reports: list[dict[str, Any]] = [
        {"model_name": model, **grading_results(found(pair), LiveResearchBench().score, model)}
        for model, pair in (
            ("ada", against((20, 20), (10, 10))),
            ("ada", against((20, 10), (10, 20))),
            ("bo", against((10, 10), (20, 20))),
            ("bo", against((20, None), (10, 0))),
        )
    ]
    assert reports[0]["depth_grading_results"]["evaluated_model"] == "ada"
    assert "depth_grading_results" not in grading_results(
        found(against((None, None), (10, 0))), LiveResearchBench().score, "bo"
    )
    made = summary(reports, ["depth"])
    # ada: two wins, then a win and a loss; bo: two losses, then a win and an order that failed.
    by_model = {model: row["depth"] for model, row in made["results_by_model"].items()}
    assert {model: (row["wins"], row["losses"], row["win_rate"]) for model, row in by_model.items()} == {
        "ada": (3, 1, 75.0),
        "bo": (1, 2, pytest.approx(100 / 3)),
    }
    assert made["overall_results"]["depth"]["win_rate"] == pytest.approx(400 / 7)
    assert by_model["ada"]["reference_model"] == "baseline"
