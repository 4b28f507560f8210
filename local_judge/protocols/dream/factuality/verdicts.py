"""Labels of claims by passages, with the evidence for and against, in one call or by an agent.

Invariants: a quotation is evidence only if code finds it in a passage that was shown. If quotations are required, a
label without its quotation is asked for again, alone, and is a failure after that. An agent's searches follow the same
rule as a judge's queries: a search that gives something of the claim away is refused, and counts as an error of the
run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import Annotated

from pydantic import Field

from indexes.snapshot import Snapshot
from local_judge.agents.actions import Refusal, Request, Search
from local_judge.agents.citations import CheckedCitation, check_citations
from local_judge.agents.loop import run_agent
from local_judge.agents.observations import Observation, PagePassage, observation_text
from local_judge.agents.result import no_answer
from local_judge.agents.toolbox import Toolbox, refused
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.model import Claim, Quote
from local_judge.claims.quotes import QuoteFinder
from local_judge.judge.fitting import room_for
from local_judge.judge.judge import Answer, Judge
from local_judge.prompts import Prompt, fence, fill, load_prompt, shared_prompt
from local_judge.protocols.asking import evaluated_on
from local_judge.protocols.dream.factuality.findings import (
    AgentVerdict,
    CheckedFact,
    Evidence,
    FactLabel,
    FactualitySettings,
    PassageLocation,
    passages_of,
)
from local_judge.protocols.dream.factuality.query_leakage import given_away
from local_judge.protocols.dream.factuality.searching import Group

template = partial(load_prompt, "local_judge.protocols.dream")

REPLY_TOKENS = 700
"""Limit of a reply, for each claim in it: four quotations, and a rationale."""
MIN_REPLY_TOKENS = 200
"""Minimum room for each claim, in tokens; a call with less is halved."""
SECOND = 1
"""Number of the draw that asks again for a label without a quotation."""

Words = Annotated[str, Field(max_length=400)]


class Verdict(Frozen):
    """Answer of a judge for one claim; the evidence comes first."""

    supporting: Annotated[list[Words], Field(max_length=2)]
    opposing: Annotated[list[Words], Field(max_length=2)]
    rationale: Annotated[str, Field(max_length=400)]
    label: FactLabel


async def judge_claims(
    group: Group, claims: Sequence[Claim], judge: Judge, today: date | None, required: bool
) -> list[CheckedFact]:
    """Return the label of each claim of a group, in its order.

    Args:
        group: the claims by their positions in `claims`, and their passages.
        claims: all claims of the report that are checked.
        judge: the judge.
        today: the day of the evaluation.
        required: a label has to rest on a quotation.
    """
    own = [claims[position] for position in group.claims]
    verdicts = await _judge_claims(own, group.passages, judge, today, 0)
    bare = [index for index, one in enumerate(verdicts) if required and lacks_quotation(one)]
    again = await asyncio.gather(
        *(_judge_claims([own[index]], group.passages, judge, today, SECOND) for index in bare)
    )
    for index, (second,) in zip(bare, again, strict=True):
        first = verdicts[index]
        rejected = tuple(dict.fromkeys((*first.rejected, *second.rejected)))
        both = {"rejected": rejected, "replies": (*first.replies, *second.replies)}
        verdicts[index] = second.model_copy(update=both)
        if lacks_quotation(second):
            verdicts[index] = fail_unquoted(verdicts[index])
    return verdicts


def lacks_quotation(verdict: CheckedFact) -> bool:
    """Check whether a label should rest on a quotation and has none on its side."""
    return {
        "supported": not verdict.supporting,
        "partially": not (verdict.supporting or verdict.opposing),
        "contradicted": not verdict.opposing,
    }.get(verdict.label or "", False)


def fail_unquoted(verdict: CheckedFact) -> CheckedFact:
    """Return the claim as a failure, because its label has no quotation."""
    detail = f"label {verdict.label!r} without a quotation on its side that occurs in the passages"
    failure = Failure(kind="invalid_reply", detail=detail, attempts=max(len(verdict.replies), 1))
    return verdict.model_copy(update={"label": None, "failure": failure})


def verdict_prompt(passages: Sequence[PagePassage], claims: Sequence[Claim], today: date | None) -> Prompt:
    """Return the prompt for some claims; passages come first, so that claims with equal passages share them."""
    shown = observation_text(Observation(tool="search", note="", shown=tuple(passages)))
    listed = "\n".join(f"{number}. {claim.text}" for number, claim in enumerate(claims, 1))
    values = {"today": evaluated_on(today), "count": str(len(claims)), "claims": fence(listed, "Claims:")}
    return shared_prompt("dream:passages", shown, fill(template("facts"), values))


async def _judge_claims(
    claims: Sequence[Claim], passages: Sequence[PagePassage], judge: Judge, today: date | None, draw: int
) -> list[CheckedFact]:
    def prompt_for(indices: Sequence[int]) -> Prompt:
        return verdict_prompt(passages, [claims[index] for index in indices], today)

    if len(claims) > 1 and await room_for(
        judge, prompt_for(range(len(claims))), MIN_REPLY_TOKENS * len(claims)
    ):
        middle = len(claims) // 2
        halves = (claims[:middle], claims[middle:])
        verdicts = await asyncio.gather(
            *(_judge_claims(half, passages, judge, today, draw) for half in halves)
        )
        return [one for half in verdicts for one in half]
    answers = await judge.ask_items(
        prompt_for, Verdict, len(claims), draw=draw, max_tokens=REPLY_TOKENS * len(claims)
    )
    finders = [(passage, QuoteFinder(passage.text)) for passage in passages]
    locations = passages_of(passages)
    return [_verdict(*pair, finders, locations) for pair in zip(claims, answers, strict=True)]


def _verdict(
    claim: Claim,
    answer: Answer[Verdict] | Failure,
    finders: Sequence[tuple[PagePassage, QuoteFinder]],
    locations: tuple[PassageLocation, ...],
) -> CheckedFact:
    fact = CheckedFact(id=claim.id, text=claim.text, salient=claim.salient, passages=locations)
    if isinstance(answer, Failure):
        return fact.model_copy(update={"failure": answer})
    supporting, missed = _look_up(answer.value.supporting, finders)
    opposing, missed_too = _look_up(answer.value.opposing, finders)
    return fact.model_copy(
        update={
            "label": answer.value.label,
            "supporting": supporting,
            "opposing": opposing,
            "rejected": (*missed, *missed_too),
            "rationale": answer.value.rationale,
            "replies": answer.replies,
        }
    )


def _look_up(
    quotations: Sequence[str], finders: Sequence[tuple[PagePassage, QuoteFinder]]
) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    """Return quotations in the first passage that contains them, and those that no passage contains."""
    found: list[Evidence] = []
    missed: list[str] = []
    for words in dict.fromkeys(quotation for quotation in quotations if quotation.strip()):
        locations = ((one, quote) for one, finder in finders if (quote := finder.find(words)) is not None)
        first = next(locations, None)
        if first is None:
            missed.append(words)
            continue
        shown, quote = first
        moved = {"start": shown.start + quote.start, "end": shown.start + quote.end}
        found.append(
            Evidence(
                url=shown.url,
                title=shown.title,
                text_digest=shown.text_digest,
                quote=quote.model_copy(update=moved),
            )
        )
    return tuple(found), tuple(missed)


LEAKS = "A query gives away a number, a value, a direction or the wording of the claim. Leave it out"


class GuardedToolbox(Toolbox):
    """Tools of an agent that checks one claim."""

    def __init__(self, snapshot: Snapshot, settings: FactualitySettings, claim: Claim) -> None:
        super().__init__(snapshot, settings.tools)
        self._claim = claim

    def run(self, request: Request, calls: int | None = None) -> Observation:
        """Answer a request; a search that gives the claim away is refused. Raises as `Toolbox.run` does."""
        if isinstance(request, Search) and any(
            given_away(query, self._claim.text) for query in request.queries
        ):
            return refused(Refusal(request.tool, "bad_arguments", LEAKS))
        return super().run(request, calls)


async def check_by_agent(
    claim: Claim, judge: Judge, snapshot: Snapshot, today: date | None, settings: FactualitySettings
) -> CheckedFact:
    """Check one claim. Raises as `run_agent` does."""
    result = await run_agent(
        judge,
        GuardedToolbox(snapshot, settings, claim),
        template("facts_agent").strip() + evaluated_on(today),
        AgentVerdict,
        material=fence(claim.text, "Claim:"),
        limits=settings.limits,
    )
    transcript, answer = result.transcript, result.answer
    shown = passages_of(one for observation in transcript.observations for one in observation.shown)
    fact = CheckedFact(
        id=claim.id,
        text=claim.text,
        salient=claim.salient,
        passages=shown,
        replies=transcript.replies,
        run=result,
    )
    if answer is None:
        return fact.model_copy(update={"failure": no_answer(result)})
    supporting = check_citations(answer.supporting, transcript, snapshot)
    opposing = check_citations(answer.opposing, transcript, snapshot)
    fact = fact.model_copy(
        update={
            "label": answer.label,
            "supporting": tuple(_evidence(one) for one in supporting if one.status == "found"),
            "opposing": tuple(_evidence(one) for one in opposing if one.status == "found"),
            "rejected": tuple(one.quote for one in (*supporting, *opposing) if one.status != "found"),
            "rationale": answer.rationale,
        }
    )
    return fail_unquoted(fact) if settings.quotations == "required" and lacks_quotation(fact) else fact


def _evidence(one: CheckedCitation) -> Evidence:
    assert one.start is not None and one.end is not None
    quote = Quote(text=one.quote, start=one.start, end=one.end, in_title=one.in_title)
    return Evidence(url=one.url, title=one.title, text_digest=one.text_digest, quote=quote)
