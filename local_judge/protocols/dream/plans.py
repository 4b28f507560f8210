"""The plan of a report's task, by which two of the metrics go."""

from __future__ import annotations

from local_judge.errors import ConfigError
from local_judge.protocols.asking import task_of
from local_judge.protocols.base import Case
from local_judge.tasks.model import GuidanceStatus, Plan

DRAFTED = "by a plan that a judge has drafted and nobody reviewed"


def plan_of(case: Case) -> Plan:
    """The plan of a report's task.

    Raises:
        ConfigError: there is no task, or it has no plan.
    """
    task = task_of(case, "dream")
    if task.plan is None:
        raise ConfigError(f"dream: task {task.id!r} has no plan; give --plans")
    return task.plan


def plan_note(status: GuidanceStatus) -> str:
    """What a reader of a score must know of the plan that it goes by; empty if nothing."""
    return DRAFTED if status == "drafted" else ""
