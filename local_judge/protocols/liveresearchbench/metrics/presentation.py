"""Presentation and organisation: ten checks (LiveResearchBench, section 4.1 and Table 2), in our own words.

    paper      rate of the checks that are met; one without an answer is left out and opens the bounds
    upstream   a check without an answer counts as 0, as one that the judge omitted does in the published code

Invariants: all checks are positive: met is good. Their order and ids are the published ones. The judge is not asked
what code decides, unless `judge_all` is set; then code decides nothing. The prompt has the request if there is a task.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Self

from pydantic import model_validator

from local_judge.base.model import Frozen
from local_judge.prompts import fill, load_prompt
from local_judge.protocols.asking import Requirement, evaluated_on, listed_references, request_blocks, rule
from local_judge.protocols.base import Case, EvalContext
from local_judge.protocols.checklist import ChecklistMetric, Item, ItemFindings, statuses
from local_judge.protocols.liveresearchbench import original_prompts
from local_judge.protocols.liveresearchbench.counted_checks import decide

CHECKS = tuple(
    Requirement(**json.loads(row))
    for row in files("local_judge.protocols.liveresearchbench")
    .joinpath("prompts", "presentation_checks.jsonl")
    .read_text("utf-8")
    .splitlines()
)
IDS: tuple[str, ...] = tuple(check.id for check in CHECKS)


class PresentationSettings(Frozen):
    """Settings of presentation."""

    judge_all: bool = False
    """Ask the judge also for the checks that code can decide."""


class PresentationFindings(ItemFindings):
    """Ten checks of one report."""

    @model_validator(mode="after")
    def _all_ten(self) -> Self:
        if tuple(check.id for check in self.items) != IDS:
            raise ValueError(f"checks {[check.id for check in self.items]}, not {list(IDS)}")
        return self


class Presentation(ChecklistMetric[PresentationSettings, PresentationFindings]):
    """Rate of the ten checks, 0 to 100."""

    id = "presentation"
    label = "Presentation and organisation"
    vertical = "presentation"
    needs_task = False
    missing_as_unmet = True

    async def examine(self, case: Case, context: EvalContext) -> PresentationFindings:
        """Judge all ten checks of one report."""
        document = case.report
        if context.prompts is not None:
            prompts = original_prompts.prompts_from(context.prompts)
            asked = original_prompts.checks(prompts)
            return PresentationFindings(
                items=await original_prompts.checklist("presentation", case, context, prompts, asked)
            )
        decided = {} if self.settings.judge_all else decide(document)
        references = listed_references(document)
        shown = [*([] if references is None else [references]), *request_blocks(case.task)]

        def wording(asked: Sequence[Requirement]) -> str:
            question = fill(
                load_prompt("local_judge.protocols.liveresearchbench", "presentation"),
                {"today": evaluated_on(context.today), "requirements": "\n".join(one.line for one in asked)},
            )
            return "\n\n".join([*shown, question])

        asked = [check for check in CHECKS if check.id not in decided]
        ruled = {item.id: item for item in await rule(document, context.judge, wording, asked, len(CHECKS))}
        return PresentationFindings(
            items=tuple(
                Item(id=check.id, text=check.text, by="code", **decided[check.id]._asdict())
                if check.id in decided
                else ruled[check.id]
                for check in CHECKS
            )
        )

    def lines(self, findings: PresentationFindings) -> Iterator[str]:
        """Yield the numbers of checks by status, and of those that code decided."""
        coded = sum(check.by == "code" for check in findings.items)
        yield f"presentation: {statuses(findings.items)}; {coded} of {len(findings.items)} decided by code"
