"""Report -> the ten checks, by code where code is sure and by the judge elsewhere.

Invariant: what code decides is not asked, unless `judge_all` says so; then code decides nothing. The judge sees the
request wherever the report has a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from local_judge.judge.layout import fill, load_prompt
from local_judge.protocols.asking import (
    Requirement,
    evaluated_on,
    listed_references,
    requested,
    rule,
)
from local_judge.protocols.base import Bench, Case
from local_judge.protocols.items import Item
from local_judge.protocols.liveresearchbench.presentation.checks import CHECKS
from local_judge.protocols.liveresearchbench.presentation.counted import decide
from local_judge.protocols.liveresearchbench.presentation.findings import PresentationFindings
from local_judge.protocols.liveresearchbench.presentation.settings import PresentationSettings

template = partial(load_prompt, "local_judge.protocols.liveresearchbench")


async def judge_presentation(
    case: Case, bench: Bench, settings: PresentationSettings
) -> PresentationFindings:
    """All ten checks of one report."""
    document = case.report
    decided = {} if settings.judge_all else decide(document)
    references = listed_references(document)
    shown = [*([] if references is None else [references]), *requested(case.task)]

    def wording(asked: Sequence[Requirement]) -> str:
        question = fill(
            template("presentation"),
            {
                "today": evaluated_on(bench.today),
                "requirements": "\n".join(one.line for one in asked),
            },
        )
        return "\n\n".join([*shown, question])

    asked = [check for check in CHECKS if check.id not in decided]
    ruled = {item.id: item for item in await rule(document, bench.judge, wording, asked, len(CHECKS))}
    return PresentationFindings(
        checks=tuple(
            Item(id=check.id, text=check.text, by="code", **decided[check.id]._asdict())
            if check.id in decided
            else ruled[check.id]
            for check in CHECKS
        )
    )
