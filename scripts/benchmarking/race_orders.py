"""RACE over several systems on one task: who is compared with what, and what both orders cost a server.

Invariant: both orders ask about the same reports with the same words; only token counts are measured, never scores.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from local_judge.documents import parse_report
from local_judge.documents.clean import clean
from local_judge.documents.model import Document
from local_judge.judge.judge import Judge, JudgeSettings
from local_judge.ledger.ledger import Ledger
from local_judge.protocols.race.asking import Articles, Question, prompt
from local_judge.protocols.race.judging import MIN_REPLY_TOKENS, judge_race
from local_judge.protocols.race.settings import RaceSettings
from local_judge.runs.planning.inputs import RawReport, load_reports
from local_judge.tasks.files import TaskFiles
from local_judge.tasks.model import Reference, Task
from scripts.benchmarking.one_token import Counting, OneToken, measured
from scripts.benchmarking.vllm_server import MeasuringError
from serving.types import Message, Sampling

Order = Literal["shared", "paper"]


class Bout(NamedTuple):
    """One task with its reference and criteria, and the reports of several systems."""

    task: Task
    reference: str
    """Id of the report that serves as reference, or of the task that it came with."""
    reports: tuple[tuple[str, Document], ...]
    """Reports with their ids."""


class Sizes(NamedTuple):
    """Token counter and context length of a prompt."""

    tokens: Callable[[Sequence[Message]], Sequence[int]]
    """Tokens of a chat, as the judge's server renders it."""
    context: int


def own_bout(
    reports: Path, tasks: Path | None, criteria: Path, references: Path, systems: int, task: str | None
) -> Bout:
    """Return the first `systems` reports on one task in the user's own files.

    Raises:
        InputError: what a run would refuse too.
        MeasuringError: no task with criteria and a reference has that many reports.
    """
    loaded = load_reports([reports], TaskFiles(tasks=tasks, criteria=criteria, references=(references,)))
    by_task: dict[str, list[RawReport]] = {}
    for report in loaded:
        if report.task is not None and report.task.criteria is not None and report.task.references:
            by_task.setdefault(report.task.id, []).append(report)
    for name, found in by_task.items():
        if len(found) >= systems and task in (None, name) and (whole := found[0].task) is not None:
            shown = tuple((report.id, parse_report(report.content)) for report in found[:systems])
            return Bout(whole.model_copy(update={"references": whole.references[:1]}), name, shown)
    wanted = "no task" if task is None else f"task {task!r} has not"
    raise MeasuringError(f"{reports}: {wanted} {systems} reports, criteria and a reference; give --systems")


def stand_in_bout(folder: Path, systems: int, sizes: Sizes) -> Bout:
    """The longest English report that fits as reference on its own task; the shortest of other tasks as the systems'.

    Args:
        folder: `raw.jsonl`, `query.jsonl` and `criteria.jsonl` as DeepResearch Bench publishes them.
        systems: how many reports are compared with the reference.
        sizes: with each of them its prompt has to leave room for the reply to all criteria in one call.

    Raises:
        InputError: a file is missing or malformed.
        MeasuringError: no report fits.
    """
    loaded = load_reports(
        [folder / "raw.jsonl"],
        TaskFiles(tasks=folder / "query.jsonl", criteria=folder / "criteria.jsonl"),
    )
    english: list[_Article] = []
    for report in loaded:
        document = parse_report(report.content)
        if document.language == "en" and report.task is not None and report.task.criteria is not None:
            english.append(_Article(report.id, report.task, document, clean(document).text))
    # By what a judge is shown of them; ids decide between equals.
    english.sort(key=lambda article: (len(article.shown), article.id))
    others = english[:systems]
    for article in reversed(english[systems:]):
        if _fits(article, others, sizes):
            task = article.task.model_copy(update={"references": (Reference(text=article.document.text),)})
            return Bout(task, article.id, tuple((other.id, other.document) for other in others))
    raise MeasuringError(
        f"{folder}: no English report and {systems} others fit {sizes.context} tokens with criteria and reply"
    )


class _Article(NamedTuple):
    """A report that may stand on either side."""

    id: str
    task: Task
    document: Document
    shown: str
    """Text without citations."""


def _fits(reference: _Article, others: Sequence[_Article], sizes: Sizes) -> bool:
    """Check whether every prompt leaves room for a reply to all criteria in one call."""
    criteria = reference.task.criteria
    assert criteria is not None
    every = [criterion for dimension in criteria.dimensions for criterion in dimension.criteria]
    room = sizes.context - MIN_REPLY_TOKENS * len(every)
    for other in reversed(others):
        articles = Articles(reference.shown, other.shown, first_is_shared=True)
        asked = prompt(Question(reference.task.prompt, criteria, articles, "shared", "English"), every)
        if len(sizes.tokens(asked.messages())) > room:
            return False
    return True


async def both_orders(
    server: Counting, engine: OneToken, sampling: Sampling, bout: Bout, ledger: Path
) -> dict[str, Any]:
    """Return the tokens that the server computes in either order, and their ratio.

    Raises:
        MeasuringError: the comparison of a report does not fit the judge's context in one call.
    """
    with Ledger.open(ledger) as replies:
        judge = Judge(engine, replies, JudgeSettings(sampling=sampling, reasks=0))
        await engine.identity()

        async def compared(order: Order) -> None:
            settings, before = RaceSettings(order=order), len(engine.chats)
            await asyncio.gather(
                *(judge_race(name, document, bout.task, judge, settings) for name, document in bout.reports)
            )
            sent, wanted = len(engine.chats) - before, len(bout.reports)
            if sent != wanted:  # left out, or put in parts
                raise MeasuringError(
                    f"task {bout.task.id!r}: {wanted} comparisons made {sent} calls in the order {order!r}: their "
                    "prompts do not all fit the judge's context; give shorter reports or another judge"
                )

        shared = await measured(server, engine, lambda: compared("shared"))
        paper = await measured(server, engine, lambda: compared("paper"))
    return {
        "shared": shared,
        "paper": paper,
        "share": round(shared["computed"] / paper["computed"], 4),
        "share_ideal": round(shared["ideal"] / paper["ideal"], 4),
    }
