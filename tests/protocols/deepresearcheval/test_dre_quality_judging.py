"""Asking a judge about quality: what it is shown, what it may answer, what stays open, who drafts the dimensions."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from local_judge.base.errors import ConfigError
from local_judge.claims.evidence import shared_report
from local_judge.documents import parse_report
from local_judge.documents.model import Document
from local_judge.judge.judge import Judge
from local_judge.protocols.base import Case, EvalContext, load_protocol
from local_judge.protocols.deepresearcheval import DeepResearchEval, DreFindings
from local_judge.protocols.deepresearcheval.quality import Quality, QualitySettings
from local_judge.protocols.deepresearcheval.quality_criteria import QualityFindings
from local_judge.tasks.model import Task
from serving.engines.scripted import Call, Reply

from ...scripted_judge import MakeJudge
from .dre_cases import IDS, SCORES, TASK, judge_by

REPORT = parse_report(
    "# Mill\n\nIt cost 8 million and a half [1].\n\n## References\n\n[1] https://b.example/x"
)
BARE = Task(id="7", prompt=TASK.prompt)


async def no_claims() -> Any:
    raise AssertionError("quality needs no claims")


async def judged(
    judge: Judge,
    task: Task = TASK,
    report: Document = REPORT,
    today: date | None = None,
    **settings: Any,
) -> QualityFindings:
    context = EvalContext(judge=judge, claims=no_claims, today=today)
    metric = Quality(QualitySettings.model_validate(settings))
    return await metric.examine(Case(id="a", report=report, task=task), context)


def asked(call: Call) -> list[str]:
    assert call.schema is not None
    return list(call.schema["properties"])


async def test_one_call_for_each_dimension(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(judge_by(SCORES, "It cost 8 million"))
    found = await judged(judge)
    assert sorted(map(asked, engine.calls)) == sorted(
        [IDS[:2], [IDS[2]], [IDS[3]], IDS[4:6], IDS[6:8], [IDS[8]]]
    )
    schema = engine.calls[0].schema
    assert schema is not None
    one = schema["properties"][asked(engine.calls[0])[0]]
    assert list(one["properties"]) == ["quote", "analysis", "score"]
    assert one["properties"]["score"] == {"type": "number", "minimum": 0, "maximum": 10.0}
    assert {answer.criterion: answer.score for answer in found.scores} == SCORES
    assert (found.origin, found.calls, found.n_failed, found.dimensions) == (
        "task",
        "dimension",
        0,
        TASK.dimensions,
    )
    answer = found.scores[0]
    assert (
        answer.quote is not None and REPORT.text[answer.quote.start : answer.quote.end] == "It cost 8 million"
    )
    assert answer.analysis == "So." and answer.replies


async def test_the_prompt_as_it_is_sent(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(judge_by(SCORES))
    await judged(judge, today=date(2026, 5, 1))
    prompts = {asked(call)[0]: call.messages[1].content for call in engine.calls}
    opening = shared_report(REPORT).shared
    assert prompts["coverage.1"] == (
        opening
        + """

Task: score the report above as an answer to the request below, by the criteria at the end. Today is 2026-05-01.

Request:
```
What did the mill cost?
```

Judge each criterion by itself, by what the report says and does; its length is no merit. \
Whether its statements are true is examined elsewhere.

What the scores mean, from 0 to 10, with two decimals at most:
9-10: does all that the criterion asks for, and nothing that matters is missing
7-8: does most of it well; what is missing or weak is minor
5-6: does the main part; something that matters is missing or weak
3-4: touches on it; most is missing, wrong in approach or too general to use
0-2: does nothing of it, or the opposite

For each criterion give:
"quote": words of the report that the score rests on most, copied exactly, at most two sentences, \
without labels; empty if it rests on what is missing.
"analysis": one to three sentences in English: what the report does on this criterion, and what it lacks.
"score": the score.

Answer with one JSON object. Its keys are the ids in brackets, each exactly once, in order.

