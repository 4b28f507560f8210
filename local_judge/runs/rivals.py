"""Which reports of a run stand against each other.

Invariant: of any two reports on one task by different systems, the one that comes first in the run has the other, and
no report has itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.base import Rival
from local_judge.runs.inputs import RawReport
from local_judge.tasks.model import Task


def rivals_of(reports: Sequence[RawReport]) -> dict[str, tuple[Rival, ...]]:
    """By the id of each report, those of other systems on the same task that come after it.

    A report whose input names no system is of a system of its own.
    """
    by_task: dict[Task, list[RawReport]] = {}
    for report in reports:
        if report.task is not None:
            by_task.setdefault(report.task, []).append(report)
    found: dict[str, tuple[Rival, ...]] = {report.id: () for report in reports}
    for same in by_task.values():
        for place, report in enumerate(same):
            found[report.id] = tuple(
                Rival(id=other.id, system=other.system, content=other.content)
                for other in same[place + 1 :]
                if other.system is None or other.system != report.system
            )
    return found
