"""Plans drafted in three ways, rated, and used in the temporal experiment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from indexes.snapshot import Snapshot
from local_judge.base.errors import InputError, RunError
from local_judge.lab.experiments.planning import (
    RATINGS,
    PlanResults,
    Rating,
    compare_plans,
    load_ratings,
    plans_path,
    with_drafted,
)
from local_judge.lab.experiments.run import prepare
from local_judge.lab.experiments.temporal import Timeline, load_timelines, temporal
from local_judge.runs.planning.config import RunConfig
from local_judge.tasks.plans import PLAN_KIND
from serving.engines.scripted import Call, Reply

from ...scripted_judge import MakeJudge
from .conftest import fenced

TIMELINES = load_timelines()[:2]
GENERAL = "Does the report say what happened in the end?"
HARD = "Was the outcome worth its price?"

RATING_AS_SENT = """Items, each with its id in brackets:
```
[k1] Does the report say what happened in the end?
[r1] Was the outcome worth its price? Extract: What it says. Verify: The pages. Compare: One by one.
```

Task: rate the items of an evaluation plan. Reports on the request above will be evaluated by them, as of 2025-06-20. \
The pages above hold what was known by then. Items whose id begins with k ask whether a report says something; items \
whose id begins with r ask for an assessment of its reasoning, by the plan that follows the question.

Rate each item from 1 to 3 in each of these aspects: 3 if it is fully so, 2 if it is so in part, 1 if it is not.
relevance: the request turns on it, and a report that leaves it out has a gap.
verifiability: the pages or plain logic can decide it, and nothing that it rests on is wrong or outdated.
clarity: two readers would understand it in the same way.
validation: the steps of its plan are sound, assume nothing that they are to show, and settle the question.

For each item give:
"reason": one sentence.
The name of each aspect: 1, 2 or 3. Items whose id begins with k have no validation.

