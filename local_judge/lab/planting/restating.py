"""True claims in other words, and two of them in one, by a judge.

Invariant: what a judge writes is a claim only if code finds the same numbers and names in it as in its source, and the
judge answers yes to both questions: does the source state all of the claim, does the claim state all of the source. The
claim stays word for word as it was where any of this fails, and the reasons are counted.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from indexes.text.language import detect_language
from local_judge.base.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.lab.planting.claims import Draw
from local_judge.lab.planting.model import Form, Language, PlantedClaim, SourceSentence
from local_judge.lab.planting.pages import PlantPage, particulars
from local_judge.prompts import Prompt, fence, fill, load_prompt, shared_prompt
from serving.types import EngineIdentity

template = partial(load_prompt, "local_judge.lab.planting")

OPTIONS = ("Yes", "No")
REPLY_TOKENS = 160
_NAMES: dict[Language, str] = {"en": "English", "zh": "Chinese"}
_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_NEGATIVE: dict[Language, re.Pattern[str]] = {
    "en": re.compile(r"\b(?:not|no|never|none|neither|nor|without|cannot)\b|n[’']t\b", re.I),
    "zh": re.compile(r"[不没无未非]"),
}

Rejection = Literal[
    "failed", "same", "length", "language", "numbers", "names", "negation", "more", "less", "alone"
]
"""Reason for an unchanged claim: no answer; the words of the source; a wrong length; another language; other numbers;
other names; a negation added or removed; more, or less, than the source states according to the judge; no other
sentence of its page left to merge with."""


class Restated(BaseModel):
    """Reply of the judge."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sentence: Annotated[str, Field(min_length=6, max_length=700)]


class Restating(NamedTuple):
    """A draw with some claims in other words."""

    draw: Draw
    rejected: Mapping[Rejection, int]
    failures: tuple[Failure, ...]


def wrong_by_code(source: str, restated: str, language: Language) -> Rejection | None:
    """Return the error that code finds in a restatement; None if there is none."""
    if _bare(source) == _bare(restated):
        return "same"
    if not 0.4 * len(source) <= len(restated) <= 2 * len(source):
        return "length"
    if detect_language(restated) not in (language, "und"):
        return "language"
    if _numbers(source) != _numbers(restated):
        return "numbers"
    folded = restated.casefold()
    names = {word for word in particulars(source, language) if not word[0].isdigit()}
    added = {word for word in particulars(restated, language) if word.casefold() not in source.casefold()}
    # The word that opens the restatement has a capital whatever it is.
    added -= {restated.split(" ")[0].strip(",.")}
    if any(word.casefold() not in folded for word in names) or added:
        return "names"
    pattern = _NEGATIVE[language]
    return "negation" if bool(pattern.search(source)) != bool(pattern.search(restated)) else None


def _bare(text: str) -> str:
    return re.sub(r"\W+", "", text).casefold()


def _numbers(text: str) -> Counter[float]:
    return Counter(float(found.replace(",", "")) for found in _DIGITS.findall(text))


def n_restated(draw: Draw) -> int:
    """Return the number of claims to restate: a third of the true ones paraphrased, a third merged, rounded up."""
    n_true = sum(claim.true for claim in draw.claims)
    return min(n_true, 2 * _third(n_true))


def _third(n_true: int) -> int:
    return -(-n_true // 3)


async def restate(
    draw: Draw, pages: Sequence[PlantPage], judge: Judge, seed: int, done: Callable[[], None] = lambda: None
) -> Restating:
    """Paraphrase a third of the true claims, and merge a third with another sentence of their page, as far as possible.

    Args:
        draw: what was planted.
        pages: that it was planted in.
        judge: who writes and who checks.
        seed: decides which claims.
        done: told of each claim that is finished.

    Raises:
        LedgerError: a reply could not be stored.
    """
    true = [claim for claim in draw.claims if claim.true]
    Random(f"{seed}:forms").shuffle(true)
    third = _third(len(true))
    used = {source.text for claim in draw.claims for source in claim.sources}
    by_url = {page.url: page for page in pages}
    work: list[tuple[PlantedClaim, Form, tuple[SourceSentence, ...]]] = []
    rejected: Counter[Rejection] = Counter()
    for place, claim in enumerate(true[: 2 * third]):
        form: Form = "paraphrase" if place < third else "merged"
        free = [one.source for one in by_url[claim.url].candidates if one.source.text not in used]
        if form == "merged" and not free:
            rejected["alone"] += 1
            done()
            continue
        more = (free[0],) if form == "merged" else ()
        used |= {source.text for source in more}
        work.append((claim, form, (*claim.sources, *more)))
    identity = await judge.engine.identity()

    async def one(claim: PlantedClaim, form: Form, sources: tuple[SourceSentence, ...]) -> _Outcome:
        outcome = await _restated(claim, form, sources, judge, identity)
        done()
        return outcome

    ended = await asyncio.gather(*(one(*item) for item in work))
    made = {one.id: one for one in ended if isinstance(one, PlantedClaim)}
    for outcome in ended:
        if not isinstance(outcome, PlantedClaim):
            rejected["failed" if isinstance(outcome, Failure) else outcome] += 1
    claims = tuple(made.get(claim.id, claim) for claim in draw.claims)
    failures = tuple(outcome for outcome in ended if isinstance(outcome, Failure))
    return Restating(draw.model_copy(update={"claims": claims}), rejected, failures)


_Outcome = PlantedClaim | Rejection | Failure


async def _restated(
    claim: PlantedClaim,
    form: Form,
    sources: tuple[SourceSentence, ...],
    judge: Judge,
    identity: EngineIdentity,
) -> _Outcome:
    text = "\n".join(source.text for source in sources)
    name = "paraphrase" if form == "paraphrase" else "merge"
    asked = _prompt(text, fill(template(name), {"language": _NAMES[claim.language]}))
    answer = await judge.ask(asked, Restated, max_tokens=REPLY_TOKENS)
    if isinstance(answer, Failure):
        return answer
    restated = " ".join(answer.value.sentence.split())
    wrong = wrong_by_code(text, restated, claim.language)
    if wrong is not None:
        return wrong
    replies = list(answer.replies)
    directions: tuple[tuple[str, str, Rejection], ...] = ((text, restated, "more"), (restated, text, "less"))
    for first, second, reason in directions:
        own = fill(template("states"), {"claim": fence(second, "Sentence:")})
        pick = await judge.choose(_prompt(first, own), OPTIONS)
        if isinstance(pick, Failure):
            return pick
        replies.append(pick.reply)
        if pick.probabilities["Yes"] < 0.5:
            return reason
    return claim.model_copy(
        update={
            "claim": restated,
            "form": form,
            "sources": sources,
            "judge": identity,
            "replies": tuple(replies),
        }
    )


def _prompt(text: str, own: str) -> Prompt:
    return shared_prompt("restate", fence(text, "Text:"), own)
