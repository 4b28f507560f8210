"""Files that are joined to the tasks of a run's reports.

Invariants: files are joined in a fixed order, so that the same files give the same tasks; several rows of a task, in
one file of references or in several, are several references in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pydantic import ConfigDict

from local_judge.base.errors import InputError
from local_judge.base.model import Frozen
from local_judge.base.rows import first_text, read_jsonl, row_id
from local_judge.documents import UnreadableReport, parse_report
from local_judge.documents.kinds import markdown_of
from local_judge.tasks.checklists import CHECKLIST_KIND
from local_judge.tasks.criteria import CRITERIA_KIND
from local_judge.tasks.dimensions import DIMENSIONS_KIND
from local_judge.tasks.guidance import GUIDANCE_KIND
from local_judge.tasks.kinds import UNMATCHED, Kind
from local_judge.tasks.model import Reference, Task
from local_judge.tasks.plans import PLAN_KIND
from local_judge.tasks.review import D
from local_judge.tasks.rowfile import Keyed, Rows

ARTICLE_KEYS = ("article", "report", "text")


class TaskFiles(Frozen):
    """File of tasks, and files joined to them by the task's id or request (see `tasks.rowfile`).

    RACE reads criteria and references, depth references, LiveResearchBench checklists, DeepResearchEval dimensions, and
    DREAM plans. Guidance replaces that which came with a task, except for unreviewed drafts.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    tasks: Path | None = None
    """Tasks: JSONL, LiveResearchBench's dataset, or a folder in DEER's layout."""
    guidance: Path | None = None
    """Guidance for tasks (`local-judge tasks draft guidance`)."""
    criteria: Path | None = None
    """Criteria of tasks (`local-judge tasks draft criteria`)."""
    references: tuple[Path, ...] = ()
    """Reference reports: a JSONL file."""
    checklists: Path | None = None
    """Checklists of tasks (`local-judge tasks draft checklist`, or LiveResearchBench's)."""
    dimensions: Path | None = None
    """Dimensions of tasks (`local-judge tasks draft dimensions`, or DeepResearchEval's)."""
    plans: Path | None = None
    """Evaluation plans of tasks (`local-judge tasks draft plan`)."""


class Join(NamedTuple):
    """Function that joins one file to tasks."""

    place: str
    """Name of the file in messages."""
    of: Callable[[Task], Task | None]
    """Return the task with the file's content for it; None if there is none."""
    unmatched: str
    """Message if there is none for any task."""


def joins(files: TaskFiles, *, open_dates: bool = False) -> Iterator[Join]:
    """Yield the joins of files in their order; each file is read when its join is due.

    Args:
        files: files to join; its `tasks` are not read.
        open_dates: of LiveResearchBench's dataset, use the columns that leave dates open.

    Raises:
        InputError: a file cannot be read, is invalid, or has no rows.
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
    """Read reference reports: rows of `article` (or `report`, `text`) with `id`, `prompt` or both.

    Raises:
        InputError: a row is invalid, a text is not a report, or there is no row.
    """
    rows: list[Keyed[str]] = []
    for path in paths:
        for place, row in read_jsonl(path):
            identity, prompt = row_id(row, place), row.get("prompt")
            text = first_text(row, ARTICLE_KEYS)
            if text is None or (identity is None and not isinstance(prompt, str)):
                raise InputError(
                    f"{place}: a reference needs one of {', '.join(ARTICLE_KEYS)}, and `id` or `prompt`"
                )
            try:
                text = markdown_of(text.encode()).decode()
                parse_report(text)
            except UnreadableReport as error:
                raise InputError(f"{place}: {error}") from None
            rows.append(Keyed(place, identity, prompt if isinstance(prompt, str) else None, text))
    if not rows:
        raise InputError(f"{', '.join(map(str, paths))}: no references in it")
    return Rows(rows)


def with_references(task: Task, rows: Rows[str]) -> Task | None:
    """Return the task with its references of `rows`; None if there are none. Raises InputError."""
    found = rows.of(task)
    if found is None:
        return None
    references = tuple(Reference(text=row.value, joined=found.by) for row in found.rows)
    return task.model_copy(update={"references": references})