Criteria, each with its id in brackets:
```
## Coverage: how well: Coverage
[coverage.1] Costs: Says Costs.
[coverage.2] Payers: Says Payers.
```"""
    )
    # All calls share all but the criteria: the report is computed once.
    shared = prompts["coverage.1"].partition("Criteria, each")[0]
    assert all(prompt.startswith(shared) for prompt in prompts.values())


async def test_all_in_one_call_is_said(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(judge_by(SCORES))
    found = await judged(judge, calls="task")
    assert [asked(call) for call in engine.calls] == [IDS]
    assert found.calls == "task" and {answer.criterion: answer.score for answer in found.scores} == SCORES
    findings = DreFindings(case="a", document="d", task="7", request="", quality=found)
    assert "all dimensions in one call" in DeepResearchEval().score([findings], "paper")[0].score.note


@pytest.mark.parametrize("wrong", [10.01, -0.5, "7", True, None, float("nan")])
async def test_what_is_no_score_is_asked_again_and_then_fails(make_judge: MakeJudge, wrong: object) -> None:
    judge, engine = make_judge(judge_by({**SCORES, "coverage.2": wrong}))
    found = await judged(judge)
    # All of the dimension; what is missing, twice.
    assert [asked(call) for call in engine.calls if "coverage.2" in asked(call)] == [
        ["coverage.1", "coverage.2"],
        ["coverage.2"],
        ["coverage.2"],
    ]
    [answer] = [answer for answer in found.scores if answer.failure is not None]
    assert (answer.criterion, answer.score, found.n_failed) == ("coverage.2", None, 1)


async def test_scores_have_two_decimals(make_judge: MakeJudge) -> None:
    judge, _ = make_judge(judge_by(SCORES | {"insight.1": 7.126}))
    found = await judged(judge)
    assert next(answer.score for answer in found.scores if answer.criterion == "insight.1") == 7.13


async def test_a_quotation_that_the_report_does_not_have_is_kept_as_such(make_judge: MakeJudge) -> None:
    judge, _ = make_judge(judge_by(SCORES, "It cost 9 million in all"))
    found = await judged(judge)
    assert all(answer.quote is None for answer in found.scores)
    assert {answer.quote_rejected for answer in found.scores} == {"It cost 9 million in all"}
    findings = DreFindings(case="a", document="d", task="7", request="", quality=found)
    note = DeepResearchEval().score([findings], "paper")[0].score.note
    assert note == "dimensions given; 9 quotations do not occur in the report"


async def test_a_report_that_leaves_no_room_is_a_failure_and_no_0(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(judge_by(SCORES), context_tokens=100)
    found = await judged(judge)
    assert engine.calls == [] and found.n_failed == 9
    assert {answer.failure.kind for answer in found.scores if answer.failure} == {"report_too_long"}


async def test_a_call_that_leaves_little_room_is_halved(make_judge: MakeJudge) -> None:
    wide, engine = make_judge(judge_by(SCORES))
    await judged(wide, calls="task")
    tokens = await engine.count_tokens(engine.calls[0].messages)
    # Nine answers want 100 tokens each beside the prompt; one token less, and they are asked in halves.
    small, narrow = make_judge(judge_by(SCORES), context_tokens=tokens + 899)
    found = await judged(small, calls="task")
    assert [asked(call) for call in narrow.calls] == [IDS[:4], IDS[4:]]
    assert {answer.criterion: answer.score for answer in found.scores} == SCORES


async def test_dimensions_are_drafted_once_for_all_systems(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(judge_by({}))
    first = await judged(judge, BARE)
    n = len(engine.calls)
    # Dimensions, weights, criteria of six; six dimensions judged.
    assert n == 2 + 6 + 6
    other = parse_report("# Another\n\nNobody knows what it cost.")
    second = await judged(judge, BARE, other)
    assert len(engine.calls) == n + 6
    assert first.dimensions == second.dimensions and first.drafted_by == second.drafted_by != ()
    assert first.dimensions is not None
    assert (first.origin, first.dimensions.status) == ("judge", "drafted")
    assert [(one.id, one.kind, round(one.weight, 4)) for one in first.dimensions.dimensions] == [
        ("coverage", "general", 0.3),
        ("insight", "general", 0.2),
        ("instruction_following", "general", 0.1),
        ("clarity", "general", 0.1),
        ("cost_accounting", "specific", 0.2),
        ("sources_of_money", "specific", 0.1),
    ]
    findings = DreFindings(case="a", document="d", task="7", request="", quality=first)
    assert DeepResearchEval().score([findings], "paper")[0].score.note == "dimensions drafted by the judge"


async def test_dimensions_that_cannot_be_drafted_are_a_failure(make_judge: MakeJudge) -> None:
    def silent(call: Call) -> Reply:
        return "no"

    judge, engine = make_judge(silent)
    found = await judged(judge, BARE)
    assert found.dimensions is None and found.failure is not None and found.n_failed == 1
    assert found.failure.kind == "invalid_reply" and found.failure.detail.startswith("specific dimensions: ")
    assert len(engine.calls) == 3


async def test_a_task_without_dimensions_may_be_refused(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(judge_by({}))
    protocol = load_protocol("deepresearcheval", {"parts": "quality", "quality": {"draft": False}})
    lacking = protocol.missing_inputs(BARE)
    assert lacking is not None and lacking.startswith("its task '7' has no dimensions; give --dimensions")
    assert protocol.missing_inputs(TASK) is None and "--tasks" in (protocol.missing_inputs(None) or "")
    context = EvalContext(judge=judge, claims=no_claims)
    with pytest.raises(ConfigError, match="report 'a': its task '7' has no dimensions"):
        await protocol.examine(Case(id="a", report=REPORT, task=BARE), context)
    assert engine.calls == []


async def test_examined_as_a_protocol(make_judge: MakeJudge) -> None:
    judge, _ = make_judge(judge_by(SCORES))
    protocol = load_protocol("deepresearcheval", {"parts": "quality"})
    found = await protocol.examine(
        Case(id="a", report=REPORT, task=TASK), EvalContext(judge=judge, claims=no_claims)
    )
    assert (found.case, found.task, found.request) == ("a", "7", TASK.prompt)
    assert protocol.score([found], "paper")[0].score.value == pytest.approx(6.13)
    assert protocol.findings_type.model_validate_json(found.model_dump_json()) == found
