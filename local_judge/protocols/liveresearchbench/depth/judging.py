"""Report + others on its task + judge -> pairs.

Invariants: every pair is asked about in both orders; which report came first changes where its scores are read from and
nothing else; identical texts are asked about like any others, since what a judge says of them shows how it takes
position.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import NamedTuple

from local_judge.documents import UnreadableReport, parse_report
from local_judge.documents.model import Document
from local_judge.errors import ConfigError
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Answer, Judge
from local_judge.protocols.base import Bench, Case
from local_judge.protocols.liveresearchbench.depth.asking import Compared, Scores, prompt
from local_judge.protocols.liveresearchbench.depth.defects import defects
from local_judge.protocols.liveresearchbench.depth.findings import (
    DepthFindings,
    Marks,
    Opponent,
    Order,
    Outcome,
    Pair,
)
from local_judge.protocols.liveresearchbench.depth.settings import DepthSettings
from local_judge.tasks.model import Task

REPLY_TOKENS = 1_500
"""Limit of a reply: 700 characters of analysis and six flaws of 200, in any script, and the JSON around them."""
BASELINE = "baseline"


class _Other(NamedTuple):
    """A report that another is compared with."""

    opponent: Opponent
    document: Document


def depth_lacks(task: Task | None, settings: DepthSettings) -> str | None:
    """What a report's task has not that depth needs, and where that may come from; None if nothing."""
    if task is None:
        return "has no task; give --tasks"
    if settings.against == "baseline" and not task.references:
        return (
            f"its task {task.id!r} has no reference report to compare analysis depth with; give --references, or "
            "compare the systems with each other: --set liveresearchbench.depth.against=all"
        )
    return None


async def judge_depth(case: Case, bench: Bench, settings: DepthSettings) -> DepthFindings:
    """All pairs of one report: with each reference of its task, and with `case.rivals` where all are compared.

    Raises:
        ConfigError: its task lacks what the settings need.
    """
    lacking = depth_lacks(case.task, settings)
    if lacking is not None or case.task is None:
        raise ConfigError(f"liveresearchbench: report {case.id!r}: {lacking}")
    task = case.task
    others = [_baseline(reference.text) for reference in task.references]
    unreadable: list[str] = []
    for rival in case.rivals if settings.against == "all" else ():
        document = _document(rival.content)
        if document is None:
            unreadable.append(rival.id)
        else:
            others.append(_Other(_opponent(document, rival.system or rival.id, rival.id), document))
    asked = [(one, first) for one in others for first in (True, False)]
    orders = await asyncio.gather(
        *(_order(task.prompt, case.report, other.document, first, bench.judge) for other, first in asked)
    )
    return DepthFindings(
        task=task.id,
        document=case.report.id,
        defects=defects(case.report),
        against=settings.against,
        leave_out=settings.defective == "leave_out",
        pairs=tuple(
            Pair(opponent=other.opponent, orders=(orders[2 * index], orders[2 * index + 1]))
            for index, other in enumerate(others)
        ),
        unreadable=tuple(unreadable),
    )


@lru_cache(maxsize=256)
def _document(content: bytes) -> Document | None:
    """The report, None if it is none. Reports of many systems are compared with the same one."""
    try:
        return parse_report(content)
    except UnreadableReport:
        return None


def _baseline(text: str) -> _Other:
    document = _document(text.encode())
    if document is None:
        raise ConfigError("a reference report cannot be read")  # the loader of references refuses such
    return _Other(_opponent(document, BASELINE, None), document)


def _opponent(document: Document, name: str, case: str | None) -> Opponent:
    return Opponent(
        kind="baseline" if case is None else "rival",
        name=name,
        case=case,
        document=document.id,
        n_characters=len(document.labelled()),
        defects=defects(document),
    )


async def _order(request: str, report: Document, other: Document, report_first: bool, judge: Judge) -> Order:
    pair = (report, other) if report_first else (other, report)
    told = await judge.ask(prompt(request, *pair), Compared, max_tokens=REPLY_TOKENS)
    if isinstance(told, Failure):
        return Order(report_first=report_first, failure=told)
    return _kept(told, report_first)


def _kept(told: Answer[Compared], report_first: bool) -> Order:
    """The answer by report."""
    answer = told.value
    marks = (_marks(answer.first), _marks(answer.second))
    flaws = (tuple(answer.first_flaws), tuple(answer.second_flaws))
    said: Outcome = "tie"
    if answer.winner != "tie":
        said = "report" if (answer.winner == "first") is report_first else "other"
    own = 0 if report_first else 1
    return Order(
        report_first=report_first,
        report=marks[own],
        other=marks[1 - own],
        said=said,
        analysis=answer.analysis,
        report_flaws=flaws[own],
        other_flaws=flaws[1 - own],
        replies=told.replies,
    )


def _marks(scores: Scores) -> Marks:
    return Marks.model_validate(scores.model_dump())
