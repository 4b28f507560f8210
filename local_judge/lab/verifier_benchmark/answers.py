"""Verdicts of a judge on labelled claims, and the baseline that makes no model calls.

Invariant: every row gets one verdict, or is counted as failed or unread.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sentencex import get_sentence_boundaries

from indexes.model import Page, SourceStatus
from indexes.snapshot import Snapshot
from indexes.text.language import detect_language
from indexes.text.tokens import tokenise
from local_judge.base.model import Frozen
from local_judge.claims.build import PageVerifier, verify_page
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import estimate_tokens
from local_judge.claims.model import Claim, Label, Verdict
from local_judge.judge.judge import Judge
from local_judge.lab.verifier_benchmark.rows import Gold, LabelledRow, claim_of_row
from local_judge.lab.verifier_benchmark.verifiers import Verifier, gives_probabilities
from local_judge.ledger.requests import canonical, sha256
from local_judge.protocols.base import OriginalVerifier

OVERLAP = "word overlap"
"""Name of the baseline that makes no model calls: the share of a claim's words that occur in the evidence."""

_RANKS: Mapping[Label, float] = {
    "contradicted": 0.0,
    "off_topic": 0.25,
    "unusable": 0.25,
    "not_found": 0.5,
    "partial": 0.75,
    "supported": 1.0,
}
"""Order of the labels of verdicts without a probability."""

LENGTHS = ((500, "up to 500 tokens"), (2_000, "up to 2,000"), (6_000, "up to 6,000"), (math.inf, "longer"))
"""Most tokens of the evidence and name of each range of lengths."""
SHARES = ((0.5, "below 0.50"), (0.75, "0.50 to 0.75"), (1.0, "0.75 to 1.00"), (math.inf, "all"))
"""Upper limit and name of each range of the share of a claim's words that occur in the evidence."""


class Answer(Frozen):
    """One row with its verdict. Exactly one of `label`, `failure` and `unread` is set, but for the baseline."""

    set: str
    id: str
    gold: Gold
    document: str
    pair: str
    """Digest of the claim and its text: two sets may have the same pair."""
    language: str
    length: str
    """Length of the evidence."""
    words: str
    """Share of the claim's words that occur in the evidence."""
    label: Label | None = None
    value: float | None = None
    """P(supported) as the judge gives it, the rank of the label, or the baseline's share."""
    failure: str | None = None
    unread: SourceStatus | None = None
    quote: str | None = None
    """Quotation from the page."""
    replies: tuple[str, ...] = ()


class Cost(Frozen):
    """Cost of all verdicts, divided by the number of claims."""

    calls: float
    prompt_tokens: float
    computed_tokens: float | None
    """Prompt tokens that were not in the prefix cache; None if the engine does not report it."""
    generated_tokens: float


class Answers(NamedTuple):
    """Answers of one verifier to all rows, with the cost by set."""

    verifier: str
    rows: Sequence[LabelledRow]
    answers: Sequence[Answer]
    costs: Mapping[str, Cost]
    probabilities: bool
    """True if values are probabilities, which can be fitted."""
    fitting: Sequence[Answer] = ()
    """Answers to claims that calibrations are fitted on, and that no figure measures."""


