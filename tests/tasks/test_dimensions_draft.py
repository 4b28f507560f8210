"""Dimensions drafted by a judge: what it is asked, what makes a draft, what makes a failure."""

from __future__ import annotations

from typing import Any

import pytest

from local_judge.base.failures import Failure
from local_judge.tasks.dimensions import DimensionsRow
from local_judge.tasks.dimensions_draft import DIMENSIONS_DRAFTS
from local_judge.tasks.model import Task
from serving.engines.scripted import Call, Reply

from ..protocols.deepresearcheval.dre_cases import judge_by
from ..scripted_judge import MakeJudge

TASK = Task(id="7", prompt="What did the mill cost?")


def asked(call: Call) -> list[str]:
    assert call.schema is not None
    return list(call.schema["properties"])


async def test_a_draft(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(judge_by({}))
    draft = await DIMENSIONS_DRAFTS.write(TASK, judge)
    assert isinstance(draft, DimensionsRow)
    assert [(one.id, one.kind, one.weight, len(one.criteria)) for one in draft.dimensions] == [
        ("coverage", "general", 0.3, 2),
        ("insight", "general", 0.2, 2),
        ("instruction_following", "general", 0.1, 2),
        ("clarity", "general", 0.1, 2),
        ("cost_accounting", "specific", 0.2, 2),
        ("sources_of_money", "specific", 0.1, 2),
    ]
    assert [one.weight for one in draft.dimensions[0].criteria] == [0.75, 0.25]
    dimensions, *_ = engine.calls
    assert asked(dimensions) == ["dimensions"]
    assert sorted(map(len, map(asked, engine.calls[1:]))) == [1] * 6 + [6]
    assert (draft.status, draft.task, draft.judge) == ("drafted", TASK.prompt, await engine.identity())
    assert await DIMENSIONS_DRAFTS.write(TASK, judge) == draft
    # The same questions once more: the ledger answers.
    assert len(engine.calls) == 8


async def test_the_prompts_as_they_are_sent(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(judge_by({}))
    await DIMENSIONS_DRAFTS.write(TASK, judge)
    first, *others = (call.messages[1].content for call in engine.calls)
    request = "Request:\n```\nWhat did the mill cost?\n```\n\n"
    assert first.startswith(
        request
        + """Task: name what an expert in the field of the request above would look for in a report on it, and would \
not look for in a report on something else.

Every report is scored anyway for these, whatever its subject, and none of them is to be named again: how much of what \
the request needs the report treats, and how fully; whether the report explains, weighs, connects and concludes, \
beyond listing; whether the report does what the request asks for, in the scope and form that it sets; \
whether the report can be followed: its order, its language, its layout. Whether its statements are true and its \
sources good is examined elsewhere too, and not to be named either.

Name 1 to 3 dimensions of quality that belong to this request alone."""
    )
    listed = request + (
        """Dimensions, each with its id in brackets:
```
[coverage] Coverage: how much of what the request needs the report treats, and how fully
[insight] Insight: whether the report explains, weighs, connects and concludes, beyond listing
[instruction_following] Instruction following: whether the report does what the request asks for, in the scope \
and form that it sets
[clarity] Clarity: whether the report can be followed: its order, its language, its layout
[cost_accounting] Cost accounting: how well: Cost accounting
[sources_of_money] Sources-of money: how well: Sources-of money
```

"""
    )
    assert all(prompt.startswith(listed) for prompt in others)
    [weights] = [prompt for prompt in others if "decide how much each of the dimensions" in prompt]
    assert weights.endswith("each exactly once, in the order of the list.")
    criteria = [prompt for prompt in others if prompt != weights]
    assert [
        prompt.partition("one of the dimensions above: ")[2].partition(".\n")[0] for prompt in criteria
    ] == [
        "coverage",
        "insight",
        "instruction_following",
        "clarity",
        "cost_accounting",
        "sources_of_money",
    ]


def changed(part: str, answer: Any) -> Any:
    """A judge that gives another answer to one kind of question."""

    def script(call: Call) -> Reply:
        names = asked(call)
        if part in names:
            return answer if part != "coverage" else dict.fromkeys(names, answer)
        return judge_by({})(call)

    return script


NAMED = {"name": "Machines", "definition": "says what turns"}
POINT = {"criterion": "Point", "explanation": "Says it well.", "weight": 1}


async def test_what_is_named_already_is_left_out(make_judge: MakeJudge) -> None:
    # A general one by its id or by its name, and one that stands before: one of the four is new.
    names = ("Instruction_following", "Machines", "CLARITY", "machines ")
    again = [{**NAMED, "name": name} for name in names]
    judge, engine = make_judge(changed("dimensions", {"dimensions": again[:3]}))
    draft = await DIMENSIONS_DRAFTS.write(TASK, judge)
    assert isinstance(draft, DimensionsRow)
    assert [entry.name for entry in draft.dimensions if entry.kind == "specific"] == ["Machines"]
    judge, engine = make_judge(changed("dimensions", {"dimensions": again[1::2]}))
    draft = await DIMENSIONS_DRAFTS.write(TASK, judge)
    assert isinstance(draft, DimensionsRow) and len(draft.dimensions) == 5
    assert sum("dimensions" in asked(call) for call in engine.calls) == 1  # nothing is asked again for it


@pytest.mark.parametrize(
    ("part", "answer", "detail"),
    [
        ("dimensions", {"dimensions": []}, "specific dimensions"),
        ("dimensions", {"dimensions": [{**NAMED, "name": name} for name in "abcd"]}, "specific dimensions"),
        ("dimensions", {"dimensions": [{**NAMED, "name": "clarity "}]}, "specific dimensions"),
        ("coverage", {"reason": "", "weight": -1}, "weight of coverage"),
        ("coverage", {"reason": "", "weight": True}, "weight of coverage"),
        ("coverage", {"reason": "", "weight": 0}, "the judge gives every dimension the weight 0"),
        ("criteria", {"criteria": []}, "criteria of coverage"),
        ("criteria", {"criteria": [POINT, POINT]}, "criteria of coverage"),
        ("criteria", {"criteria": [{**POINT, "criterion": "  "}]}, "criteria of coverage"),
        (
            "criteria",
            {"criteria": [{**POINT, "criterion": f"p{i}"} for i in range(11)]},
            "criteria of coverage",
        ),
        ("criteria", {"criteria": [{**POINT, "weight": 0}]}, "criteria of coverage"),
    ],
)
async def test_what_is_no_draft(make_judge: MakeJudge, part: str, answer: Any, detail: str) -> None:
    judge, _ = make_judge(changed(part, answer))
    failure = await DIMENSIONS_DRAFTS.write(TASK, judge)
    assert isinstance(failure, Failure) and failure.detail.startswith(detail)


async def test_a_weight_that_is_missing_is_asked_for_alone(make_judge: MakeJudge) -> None:
    def forgetful(call: Call) -> Reply:
        reply = judge_by({})(call)
        if len(asked(call)) == 6 and isinstance(reply, dict):
            reply.pop("insight")
        return reply

    judge, engine = make_judge(forgetful)
    draft = await DIMENSIONS_DRAFTS.write(TASK, judge)
    assert isinstance(draft, DimensionsRow) and draft.dimensions[1].weight == 0.2
    [again] = [call for call in engine.calls if asked(call) == ["insight"]]
    assert again.messages[1].content.endswith("in the order of the list.\nOf these dimensions only: insight.")
