"""Criteria drafted by a judge: weights averaged, sums mended, files continued."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.failures import Failure
from local_judge.judge.judge import Judge, JudgeSettings
from local_judge.tasks.criteria import CRITERIA_KIND, CriteriaRow
from local_judge.tasks.criteria_draft import (
    CRITERIA_DRAFTS,
    DraftedCriterion,
    averaged,
    criteria_prompt,
    settled,
    weights_prompt,
)
from local_judge.tasks.drafting import draft_all, waiting
from local_judge.tasks.model import Task
from serving.engines.scripted import Call, Reply
from serving.types import Sampling

from ..protocols.race.race_cases import ROW
from ..scripted_judge import MakeJudge

TASK = Task(id="7", prompt="What did the mill cost?")


def weights(a: float, b: float, c: float, d: float) -> dict[str, float]:
    return {"comprehensiveness": a, "insight": b, "instruction_following": c, "readability": d}


def listed(*shares: float) -> dict[str, Any]:
    return {
        "criteria": [
            {"criterion": f"Point {number}", "explanation": "Says what it costs.", "weight": share}
            for number, share in enumerate(shares, 1)
        ]
    }


def drafter(call: Call) -> Reply:
    """Each sample a little different; four criteria of every dimension."""
    if "decide how much" in call.prompt:
        assert call.sampling is not None
        step = call.sampling.seed % 10 / 100
        return {"rationale": "So.", **weights(0.3 + step, 0.4 - step, 0.2, 0.1)}
    return listed(0.4, 0.3, 0.2, 0.1)


def sampled(judge: Judge) -> Judge:
    return Judge(judge.engine, judge.ledger, JudgeSettings(sampling=Sampling(temperature=0.7)))


def test_weights_are_averaged_and_rounded_with_the_rest_to_readability() -> None:
    # Each sample is divided by its sum: (.5, .3, .1, .1) and (.2, .4, .2, .2); the means are .35, .35, .15, .15.
    assert averaged([weights(0.5, 0.3, 0.1, 0.1), weights(1, 2, 1, 1)]) == weights(0.35, 0.35, 0.15, 0.15)
    assert averaged([weights(1, 1, 1, 0)]) == weights(0.33, 0.33, 0.33, 0.01)  # .99: readability gets .01
    # 3/8 and 1/8 twice each: .38 + .38 + .12 + .12 = 1 (a half goes to the even digit, as in the published code).
    assert averaged([weights(3, 3, 1, 1)]) == weights(0.38, 0.38, 0.12, 0.12)
    # 2/3 = .67, 1/6 = .17 twice make 1.01, and readability has nothing to give: the heaviest gives it.
    assert averaged([weights(4, 1, 1, 0)]) == weights(0.66, 0.17, 0.17, 0.0)


def test_weights_of_criteria_sum_to_one_whatever_the_judge_says() -> None:
    given = [
        DraftedCriterion(criterion=f"Name  {number}", explanation="An explanation.", weight=share)
        for number, share in enumerate((0.5, 0.5, 0.5))
    ]
    rows = settled(given)
    # A third each is .33; the first of the heaviest takes the hundredth that is left.
    assert [row.weight for row in rows] == [0.34, 0.33, 0.33]
    assert rows[1].criterion == "Name 1"


async def test_a_draft_has_weights_of_five_samples_and_four_lists(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(drafter)
    draft = await CRITERIA_DRAFTS.write(TASK, sampled(judge))
    assert isinstance(draft, CriteriaRow)
    assert len(draft.weight_samples) == 5 and len(draft.replies) == 9 == len(engine.calls)
    # Seeds 0 to 4: .30 to .34 and .40 to .36.
    assert draft.dimension_weight == weights(0.32, 0.38, 0.2, 0.1)
    assert [row.weight for row in draft.criterions["insight"]] == [0.4, 0.3, 0.2, 0.1]
    shared = "Request:\n```\nWhat did the mill cost?\n```\n\nTask: "
    assert all(call.messages[1].content.startswith(shared) for call in engine.calls)


async def test_a_judge_without_temperature_gives_one_sample(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(drafter)
    draft = await CRITERIA_DRAFTS.write(TASK, judge)
    assert isinstance(draft, CriteriaRow)
    assert (len(draft.weight_samples), len(engine.calls)) == (1, 5)


def test_the_prompts() -> None:
    task = Task(id="1", prompt="```\n磨坊的改造花了多少钱，由谁出资？{{most}}")
    asked = weights_prompt(task)
    assert asked.shared == "Request:\n````\n```\n磨坊的改造花了多少钱，由谁出资？{{most}}\n````"
    assert "two or three sentences in Chinese:" in asked.own
    own = criteria_prompt(task, "insight").own
    assert "\n\nInsight: does the report explain causes" in own
    assert "Write 4 to 10 criteria" in own and "a short name for it, in Chinese." in own
    assert criteria_prompt(task, "readability").prefix_key == asked.prefix_key


@pytest.mark.parametrize(
    "reply",
    [
        listed(0.5, 0.5),  # too few
        {"criteria": [listed(0.25)["criteria"][0]] * 4},  # four times the same
        listed(0.5, 0.5, 0, 0),
    ],
)
async def test_what_is_no_list_of_criteria_is_a_failure(reply: Any, make_judge: MakeJudge) -> None:
    def faulty(call: Call) -> Reply:
        return drafter(call) if "decide how much" in call.prompt else reply

    judge, engine = make_judge(faulty)
    failure = await CRITERIA_DRAFTS.write(TASK, judge)
    assert isinstance(failure, Failure)
    assert failure.kind == "invalid_reply" and failure.detail.startswith("comprehensiveness: reply")
    assert len(engine.calls) == 1 + 4 * 3


async def test_weights_that_are_all_zero_are_a_failure(make_judge: MakeJudge) -> None:
    zero = {"rationale": "", **weights(0, 0, 0, 0)}

    def worthless(call: Call) -> Reply:
        return zero if "decide how much" in call.prompt else drafter(call)

    judge, _ = make_judge(worthless)
    failure = await CRITERIA_DRAFTS.write(TASK, judge)
    assert isinstance(failure, Failure) and failure.detail.startswith("weights of the dimensions: ")


async def test_a_file_is_continued_and_no_row_is_written_over(make_judge: MakeJudge, tmp_path: Path) -> None:
    path = tmp_path / "criteria.jsonl"
    path.write_text(json.dumps({**ROW, "status": "reviewed"}) + "\n", encoding="utf-8")
    tasks = [
        Task(id="b", prompt="How?"),
        Task(id="900", prompt=ROW["prompt"]),
        Task(id="7", prompt="Why?"),
        Task(id="renamed", prompt=ROW["prompt"]),  # the same request: it has criteria already
    ]
    file = CRITERIA_KIND.file(path)
    assert [task.id for task in waiting(CRITERIA_DRAFTS, tasks, file)] == ["b", "7"]
    judge, engine = make_judge(drafter, ledger="kept.sqlite")
    done: list[None] = []
    assert await draft_all(CRITERIA_DRAFTS, tasks, file, judge, done=lambda: done.append(None)) == []
    assert (len(done), len(engine.calls)) == (2, 10)
    rows = [CriteriaRow.model_validate_json(line) for line in path.read_text("utf-8").splitlines()]
    # In the order of the tasks; ids that are numbers are numbers, as published.
    assert [(row.id, row.status) for row in rows] == [("b", "drafted"), (900, "reviewed"), (7, "drafted")]
    assert rows[0].judge is not None and len(rows[0].replies) == 5
    joined = CRITERIA_KIND.join(tasks[0], CRITERIA_KIND.load(path))
    assert joined is not None and joined.criteria is not None and joined.criteria.status == "drafted"
    again, asked = make_judge(drafter, ledger="kept.sqlite")
    assert await draft_all(CRITERIA_DRAFTS, tasks, file, again) == [] and asked.calls == []


async def test_what_failed_is_named_and_tried_again(make_judge: MakeJudge, tmp_path: Path) -> None:
    tasks = [Task(id="1", prompt="Why?"), Task(id="2", prompt="How?")]

    def half(call: Call) -> Reply:
        return "no" if "How?" in call.prompt else drafter(call)

    file = CRITERIA_KIND.file(tmp_path / "new" / "criteria.jsonl")
    judge, _ = make_judge(half)
    [(task, failure)] = await draft_all(CRITERIA_DRAFTS, tasks, file, judge)
    assert (task.id, failure.kind) == ("2", "invalid_reply")
    assert [task.id for task in waiting(CRITERIA_DRAFTS, tasks, file)] == ["2"]
