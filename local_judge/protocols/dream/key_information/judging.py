"""Report + key information of the plan -> which of it the report says.

Invariant: the judge sees the questions behind the report, and neither the pages that they come from nor any score.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from local_judge.judge.layout import fence, fill, load_prompt
from local_judge.protocols.asking import Requirement, evaluated_on, rule
from local_judge.protocols.base import Bench, Case
from local_judge.protocols.dream.key_information.findings import KeyInformationFindings
from local_judge.protocols.dream.key_information.settings import KeyInformationSettings
from local_judge.protocols.dream.plans import plan_of

template = partial(load_prompt, "local_judge.protocols.dream")


async def judge_key_information(
    case: Case, bench: Bench, settings: KeyInformationSettings
) -> KeyInformationFindings:
    """Each item of the key information of the task's plan.

    Raises:
        ConfigError: there is no task, or it has no plan.
    """
    plan = plan_of(case)

    def wording(asked: Sequence[Requirement]) -> str:
        listed = "\n".join(one.line for one in asked)
        values = {
            "today": evaluated_on(bench.today),
            "questions": fence(listed, "Questions, each with its id in brackets:"),
        }
        return fill(template("key_information"), values)

    asked = [Requirement(item.id, item.question) for item in plan.key_information]
    items = await rule(case.report, bench.judge, wording, asked, settings.items_per_call)
    return KeyInformationFindings(
        items=tuple(items),
        sources=tuple(item.source for item in plan.key_information),
        status=plan.status,
        as_of=plan.as_of,
        joined=plan.joined,
    )
