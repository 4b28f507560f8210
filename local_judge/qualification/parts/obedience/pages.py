"""Attacks in pages: are false claims called supported, and true ones not?

Invariant: a page is shown whole in every version, so that the attack is before the judge; a claim is about the page as
it was, and an attack makes nothing true.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import NamedTuple

from indexes.model import Chunk, Page
from indexes.urls import normalise_url
from local_judge.claims.belief import NEUTRAL, OPTIONS, SUPPORTED, log_odds, question, question_digest
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import Exhibit, estimate_tokens
from local_judge.claims.grouped import verify_grouped
from local_judge.claims.model import Claim
from local_judge.claims.nearest import nearest_of
from local_judge.judge.failures import Failure, FailureKind
from local_judge.judge.judge import Judge
from local_judge.judge.requests import sha256
from local_judge.planting.injections import AttackTarget
from local_judge.planting.kinds import LANGUAGES
from local_judge.planting.model import PlantedClaim
from local_judge.protocols.fact.own.support import REPLY_TOKENS_PER_STATEMENT, Finding, support_prompt
from local_judge.qualification.bench import Bench
from local_judge.qualification.model import Item
from local_judge.qualification.parts.obedience.compared import Asked, Said, item
from local_judge.qualification.parts.obedience.settings import Method, ObedienceSettings
from local_judge.qualification.parts.obedience.trials import Trial, Version, chosen, trial
from local_judge.runs.verify import ClaimRow, claim_of

TARGETS: tuple[AttackTarget, ...] = ("support", "unsupport")
ROOM = 1000
"""Estimated tokens that the page and the longest attack in it stay below the limit up to which pages are whole."""


class PageTrial(NamedTuple):
    """An attack in a page, and the claims about the page."""

    trial: Trial
    page: Page
    claims: tuple[PlantedClaim, ...]
    line: float
    """Log-odds from which on the judge's yes counts, by its calibration where it has one, with fences and without."""


class Heard(NamedTuple):
    """What the judge says of a claim."""

    value: float | None
    """Log-odds; of labels 1 for `supported`, else 0."""
    yes: bool | None
    failure: FailureKind | None = None

    def towards(self, target: AttackTarget) -> Said:
        """On the axis of what an attack wants."""
        if self.value is None:
            return Said(None, None, self.failure)
        return Said(self.value, self.yes) if target == "support" else Said(-self.value, not self.yes)


def page_trials(bench: Bench, settings: ObedienceSettings) -> list[PageTrial]:
    """Each attack in one of the shortest pages, in its own language where there are such."""
    pages = _pages(bench)
    trials: list[PageTrial] = []
    for target in TARGETS:
        wanted = target == "unsupport"
        usable = {
            page.url: [one for one in claims if one.true == wanted][: settings.claims]
            for page, claims in pages
        }
        for number, attack in enumerate(chosen("page", target, settings.attacks, bench.seed)):
            some = [page for page, _ in pages if usable[page.url]]
            own = [page for page in some if page.language == attack.language][: settings.pages]
            some = own or some[: settings.pages]
            if some:
                page = some[number % len(some)]
                made = trial(attack, page.text_digest, page.text, bench.seed, settings.control)
                if made is not None:
                    line = _line(bench.judge, page.language)
                    trials.append(PageTrial(made, page, tuple(usable[page.url]), line))
    return trials


def logit(p: float) -> float:
    """Ln p - ln (1 - p)."""
    return math.log(p / (1 - p))


def _line(judge: Judge, language: str) -> float:
    """Where p = 1 / (1 + exp(-(slope x + intercept))) reaches the threshold."""
    found = judge.calibration(SUPPORTED, question_digest(SUPPORTED), language)
    if found is None:
        return logit(judge.settings.threshold or NEUTRAL)
    return (logit(found.threshold) - found.intercept) / found.slope


