"""Dates that tasks leave open."""

from __future__ import annotations

from datetime import date

import pytest

from local_judge.base.errors import InputError
from local_judge.tasks.dates import dated, filled, leaves_open
from local_judge.tasks.model import Checklist, ChecklistItem, Guidance, Reference, Task

DAY = date(2026, 1, 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("as of {{date}}", "as of 2026-01-05"),
        ("as of {{ current_date }}.", "as of 2026-01-05."),
        ("{{last_year}}-{{current_year}}", "2025-2026"),
        ("{{name}} and {date} stay", "{{name}} and {date} stay"),
    ],
)
def test_placeholders_are_filled_from_the_day(text: str, expected: str) -> None:
    assert filled(text, DAY) == expected


def test_everything_that_is_asked_with_is_filled_and_references_are_not() -> None:
    task = Task(
        id="1",
        prompt="Who led the list in {{last_year}}?",
        guidance=Guidance(text='Names the "leader" of {{last_year}}'),
        checklist=Checklist(items=(ChecklistItem(id="q1", text="Is the list of {{current_year}} given?"),)),
        references=(Reference(text="A template engine prints {{date}}."),),
    )
    after = dated(task, DAY)
    assert after.prompt == "Who led the list in 2025?"
    assert after.guidance is not None and after.guidance.text == 'Names the "leader" of 2025'
    assert after.checklist is not None and after.checklist.items[0].text == "Is the list of 2026 given?"
    assert after.references == task.references


def test_a_task_that_leaves_a_date_open_needs_a_day() -> None:
    with pytest.raises(InputError, match=r"^task '1' leaves a date open \(\{\{date\}\}\); give --date$"):
        dated(Task(id="1", prompt="News of {{date}}"), None)


def test_a_task_without_placeholders_needs_none() -> None:
    task = Task(id="1", prompt="What is rust?")
    assert dated(task, None) is task


@pytest.mark.parametrize("text", ["{{\ndate}}", "{{date\t}}", "{{\x1fdate}}", "{{\u2028date}}"])
def test_what_counts_as_open_is_what_gets_filled(text: str) -> None:
    # JSON writes some of these blanks as escapes: a run would neither refuse such a task nor fill it.
    task = Task(id="1", prompt=text)
    assert not leaves_open(text) and dated(task, None) is task


def test_an_id_is_no_text_to_be_filled() -> None:
    assert dated(Task(id="{{date}}", prompt="As of {{date}}?"), DAY).id == "{{date}}"
    assert dated(task := Task(id="{{date}}", prompt="When?"), None) is task