Answer with one JSON object. Its keys are the ids of all items, each exactly once, in the order of the list."""


def rated(name: str, relevance: int) -> dict[str, Any]:
    """Ratings of an item that is verifiable in part, clear, and, of a question, not validated."""
    found = {"reason": "", "relevance": relevance, "verifiability": 2, "clarity": 3}
    return found | ({"validation": 1} if name.startswith("r") else {})


def timeline_of(prompt: str) -> Timeline:
    return next(one for one in TIMELINES if one.request in prompt)


def act(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"thought": "", "action": {"tool": tool, **arguments}}


def oracle(call: Call) -> Reply:
    """Knows the key information; quotes what it is shown; rates by whether an item is one of it."""
    if "rate the items of an evaluation plan" in call.prompt:
        known = {item.question for item in timeline_of(call.prompt).items}
        listed = fenced(call.prompt, "Items, each with its id in brackets:").splitlines()
        items = dict(line.removeprefix("[").split("] ", 1) for line in listed)
        return {
            name: rated(name, 3 if question in known else 2 if name.startswith("r") else 1)
            for name, question in items.items()
        }
    if "reasoning of a report on the request above will be validated" in call.prompt:
        plan = {"extract": "What it says.", "verify": "The pages.", "compare": "One by one."}
        return {"questions": [{"question": HARD, **plan}]}
    if "write down the facts" in call.prompt:
        return {"items": [{"question": GENERAL}]}
    seen = "\n".join(message.content for message in call.messages)
    timeline = timeline_of(seen)
    shown = [
        {"url": timeline.source(item).url, "quote": item.statement, "question": item.question}
        for item in timeline.items
        if item.statement in seen
    ]
    if "take from the passages above" in call.prompt:
        return {"items": shown[:1]}
    if "Turn 2 of" not in seen:
        return act("search", queries=[page.title for page in timeline.pages], k=3)
    return act("finish", answer={"items": shown})


@pytest.fixture
def web(tmp_path: Path) -> Snapshot:
    """The pages of the temporal experiment."""
    job = prepare(temporal(2), tmp_path / "made", [], RunConfig(), tmp_path / "ledger.sqlite")
    assert job.snapshot is not None
    return job.snapshot


async def compared(
    make_judge: MakeJudge, web: Snapshot, out: Path, script: Any = oracle, people: list[Rating] | None = None
) -> tuple[PlanResults, list[Call]]:
    judge, engine = make_judge(script)
    results = await compare_plans({"one": judge}, web, temporal(2), out, people or [])
    return results, engine.calls


async def test_an_oracle_rates_the_plans_of_an_agent_highest(
    make_judge: MakeJudge, web: Snapshot, tmp_path: Path
) -> None:
    results, calls = await compared(make_judge, web, tmp_path)
    # The request alone gives one item and no words; one retrieval one item of ten; the agent all ten.
    assert [
        (one.method, one.n_drafted, one.items, one.questions, one.covered and one.covered.value)
        for one in results.drafted
    ] == [
        ("request", 2, 1.0, 1.0, None),
        ("retrieval", 2, 1.0, 1.0, 0.1),
        ("agent", 2, 10.0, 1.0, 1.0),
    ]
    # General items are rated 1 and the timeline's 3 in relevance, the reasoning question 2: 0, 1 and .5 of 1. The mean
    # with verifiability .5 and clarity 1: 1.5 / 3 and 2.5 / 3; the question's with validation 0: (.5 + .5 + 1 + 0) / 4.
    assert [
        (
            one.kind,
            one.method,
            one.relevance.value,
            one.validation and one.validation.value,
            one.average.value,
        )
        for one in results.ratings
    ] == [
        ("key_information", "request", 0.0, None, 0.5),
        ("key_information", "retrieval", 1.0, None, pytest.approx(2.5 / 3)),
        ("key_information", "agent", 1.0, None, pytest.approx(2.5 / 3)),
        *(("reasoning", method, 0.5, 0.0, 0.5) for method in ("request", "retrieval", "agent")),
    ]
    asked = [call.messages[1].content for call in calls if "rate the items" in call.prompt]
    assert len(asked) == 6, "one call for each plan"
    own = next(prompt for prompt in asked if GENERAL in prompt and TIMELINES[0].request in prompt)
    assert own.endswith(RATING_AS_SENT)
    assert own.startswith(f"Request:\n```\n{TIMELINES[0].request}\n```\n\nPage 1:\n")
    assert not any(word in own for word in ("agent", "retrieval")), (
        "the rater is not told how plans came about"
    )
    rows = [json.loads(line) for line in (tmp_path / RATINGS).read_text().splitlines()]
    assert len(rows) == 2 * (2 + 2 + 11)
    # Plans are drafted as of the day after the last page, and each is kept with its method.
    (row, _) = PLAN_KIND.file(plans_path(tmp_path, "agent")).rows().values()
    assert (row.method, str(row.as_of), row.status) == ("agent", "2025-08-31", "drafted")
    assert len(list((tmp_path / "plans.agent.jsonl.transcripts").glob("*.md"))) == 2


async def test_what_fails_is_counted_and_opens_the_bounds(
    make_judge: MakeJudge, web: Snapshot, tmp_path: Path
) -> None:
    def script(call: Call) -> Reply:
        if "write down the facts" in call.prompt and TIMELINES[1].request in call.prompt:
            return {"items": []}
        if "[k1]" in call.prompt and GENERAL in call.prompt and "rate the items" in call.prompt:
            return {"k1": rated("k1", 4), "r1": rated("r1", 2)}
        return oracle(call)

    results, _ = await compared(make_judge, web, tmp_path, script)
    alone = results.drafted[0]
    assert (alone.n_tasks, alone.n_drafted) == (2, 1)
    found = next(one for one in results.ratings if one.kind == "reasoning").relevance
    # One plan has a question that is rated 2, the other is not there. Low (.5 + 0) / 2, high (.5 + 1) / 2.
    assert (found.known, found.low, found.high) == (0.5, 0.25, 0.75)
    found = results.ratings[0].relevance
    # Nothing is known of the items of key information.
    assert (found.value, found.low, found.high) == (None, 0, 1)
    assert [(one.method, one.failure.kind) for one in results.undrafted][:1] == [("request", "incomplete")]


async def test_people_rate_too(make_judge: MakeJudge, web: Snapshot, tmp_path: Path) -> None:
    path = tmp_path / "people.jsonl"
    path.write_text(
        '{"task_id": "tide", "method": "request", "item": "k1", "rater": "Ada", "relevance": 2, "verifiability": 1, '
        '"clarity": 3}\n{"task_id": "tide", "method": "request", "item": "r1", "rater": "Ada", "relevance": 3, '
        '"verifiability": 3, "clarity": 3, "validation": 2}\n'
    )
    results, _ = await compared(make_judge, web, tmp_path / "out", people=load_ratings(path))
    key, question = (one for one in results.ratings if (one.rater, one.method) == ("Ada", "request"))
    # Of two plans one is rated: (.5 + 0 + 1) / 3 and (1 + 1 + 1 + .5) / 4, and the other may be anything.
    assert (key.average.value, question.average.value) == (0.5, 0.875)
    assert (key.average.low, key.average.high) == (0.25, 0.75)
    path.write_text(path.read_text().replace("k1", "k9"))
    with pytest.raises(InputError, match="the plan by request of task 'tide' has no item 'k9'"):
        await compared(make_judge, web, tmp_path / "out", people=load_ratings(path))
    path.write_text(
        '{"task_id": "tide", "method": "request", "item": "r1", "rater": "Ada", "relevance": 1}\n'
    )
    with pytest.raises(
        InputError, match=r"people\.jsonl:1: verifiability is missing; it is a rating from 1 to 3"
    ):
        load_ratings(path)


async def test_drafted_plans_take_the_place_of_the_given_ones(
    make_judge: MakeJudge, web: Snapshot, tmp_path: Path
) -> None:
    judge, engine = make_judge(oracle)
    made = await with_drafted(temporal(2), judge, web, tmp_path, "retrieval")
    plans = [report.task.plan for report in made.reports if report.task]
    assert {plan.status if plan else None for plan in plans} == {"drafted"}
    assert {len(plan.key_information) for plan in plans if plan} == {1}
    assert not any("reasoning of a report" in call.prompt for call in engine.calls)
    # Each plan has one item; how early it was known is the ideal.
    first = made.design.expectations[0]
    assert first.path == "key_information" and first.ideal[0] == 1.0

    def nothing(call: Call) -> Reply:
        return {"items": []}

    judge, _ = make_judge(nothing)
    with pytest.raises(RunError, match=r"2 of 2 plans could not be drafted \(task tide: incomplete"):
        await with_drafted(temporal(2), judge, web, tmp_path / "other", "request")


async def test_an_agents_plans_give_the_ideal_curve(
    make_judge: MakeJudge, web: Snapshot, tmp_path: Path
) -> None:
    judge, _ = make_judge(oracle)
    made = await with_drafted(temporal(2), judge, web, tmp_path, "agent")
    # The agent found all ten items, of which 10, 5 and 2 are known.
    assert made.design.expectations[0].ideal == (1.0, 0.5, 0.2)