async def ask(
    rows: Sequence[LabelledRow],
    snapshot: Snapshot,
    judge: Judge,
    verifier: str,
    how: Verifier | PageVerifier,
    page_done: Callable[[], None] = lambda: None,
) -> Answers:
    """Verify all rows as a run does, claims of one page together.

    Args:
        rows: the labelled claims.
        snapshot: has the page of each row.
        judge: the judge.
        verifier: name of the verifier.
        how: settings of verification, published prompts, or another function that verifies.
        page_done: called after each page.
    """

    async def verified(
        page: Page, claims: Sequence[Claim], asked: Sequence[LabelledRow]
    ) -> Sequence[Verdict]:
        if isinstance(how, ClaimsConfig):
            return await verify_page(page, claims, snapshot, judge, how, _contexts(asked, how))
        verify = how.verify if isinstance(how, OriginalVerifier) else how
        return await verify(page, claims, snapshot, judge)

    by_page: dict[str, list[LabelledRow]] = {}
    for row in rows:
        by_page.setdefault(row.page, []).append(row)

    async def one(url: str, asked: Sequence[LabelledRow]) -> list[Answer]:
        page, claims = snapshot.page(url), [claim_of_row(row) for row in asked]
        answers: list[Answer] = [_about(row, page, unread=page.status) for row in asked]
        if page.status == "ok":
            verdicts = await verified(page, claims, asked)
            answers = [
                _about(row, page, **_answer(verdict)) for row, verdict in zip(asked, verdicts, strict=True)
            ]
        page_done()
        return answers

    found = await asyncio.gather(*(one(url, asked) for url, asked in by_page.items()))
    by_row = {(answer.set, answer.id): answer for page in found for answer in page}
    answers = [by_row[row.set, row.id] for row in rows]
    probabilities = isinstance(how, ClaimsConfig) and gives_probabilities(how)
    return Answers(verifier, rows, answers, _costs(answers, judge), probabilities)


def _contexts(rows: Sequence[LabelledRow], config: ClaimsConfig) -> dict[str, str]:
    """Return the last sentences of each row's context, as many as a run shows, by the claim's id."""
    if not config.context_sentences:
        return {}
    found: dict[str, str] = {}
    for row in rows:
        bounds = list(get_sentence_boundaries("en", row.context))[-config.context_sentences :]
        found[claim_of_row(row).id] = row.context[bounds[0]["start_index"] :].strip() if bounds else ""
    return found


def word_overlap(rows: Sequence[LabelledRow], snapshot: Snapshot) -> Answers:
    """Answer by the share of a claim's words that occur on the page: the floor for every verifier."""
    answers: list[Answer] = []
    for row in rows:
        page = snapshot.page(row.page)
        answer = {"value": _share(row, page)} if page.status == "ok" else {"unread": page.status}
        answers.append(_about(row, page, **answer))
    return Answers(OVERLAP, rows, answers, {}, True)


def _share(row: LabelledRow, page: Page) -> float:
    words = set(tokenise(row.claim))
    return len(words & set(tokenise(page.text))) / len(words) if words else 0.0


def _about(row: LabelledRow, page: Page, **answer: object) -> Answer:
    tokens, share = estimate_tokens(page.text), _share(row, page)
    return Answer.model_validate(
        {
            "set": row.set,
            "id": row.id,
            "gold": row.label,
            "document": row.document,
            "pair": sha256(canonical([row.claim, " ".join(page.text.split())])),
            "language": page.language or detect_language(page.text),
            "length": next(name for most, name in LENGTHS if tokens <= most),
            "words": next(name for below, name in SHARES if share < below),
            **answer,
        }
    )


def _answer(verdict: Verdict) -> dict[str, object]:
    if verdict.label is None:
        return {"failure": verdict.failure.kind if verdict.failure else "unknown", "replies": verdict.replies}
    given = verdict.confidence_raw if verdict.confidence_raw is not None else verdict.confidence
    value = _RANKS[verdict.label] if given is None else given
    quote = verdict.quote.text if verdict.quote else None
    return {"label": verdict.label, "value": value, "quote": quote, "replies": verdict.replies}


def _costs(answers: Sequence[Answer], judge: Judge) -> dict[str, Cost]:
    """Return the cost per claim of each set, from the ledger."""
    found: dict[str, Cost] = {}
    for name in dict.fromkeys(answer.set for answer in answers):
        own = [answer for answer in answers if answer.set == name]
        keys = dict.fromkeys(key for answer in own for key in answer.replies)
        usages = [trace.reply.usage for key in keys if (trace := judge.ledger.reply(key)) is not None]
        cached = [usage.cached_tokens for usage in usages]
        prompt, n = sum(usage.prompt_tokens for usage in usages), len(own)
        known = None not in cached and bool(cached)
        found[name] = Cost(
            calls=len(keys) / n,
            prompt_tokens=prompt / n,
            computed_tokens=(prompt - sum(one or 0 for one in cached)) / n if known else None,
            generated_tokens=sum(usage.completion_tokens for usage in usages) / n,
        )
    return found
