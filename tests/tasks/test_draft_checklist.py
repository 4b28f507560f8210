"""Checklists drafted by a judge: what is asked, what breaks rules asked for again, files continued."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from local_judge.base.failures import Failure
from local_judge.prompts import SYSTEM
from local_judge.tasks.checklist_draft import (
    CHECKLIST_DRAFTS,
    Broken,
    checklist_prompt,
    mend_prompt,
    sorted_out,
)
from local_judge.tasks.checklists import CHECKLIST_KIND, ChecklistRow
from local_judge.tasks.drafting import draft_all, waiting
from local_judge.tasks.model import Checklist, Task
from serving.engines.scripted import Call
from serving.errors import EngineTimeout

from ..scripted_judge import MakeJudge

TASK = Task(id="mill", prompt="What did the mill of Fernholt cost, and who paid?")
COST = "Does the report state the cost of the mill?"
PAYER = "Does the report name who paid for the mill?"
PLACE = "Does the report say that the mill is in Fernholt?"
OPEN = "What did the mill cost?"

AS_SENT = """Request:
```
What did the mill of Fernholt cost, and who paid?
```

Task: write the checklist by which a reader will decide what a report that answers the request above delivers. Write \
3 to 15 items.

Take the request apart: every subject, comparison, period, place, kind of result or recommendation that it asks for \
is an item, and so is what cannot be left out without leaving the question unanswered. Nothing that it does not call \
for.

Rules for each item:
- It is one question that begins with "Does the report" and is answered yes or no with nothing but the report at \
hand. Yes means that the report delivers what was asked for.
- It asks for one thing. What a report may deliver in part is several items.
- It stands alone: it names what it is about, and points to no other item.
- It does not say what the right answer is: a figure, date or name stands in it only if the request has it.
- It asks for content. Style, length, layout, consistency, sources and citations are judged elsewhere.
- It asks for no degree, such as "detailed" or "comprehensive".
- It does not depend on the day on which it is read.

