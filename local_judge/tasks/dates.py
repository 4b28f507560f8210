"""Dates that a task leaves open: `{{date}}`, `{{current_date}}`, `{{current_year}}`, `{{last_year}}`.

Invariant: they are filled from the day that the run was given and never from the clock; a task that leaves a date open
is refused by a run without a day.
"""

from __future__ import annotations

import re
from datetime import date

from local_judge.errors import InputError
from local_judge.tasks.model import Task

_OPEN = re.compile(r"\{\{ *(date|current_date|current_year|last_year) *\}\}")
"""Blanks alone, which JSON writes as they are: a text and its JSON have the same placeholders."""


def leaves_open(text: str) -> bool:
    """Whether `text` has a placeholder for a date."""
    return _OPEN.search(text) is not None


def filled(text: str, today: date) -> str:
    """`text` with its placeholders, those of LiveResearchBench, filled: dates as YYYY-MM-DD, years as YYYY."""
    words = {
        "date": today.isoformat(),
        "current_date": today.isoformat(),
        "current_year": str(today.year),
        "last_year": str(today.year - 1),
    }
    return _OPEN.sub(lambda found: words[found[1]], text)


def dated(task: Task, today: date | None) -> Task:
    """The task with the dates filled that its request, guidance, criteria and checklist leave open.

    Its references and its plan, which hold words of others, stay as they are.

    Raises:
        InputError: it leaves one open, and there is no day to fill it from.
    """
    whole = task.model_copy(update={"id": ""}).model_dump_json(exclude={"references", "plan"})
    found = _OPEN.search(whole)
    if found is None:
        return task
    if today is None:
        raise InputError(f"task {task.id!r} leaves a date open ({found[0]}); give --date")
    kept = {"id": task.id, "references": task.references, "plan": task.plan}
    return Task.model_validate_json(filled(whole, today)).model_copy(update=kept)
