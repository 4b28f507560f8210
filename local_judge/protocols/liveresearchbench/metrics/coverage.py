"""Coverage: rate of the items of the task's checklist that the report delivers (LiveResearchBench, section 4.2).

    paper      an item without an answer is left out of the rate and opens its bounds
    upstream   it counts as 0, as an item that the judge omitted does in the published code

Invariant: the prompt has the request, the items and the day of the evaluation after the report, and no scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from local_judge.base.model import Frozen
from local_judge.prompts import fence, fill, load_prompt
from local_judge.protocols.asking import Requirement, evaluated_on, require_input, rule, task_of
from local_judge.protocols.base import Case, EvalContext
from local_judge.protocols.checklist import ChecklistMetric, Item, ItemFindings, statuses
from local_judge.protocols.liveresearchbench import original_prompts
from local_judge.tasks.model import GuidanceStatus, JoinedBy, Task

DRAFTED = "by a checklist that a judge drafted, without review"


class CoverageSettings(Frozen):
    """Settings of coverage."""

    items_per_call: int = Field(default=20, ge=1, le=50)
    """Items per call; the calls of a longer checklist share the report."""


class CoverageFindings(ItemFindings):
    """Items of one report's task."""

    items: tuple[Item, ...] = Field(min_length=1)
    status: GuidanceStatus
    """Origin of the checklist."""
    joined: JoinedBy = "id"


class Coverage(ChecklistMetric[CoverageSettings, CoverageFindings]):
    """Rate of the checklist's items that the report delivers, 0 to 100."""

    id = "coverage"
    label = "Coverage"
    vertical = "compliance"
    missing_as_unmet = True
    of_task = True

    def missing_inputs(self, task: Task) -> str | None:
        """Name the checklist if the task has none."""
        if task.checklist is not None:
            return None
        return (
            f"its task {task.id!r} has no checklist; give --checklists "
            "(`local-judge tasks draft checklist` makes them)"
        )

    async def examine(self, case: Case, context: EvalContext) -> CoverageFindings:
        """Judge each item of the task's checklist."""
        task = task_of(case)
        checklist = require_input(task.checklist)
        if context.prompts is not None:
            numbered = [
                Requirement(f"q{number}", item.text) for number, item in enumerate(checklist.items, 1)
            ]
            found = await original_prompts.checklist(
                "coverage", case, context, original_prompts.prompts_from(context.prompts), numbered
            )
            return CoverageFindings(items=found, status=checklist.status, joined=checklist.joined)

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
        """Return a note on a checklist without review."""
        return DRAFTED if any(found.status == "drafted" for found in judges) else ""

    def lines(self, findings: CoverageFindings) -> Iterator[str]:
        """Yield the numbers of items by status, and the origin of the checklist."""
        found = statuses(findings.items)
        yield f"coverage: {found}; checklist {findings.status}, joined by {findings.joined}"
