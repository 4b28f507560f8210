"""Comparison of a report with the other reports on its task.

Invariants: every pair is compared in both orders. The order only changes where a report's scores are read from.
Identical texts are compared like any others, since they show a judge's position bias. A prompt opens with the first
report as all other prompts about that report do: with the report first it reuses the other metrics' prefix, and with
the baseline first the reports of all systems follow one prefix. The prompt does not tell which report is evaluated.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from local_judge.base.errors import ConfigError
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.evidence import shared_report
from local_judge.documents import Source, UnreadableReport, parse_report
from local_judge.documents.model import Document
from local_judge.judge.judge import Answer, Judge
from local_judge.prompts import Prompt, fence, load_prompt
from local_judge.protocols.base import Case
from local_judge.protocols.liveresearchbench import original_prompts
from local_judge.protocols.liveresearchbench.depth.defects import defects
from local_judge.protocols.liveresearchbench.depth.games import Marks, Opponent, Order, Outcome, Pair
from local_judge.protocols.originals import Original
from local_judge.tasks.model import Task

REPLY_TOKENS = 1_500
"""Limit of a reply: 700 characters of analysis, six flaws of 200 characters in any script, and the JSON around them."""
BASELINE = "baseline"


class _Other(NamedTuple):
    """Report to compare with."""

    opponent: Opponent
    document: Document


Flaw = Annotated[str, Field(max_length=200)]


class Compared(Frozen):
    """Answer of a judge about two reports in the order in which they are shown, without totals."""

    analysis: Annotated[str, Field(max_length=700)]
    first_flaws: Annotated[list[Flaw], Field(max_length=3)]
    second_flaws: Annotated[list[Flaw], Field(max_length=3)]
    first: Marks
    second: Marks
    winner: Literal["first", "second", "tie"]


def prompt(request: str, first: Document, second: Document) -> Prompt:
    """Return the prompt for two reports on one request."""
    shared, prefix_key = shared_report(first)
    own = (
        fence(request, "Request:"),
        fence(second.labelled(), "Second report:"),
        load_prompt("local_judge.protocols.liveresearchbench", "compare"),
    )
    return Prompt(shared=shared, own="\n\n".join(own), prefix_key=prefix_key)


async def compare(
    case: Case, task: Task, judge: Judge, others_too: bool, prompts: Original | None = None
) -> tuple[tuple[Pair, ...], tuple[str, ...]]:
    """Return all pairs of one report, and the ids of other systems' reports that cannot be read.

    Args:
        case: the report.
        task: its task; the report is compared with each of its references.
        judge: the judge that compares.
        others_too: compare it with the reports of other systems as well.
        prompts: the published prompts; None for this package's.
    """
    others = [_baseline(reference.text) for reference in task.references]
    unreadable: list[str] = []
    for other in case.others if others_too else ():
        document = _document(other.content, other.sources)
        if document is None:
            unreadable.append(other.id)
        else:
            others.append(_Other(_opponent(document, other.system or other.id, other.id), document))
    asked = [(one, first) for one in others for first in (True, False)]
    orders = await asyncio.gather(
        *(
            _order(task.prompt, case.report, other.document, first, judge)
            if prompts is None
            else original_prompts.order(task.prompt, case.report, other.document, first, judge, prompts)
            for other, first in asked
        )
    )
    pairs = tuple(
        Pair(opponent=other.opponent, orders=(orders[2 * index], orders[2 * index + 1]))
        for index, other in enumerate(others)
    )
    return pairs, tuple(unreadable)


@lru_cache(maxsize=256)
def _document(content: bytes, sources: tuple[Source, ...] = ()) -> Document | None:
    """Parse a report that many others are compared with; None if it is not readable."""
    try:
        return parse_report(content, sources)
    except UnreadableReport:
        return None


def _baseline(text: str) -> _Other:
    document = _document(text.encode())
    if document is None:
        raise ConfigError("a reference report cannot be read")  # the loader of references rejects these
    return _Other(_opponent(document, BASELINE, None), document)


def _opponent(document: Document, name: str, case: str | None) -> Opponent:
    return Opponent(
        kind="baseline" if case is None else "system",
        name=name,
        case=case,
        document=document.id,
        n_characters=len(document.labelled()),
        defects=defects(document),
    )


async def _order(request: str, report: Document, other: Document, report_first: bool, judge: Judge) -> Order:
    pair = (report, other) if report_first else (other, report)
    answer = await judge.ask(prompt(request, *pair), Compared, max_tokens=REPLY_TOKENS)
    if isinstance(answer, Failure):
        return Order(report_first=report_first, failure=answer)
    return _by_report(answer, report_first)


def _by_report(result: Answer[Compared], report_first: bool) -> Order:
    """Return the answer by report instead of by position."""
    answer = result.value
    marks = (answer.first, answer.second)
    flaws = (tuple(answer.first_flaws), tuple(answer.second_flaws))
    outcome: Outcome = "tie"
    if answer.winner != "tie":
        outcome = "report" if (answer.winner == "first") is report_first else "other"
    own = 0 if report_first else 1
    return Order(
        report_first=report_first,
        report=marks[own],
        other=marks[1 - own],
        said=outcome,
        analysis=answer.analysis,
        report_flaws=flaws[own],
        other_flaws=flaws[1 - own],
        replies=result.replies,
    )
