"""Report -> the ten checks, by code where code is sure and by the judge elsewhere.

Invariant: what code decides is not asked, unless `judge_all` says so; then code decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.judge.layout import fill
from local_judge.protocols.asking import (
    Requirement,
    evaluated_on,
    listed_references,
    rule,
)
from local_judge.protocols.base import Bench, Case
from local_judge.protocols.items import Item
from local_judge.protocols.liveresearchbench.presentation.checks import CHECKS
from local_judge.protocols.liveresearchbench.presentation.counted import decide
from local_judge.protocols.liveresearchbench.presentation.findings import PresentationFindings
from local_judge.protocols.liveresearchbench.presentation.settings import PresentationSettings
from local_judge.protocols.liveresearchbench.prompts import template


async def judge_presentation(
    case: Case, bench: Bench, settings: PresentationSettings
) -> PresentationFindings:
    """All ten checks of one report."""
    document = case.report
    decided = {} if settings.judge_all else decide(document)
    references = listed_references(document)

    def wording(asked: Sequence[Requirement]) -> str:
        own = fill(
            template("presentation"),
            {
                "today": evaluated_on(bench.today),
                "requirements": "\n".join(one.line for one in asked),
            },
        )
        return own if references is None else f"{references}\n\n{own}"

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
