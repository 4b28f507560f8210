"""Coverage: the task's checklist, item by item, as a rate.

    paper      an item without an answer is left out of the rate and opens its bounds
    upstream   it counts as 0, as an item that the judge forgot does in the published code

Invariant: the judge sees the request, the items and the day of the evaluation behind the report, and no scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from local_judge.judge.layout import fence, fill, load_prompt
from local_judge.protocols.asking import Requirement, evaluated_on, given, rule, task_of
from local_judge.protocols.base import Case, EvalContext
from local_judge.protocols.checklist import ChecklistMetric, Item, ItemFindings, statuses
from local_judge.tasks.model import GuidanceStatus, JoinedBy, Task
from serving.types import Frozen

DRAFTED = "by a checklist that a judge has drafted and nobody reviewed"


class CoverageSettings(Frozen):
    """Settings of coverage."""

    items_per_call: int = Field(default=20, ge=1, le=50)
    """A longer checklist is asked in several calls, which share the report."""


class CoverageFindings(ItemFindings):
    """The items of one report's task."""

    items: tuple[Item, ...] = Field(min_length=1)
    status: GuidanceStatus
    """The origin of the checklist."""
    joined: JoinedBy = "id"


class Coverage(ChecklistMetric[CoverageSettings, CoverageFindings]):
    """The rate of the checklist's items that the report delivers, 0 to 100."""

    id = "coverage"
    label = "Coverage"
    vertical = "compliance"
    settings_type = CoverageSettings
    findings_type = CoverageFindings
    missing_as_unmet = True

    def missing_inputs(self, task: Task) -> str | None:
        """The checklist, where the task has none."""
        if task.checklist is not None:
            return None
        return (
            f"its task {task.id!r} has no checklist; give --checklists "
            "(`local-judge tasks checklist draft` makes them)"
        )

    async def examine(self, case: Case, context: EvalContext) -> CoverageFindings:
        """Each item of the task's checklist."""
        task = task_of(case)
        checklist = given(task.checklist)

        def wording(asked: Sequence[Requirement]) -> str:
            return fill(
                load_prompt("local_judge.protocols.liveresearchbench", "coverage"),
                {
                    "today": evaluated_on(context.today),
                    "request": fence(task.prompt, "Request:"),
                    "items": fence(
                        "\n".join(one.line for one in asked), "Items, each with its id in brackets:"
                    ),
                },
            )

        asked = [Requirement(item.id, item.text) for item in checklist.items]
        items = await rule(case.report, context.judge, wording, asked, self.settings.items_per_call)
        return CoverageFindings(items=tuple(items), status=checklist.status, joined=checklist.joined)

    def note(self, judges: Sequence[CoverageFindings]) -> str:
        """A note on a checklist that nobody has reviewed."""
        return DRAFTED if any(found.status == "drafted" for found in judges) else ""

    def lines(self, findings: CoverageFindings) -> Iterator[str]:
        """Numbers of items by status, and the origin of the checklist."""
        found = statuses(findings.items)
        yield f"coverage: {found}; checklist {findings.status}, joined by {findings.joined}"
