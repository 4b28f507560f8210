"""Report + task + judge -> its comparisons: one for each reference, order of the articles and draw.

Invariants: every criterion that is asked has exactly one score in each comparison; what could not be asked or answered
is a failure; which article came first changes where its score is read from and nothing else.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Sequence
from functools import lru_cache
from typing import NamedTuple

from indexes.text.language import detect_language
from local_judge.base.errors import ConfigError
from local_judge.base.failures import Failure
from local_judge.cleaning.judged import clean_by_judge
from local_judge.documents import parse_report
from local_judge.documents.clean import Cleaned, clean
from local_judge.documents.model import Document
from local_judge.judge.judge import Answer as JudgeAnswer
from local_judge.judge.judge import Judge
from local_judge.judge.scales import expected_score
from local_judge.protocols.asking import require_input
from local_judge.protocols.originals import Original
from local_judge.protocols.race import original_prompts
from local_judge.protocols.race.asking import (
    Answer,
    Articles,
    Compared,
    Question,
    Scored,
    number_prompt,
    prompt,
)
from local_judge.protocols.race.findings import (
    TOP,
    WHOLE,
    Cleaning,
    Comparison,
    CriterionScore,
    RaceFindings,
    ShownArticle,
)
from local_judge.protocols.race.settings import RaceSettings
from local_judge.protocols.race.static import static_criteria
from local_judge.rubric.asking import ask_groups
from local_judge.tasks.drafting import language_name
from local_judge.tasks.model import Criteria, Criterion, JoinedBy, Task

MIN_REPLY_TOKENS = 60
"""A prompt fits if it leaves at least this much room for each criterion asked."""
REPLY_TOKENS = 320
"""Limit of a reply, for each criterion asked: 500 characters, in any script, and the JSON around them."""
_KEPT = {"mode", "order", "criterion_weights", "dimension_weights", "scoring", "cleaning"}
"""Settings that the findings repeat."""


class Prepared(NamedTuple):
    """An article as it is shown, and what was done to it."""

    text: str
    shown: ShownArticle


class _Pairing(NamedTuple):
    """The reference, the order of the articles and the draw of a comparison."""

    reference: int | None
    target_first: bool
    draw: int


async def judge_race(
    case: str,
    document: Document,
    task: Task,
    judge: Judge,
    settings: RaceSettings,
    prompts: Original | None = None,
) -> RaceFindings:
    """Return all comparisons of one report, by reference, order of the articles and draw; `prompts` are published ones.

    Raises:
        ConfigError: several draws are wanted of a judge that does not sample.
    """
    if settings.draws > 1 and judge.settings.sampling.temperature == 0:
        raise ConfigError(
            f"race.draws={settings.draws}: the judge's temperature is 0, so that all draws would be the same; give a "
            "preset with a temperature"
        )
    compared_with = task.references if settings.mode == "reference" else ()
    criteria = criteria_of(task, settings)
    language = dict(task.attributes).get("language") or detect_language(task.prompt)
    if prompts is None:
        language = detect_language(task.prompt)
        report, *references = await asyncio.gather(
            _prepare(_read(document, settings.cleaning), judge),
            *(_prepare(_reference(one.text, settings.cleaning), judge, one.joined) for one in compared_with),
        )
    else:  # the published references are clean already
        report = await _cleaned_as_published(document, judge, settings, prompts, language)
        references = [
            await _prepare(_reference(one.text, "none"), judge, one.joined) for one in compared_with
        ]
    pairings = _pairings(len(references), settings)

    def compare(pairing: _Pairing) -> Awaitable[Comparison]:
        question = Question(
            request=task.prompt,
            criteria=criteria,
            articles=_articles(report, references, pairing),
            order=settings.order,
            language=settings.language or language_name(language),
        )
        if prompts is None:
            return _compare(question, pairing, judge, settings)
        return _compare_as_published(question, pairing, judge, prompts, language, report.shown.failures)

    comparisons = await asyncio.gather(*map(compare, pairings))
    return RaceFindings(
        case=case,
        document=document.id,
        task=task.id,
        request=task.prompt,
        source=settings.criteria,
        language=language,
        criteria=criteria,
        report=report.shown,
        references=tuple(reference.shown for reference in references),
        comparisons=tuple(comparisons),
        **settings.model_dump(include=_KEPT),
    )


def criteria_of(task: Task, settings: RaceSettings) -> Criteria | None:
    """Return the criteria for a report on `task`; None to judge the report as a whole."""
    if settings.mode == "vanilla":
        return None
    return task.criteria if settings.criteria == "adaptive" else static_criteria(settings.criteria_file)


class _Article(NamedTuple):
    """A text that has been read."""

    document: Document
    cleaning: Cleaning
    cleaned: Cleaned | None
    """Text cleaned by code, if code is to do it."""


def _read(document: Document, cleaning: Cleaning) -> _Article:
    return _Article(document, cleaning, clean(document) if cleaning == "code" else None)


@lru_cache(maxsize=64)
def _reference(text: str, cleaning: Cleaning) -> _Article:
    """Reports of many systems are compared with the same one."""
    return _read(parse_report(text), cleaning)


async def _prepare(article: _Article, judge: Judge, joined: JoinedBy | None = None) -> Prepared:
    """Return an article as it is shown. A judge that has cleaned it before answers from its ledger."""
    judged = await clean_by_judge(article.document, judge) if article.cleaning == "judge" else None
    cleaned = article.cleaned if judged is None else judged.cleaned
    text = article.document.text if cleaned is None else cleaned.text
    shown = ShownArticle(
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        n_characters=len(text),
        n_removed=len(cleaned.removed) if cleaned else 0,
        joined=joined,
        n_pieces=judged.n_pieces if judged else 0,
        failures=judged.failures if judged else (),
        replies=judged.replies if judged else (),
    )
    return Prepared(text, shown)


def _pairings(n_references: int, settings: RaceSettings) -> list[_Pairing]:
    own = settings.order == "paper"  # the paper shows the report first
    firsts = {"own": [own], "swapped": [not own], "both": [own, not own]}[settings.positions]
    if not n_references:
        return [_Pairing(None, True, draw) for draw in range(settings.draws)]
    return [
        _Pairing(reference, first, draw)
        for reference in range(n_references)
        for first in firsts
        for draw in range(settings.draws)
    ]


def _articles(report: Prepared, references: Sequence[Prepared], pairing: _Pairing) -> Articles:
    if pairing.reference is None:
        return Articles(report.text, None, first_is_shared=False)
    reference = references[pairing.reference].text
    if pairing.target_first:
        return Articles(report.text, reference, first_is_shared=False)
    return Articles(reference, report.text, first_is_shared=True)


async def _cleaned_as_published(
    document: Document, judge: Judge, settings: RaceSettings, prompts: Original, language: str
) -> Prepared:
    """Return the report as the judge cleans it by the published prompt, or as it is if it is not to be cleaned."""
    cleaning = document.text, ()
    if settings.cleaning == "judge":
        cleaning = await original_prompts.clean_article(
            document.text, judge, prompts, original_prompts.language_of(language)
        )
    failed = isinstance(cleaning, Failure)
    text, replies = (document.text, ()) if isinstance(cleaning, Failure) else cleaning
    return Prepared(
        text,
        ShownArticle(
            sha256=hashlib.sha256(text.encode()).hexdigest(),
            n_characters=len(text),
            n_pieces=int(settings.cleaning == "judge"),
            failures=(cleaning,) if failed else (),
            replies=replies,
        ),
    )


async def _compare_as_published(
    question: Question,
    pairing: _Pairing,
    judge: Judge,
    prompts: Original,
    language: str,
    failures: Sequence[Failure],
) -> Comparison:
    """Return a comparison by the published prompt; a report that was not cleaned is not compared."""
    criteria, articles = require_input(question.criteria), question.articles
    scores, reply = original_prompts.fail_all(criteria, failures[0]) if failures else (), None
    if not failures:
        scores, reply = await original_prompts.compare_articles(
            question.request,
            (articles.first, require_input(articles.second)),
            criteria,
            judge,
            prompts,
            language=original_prompts.language_of(language),
            target_first=pairing.target_first,
            draw=pairing.draw,
        )
    return Comparison(
        reference=pairing.reference,
        target_first=pairing.target_first,
        draw=pairing.draw,
        reply_json=reply,
        scores=scores,
    )


class _Asked(NamedTuple):
    """A criterion, or the article as a whole, with its key in the judge's reply."""

    id: str
    criterion: Criterion | None


