"""The files that are joined to a run's reports by their tasks.

Invariant: what one file says of a task is put into that task or the task stays as it is; the files are joined in one
order, so that the same files give the same tasks; several rows of a task, in one file of references or in several, are
several references in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from local_judge.documents import UnreadableReport, parse_report
from local_judge.errors import InputError
from local_judge.rows import read_jsonl, row_id
from local_judge.tasks.checklists import CHECKLIST_KIND
from local_judge.tasks.criteria import CRITERIA_KIND
from local_judge.tasks.dimension_files import DIMENSIONS_KIND
from local_judge.tasks.guidance import GUIDANCE_KIND
from local_judge.tasks.joining import Keyed, Rows
from local_judge.tasks.kinds import UNMATCHED, Kind
from local_judge.tasks.model import Reference, Task
from local_judge.tasks.plans import PLAN_KIND
from local_judge.tasks.review import D
from serving.types import Frozen

ARTICLE_KEYS = ("article", "report", "text")


class TaskFiles(Frozen):
    """Where tasks stand, and what belongs to them: joined by the task's id or request (see `tasks.joining`)."""

    tasks: Path | None = None
    """As `tasks.load.load_tasks` reads them, joined by the task's id, or the report's."""
    guidance: Path | None = None
    """Joined by the task's id; it goes before the guidance that a task came with, but for drafts that nobody has
    reviewed."""
    criteria: Path | None = None
    references: tuple[Path, ...] = ()
    """Reference reports, of which a task may have several."""
    checklists: Path | None = None
    """A file of our own, LiveResearchBench's dataset, or tasks with checklists."""
    dimensions: Path | None = None
    """In any form that `tasks.dimension_files` reads."""
    plans: Path | None = None


class Join(NamedTuple):
    """One file's part in tasks."""

    place: str
    """The file, for messages."""
    of: Callable[[Task], Task | None]
    """The task with what the file holds for it; None where it holds nothing."""
    unmatched: str
    """What is said where that is so for every task."""


def joins(files: TaskFiles, *, open_dates: bool = False) -> Iterator[Join]:
    """What is put into tasks that are known, file by file; each is read when it is its turn.

    Args:
        files: all but their `tasks` are read.
        open_dates: of LiveResearchBench's dataset, take the columns that leave dates open.

    Raises:
        InputError: a file cannot be read, is malformed, or has nothing in it.
    """
    yield from _joined(GUIDANCE_KIND, files.guidance)
    yield from _joined(CRITERIA_KIND, files.criteria)
    if files.references:
        place = ", ".join(map(str, files.references))
        yield Join(place, partial(with_references, rows=load_references(files.references)), UNMATCHED)
    yield from _joined(CHECKLIST_KIND, files.checklists, open_dates)
    yield from _joined(DIMENSIONS_KIND, files.dimensions)
    yield from _joined(PLAN_KIND, files.plans)


def _joined(kind: Kind[D], path: Path | None, open_dates: bool = False) -> Iterator[Join]:
    if path is not None:
        rows = kind.load(path, open_dates=open_dates)
        yield Join(str(path), partial(kind.join, rows=rows), kind.unmatched(rows))


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
