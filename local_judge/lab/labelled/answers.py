"""A judge's answers about labelled claims.

Invariants: each claim gets one answer, in the same order: a verdict or log-odds, a failure, or the status of a page
that cannot be read. Labels are not used before the judge has answered. Versions of a claim are never in one prompt, so
that neither reveals the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from sentencex import get_sentence_boundaries

from indexes.model import Page
from indexes.snapshot import Snapshot
from indexes.text.language import detect_language
from local_judge.base.failures import Failure
from local_judge.claims import yes_no
from local_judge.claims.build import PageVerifier, verify_page
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import evidence_groups
from local_judge.claims.model import Claim, Label, Verdict
from local_judge.claims.nearest import nearest_sentences
from local_judge.claims.scored import view_of
from local_judge.claims.yes_no import QUESTIONS, Asked, ask_about, log_odds
from local_judge.judge.judge import Judge
from local_judge.lab.labelled.model import LabelledClaim, LabelledSet
from local_judge.ledger.requests import canonical, sha256
from local_judge.protocols.base import OriginalVerifier

RANKS: Final[Mapping[Label, int]] = {
    "supported": 4,
    "partial": 3,
    "not_found": 2,
    "off_topic": 1,
    "unusable": 1,
    "contradicted": 0,
}
"""Order of the labels of verdicts without a probability."""


@dataclass(frozen=True)
class Answer:
    """A labelled claim with the judge's answer."""

    claim: LabelledClaim
    page: Page
    """The page; its status says whether it can be read."""
    label: Label | None = None
    """Verdict; None without one."""
    confidence: float | None = None
    """Probability of support, calibrated if the judge has a calibration; None for a verdict without a probability."""
    raw: float | None = None
    """The same as the judge returned it."""
    log_odds: float | None = None
    """ln P(yes) - ln P(no); None for a verdict."""
    quote: str | None = None
    """Quotation from the page."""
    failure: Failure | None = None
    replies: tuple[str, ...] = ()
    """Keys in the ledger."""
    elsewhere: bool = False
    """True if the claim was not asked, because runs show its page in another view."""

    @property
    def is_read(self) -> bool:
        """True if the page can be read."""
        return self.page.status == "ok"

    @property
    def called(self) -> bool | None:
        """True if the verdict is `supported`; None without a verdict."""
        return None if self.label is None else self.label == "supported"

    @property
    def value(self) -> float | None:
        """Probability of support as the judge gives it, or the rank of the label from 0 to 1."""
        if self.raw is not None or self.label is None:
            return self.raw
        return RANKS[self.label] / RANKS["supported"] if self.confidence is None else self.confidence

    @property
    def rank(self) -> float | None:
        """Place of the label in the order of `RANKS`, for verdicts without a probability."""
        return None if self.label is None else float(RANKS[self.label])

    @cached_property
    def language(self) -> str:
        """Language of the page."""
        return self.page.language or detect_language(self.page.text)


Verifier = ClaimsConfig | OriginalVerifier | PageVerifier
"""Settings of verification, a published prompt, or another function that verifies the claims of a page."""
_PageAnswers = Callable[[Page, Sequence[LabelledClaim], Snapshot], Awaitable[Sequence[Answer]]]


async def ask_verdicts(
    sets: Sequence[LabelledSet], judge: Judge, how: Verifier, page_done: Callable[[], None] = lambda: None
) -> list[Answer]:
    """Verify all claims as a run does, claims of one page together; call `page_done` after each page.

    Raises:
        LedgerError: a reply could not be stored.
    """

    async def ask(page: Page, asked: Sequence[LabelledClaim], snapshot: Snapshot) -> list[Answer]:
        claims = [one.as_claim() for one in asked]
        if isinstance(how, ClaimsConfig):
            verdicts = await verify_page(page, claims, snapshot, judge, how, _contexts(asked, how))
        else:
            verify = how.verify if isinstance(how, OriginalVerifier) else how
            verdicts = await verify(page, claims, snapshot, judge)
        return [_of_verdict(one, page, verdict) for one, verdict in zip(asked, verdicts, strict=True)]

    return await _page_by_page(sets, ask, page_done, versions_apart=True)