async def _compare(question: Question, pairing: _Pairing, judge: Judge, settings: RaceSettings) -> Comparison:
    dimensions = question.criteria.dimensions if question.criteria else ()
    by_dimension = [
        [_Asked(criterion.id, criterion) for criterion in dimension.criteria] for dimension in dimensions
    ]
    every = [asked for part in by_dimension for asked in part] or [_Asked(WHOLE, None)]
    if settings.scoring == "expected":
        scores = [CriterionScore(id=asked.id) for asked in every]
    else:
        calls = by_dimension if settings.calls == "dimension" and dimensions else [every]
        answers = await asyncio.gather(*(_ask(question, asked, pairing, judge) for asked in calls))
        scores = [item for part in answers for item in part]
    if settings.scoring != "sampled":
        scores = await _on_scale(question, every, scores, pairing, judge)
    return Comparison(
        reference=pairing.reference,
        target_first=pairing.target_first,
        draw=pairing.draw,
        scores=tuple(scores),
    )


async def _ask(
    question: Question, asked: Sequence[_Asked], pairing: _Pairing, judge: Judge
) -> list[CriterionScore]:
    """Ask for the scores of some criteria; a call that leaves too little room for its reply is halved."""
    kind: type[Answer] = Scored if question.articles.second is None else Compared
    answers = await ask_groups(
        judge,
        lambda some: prompt(question, [one.criterion for one in some if one.criterion is not None]),
        [[one] for one in asked],
        lambda _: kind,
        reply_tokens=REPLY_TOKENS,
        min_reply_tokens=MIN_REPLY_TOKENS,
        draw=pairing.draw,
        shown="the text of the articles",
    )
    return [
        CriterionScore(id=one.id, failure=answer)
        if isinstance(answer, Failure)
        else _score_criterion(one.id, answer, pairing)
        for one, answer in zip(asked, answers, strict=True)
    ]


