"""Files of plans: read, joined to tasks, edited, checked by rules."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from indexes.snapshot import Snapshot
from local_judge.base.errors import InputError
from local_judge.runs.planning.inputs import dated, load_reports
from local_judge.tasks.files import TaskFiles
from local_judge.tasks.model import KeySource, Plan, Task
from local_judge.tasks.plan_lint import lint
from local_judge.tasks.plans import PLAN_KIND, PlanRow
from local_judge.tasks.review import decide

from .dataset_rows import write_jsonl
from .plan_pages import COST, COST_WORDS, VOTE, VOTE_WORDS

ITEM = {"question": "Does the report say that the council approved the mill?"}
QUESTION = {"question": "Was it worth it?", "extract": "The price.", "verify": "Prices.", "compare": "Both."}
ROW = {"task_id": "mill", "key_information": [ITEM], "reasoning": [QUESTION]}
SOURCE = KeySource(url=VOTE, quote=VOTE_WORDS, published="2021-03-18", text_digest="d", start=0, end=9)


def drafted(**more: Any) -> PlanRow:
    item = {**ITEM, "source": SOURCE.model_dump()}
    return PlanRow.model_validate({**ROW, "key_information": [item], "status": "drafted", **more})


def test_a_plan_by_hand_is_joined(tmp_path: Path) -> None:
    rows = PLAN_KIND.load(write_jsonl(tmp_path / "p.jsonl", [ROW]))
    task = PLAN_KIND.join(Task(id="mill", prompt="What?"), rows)
    assert task is not None and task.plan is not None
    assert [item.id for item in task.plan.key_information] == ["k1"]
    assert [(one.id, one.compare) for one in task.plan.reasoning] == [("r1", "Both.")]
    assert (task.plan.status, task.plan.joined, task.plan.key_information[0].source) == ("given", "id", None)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no plans in it"),
        ([{"task_id": "mill"}], "p.jsonl:1: needs `key_information`, `reasoning` or both"),
        ([{**ROW, "items": []}], "p.jsonl:1: items: unknown key"),
        ([{**ROW, "reasoning": [{"question": "Why?"}]}], "p.jsonl:1: reasoning.0.extract, "),
    ],
)
def test_what_is_no_file_of_plans(rows: list[dict[str, Any]], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        PLAN_KIND.load(write_jsonl(tmp_path / "p.jsonl", rows))


def test_reports_get_plans_and_dates_leave_them_alone(tmp_path: Path) -> None:
    report = {"id": "a", "report": "A.", "task": "What by {{date}}?", "task_id": "mill"}
    reports = write_jsonl(tmp_path / "r.jsonl", [report])
    item = {**ITEM, "source": {"url": VOTE, "quote": "On {{date}} it was."}}
    plans = write_jsonl(tmp_path / "p.jsonl", [{**ROW, "key_information": [item]}])
    [raw] = dated(load_reports([reports], TaskFiles(plans=plans)), date(2025, 1, 2))
    assert raw.task is not None and raw.task.plan is not None
    source = raw.task.plan.key_information[0].source
    # A page's words are no placeholder of ours.
    assert (raw.task.prompt, source and source.quote) == ("What by 2025-01-02?", "On {{date}} it was.")
    foreign = write_jsonl(tmp_path / "f.jsonl", [{**ROW, "task_id": "other"}])
    with pytest.raises(InputError, match=r"f\.jsonl: none of"):
        load_reports([reports], TaskFiles(plans=foreign))


def test_an_edit_keeps_what_was_and_drops_proof_that_it_changed() -> None:
    row = drafted()
    assert row.edited(row.editable) is row
    text = row.editable.replace("approved the mill?", "approved the new mill?").replace("Both.", "Each.")
    edited = decide(row, "edit", "Ada", lambda given: text)
    assert edited is not None and edited.status == "reviewed"
    assert edited.key_information[0].question == "Does the report say that the council approved the new mill?"
    assert edited.key_information[0].source == SOURCE
    assert edited.reasoning[0].compare == "Each."
    assert edited.before is not None and edited.before.key_information == row.key_information
    other = row.edited(row.editable.replace("eleven", "twelve"))
    # The page was never looked into for these words.
    source = other.key_information[0].source
    assert source is not None and (source.text_digest, source.start, source.published) == ("", None, None)
    for text, why in (("key_information: [", "not YAML"), ("a: 1", "key_information")):
        with pytest.raises(InputError, match=why):
            row.edited(text)
    with pytest.raises(InputError, match="the plan is empty; reject it instead"):
        row.edited("key_information: []\nreasoning: []\n")


def test_rules(dated_web: Snapshot) -> None:
    def item(number: int, question: str, **source: Any) -> dict[str, Any]:
        return {"id": f"k{number}", "question": question, "source": source or None}

    plan = Plan.model_validate(
        {
            "key_information": [
                item(
                    1, "Does the report say that the council approved the mill?", url=VOTE, quote=VOTE_WORDS
                ),
                item(2, "What did the mill cost?", url=COST, quote=COST_WORDS, published="2024-05-01"),
                item(3, "Does it mention workers?", url=VOTE, quote="Invented words of a page."),
                item(4, "Does the report say that the mill burnt down in 1990?"),
            ],
            "reasoning": [{"id": f"r{number}", **QUESTION} for number in (1, 2)],
            "as_of": "2023-01-01",
        }
    )
    linted = lint(plan, "What of the mill?", dated_web)
    assert [(one.item, one.rule) for one in linted.findings] == [
        ("k2", "yes-or-no"),
        ("k3", "stands-alone"),
        ("k2", "quoted"),
        ("k2", "in-time"),
        ("k3", "quoted"),
        ("k4", "sourced"),
        ("r2", "no-double"),
        (None, "number"),
    ]
    assert linted.of("k2")[1].reason == f"{COST}: not_in_snapshot"  # by the plan's day it was not known
    assert linted.unchecked == {}
    # A figure is no fault here, though a checklist may not give it away.
    assert not linted.of("k1") and len(linted.of("k4")) == 1
    alone = lint(plan, None)
    assert alone.unchecked == {
        "same-language": "the request is not known",
        "quoted": "no snapshot was given",
    }
