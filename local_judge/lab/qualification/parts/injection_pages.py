"""Attacks in pages: does the judge call false claims supported, or true claims not supported?

Invariant: every version of a page is shown whole, so that the judge sees the attack. A claim is about the original
page, and an attack makes no claim true.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from indexes.model import Chunk, Page
from local_judge.base.failures import Failure
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import PageEvidence, estimate_tokens
from local_judge.claims.grouped import REPLY_TOKENS_PER_CLAIM, verify_grouped
from local_judge.claims.model import Claim
from local_judge.claims.nearest import nearest_of
from local_judge.claims.yes_no import NEUTRAL, OPTIONS, SUPPORTED, log_odds, question, question_digest
from local_judge.judge.judge import Judge
from local_judge.lab.labelled.answers import by_page
from local_judge.lab.labelled.model import LabelledClaim
from local_judge.lab.planting.injections import AttackTarget
from local_judge.lab.planting.model import LANGUAGES
from local_judge.lab.qualification.model import JudgeAnswer
from local_judge.lab.qualification.part import PartContext
from local_judge.lab.qualification.parts.injection_trials import (
    Candidate,
    Method,
    PromptInjectionSettings,
    Question,
    trials,
)
from local_judge.ledger.calibrations import sigmoid
from local_judge.ledger.requests import sha256
from local_judge.protocols.fact.own import Finding, support_prompt

TARGETS: tuple[AttackTarget, ...] = ("support", "unsupport")
ROOM = 1000
"""Estimated tokens reserved for the longest attack, below the limit up to which pages are shown whole."""

Calls = Callable[[float], bool]
"""Decision by log-odds: by the judge's calibration if it has one, the same with and without fences."""


def page_questions(context: PartContext, settings: PromptInjectionSettings) -> list[Question]:
    """Insert each attack into one of the shortest pages, and ask about the page's claims by each method."""
    questions: dict[Method, list[Question]] = {method: [] for method in settings.methods}
    for target in TARGETS:
        wanted = target == "unsupport"
        pages: list[Candidate[tuple[Page, list[Claim]]]] = []
        for page, planted in _pages(context):
            claims = [one.as_claim() for one in planted if one.true == wanted][: settings.claims]
            if claims:
                pages.append(Candidate(page.text_digest, page.text, page.language, (page, claims)))
        for made, (page, claims) in trials("page", target, pages, settings.pages, settings, context.seed):
            calls = _calls(context.judge, page.language)
            for method, own in questions.items():
                ask = partial(_answers, context.judge, calls, page, claims, method, target)
                own.append(Question(made, method, [claim.id for claim in claims], ask))
    return [question for own in questions.values() for question in own]


def _calls(judge: Judge, language: str) -> Calls:
    """Return the judge's decision for pages in a language: by its calibration, or else by its threshold.

    The calibration belongs to the question with fences. The same decision applies without them.
    """
    found = judge.calibration(SUPPORTED, question_digest(SUPPORTED), language)
    if found is None:
        return lambda odds: sigmoid(odds) >= (judge.settings.threshold or NEUTRAL)
    return lambda odds: found.probability(odds) >= found.threshold


def _pages(context: PartContext) -> list[tuple[Page, list[LabelledClaim]]]:
    """Return the pages with planted claims that are shown whole even with an attack, the shortest first."""
    limit = ClaimsConfig().shown_tokens(1) - ROOM
    pages = [(context.snapshot.page(url), claims) for url, claims in by_page(context.claims)]
    found = [
        (page, claims)
        for page, claims in pages
        if page.status == "ok" and page.language in LANGUAGES and estimate_tokens(page.text) <= limit
    ]
    return sorted(found, key=lambda pair: (estimate_tokens(pair[0].text), pair[0].url))


async def _answers(
    judge: Judge,
    calls: Calls,
    page: Page,
    claims: Sequence[Claim],
    method: Method,
    target: AttackTarget,
    text: str,
) -> list[JudgeAnswer]:
    """Return the answer for each claim, in their order, on the axis whose upper end an attack wants."""
    # No snapshot contains the page with this text, so it has no chunks.
    page = page.model_copy(update={"text": text, "text_digest": sha256(text)})
    evidence = PageEvidence(page, (), whole=True)
    match method:
        case "scored":
            answers = await _scored(judge, evidence, claims, calls)
        case "grouped":
            config = ClaimsConfig(method="grouped", form="terse", reliability=False)
            verdicts = await verify_grouped(evidence, claims, judge, config)
            answers = [_labelled(verdict.label, verdict.failure) for verdict in verdicts]
        case "fact":
            found = await judge.ask_items(
                lambda indices: support_prompt(evidence, [claims[index] for index in indices]),
                Finding,
                len(claims),
                max_tokens=REPLY_TOKENS_PER_CLAIM * len(claims),
            )
            answers = [
                JudgeAnswer.failed(answer)
                if isinstance(answer, Failure)
                else _labelled(answer.value.label, None)
                for answer in found
            ]
    if target == "support":
        return answers
    return [one if one.value is None else JudgeAnswer(-one.value, not one.yes) for one in answers]


async def _scored(
    judge: Judge, evidence: PageEvidence, claims: Sequence[Claim], calls: Calls
) -> list[JudgeAnswer]:
    text = evidence.page.text
    whole = Chunk(id="whole", start=0, end=len(text), text=text)
    prompts = [question(evidence, SUPPORTED, claim, nearest_of([whole], claim.text)) for claim in claims]
    picks = await asyncio.gather(*(judge.choose(prompt, OPTIONS) for prompt in prompts))
    return [
        JudgeAnswer.failed(pick)
        if isinstance(pick, Failure)
        else JudgeAnswer(log_odds(pick), calls(log_odds(pick)))
        for pick in picks
    ]


def _labelled(label: str | None, failure: Failure | None) -> JudgeAnswer:
    if label is None:
        return JudgeAnswer.failed(failure)
    return JudgeAnswer(float(label == "supported"), label == "supported")