async def _on_scale(
    question: Question,
    every: Sequence[_Asked],
    scores: Sequence[CriterionScore],
    pairing: _Pairing,
    judge: Judge,
) -> list[CriterionScore]:
    """Replace the scores by expected values; an answer that failed stays a failure."""

    async def one(criterion: Criterion | None, item: CriterionScore) -> CriterionScore:
        if item.failure is not None:
            return item
        asked = number_prompt(question, criterion, item.rationale)
        score = await expected_score(judge, asked, 0, int(TOP), draw=pairing.draw)
        if isinstance(score, Failure):
            return item.model_copy(update={"target": None, "sampled": item.target, "failure": score})
        return item.model_copy(
            update={
                "target": round(score.value, 6),
                "sampled": item.target,
                "spread": round(score.spread, 6),
                "replies": (*item.replies, score.reply),
            }
        )

    return await asyncio.gather(
        *(one(asked.criterion, item) for asked, item in zip(every, scores, strict=True))
    )


def _score_criterion(key: str, answer: JudgeAnswer[Answer], pairing: _Pairing) -> CriterionScore:
    value = answer.value
    if isinstance(value, Scored):
        scores = (value.score, None)
    elif pairing.target_first:
        scores = (value.article_1, value.article_2)
    else:
        scores = (value.article_2, value.article_1)
    return CriterionScore(
        id=key,
        target=scores[0],
        reference=scores[1],
        rationale=value.analysis,
        replies=answer.replies,
    )
