"""Key-information coverage, 0 to 100 (DREAM, section 3 and appendix C).

    KIC_t = 100 * (sum over the K items of v) / K        v: 1 yes, 0 no; over tasks the mean of KIC_t

K is the number of items in the task's plan. An item's v is the mean over the judges that answered.

Invariants: a plan without items leaves the score undefined, never 0; an item without an answer is left out and opens
the bounds. The prompt has the questions after the report, and neither the pages that they come from nor any score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Self

from pydantic import Field, model_validator

from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.prompts import fence, fill, load_prompt
from local_judge.protocols.asking import Requirement, evaluated_on, require_input, rule, task_of
from local_judge.protocols.base import Case, EvalContext
from local_judge.protocols.checklist import ChecklistMetric, ItemFindings
from local_judge.rubric.answers import ItemRow
from local_judge.scoring.algebra import undefined
from local_judge.scoring.node import Profile, ScoreNode, noted
from local_judge.tasks.model import GuidanceStatus, JoinedBy, KeySource, Plan, Task

DRAFTED = "by a plan that a judge drafted, without review"


def missing_plan(task: Task) -> str | None:
    """Name the plan if the task has none, and the option that gives it."""
    if task.plan is not None:
        return None
    return f"its task {task.id!r} has no plan; give --plans (`local-judge tasks draft plan` makes them)"


def plan_of(case: Case) -> Plan:
    """Return the plan of a report's task."""
    return require_input(task_of(case).plan)


def plan_note(status: GuidanceStatus) -> str:
    """Return a note on a plan without review; empty for others."""
    return DRAFTED if status == "drafted" else ""


NO_ITEMS = "the plan has no key information"
_SAID = {"met": "yes", "unmet": "no", "failed": "failed"}


class KeyInformationSettings(Frozen):
    """Settings of key-information coverage."""

    items_per_call: int = Field(default=20, ge=1, le=50)
    """Items per call; the calls of a longer list share the report."""


class KeyInformationFindings(ItemFindings):
    """Items of the plan, each once, in its order; met: the report says it."""

    sources: tuple[KeySource | None, ...]
    """Page that each item rests on; None if the plan names none."""
    status: GuidanceStatus
    """Origin of the plan."""
    as_of: date | None = None
    """Day of the plan."""
    joined: JoinedBy = "id"
    """Way in which plan and task were joined."""

    @model_validator(mode="after")
    def _check_alignment(self) -> Self:
        if len(self.sources) != len(self.items):
            raise ValueError(f"{len(self.sources)} sources of {len(self.items)} items")
        return self


class KeyInformation(ChecklistMetric[KeyInformationSettings, KeyInformationFindings]):
    """Items of the task's plan that a report says, 0 to 100."""

    id = "key_information"
    label = "Key-information coverage"
    vertical = "compliance"
    of_task = True

    def missing_inputs(self, task: Task) -> str | None:
        """Name the plan if the task has none."""
        return missing_plan(task)

    async def examine(self, case: Case, context: EvalContext) -> KeyInformationFindings:
        """Judge each item of the key information of the task's plan."""
        plan = plan_of(case)

        def wording(asked: Sequence[Requirement]) -> str:
            listed = "\n".join(one.line for one in asked)
            return fill(
                load_prompt("local_judge.protocols.dream", "key_information"),
                {
                    "today": evaluated_on(context.today),
                    "questions": fence(listed, "Questions, each with its id in brackets:"),
                },
            )

        asked = [Requirement(item.id, item.question) for item in plan.key_information]
        items = await rule(case.report, context.judge, wording, asked, self.settings.items_per_call)
        return KeyInformationFindings(
            items=tuple(items),
            sources=tuple(item.source for item in plan.key_information),
            status=plan.status,
            as_of=plan.as_of,
            joined=plan.joined,
        )

    def score(self, judges: Sequence[KeyInformationFindings], profile: Profile) -> ScoreNode:
        """Score the rate of one report, with each item; undefined for a plan without items."""
        if judges[0].items:
            return super().score(judges, profile)
        score = noted(undefined(NO_ITEMS), self.note(judges))
        return self.node(score)

    def note(self, judges: Sequence[KeyInformationFindings]) -> str:
        """Return a note on a plan without review."""
        return plan_note(judges[0].status)

    def lines(self, findings: KeyInformationFindings) -> Iterator[str]:
        """Yield the numbers of items by answer, those with dated pages, and the origin of the plan."""
        outcomes = [_SAID[item.status] for item in findings.items]
        parts = [f"{outcomes.count(answer)} {answer}" for answer in dict.fromkeys(outcomes)]
        rejected = sum(item.quote_rejected is not None for item in findings.items)
        dated = sum(source is not None and source.published is not None for source in findings.sources)
        notes = [f"key information: {', '.join(parts) or 'none in the plan'}"]
        notes += [f"{count(rejected, 'quotation')} not in the report"] if rejected else []
        if findings.items:
            notes.append(f"{dated} of {count(len(findings.items), 'item')} on a page with a date")
        day = f" as on {findings.as_of}" if findings.as_of else ""
        yield "; ".join([*notes, f"plan {findings.status}{day}, joined by {findings.joined}"])

    def items(self, findings: KeyInformationFindings) -> Iterator[ItemRow]:
        """Yield each item with its answer, and the page that the plan has it from."""
        for row, source in zip(super().items(findings), findings.sources, strict=True):
            yield row if source is None else row._replace(details=(_source(source),))


def _source(source: KeySource) -> str:
    words = f' "{source.quote}"' if source.quote else ""
    return f"{source.published or 'no date'}, {source.url}:{words}"