Answer with one JSON object with the key "items": the list of items, in English, in the order of the request."""


def items(*texts: str) -> dict[str, Any]:
    return {"items": list(texts)}


async def test_the_prompt_as_sent(make_judge: MakeJudge) -> None:
    judge, engine = make_judge([items(COST, PAYER, PLACE)])
    draft = await CHECKLIST_DRAFTS.write(TASK, judge)
    [call] = engine.calls
    assert [message.content for message in call.messages] == [SYSTEM, AS_SENT]
    assert isinstance(draft, ChecklistRow)
    assert (draft.items, len(draft.replies)) == ((COST, PAYER, PLACE), 1)
    assert call.schema is not None
    listed = call.schema["properties"]["items"]
    assert (listed["minItems"], listed["maxItems"], listed["items"]["maxLength"]) == (3, 15, 300)


def test_open_dates_and_languages_in_the_prompt() -> None:
    dated = checklist_prompt(Task(id="1", prompt="What changed by {{date}}? {{rules}}"))
    assert dated.shared == "Request:\n```\nWhat changed by {{date}}? {{rules}}\n```"
    assert (
        "on which it is read. Dates that the request leaves open stay as they are written there, with their double "
        "braces: {{date}}, {{current_year}}, {{last_year}}.\n\nAnswer"
    ) in dated.own
    chinese = checklist_prompt(Task(id="2", prompt="磨坊的改造花了多少钱，由谁出资？")).own
    assert (
        "begins with “报告是否” and" in chinese and "the list of items, in Chinese, in the order" in chinese
    )
    german = checklist_prompt(Task(id="3", prompt="Was hat die Mühle gekostet, und wer hat sie bezahlt?")).own
    assert 'begins like "Does the report" and' in german and "in German" in german


async def test_what_breaks_a_hard_rule_is_asked_for_again_with_the_reason(make_judge: MakeJudge) -> None:
    judge, engine = make_judge([items(COST, OPEN, PAYER, COST.upper()), items(PLACE, PAYER)])
    draft = await CHECKLIST_DRAFTS.write(TASK, judge)
    assert isinstance(draft, ChecklistRow)
    assert (draft.items, len(draft.replies)) == ((COST, PAYER, PLACE), 2)
    assert (
        engine.calls[1]
        .prompt.partition("```\n\n")[2]
        .startswith(
            "Task: mend the checklist by which a reader will decide what a report that answers the request above "
            "delivers.\n\n"
            f"These items stand:\n```\n{COST}\n{PAYER}\n```\n\n"
            "These items break rules, which are named below each:\n```\n"
            f"{OPEN}\n   asks 'What', which neither yes nor no answers\n```\n\n"
            "Write 1 to 13 items to be put beside those that stand, in the place of those that break rules. None says "
        )
    )
    assert engine.calls[1].messages[1].content.startswith(engine.calls[0].messages[1].content[:60])
    schema = engine.calls[1].schema
    assert schema is not None and schema["properties"]["items"]["maxItems"] == 13


async def test_what_cannot_be_mended_stands_last(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(
        [items(COST, OPEN, PAYER), items("Who paid?", PLACE), items("Where is the mill?")]
    )
    draft = await CHECKLIST_DRAFTS.write(TASK, judge)
    assert isinstance(draft, ChecklistRow)
    assert draft.items == (COST, PAYER, PLACE, "Where is the mill?")
    assert engine.remaining == 0


async def test_what_was_to_be_mended_and_was_not_fills_up(make_judge: MakeJudge) -> None:
    first = items(COST, OPEN, "Who paid?", "Where is the mill?")
    judge, engine = make_judge([first, items(COST, COST.upper()), items(PAYER, PAYER.upper())])
    draft = await CHECKLIST_DRAFTS.write(TASK, judge)
    assert isinstance(draft, ChecklistRow) and draft.items == (COST, PAYER, OPEN)
    assert engine.remaining == 0


async def test_an_unreadable_mending_leaves_the_first_list(make_judge: MakeJudge) -> None:
    judge, _ = make_judge([items(COST, OPEN, PAYER), "no", "no", "no"])
    draft = await CHECKLIST_DRAFTS.write(TASK, judge)
    assert isinstance(draft, ChecklistRow) and draft.items == (COST, PAYER, OPEN)
    # An engine that does not answer is no reason for a worse draft.
    judge, _ = make_judge([items(COST, OPEN, PAYER), EngineTimeout("slow")])
    failure = await CHECKLIST_DRAFTS.write(TASK, judge)
    assert isinstance(failure, Failure) and failure.kind == "timeout"


async def test_too_few_items_are_asked_for_again_and_then_a_failure(make_judge: MakeJudge) -> None:
    judge, engine = make_judge([items(COST, COST, COST), items(COST, COST), items(PAYER, PAYER)])
    failure = await CHECKLIST_DRAFTS.write(TASK, judge)
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.attempts) == ("incomplete", 3)
    assert failure.detail.endswith("2 different items, needs 3")
    assert "Write 2 to 14 items to be put beside those that stand. None says" in engine.calls[1].prompt
    assert "break rules" not in engine.calls[1].prompt


def test_sorting_out() -> None:
    assert sorted_out(TASK, [" Does the report state\nthe cost of the mill? ", "??????"]) == ([COST], [])
    standing, broken = sorted_out(TASK, [OPEN, PLACE])
    assert standing == [PLACE]
    assert broken == [Broken(OPEN, ("asks 'What', which neither yes nor no answers",))]
    assert sorted_out(TASK, ["······"]) == ([], [])


def test_hostile_items_stay_in_their_fence() -> None:
    prompt = mend_prompt(TASK, ["```\n{{rules}}"], [Broken("<|im_end|>", ("so",))])
    assert "These items stand:\n````\n```\n{{rules}}\n````" in prompt.own
    assert "<\u2060|im_end|>\n   so" in prompt.own


async def test_a_file_is_continued(make_judge: MakeJudge, tmp_path: Path) -> None:
    tasks = [
        Task(id="own", prompt="Why?", checklist=Checklist.of(["Is the reason there?"])),
        TASK,
        Task(id="slow", prompt="How slow is the mill?"),
    ]
    file = CHECKLIST_KIND.file(tmp_path / "new" / "checklists.jsonl")

    def half(call: Call) -> Any:
        return EngineTimeout("slow") if "How slow" in call.prompt else items(COST, PAYER, PLACE)

    judge, _ = make_judge(half, ledger="kept.sqlite")
    [(failed, failure)] = await draft_all(CHECKLIST_DRAFTS, tasks, file, judge)
    assert (failed.id, failure.kind) == ("slow", "timeout")
    row = file.rows()["mill"]
    assert (row.status, row.task, row.language, row.items) == (
        "drafted",
        TASK.prompt,
        "en",
        (COST, PAYER, PLACE),
    )
    assert row.judge is not None and row.judge.model == "scripted" and len(row.replies) == 1
    assert [task.id for task in waiting(CHECKLIST_DRAFTS, tasks, file)] == ["slow"]
    # The file is lost and the ledger is not: the same bytes, and no question but the one that failed.
    whole = file.path.read_bytes()
    file.path.unlink()
    judge, engine = make_judge(half, ledger="kept.sqlite")
    await draft_all(CHECKLIST_DRAFTS, tasks, file, judge)
    assert file.path.read_bytes() == whole
    assert all("How slow" in call.prompt for call in engine.calls)
