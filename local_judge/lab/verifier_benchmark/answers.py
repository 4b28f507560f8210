"""Answers of verifiers about labelled claims, with their costs, and the baseline that makes no model calls.

Invariant: every claim gets one verdict, or is counted as failed or unread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from indexes.text.tokens import tokenise
from local_judge.base.model import Frozen
from local_judge.claims.evidence import estimate_tokens
from local_judge.judge.judge import Judge
from local_judge.lab.labelled.answers import Answer, Verifier, ask_verdicts
from local_judge.lab.labelled.model import LabelledSet
from local_judge.lab.verifier_benchmark.verifiers import gives_probabilities
from local_judge.ledger.requests import canonical, sha256

OVERLAP = "word overlap"
"""Name of the baseline that makes no model calls: the share of a claim's words that occur in the evidence."""

LENGTHS = ((500, "up to 500 tokens"), (2_000, "up to 2,000"), (6_000, "up to 6,000"), (math.inf, "longer"))
"""Most tokens of the evidence and name of each range of lengths."""
SHARES = ((0.5, "below 0.50"), (0.75, "0.50 to 0.75"), (1.0, "0.75 to 1.00"), (math.inf, "all"))
"""Upper limit and name of each range of the share of a claim's words that occur in the evidence."""


class Cost(Frozen):
    """Cost of all verdicts, divided by the number of claims."""

    calls: float
    prompt_tokens: float
    computed_tokens: float | None
    """Prompt tokens that were not in the prefix cache; None if the engine does not report it."""
    generated_tokens: float


class Answers(NamedTuple):
    """Answers of one verifier to all claims, with the cost by set."""

    verifier: str
    answers: Sequence[Answer]
    costs: Mapping[str, Cost]
    probabilities: bool
    """True if values are probabilities, which can be fitted."""
    fitting: Sequence[Answer] = ()
    """Answers to claims that calibrations are fitted on, and that no figure measures."""


async def ask(
    sets: Sequence[LabelledSet],
    judge: Judge,
    verifier: str,
    how: Verifier,
    page_done: Callable[[], None] = lambda: None,
) -> Answers:
    """Verify all claims as `ask_verdicts` does; `verifier` is the name of `how`."""
    answers = await ask_verdicts(sets, judge, how, page_done)
    return Answers(verifier, answers, _costs(answers, judge), gives_probabilities(how))


def word_overlap(sets: Sequence[LabelledSet]) -> Answers:
    """Answer by the share of a claim's words that occur on the page: the floor for every verifier."""
    unread = [Answer(one, known.snapshot.page(one.page)) for known in sets for one in known.claims]
    answers = [replace(one, raw=_share_of_words(one)) if one.is_read else one for one in unread]
    return Answers(OVERLAP, answers, {}, True)


def facets_of(one: Answer) -> dict[str, str]:
    """Return what figures are broken down by: label, length, words in the evidence, language, and the claim's own."""
    tokens, share = estimate_tokens(one.page.text), _share_of_words(one)
    return {
        "label": one.claim.label,
        "length": next(name for most, name in LENGTHS if tokens <= most),
        "words in the evidence": next(name for below, name in SHARES if share < below),
        "language": one.language,
        **{name: one.claim.facets[name] for name in ("version", "kind") if name in one.claim.facets},
    }


def pair_of(one: Answer) -> str:
    """Return a digest of the claim and its text: two sets may have the same pair."""
    return sha256(canonical([one.claim.claim, " ".join(one.page.text.split())]))


def record(one: Answer) -> dict[str, Any]:
    """Return an answer as one object of a file."""
    facets = facets_of(one)
    return {
        "set": one.claim.set,
        "id": one.claim.id,
        "gold": one.claim.label,
        "document": one.claim.document,
        "pair": pair_of(one),
        "language": facets["language"],
        "length": facets["length"],
        "words": facets["words in the evidence"],
        "label": one.label,
        "value": one.value,
        "failure": one.failure.kind if one.failure else None,
        "unread": None if one.is_read else one.page.status,
        "quote": one.quote,
        "replies": list(one.replies),
    }


def _share_of_words(one: Answer) -> float:
    words = set(tokenise(one.claim.claim))
    return len(words & set(tokenise(one.page.text))) / len(words) if words else 0.0


def _costs(answers: Sequence[Answer], judge: Judge) -> dict[str, Cost]:
    """Return the cost per claim of each set, from the ledger."""
    found: dict[str, Cost] = {}
    for name in dict.fromkeys(answer.claim.set for answer in answers):
        own = [answer for answer in answers if answer.claim.set == name]
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