async def ask_log_odds(
    sets: Sequence[LabelledSet],
    judge: Judge,
    config: ClaimsConfig,
    page_done: Callable[[], None] = lambda: None,
) -> list[Answer]:
    """Ask whether the page states the claim, as the method `scored` does: one question per claim.

    Raises:
        LedgerError: a reply could not be stored.
    """

    async def ask_one(one: LabelledClaim, page: Page, asked: Asked | None) -> Answer:
        if asked is None:
            return Answer(one, page, elsewhere=True)
        found = await yes_no.answer(judge, asked)
        if isinstance(found, Failure):
            return Answer(one, page, failure=found)
        return Answer(one, page, log_odds=log_odds(found.choice), replies=found.replies)

    async def ask(page: Page, labelled: Sequence[LabelledClaim], snapshot: Snapshot) -> list[Answer]:
        by_id = {one.key: one for one in labelled}
        prompts = claim_prompts(page, [one.as_claim() for one in labelled], snapshot, config)
        return await asyncio.gather(*(ask_one(by_id[claim.id], page, asked) for claim, asked in prompts))

    return await _page_by_page(sets, ask, page_done)


async def _page_by_page(
    sets: Sequence[LabelledSet],
    ask: _PageAnswers,
    page_done: Callable[[], None],
    versions_apart: bool = False,
) -> list[Answer]:
    """Return the answers in the order of the claims."""

    async def answers_of(labelled: LabelledSet) -> list[Answer]:
        async def answer_group(url: str, group: Sequence[LabelledClaim]) -> Sequence[Answer]:
            page = labelled.snapshot.page(url)
            if page.status == "ok":
                answers = await ask(page, group, labelled.snapshot)
            else:
                answers = [Answer(one, page) for one in group]
            page_done()
            return answers

        groups = by_page(labelled.claims, versions_apart)
        answered = await asyncio.gather(*(answer_group(url, group) for url, group in groups))
        by_key = {one.claim.key: one for group in answered for one in group}
        return [by_key[one.key] for one in labelled.claims]

    return [one for labelled in sets for one in await answers_of(labelled)]


def by_page(
    labelled: Sequence[LabelledClaim], versions_apart: bool = False
) -> list[tuple[str, list[LabelledClaim]]]:
    """Return each page's URL with its claims; with `versions_apart`, once for each version of the claims."""
    groups: dict[tuple[str, str], list[LabelledClaim]] = {}
    for one in labelled:
        version = one.facets.get("version", "") if versions_apart else ""
        groups.setdefault((one.page, version), []).append(one)
    return [(url, group) for (url, _), group in groups.items()]


def claim_prompts(
    page: Page, claims: Sequence[Claim], snapshot: Snapshot, config: ClaimsConfig
) -> Iterator[tuple[Claim, Asked | None]]:
    """Yield the claims about a page with their questions; None for a claim that runs ask about in another view."""
    for evidence, group in evidence_groups(page, claims, snapshot, config):
        nearest = nearest_sentences(page, group, snapshot, config)
        for claim, found in zip(group, nearest, strict=True):
            asked = view_of(claim, evidence.page, found, config) == config.view
            name = QUESTIONS[config.view].supported
            yield claim, ask_about(evidence, name, claim, found) if asked else None


def _contexts(labelled: Sequence[LabelledClaim], config: ClaimsConfig) -> dict[str, str]:
    """Return the last sentences of each claim's context, as many as a run shows, by the claim's key."""
    if not config.context_sentences:
        return {}
    found: dict[str, str] = {}
    for one in labelled:
        bounds = list(get_sentence_boundaries("en", one.context))[-config.context_sentences :]
        found[one.key] = one.context[bounds[0]["start_index"] :].strip() if bounds else ""
    return found


def _of_verdict(claim: LabelledClaim, page: Page, verdict: Verdict) -> Answer:
    return Answer(
        claim=claim,
        page=page,
        label=verdict.label,
        confidence=verdict.confidence,
        raw=verdict.confidence_raw,
        quote=verdict.quote.text if verdict.quote and verdict.label else None,
        failure=verdict.failure,
        replies=verdict.replies,
    )


def data_digest(answers: Sequence[Answer]) -> str:
    """Return the SHA-256 of the input of a fit without the judge's answers: claims by id, and their pages."""
    rows = [
        [one.claim.key, one.claim.claim, one.page.url, one.claim.true, one.page.text_digest]
        for one in answers
    ]
    return sha256(canonical(sorted(rows, key=lambda row: str(row[0]))))
