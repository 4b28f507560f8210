"""Dates that a task leaves open: `{{date}}`, `{{current_date}}`, `{{current_year}}`, `{{last_year}}`.

Invariant: they are filled from the run's day and never from the clock; a run without a day refuses a task that leaves a
date open.
"""

from __future__ import annotations

import re
from datetime import date

from local_judge.base.errors import InputError
from local_judge.tasks.model import Task

_OPEN = re.compile(r"\{\{ *(date|current_date|current_year|last_year) *\}\}")
"""Placeholder with only spaces as white space, which JSON does not escape: a text and its JSON have the same ones."""


def leaves_open(text: str) -> bool:
    """Check whether `text` has a placeholder for a date."""
    return _OPEN.search(text) is not None


def filled(text: str, today: date) -> str:
    """Return `text` with LiveResearchBench's placeholders filled: dates as YYYY-MM-DD, years as YYYY."""
    words = {
        "date": today.isoformat(),
        "current_date": today.isoformat(),
        "current_year": str(today.year),
        "last_year": str(today.year - 1),
    }
    return _OPEN.sub(lambda found: words[found[1]], text)


def dated(task: Task, today: date | None) -> Task:
    """Return the task with the dates filled that its request, guidance, criteria and checklist leave open.

    Its references and its plan quote other texts and stay unchanged.

    Raises:
        InputError: the task leaves a date open, and `today` is None.
    """
    whole = task.model_copy(update={"id": ""}).model_dump_json(exclude={"references", "plan"})
    found = _OPEN.search(whole)
    if found is None:
        return task
    if today is None:
        raise InputError(f"task {task.id!r} leaves a date open ({found[0]}); give --date")
    kept = {"id": task.id, "references": task.references, "plan": task.plan}
    return Task.model_validate_json(filled(whole, today)).model_copy(update=kept)
