"""Report + checklist -> what the report delivers.

Invariant: the judge sees the request, the items and the day of the evaluation behind the report, and nothing of scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from local_judge.errors import ConfigError
from local_judge.judge.layout import fence, fill, load_prompt
from local_judge.protocols.asking import Requirement, evaluated_on, rule, task_of
from local_judge.protocols.base import Bench, Case
from local_judge.protocols.liveresearchbench.coverage.findings import CoverageFindings
from local_judge.protocols.liveresearchbench.coverage.settings import CoverageSettings

template = partial(load_prompt, "local_judge.protocols.liveresearchbench")


async def judge_coverage(case: Case, bench: Bench, settings: CoverageSettings) -> CoverageFindings:
    """Each item of the task's checklist.

    Raises:
        ConfigError: there is no task, or it has no checklist.
    """
    task = task_of(case, "liveresearchbench")
    checklist = task.checklist
    if checklist is None:
        raise ConfigError(f"liveresearchbench: task {task.id!r} has no checklist; give --checklists")

    def wording(asked: Sequence[Requirement]) -> str:
        return fill(
            template("coverage"),
            {
                "today": evaluated_on(bench.today),
                "request": fence(task.prompt, "Request:"),
                "items": fence("\n".join(one.line for one in asked), "Items, each with its id in brackets:"),
            },
        )

    asked = [Requirement(item.id, item.text) for item in checklist.items]
    items = await rule(case.report, bench.judge, wording, asked, settings.items_per_call)
    return CoverageFindings(items=tuple(items), status=checklist.status, joined=checklist.joined)
