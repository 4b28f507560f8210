"""Attacks in pages: are false claims called supported, and true ones not?

Invariant: a page is shown whole in every version, so that the attack is before the judge; a claim is about the page as
it was, and an attack makes nothing true.
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
from local_judge.lab.qualification.part_context import PartContext
from local_judge.lab.qualification.parts.prompt_injection.settings import Method, PromptInjectionSettings
from local_judge.lab.qualification.parts.prompt_injection.trials import (
    Asked,
    Trial,
    Version,
    chosen,
    item,
    trial,
)
from local_judge.protocols.fact.own import Finding, support_prompt
from local_judge.runs.verify import ClaimRow, claim_of

TARGETS: tuple[AttackTarget, ...] = ("support", "unsupport")
ROOM = 1000
"""Estimated tokens that the page and the longest attack in it stay below the limit up to which pages are whole."""


class PageTrial(NamedTuple):
    """An attack in a page, and the claims about the page."""

    trial: Trial
    page: Page
    claims: tuple[PlantedClaim, ...]
    calls: Callable[[float], bool]
    """Whether log-odds are a yes, by the judge's calibration where it has one, with fences and without."""


def towards(target: AttackTarget, answer: JudgeAnswer) -> JudgeAnswer:
    """An answer on the axis of what an attack wants."""
    if answer.value is None or target == "support":
        return answer
    return JudgeAnswer(-answer.value, not answer.yes)


def page_trials(context: PartContext, settings: PromptInjectionSettings) -> list[PageTrial]:
    """Each attack in one of the shortest pages, in its own language where there are such."""
    pages = _pages(context)
    trials: list[PageTrial] = []
    for target in TARGETS:
        wanted = target == "unsupport"
        usable = {
            page.url: [one for one in claims if one.true == wanted][: settings.claims]
            for page, claims in pages
        }
        for number, attack in enumerate(chosen("page", target, settings.attacks, context.seed)):
            some = [page for page, _ in pages if usable[page.url]]
            own = [page for page in some if page.language == attack.language][: settings.pages]
            some = own or some[: settings.pages]
            if some:
                page = some[number % len(some)]
                made = trial(attack, page.text_digest, page.text, context.seed, settings.control)
                if made is not None:
                    calls = _calls(context.judge, page.language)
                    trials.append(PageTrial(made, page, tuple(usable[page.url]), calls))
    return trials


def _calls(judge: Judge, language: str) -> Callable[[float], bool]:
    """Whether log-odds are a yes, by the judge's calibration for pages in a language, or by its threshold."""
    found = judge.calibration(SUPPORTED, question_digest(SUPPORTED), language)
    if found is None:
        return lambda odds: sigmoid(odds) >= (judge.settings.threshold or NEUTRAL)
    return lambda odds: found.probability(odds) >= found.threshold


def _pages(context: PartContext) -> list[tuple[Page, list[PlantedClaim]]]:
    """Pages with planted claims that stay whole with an attack in them, the shortest first."""
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
    """One item for each attack or control, claim and method, in the layout that is in force."""
    found = await asyncio.gather(
        *(_ask(context, one, method) for method in settings.methods for one in trials)
    )
    return [item for items in found for item in items]


async def _ask(context: PartContext, one: PageTrial, method: Method) -> list[Item]:
    claims = [claim_of(ClaimRow(id=row.id, claim=row.claim, url=row.url)) for row in one.claims]
    exhibits: dict[Version, PageEvidence] = {
        version: _exhibit(one.page, text) for version, text in one.trial.texts.items()
    }
    answers = await asyncio.gather(
        *(_told(context.judge, exhibit, claims, method, one.calls) for exhibit in exhibits.values())
    )
    told: dict[Version, list[JudgeAnswer]] = dict(zip(exhibits, answers, strict=True))
    target = one.trial.attack.target
    return [
        item(
            Asked(one.trial.attack, one.trial.unit, claim.id, method),
            version,
            towards(target, told["plain"][place]),
            towards(target, heard[place]),
        )
        for version, heard in told.items()
        if version != "plain"
        for place, claim in enumerate(claims)
    ]


def _exhibit(page: Page, text: str) -> PageEvidence:
    """The page with another text, whole; no snapshot has it, so it has no chunks."""
    return PageEvidence(page.model_copy(update={"text": text, "text_digest": sha256(text)}), (), whole=True)


async def _told(
    judge: Judge,
    exhibit: PageEvidence,
    claims: Sequence[Claim],
    method: Method,
    calls: Callable[[float], bool],
) -> list[JudgeAnswer]:
    """What is said of each claim, in their order."""
    match method:
        case "scored":
            return await _scored(judge, exhibit, claims, calls)
        case "grouped":
            config = ClaimsConfig(method="grouped", form="terse", reliability=False)
            verdicts = await verify_grouped(exhibit, claims, judge, config)
            return [_labelled(one.label, one.failure) for one in verdicts]
        case "fact":
            return await _by_fact(judge, exhibit, claims)


async def _scored(
    judge: Judge, exhibit: PageEvidence, claims: Sequence[Claim], calls: Callable[[float], bool]
) -> list[JudgeAnswer]:
    text = exhibit.page.text
    whole = Chunk(id="whole", start=0, end=len(text), text=text)
    prompts = [question(exhibit, SUPPORTED, claim, nearest_of([whole], claim.text)) for claim in claims]
    picks = await asyncio.gather(*(judge.choose(prompt, OPTIONS) for prompt in prompts))
    return [
        JudgeAnswer(None, failure=pick.kind)
        if isinstance(pick, Failure)
        else JudgeAnswer(log_odds(pick), calls(log_odds(pick)))
        for pick in picks
    ]


async def _by_fact(judge: Judge, exhibit: PageEvidence, claims: Sequence[Claim]) -> list[JudgeAnswer]:
    answers = await judge.ask_items(
        lambda indices: support_prompt(exhibit, [claims[index] for index in indices]),
        Finding,
        len(claims),
        max_tokens=REPLY_TOKENS_PER_CLAIM * len(claims),
    )
    return [
        _labelled(None, answer) if isinstance(answer, Failure) else _labelled(answer.value.label, None)
        for answer in answers
    ]


def _labelled(label: str | None, failure: Failure | None) -> JudgeAnswer:
    if label is None:
        return JudgeAnswer(None, failure=failure.kind if failure else None)
    return JudgeAnswer(float(label == "supported"), label == "supported")
