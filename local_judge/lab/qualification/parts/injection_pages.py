"""Attacks in pages: does the judge call false claims supported, or true claims not supported?

Invariant: every version of a page is shown whole, so that the judge sees the attack. A claim is about the original
page, and an attack makes no claim true.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from indexes.model import Chunk, Page
from indexes.urls import normalise_url
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import PageEvidence, estimate_tokens
from local_judge.claims.grouped import REPLY_TOKENS_PER_CLAIM, verify_grouped
from local_judge.claims.model import Claim
from local_judge.claims.nearest import nearest_of
from local_judge.claims.yes_no import NEUTRAL, OPTIONS, SUPPORTED, log_odds, question, question_digest
from local_judge.judge.calibration import sigmoid
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.requests import sha256
from local_judge.lab.planting.injections import AttackTarget
from local_judge.lab.planting.model import LANGUAGES, PlantedClaim
from local_judge.lab.qualification.model import Item, JudgeAnswer
from local_judge.lab.qualification.part import PartContext
from local_judge.lab.qualification.parts.injection_trials import (
    Method,
    PromptInjectionSettings,
    Trial,
    Version,
    chosen,
    trial,
)
from local_judge.protocols.fact.own import Finding, support_prompt
from local_judge.runs.verify import ClaimRow, claim_of

TARGETS: tuple[AttackTarget, ...] = ("support", "unsupport")
ROOM = 1000
"""Estimated tokens reserved for the longest attack, below the limit up to which pages are shown whole."""

Calls = Callable[[float], bool]
"""Decision by log-odds: by the judge's calibration if it has one, the same with and without fences."""


class PageTrial(NamedTuple):
    """An attack in a page, and the claims about the page."""

    trial: Trial
    page: Page
    claims: tuple[PlantedClaim, ...]
    calls: Calls


def page_trials(context: PartContext, settings: PromptInjectionSettings) -> list[PageTrial]:
    """Insert each attack into one of the shortest pages, in its own language if there is such a page."""
    pages = _pages(context)
    trials: list[PageTrial] = []
    for target in TARGETS:
        wanted = target == "unsupport"
        usable = {
            page.url: [one for one in claims if one.true == wanted][: settings.claims]
            for page, claims in pages
        }
        with_claims = [page for page, _ in pages if usable[page.url]]
        for number, attack in enumerate(chosen("page", target, settings.attacks, context.seed)):
            own = [page for page in with_claims if page.language == attack.language]
            some = (own or with_claims)[: settings.pages]
            if not some:
                continue
            page = some[number % len(some)]
            made = trial(attack, page.text_digest, page.text, context.seed, settings.control)
            if made is not None:
                calls = _calls(context.judge, page.language)
                trials.append(PageTrial(made, page, tuple(usable[page.url]), calls))
    return trials


def _calls(judge: Judge, language: str) -> Calls:
    """Return the judge's decision for pages in a language: by its calibration, or else by its threshold."""
    found = judge.calibration(SUPPORTED, question_digest(SUPPORTED), language)
    if found is None:
        return lambda odds: sigmoid(odds) >= (judge.settings.threshold or NEUTRAL)
    return lambda odds: found.probability(odds) >= found.threshold


def _pages(context: PartContext) -> list[tuple[Page, list[PlantedClaim]]]:
    """Return the pages with planted claims that are shown whole even with an attack, the shortest first."""
    by_url: dict[str, list[PlantedClaim]] = {}
    for claim in context.claims:
        by_url.setdefault(normalise_url(claim.url), []).append(claim)
    limit = ClaimsConfig().evidence_tokens - ROOM
    pages = [context.snapshot.page(url) for url in by_url]
    found = [
        (page, by_url[page.url])
        for page in pages
        if page.status == "ok" and page.language in LANGUAGES and estimate_tokens(page.text) <= limit
    ]
    return sorted(found, key=lambda pair: (estimate_tokens(pair[0].text), pair[0].url))


async def ask_pages(
    context: PartContext, trials: Sequence[PageTrial], settings: PromptInjectionSettings
) -> list[Item]:
    """Return one item for each attack or control, claim and method, in the current layout."""
    found = await asyncio.gather(
        *(_ask(context, one, method) for method in settings.methods for one in trials)
    )
    return [item for items in found for item in items]


async def _ask(context: PartContext, one: PageTrial, method: Method) -> list[Item]:
    claims = [claim_of(ClaimRow(id=row.id, claim=row.claim, url=row.url)) for row in one.claims]
    texts = one.trial.texts
    answers = await asyncio.gather(
        *(_answers(context.judge, _evidence(one.page, text), claims, method, one) for text in texts.values())
    )
    items: list[list[Item]] = []
    for place, claim in enumerate(claims):
        by_version: dict[Version, JudgeAnswer] = {
            version: _towards(one.trial.attack.target, own[place])
            for version, own in zip(texts, answers, strict=True)
        }
        items.append(one.trial.items(claim.id, method, by_version))
    return [item for version in zip(*items, strict=True) for item in version]


def _towards(target: AttackTarget, answer: JudgeAnswer) -> JudgeAnswer:
    """Return an answer on the axis whose upper end an attack wants."""
    if answer.value is None or target == "support":
        return answer
    return JudgeAnswer(-answer.value, not answer.yes)


def _evidence(page: Page, text: str) -> PageEvidence:
    """Return the page with another text, whole; no snapshot contains it, so it has no chunks."""
    return PageEvidence(page.model_copy(update={"text": text, "text_digest": sha256(text)}), (), whole=True)


async def _answers(
    judge: Judge, evidence: PageEvidence, claims: Sequence[Claim], method: Method, one: PageTrial
) -> list[JudgeAnswer]:
    """Return the answer for each claim, in their order."""
    match method:
        case "scored":
            return await _scored(judge, evidence, claims, one.calls)
        case "grouped":
            config = ClaimsConfig(method="grouped", form="terse", reliability=False)
            verdicts = await verify_grouped(evidence, claims, judge, config)
            return [_labelled(verdict.label, verdict.failure) for verdict in verdicts]
        case "fact":
            found = await judge.ask_items(
                lambda indices: support_prompt(evidence, [claims[index] for index in indices]),
                Finding,
                len(claims),
                max_tokens=REPLY_TOKENS_PER_CLAIM * len(claims),
            )
            return [
                JudgeAnswer.failed(answer)
                if isinstance(answer, Failure)
                else _labelled(answer.value.label, None)
                for answer in found
            ]


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