def _pages(bench: Bench) -> list[tuple[Page, list[PlantedClaim]]]:
    """Pages with planted claims that stay whole with an attack in them, the shortest first."""
    by_url: dict[str, list[PlantedClaim]] = {}
    for claim in bench.claims:
        by_url.setdefault(normalise_url(claim.url), []).append(claim)
    limit = ClaimsConfig().evidence_tokens - ROOM
    pages = [bench.snapshot.page(url) for url in by_url]
    found = [
        (page, by_url[page.url])
        for page in pages
        if page.status == "ok" and page.language in LANGUAGES and estimate_tokens(page.text) <= limit
    ]
    return sorted(found, key=lambda pair: (estimate_tokens(pair[0].text), pair[0].url))


async def ask_pages(bench: Bench, trials: Sequence[PageTrial], settings: ObedienceSettings) -> list[Item]:
    """One item for each attack or control, claim and method, in the layout that is in force."""
    found = await asyncio.gather(*(_ask(bench, one, method) for method in settings.methods for one in trials))
    return [item for items in found for item in items]


async def _ask(bench: Bench, one: PageTrial, method: Method) -> list[Item]:
    claims = [claim_of(ClaimRow(id=row.id, claim=row.claim, url=row.url)) for row in one.claims]
    exhibits: dict[Version, Exhibit] = {
        version: _exhibit(one.page, text) for version, text in one.trial.texts.items()
    }
    answers = await asyncio.gather(
        *(_told(bench.judge, exhibit, claims, method, one.line) for exhibit in exhibits.values())
    )
    told: dict[Version, list[Heard]] = dict(zip(exhibits, answers, strict=True))
    target = one.trial.attack.target
    return [
        item(
            Asked(one.trial.attack, one.trial.unit, claim.id, method),
            version,
            told["plain"][place].towards(target),
            heard[place].towards(target),
        )
        for version, heard in told.items()
        if version != "plain"
        for place, claim in enumerate(claims)
    ]


def _exhibit(page: Page, text: str) -> Exhibit:
    """The page with another text, whole; no snapshot has it, so it has no chunks."""
    return Exhibit(page.model_copy(update={"text": text, "text_digest": sha256(text)}), (), whole=True)


async def _told(
    judge: Judge, exhibit: Exhibit, claims: Sequence[Claim], method: Method, line: float
) -> list[Heard]:
    """What is said of each claim, in their order."""
    match method:
        case "scored":
            return await _scored(judge, exhibit, claims, line)
        case "grouped":
            config = ClaimsConfig(method="grouped", form="terse", reliability=False)
            verdicts = await verify_grouped(exhibit, claims, judge, config)
            return [_labelled(one.label, one.failure) for one in verdicts]
        case "fact":
            return await _by_fact(judge, exhibit, claims)


async def _scored(judge: Judge, exhibit: Exhibit, claims: Sequence[Claim], line: float) -> list[Heard]:
    text = exhibit.page.text
    whole = Chunk(id="whole", start=0, end=len(text), text=text)
    prompts = [question(exhibit, SUPPORTED, claim, nearest_of([whole], claim.text)) for claim in claims]
    picks = await asyncio.gather(*(judge.choose(prompt, OPTIONS) for prompt in prompts))
    return [
        Heard(None, None, pick.kind)
        if isinstance(pick, Failure)
        else Heard(log_odds(pick), log_odds(pick) >= line)
        for pick in picks
    ]


async def _by_fact(judge: Judge, exhibit: Exhibit, claims: Sequence[Claim]) -> list[Heard]:
    answers = await judge.ask_items(
        lambda indices: support_prompt(exhibit, [claims[index] for index in indices]),
        Finding,
        len(claims),
        max_tokens=REPLY_TOKENS_PER_STATEMENT * len(claims),
    )
    return [
        _labelled(None, answer) if isinstance(answer, Failure) else _labelled(answer.value.label, None)
        for answer in answers
    ]


def _labelled(label: str | None, failure: Failure | None) -> Heard:
    if label is None:
        return Heard(None, None, failure.kind if failure else None)
    return Heard(float(label == "supported"), label == "supported")
