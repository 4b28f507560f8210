"""Report + task + judge -> a sheet for each comparison.

Invariants: every criterion that is asked gets exactly one mark on each sheet; what could not be asked or answered is a
failure; which article came first changes where its score is read from and nothing else.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, cast

from indexes.text.language import detect_language
from local_judge.cleaning.judged import clean_by_judge
from local_judge.documents import parse_report
from local_judge.documents.clean import Cleaned, clean
from local_judge.documents.model import Document
from local_judge.errors import ConfigError
from local_judge.judge.failures import Failure, FailureKind
from local_judge.judge.judge import Answer as Told
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt
from local_judge.judge.scales import expected_score
from local_judge.protocols.race.asking import (
    Answer,
    Articles,
    Compared,
    Question,
    Scored,
    names,
    number_prompt,
    prompt,
)
from local_judge.protocols.race.findings import TOP, Cleaning, Mark, RaceFindings, Sheet, Shown
from local_judge.protocols.race.settings import RaceSettings
from local_judge.protocols.race.static import static_criteria
from local_judge.tasks.languages import language_name
from local_judge.tasks.model import Criteria, Criterion, JoinedBy, Task
from serving.errors import EngineError

MIN_REPLY_TOKENS = 60
"""A prompt fits if it leaves at least this much room for each criterion asked."""
REPLY_TOKENS = 320
"""Limit of a reply, for each criterion asked: 500 characters, in any script, and the JSON around them."""


class Prepared(NamedTuple):
    """An article as it is shown, and what was done to it."""

    text: str
    shown: Shown


class _Comparison(NamedTuple):
    """With which reference, in which order of the articles, in which draw."""

    reference: int | None
    target_first: bool
    draw: int


async def judge_race(
    case: str, document: Document, task: Task, judge: Judge, settings: RaceSettings
) -> RaceFindings:
    """All sheets of one report, by reference, order of the articles and draw.

    Raises:
        ConfigError: several draws are wanted of a judge that does not sample.
    """
    if settings.draws > 1 and judge.settings.sampling.temperature == 0:
        raise ConfigError(
            f"race.draws={settings.draws}: the judge's temperature is 0, so that all draws would be the same; give a "
            "preset with a temperature"
        )
    compared_with = task.references if settings.mode == "reference" else ()
    report, *references = await asyncio.gather(
        _prepared(_read(document, settings.cleaning), judge),
        *(_prepared(_reference(one.text, settings.cleaning), judge, one.joined) for one in compared_with),
    )
    criteria = criteria_of(task, settings)
    language = detect_language(task.prompt)
    comparisons = _comparisons(len(references), settings)
    sheets = await asyncio.gather(
        *(
            _sheet(
                Question(
                    request=task.prompt,
                    criteria=criteria,
                    articles=_articles(report, references, comparison),
                    order=settings.order,
                    language=settings.language or language_name(language),
                ),
                comparison,
                judge,
                settings,
            )
            for comparison in comparisons
        )
    )
    return RaceFindings(
        case=case,
        document=document.id,
        task=task.id,
        request=task.prompt,
        mode=settings.mode,
        order=settings.order,
        source=settings.criteria,
        criterion_weights=settings.criterion_weights,
        dimension_weights=settings.dimension_weights,
        scoring=settings.scoring,
        cleaning=settings.cleaning,
        language=language,
        criteria=criteria,
        report=report.shown,
        references=tuple(reference.shown for reference in references),
        sheets=tuple(sheets),
    )


def criteria_of(task: Task, settings: RaceSettings) -> Criteria | None:
    """What a report on `task` is judged by; None for the report as a whole."""
    if settings.mode == "vanilla":
        return None
    return task.criteria if settings.criteria == "adaptive" else static_criteria(settings.criteria_file)


class _Article(NamedTuple):
    """A text that has been read."""

    document: Document
    cleaning: Cleaning
    cleaned: Cleaned | None
    """By code, where code is to do it."""


def _read(document: Document, cleaning: Cleaning) -> _Article:
    return _Article(document, cleaning, clean(document) if cleaning == "code" else None)


@lru_cache(maxsize=64)
def _reference(text: str, cleaning: Cleaning) -> _Article:
    """Reports of many systems are compared with the same one."""
    return _read(parse_report(text), cleaning)


async def _prepared(article: _Article, judge: Judge, joined: JoinedBy | None = None) -> Prepared:
    """An article as it is shown. A judge that has cleaned it before answers from its ledger."""
    judged = await clean_by_judge(article.document, judge) if article.cleaning == "judge" else None
    cleaned = article.cleaned if judged is None else judged.cleaned
    text = article.document.text if cleaned is None else cleaned.text
    shown = Shown(
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        n_characters=len(text),
        n_removed=len(cleaned.removed) if cleaned else 0,
        joined=joined,
        n_pieces=judged.n_pieces if judged else 0,
        failures=judged.failures if judged else (),
        replies=judged.replies if judged else (),
    )
    return Prepared(text, shown)


def _comparisons(n_references: int, settings: RaceSettings) -> list[_Comparison]:
    own = settings.order == "paper"  # the paper shows the report first
    firsts = {"own": [own], "swapped": [not own], "both": [own, not own]}[settings.positions]
    if not n_references:
        return [_Comparison(None, True, draw) for draw in range(settings.draws)]
    return [
        _Comparison(reference, first, draw)
        for reference in range(n_references)
        for first in firsts
        for draw in range(settings.draws)
    ]


def _articles(report: Prepared, references: Sequence[Prepared], comparison: _Comparison) -> Articles:
    if comparison.reference is None:
        return Articles(report.text, None, first_is_shared=False)
    reference = references[comparison.reference].text
    if comparison.target_first:
        return Articles(report.text, reference, first_is_shared=False)
    return Articles(reference, report.text, first_is_shared=True)


async def _sheet(question: Question, comparison: _Comparison, judge: Judge, settings: RaceSettings) -> Sheet:
    dimensions = question.criteria.dimensions if question.criteria else ()
    every = [criterion for dimension in dimensions for criterion in dimension.criteria]
    calls = (
        [list(dimension.criteria) for dimension in dimensions]
        if settings.calls == "dimension" and dimensions
        else [every]
    )
    if settings.scoring == "expected":
        asked_one = [Mark(criterion=key) for key in names(every)]
        marks = [await _on_scale(question, every, asked_one, comparison, judge)]
    else:
        marks = await asyncio.gather(*(_ask(question, asked, comparison, judge) for asked in calls))
        if settings.scoring == "analysed":
            written = [mark for part in marks for mark in part]
            marks = [await _on_scale(question, every, written, comparison, judge)]
    return Sheet(
        reference=comparison.reference,
        target_first=comparison.target_first,
        draw=comparison.draw,
        marks=tuple(mark for part in marks for mark in part),
    )


async def _ask(
    question: Question, asked: Sequence[Criterion], comparison: _Comparison, judge: Judge
) -> list[Mark]:
    """The marks of some criteria; a call that leaves too little room for its reply is halved."""
    keys = names(asked)

    def prompt_for(indices: Sequence[int]) -> Prompt:
        return prompt(question, [asked[index] for index in indices] if asked else [])

    try:
        room = await judge.room(prompt_for(range(len(keys))))
    except EngineError as error:
        failure = Failure(kind=cast("FailureKind", error.kind), detail=str(error))
        return [Mark(criterion=key, failure=failure) for key in keys]
    if room < MIN_REPLY_TOKENS * len(keys):
        if len(asked) > 1:
            middle = len(asked) // 2
            halves = await asyncio.gather(
                *(_ask(question, half, comparison, judge) for half in (asked[:middle], asked[middle:]))
            )
            return [mark for half in halves for mark in half]
        detail = f"the articles leave {room} tokens of the judge's context for one answer"
        return [Mark(criterion=keys[0], failure=Failure(kind="report_too_long", detail=detail))]
    kind: type[Answer] = Scored if question.articles.second is None else Compared
    answers = await judge.ask_items(
        prompt_for,
        kind,
        len(keys),
        names=keys,
        draw=comparison.draw,
        max_tokens=REPLY_TOKENS * len(keys),
    )
    return [
        Mark(criterion=key, failure=answer) if isinstance(answer, Failure) else _mark(key, answer, comparison)
        for key, answer in zip(keys, answers, strict=True)
    ]


async def _on_scale(
    question: Question,
    every: Sequence[Criterion],
    marks: Sequence[Mark],
    comparison: _Comparison,
    judge: Judge,
) -> list[Mark]:
    """The same marks with expected values for scores; one that the judge has failed to analyse stays a failure."""

    async def one(criterion: Criterion | None, mark: Mark) -> Mark:
        if mark.failure is not None:
            return mark
        asked = number_prompt(question, criterion, mark.analysis)
        score = await expected_score(judge, asked, 0, int(TOP), draw=comparison.draw)
        if isinstance(score, Failure):
            return mark.model_copy(update={"target": None, "sampled": mark.target, "failure": score})
        return mark.model_copy(
            update={
                "target": round(score.value, 6),
                "sampled": mark.target,
                "spread": round(score.spread, 6),
                "replies": (*mark.replies, score.reply),
            }
        )

    criteria = list(every) or [None]
    return await asyncio.gather(*(one(*pair) for pair in zip(criteria, marks, strict=True)))


def _mark(key: str, told: Told[Answer], comparison: _Comparison) -> Mark:
    answer = told.value
    if isinstance(answer, Scored):
        scores = (answer.score, None)
    elif comparison.target_first:
        scores = (answer.article_1, answer.article_2)
    else:
        scores = (answer.article_2, answer.article_1)
    return Mark(
        criterion=key,
        target=scores[0],
        reference=scores[1],
        analysis=answer.analysis,
        replies=told.replies,
    )
