"""Asking a judge: both orders, by report; what position does; what stays open; who stands against whom."""

from __future__ import annotations

import pytest

from local_judge.base.errors import ConfigError
from local_judge.protocols.base import OtherReport
from local_judge.protocols.liveresearchbench.depth.scores import score_depth
from local_judge.protocols.liveresearchbench.metrics.depth import Depth, DepthSettings
from local_judge.tasks.model import Reference
from serving.engines.scripted import Call, Reply
from serving.errors import EngineError

from ...scripted_judge import MakeJudge
from .depth_cases import (
    BASELINE,
    REPORT,
    TASK,
    DepthAlone,
    answer,
    case,
    context,
    first_wins,
    judge_by,
    scores,
    shown,
)

ALL = DepthSettings(against="all")
OTHERS = (
    OtherReport(id="b", system="bo", content=b"# Mill\n\nBo says: 7 million."),
    OtherReport(id="c", system=None, content=b"# Mill\n\nCy says: 6 million."),
)


def by_cost(text: str) -> int:
    """The report says 8 million and is worth 20, the baseline 9 and 12."""
    return 20 if "8 million" in text else 12


async def test_both_orders_are_asked_and_kept_by_report(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(judge_by(by_cost))
    found = await Depth().examine(case(), context(judge))
    assert [shown(call.prompt)[0].startswith("# Mill") for call in engine.calls] == [True, False]
    [pair] = found.pairs
    assert [order.report_first for order in pair.orders] == [True, False]
    for order in pair.orders:
        assert order.report is not None and order.other is not None
        assert (order.report.total, order.other.total, order.said, order.difference) == (20, 12, "report", 8)
        assert order.replies and order.analysis == "The one asks why."
    # What is said of the first report is said of the report in the one order, of the baseline in the other.
    assert [order.report_flaws for order in pair.orders] == [("L2.S1 stays general",), ()]
    assert [order.other_flaws for order in pair.orders] == [(), ("L2.S1 stays general",)]
    assert (pair.opponent.kind, pair.opponent.name, pair.opponent.case) == ("baseline", "baseline", None)
    assert (found.task, found.n_failed, found.defects, found.document) == ("900", 0, (), case().report.id)


async def test_all_systems_share_the_baseline_as_their_prefix(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(judge_by(by_cost))
    for text in (REPORT, "# Other\n\nIt cost 5 million."):
        await Depth().examine(case(text), context(judge))
    firsts = [call.prompt.partition("\n\nRequest:")[0] for call in engine.calls]
    assert firsts[1] == firsts[3] != firsts[0]
    assert "9 million" in firsts[1]


async def test_a_swap_of_identical_reports_is_a_tie_whatever_place_is_worth(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(first_wins)
    found = await Depth().examine(case(BASELINE), context(judge))
    # Both orders are one prompt: it is asked once, and answers for both.
    assert len(engine.calls) == 1
    node = score_depth([found], "paper")
    # +5 when it comes first, -5 when it comes second: 0 on average.
    assert (node.score.value, node.score.note, node.score.n_undefined) == (None, "tied", 1)
    assert node.find("margin").score.value == 0
    assert node.find("consistency").score.value == 0
    # Two games are one win and one loss.
    assert score_depth([found], "upstream").score.value == 50


async def test_a_judge_that_favours_the_first_place_ties_all(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(first_wins)
    found = await Depth().examine(case(), context(judge))
    assert len(engine.calls) == 2
    assert score_depth([found], "paper").score.value is None
    assert score_depth([found], "paper").find("consistency").score.value == 0


async def test_an_order_that_failed_is_a_hole(make_judge: MakeJudge) -> None:
    def half(call: Call) -> Reply:
        if shown(call.prompt)[0].startswith("# The mill"):
            return EngineError("the server went away")
        return answer(20, 12)

    judge, _ = make_judge(half)
    found = await Depth().examine(case(), context(judge))
    first, second = found.pairs[0].orders
    assert first.failure is None and second.failure is not None
    assert (second.report, second.said, found.n_failed) == (None, None, 1)
    score = score_depth([found], "paper").score
    assert (score.value, score.n_failed, score.low, score.high) == (None, 1, 0, 100)


async def test_what_breaks_the_scale_is_asked_for_again(make_judge: MakeJudge) -> None:
    broken = {**answer(20, 12), "first": {**scores(20), "insight": 9}}
    judge, engine = make_judge([broken, answer(12, 20), answer(20, 12)])
    found = await Depth().examine(case(), context(judge))
    assert (len(engine.calls), found.n_failed) == (3, 0)


async def test_every_baseline_is_a_pair(make_judge: MakeJudge) -> None:
    task = TASK.model_copy(update={"references": (*TASK.references, Reference(text="Nine million."))})
    judge, engine = make_judge(judge_by(by_cost))
    found = await Depth().examine(case(task=task), context(judge))
    assert len(engine.calls) == 4
    assert [pair.opponent.n_characters for pair in found.pairs] == [63, 20]  # as shown, labels and all


async def test_all_against_all(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(judge_by(by_cost))
    found = await Depth(ALL).examine(case(others=OTHERS), context(judge))
    assert [(pair.opponent.kind, pair.opponent.name, pair.opponent.case) for pair in found.pairs] == [
        ("baseline", "baseline", None),
        ("system", "bo", "b"),
        ("system", "c", "c"),
    ]
    assert (len(engine.calls), found.against) == (6, "all")
    alone = await Depth().examine(case(others=OTHERS), context(judge))
    assert len(alone.pairs) == 1
    assert score_depth([found], "paper").score == score_depth([alone], "paper").score
    without = TASK.model_copy(update={"references": ()})
    compared = await Depth(ALL).examine(case(task=without, others=OTHERS), context(judge))
    score = score_depth([compared], "paper").score
    assert (len(compared.pairs), score.value) == (2, None) and "no baseline" in score.note


async def test_another_report_that_cannot_be_read_is_named(make_judge: MakeJudge) -> None:
    judge, _ = make_judge(judge_by(by_cost))
    others = (OtherReport(id="bad", system="bad", content=b"\xff\xfe\x00"), *OTHERS[:1])
    found = await Depth(ALL).examine(case(others=others), context(judge))
    assert (found.unreadable, [pair.opponent.name for pair in found.pairs]) == (("bad",), ["baseline", "bo"])


async def test_a_task_without_baseline_is_refused(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(first_wins)
    without = TASK.model_copy(update={"references": ()})
    with pytest.raises(
        ConfigError, match=r"report 'a': its task '900' has no reference report .*against=all"
    ):
        await DepthAlone().examine(case(task=without), context(judge))
    with pytest.raises(ConfigError, match=r"report 'a': no task.* --tasks"):
        await DepthAlone().examine(case(task=None), context(judge))
    assert not engine.calls


async def test_a_defective_baseline_is_flagged_and_asked_about_all_the_same(make_judge: MakeJudge) -> None:
    refusal = "I cannot complete this. Please confirm the sources. Once you approve, I will deliver it."
    task = TASK.model_copy(update={"references": (Reference(text=refusal),)})
    judge, engine = make_judge(judge_by(by_cost))
    found = await Depth().examine(case(task=task), context(judge))
    assert (len(engine.calls), found.pairs[0].opponent.defects) == (2, ("refusal", "plan"))
    node = score_depth([found], "paper")
    assert (node.score.value, node.score.note) == (100, "baseline is no report (refusal and plan)")
    left = await Depth(DepthSettings(defective="leave_out")).examine(case(task=task), context(judge))
    node = score_depth([left], "paper")
    assert node.score.value is None and node.score.note.endswith("(refusal and plan), left out")
