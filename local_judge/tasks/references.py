"""Reference reports from JSONL files, as DeepResearch Bench publishes its own.

Invariant: a reference belongs to a task by its row's id or request; several rows of a task, in one file or in several,
are several references in this order.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from local_judge.documents import UnreadableReport, parse_report
from local_judge.errors import InputError
from local_judge.rows import read_jsonl, row_id
from local_judge.tasks.joining import Keyed, Rows
from local_judge.tasks.model import Reference, Task

ARTICLE_KEYS = ("article", "report", "text")


def load_references(paths: Sequence[Path]) -> Rows[str]:
    """The reports of all `paths`: rows of `article` (or `report`, `text`) with `id`, `prompt` or both.

    Raises:
        InputError: a malformed row, a text that is no report, or nothing at all.
    """
    rows: list[Keyed[str]] = []
    for path in paths:
        for place, row in read_jsonl(path):
            identity, prompt = row_id(row, place), row.get("prompt")
            text = next((row[key] for key in ARTICLE_KEYS if isinstance(row.get(key), str)), None)
            if text is None or (identity is None and not isinstance(prompt, str)):
                raise InputError(
                    f"{place}: a reference needs one of {', '.join(ARTICLE_KEYS)}, and `id` or `prompt`"
                )
            try:
                parse_report(text)
            except UnreadableReport as error:
                raise InputError(f"{place}: {error}") from None
            rows.append(Keyed(place, identity, prompt if isinstance(prompt, str) else None, text))
    if not rows:
        raise InputError(f"{', '.join(map(str, paths))}: no references in it")
    return Rows(rows)


def with_references(task: Task, rows: Rows[str]) -> Task | None:
    """The task with the references that `rows` hold for it; None where they hold none. Raises InputError."""
    found = rows.of(task)
    if found is None:
        return None
    references = tuple(Reference(text=row.value, joined=found.by) for row in found.rows)
    return task.model_copy(update={"references": references})
