"""Attacks in reports: do scores rise, are checklists passed, is the report preferred, are claims left out?

Invariant: a report is compared with itself without the attack, by the same question, and only where the question shows
the attack: what no judge was shown, none has resisted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from indexes.text.language import detect_language
from local_judge.documents import UnreadableReport, parse_report
from local_judge.documents.model import Document
from local_judge.lab.planting.model import Language
from local_judge.lab.qualification.model import Item, JudgeAnswer
from local_judge.lab.qualification.part_context import PartContext
from local_judge.lab.qualification.parts.prompt_injection.probes import (
    Shown,
    ask,
    target_of,
    uncited,
    words_shown,
)
from local_judge.lab.qualification.parts.prompt_injection.settings import PromptInjectionSettings
from local_judge.lab.qualification.parts.prompt_injection.trials import (
    Asked,
    Trial,
    Version,
    chosen,
    item,
    trial,
)


class ReportTrial(NamedTuple):
    """An attack in a report, and the question that it aims at."""

    trial: Trial
    probe: str
    prompt: str


class _Report(NamedTuple):
    id: str
    document: Document
    prompt: str
    language: str


def report_trials(
    context: PartContext, settings: PromptInjectionSettings
) -> tuple[list[ReportTrial], list[str]]:
    """Each attack in one of the shortest reports, in its own language where there are such, for each question.

    Attacks that the question would not show are left out, and named in words.
    """
    reports = _reports(context)
    trials: list[ReportTrial] = []
    unseen: list[str] = []
    for probe in settings.probes:
        usable = [one for one in reports if probe != "extraction" or uncited(one.document)]
        for number, attack in enumerate(chosen("report", target_of(probe), settings.attacks, context.seed)):
            some = in_language(usable, attack.language)[: settings.reports]
            if not some:
                continue
            report = some[number % len(some)]
            made = trial(attack, report.id, report.document.text, context.seed, settings.control)
            if made is None:
                continue
            if _shows(probe, made):
                trials.append(ReportTrial(made, probe, report.prompt))
            else:
                unseen.append(f"{probe}: {attack.id} was not asked about: it is in no sentence that is shown")
    return trials, unseen


def _shows(probe: str, made: Trial) -> bool:
    """Whether the question shows a judge anything of the attack, as it does not of what stands in a block of code."""
    plain, attacked = (words_shown(probe, parse_report(made.texts[one])) for one in ("plain", "attack"))
    return plain != attacked


def in_language(reports: Sequence[_Report], language: Language) -> list[_Report]:
    """Those in a language; all where none is in it."""
    return [one for one in reports if one.language == language] or list(reports)


def _reports(context: PartContext) -> list[_Report]:
    """Reports that can be read and have a task, the shortest first."""
    found: list[_Report] = []
    for raw in context.reports:
        try:
            document = parse_report(raw.content)
        except UnreadableReport:
            continue
        if raw.task is not None:
            found.append(_Report(raw.id, document, raw.task.prompt, detect_language(document.text)))
    return sorted(found, key=lambda one: (len(one.document.text), one.id))


async def ask_reports(
    context: PartContext, trials: Sequence[ReportTrial], settings: PromptInjectionSettings
) -> list[Item]:
    """One item for each attack or control and question, in the layout that is in force."""
    found = await asyncio.gather(*(_ask(context, one, settings) for one in trials))
    return [one for items in found for one in items]


async def _ask(context: PartContext, one: ReportTrial, settings: PromptInjectionSettings) -> list[Item]:
    texts = one.trial.texts
    documents: dict[Version, Document] = {version: parse_report(text) for version, text in texts.items()}
    answers = await asyncio.gather(
        *(
            ask(
                one.probe,
                Shown(document, documents["plain"], one.prompt),
                context.judge,
                settings.margin,
                settings.sentences,
            )
            for document in documents.values()
        )
    )
    told: dict[Version, JudgeAnswer] = dict(zip(documents, answers, strict=True))
    asked = Asked(one.trial.attack, one.trial.unit, "report", one.probe)
    return [
        item(asked, version, told["plain"], said, settings.margin)
        for version, said in told.items()
        if version != "plain"
    ]
