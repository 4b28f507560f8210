"""The plan of a report's task, by which two of the metrics go."""

from __future__ import annotations

from local_judge.protocols.asking import given, task_of
from local_judge.protocols.base import Case
from local_judge.tasks.model import GuidanceStatus, Plan, Task

DRAFTED = "by a plan that a judge has drafted and nobody reviewed"


def missing_plan(task: Task) -> str | None:
    """The plan, where the task has none, and where it may come from, in half a line."""
    if task.plan is not None:
        return None
    return f"its task {task.id!r} has no plan; give --plans (`local-judge tasks plan draft` makes them)"


def plan_of(case: Case) -> Plan:
    """The plan of a report's task."""
    return given(task_of(case).plan)


def plan_note(status: GuidanceStatus) -> str:
    """What a reader of a score must know of the plan that it goes by; empty if nothing."""
    return DRAFTED if status == "drafted" else ""
