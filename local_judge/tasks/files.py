"""The files that are joined to a run's reports by their tasks.

Invariant: what one file says of a task is put into that task or the task stays as it is; the files are joined in one
order, so that the same files give the same tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from local_judge.errors import InputError
from local_judge.tasks.checklists import load_checklists, with_checklist
from local_judge.tasks.criteria import load_criteria, with_criteria
from local_judge.tasks.dimension_files import load_dimensions
from local_judge.tasks.dimensions import with_dimensions
from local_judge.tasks.guidance import GuidanceRow, load_rows
from local_judge.tasks.model import Task
from local_judge.tasks.plans import load_plans, with_plan
from local_judge.tasks.references import load_references, with_references
from serving.types import Frozen


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
    """In any form that `tasks.checklists.load_checklists` reads."""
    dimensions: Path | None = None
    """In any form that `tasks.dimension_files.load_dimensions` reads."""
    plans: Path | None = None


class Join(NamedTuple):
    """One file's part in tasks."""

    place: str
    """The file, for messages."""
    of: Callable[[Task], Task | None]
    """The task with what the file holds for it; None where it holds nothing."""
    unmatched: str = "none of its rows has the id or the request of a report's task"
    """What is said where that is so for every task."""


def joins(files: TaskFiles, *, open_dates: bool = False) -> Iterator[Join]:
    """What is put into tasks that are known, file by file; each is read when it is its turn.

    Args:
        files: all but their `tasks` are read.
        open_dates: of LiveResearchBench's dataset, take the columns that leave dates open.

    Raises:
        InputError: a file cannot be read, is malformed, or has nothing in it.
    """
    if files.guidance is not None:
        rows = load_rows(files.guidance)
        none = f"none of its {len(rows)} task ids is that of a report's task"
        yield Join(str(files.guidance), partial(_guided, rows=rows, path=files.guidance), unmatched=none)
    if files.criteria is not None:
        yield Join(str(files.criteria), partial(with_criteria, rows=load_criteria(files.criteria)))
    if files.references:
        place = ", ".join(map(str, files.references))
        yield Join(place, partial(with_references, rows=load_references(files.references)))
    if files.checklists is not None:
        checklists = load_checklists(files.checklists, open_dates=open_dates)
        yield Join(str(files.checklists), partial(with_checklist, rows=checklists))
    if files.dimensions is not None:
        yield Join(str(files.dimensions), partial(with_dimensions, rows=load_dimensions(files.dimensions)))
    if files.plans is not None:
        yield Join(str(files.plans), partial(with_plan, rows=load_plans(files.plans)))


def _guided(task: Task, rows: Mapping[str, GuidanceRow], path: Path) -> Task | None:
    """The task with the guidance of a file; as it is where that was rejected, or is a draft beside an expert's.

    None where the file has none for it.
    """
    row = rows.get(task.id)
    if row is None:
        return None
    if row.task is not None and row.task != task.prompt:
        raise InputError(
            f"{path}: the guidance of task {task.id!r} was drafted for another request; draft it again"
        )
    if row.guidance is None or (row.status == "drafted" and task.guidance is not None):
        return task
    return task.model_copy(update={"guidance": row.guidance})
