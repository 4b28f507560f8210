"""Verification by our prompts and by the originals' order and style, on the same planted claims and pages.

    scored            page, then one claim and a question of one token, as `claims.method=scored`
    scored_near       the question, then what is around the page's sentences nearest to one claim (`claims.view=near`)
    grouped_terse     page, instructions, the claims of the page; quotation and label
    grouped_full      the same with rationales
    deer              instructions, the claims of the page, the page; the page's worth, then reasoning and label of each
    fact              instructions, the page, the statements of the page; labels alone
    liveresearchbench instructions, one claim, the page; reasoning, then true or false

Of the originals order, layout, labels and form of the answer are re-enacted; the words are this project's, and texts
stand in its fences. Invariants: all ways see the same evidence of a page; a reply of an original's form that leaves a
claim out, or names it twice, is no answer for this claim, since the originals do not ask again for parts of a reply.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from indexes.snapshot import Snapshot
from indexes.urls import normalise_url
from local_judge.claims.config import ClaimsConfig, View
from local_judge.claims.evidence import PageEvidence, evidence_groups
from local_judge.claims.grouped import FullFinding, TerseFinding, verification_prompt
from local_judge.claims.model import Claim, Label, Quote
from local_judge.claims.yes_no import OPTIONS, QUESTIONS, question
from local_judge.judge.failures import Failure, FailureKind
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence
from local_judge.judge.schemas import json_schema
from local_judge.lab.planting.model import PlantedClaim
from local_judge.runs.verify import ClaimRow, VerifiedRow, claim_of, verify_rows
from local_judge.stats.calibration.fitting import out_of_fold
from local_judge.stats.calibration.measures import NEUTRAL, Judged, auc
from scripts.benchmarking.planted import quality, share
from scripts.benchmarking.prompt_rows import digest_of, instructions, sample_claims, sample_exhibit

RANKS: Final[Mapping[Label, int]] = {
    "supported": 4,
    "partial": 3,
    "not_found": 2,
    "off_topic": 1,
    "contradicted": 0,
}
DEER_RANKS: Final = {"supported": 3, "error": 2, "not_supported": 1, "conflict": 0}
FACT_RANKS: Final = {"supported": 2, "unknown": 1, "unsupported": 0}
FORM_TOKENS, EACH_TOKENS = 200, 160
"""Limit of a reply of an original's form: for its frame, and for each claim."""


class Said(NamedTuple):
    """Result of one claim. Either `failure` is set, or the others are."""

    rank: float | None = None
    """The greater, the more the judge holds the claim to be stated."""
    stated: bool | None = None
    """True if its label says that the page states the claim."""
    failure: FailureKind | None = None


class _Reply(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DeerFinding(_Reply):
    """One claim in DEER's form of answer."""

    claim_index: int
    explanation: Annotated[str, Field(max_length=400)]
    result: Literal["supported", "conflict", "not_supported", "error"]


class DeerReply(_Reply):
    """DEER's form of answer."""

    reliable_explanation: Annotated[str, Field(max_length=400)]
    reliable: bool
    results: Annotated[list[DeerFinding], Field(max_length=20)]


class FactFinding(_Reply):
    """One statement in FACT's form of answer."""

    idx: int
    result: Literal["supported", "unsupported", "unknown"]


class FactReply(_Reply):
    """FACT's form of answer."""

    results: Annotated[list[FactFinding], Field(max_length=20)]


class AccuracyReply(_Reply):
    """LiveResearchBench's form of answer."""

    reasoning: Annotated[str, Field(max_length=600)]
    accurate: bool


def deer_prompt(exhibit: PageEvidence, claims: Sequence[Claim]) -> Prompt:
    """Instructions, claims, page."""
    own = f"{_listed(claims, 'Claims:')}\n\n{exhibit.shared}"
    return Prompt(shared="", own=own, prefix_key="deer", system=instructions("deer_verification"))


def fact_prompt(exhibit: PageEvidence, claims: Sequence[Claim]) -> Prompt:
    """Instructions, page, statements."""
    return Prompt(
        shared=exhibit.shared,
        own=_listed(claims, "Statements:"),
        prefix_key=f"fact:{exhibit.prefix_key}",
        system=instructions("fact_verification"),
    )


def accuracy_prompt(exhibit: PageEvidence, claim: Claim) -> Prompt:
    """Instructions, one claim, page."""
    own = f"{fence(claim.text, 'Claim:')}\n\n{exhibit.shared}"
    return Prompt(
        shared="",
        own=own,
        prefix_key="liveresearchbench",
        system=instructions("liveresearchbench_verification"),
    )


def _listed(claims: Sequence[Claim], title: str) -> str:
    return fence("\n".join(f"{number}. {claim.text}" for number, claim in enumerate(claims, 1)), title)


async def deer(exhibit: PageEvidence, claims: Sequence[Claim], judge: Judge) -> list[Said]:
    """DEER's way (its `claim_verifier`): all claims of a page in one call."""
    limit = FORM_TOKENS + EACH_TOKENS * len(claims)
    answer = await judge.ask(deer_prompt(exhibit, claims), DeerReply, max_tokens=limit)
    if isinstance(answer, Failure):
        return [Said(failure=answer.kind)] * len(claims)
    results = [(one.claim_index, one.result) for one in answer.value.results]
    return _by_number(results, DEER_RANKS, len(claims))


async def fact(exhibit: PageEvidence, claims: Sequence[Claim], judge: Judge) -> list[Said]:
    """FACT's way (its `validate`): all statements of a page in one call."""
    limit = FORM_TOKENS + EACH_TOKENS * len(claims)
    answer = await judge.ask(fact_prompt(exhibit, claims), FactReply, max_tokens=limit)
    if isinstance(answer, Failure):
        return [Said(failure=answer.kind)] * len(claims)
    return _by_number([(one.idx, one.result) for one in answer.value.results], FACT_RANKS, len(claims))


async def liveresearchbench(exhibit: PageEvidence, claims: Sequence[Claim], judge: Judge) -> list[Said]:
    """LiveResearchBench's way (its appendix on E3): one call for each claim."""

    async def one(claim: Claim) -> Said:
        limit = FORM_TOKENS + EACH_TOKENS
        answer = await judge.ask(accuracy_prompt(exhibit, claim), AccuracyReply, max_tokens=limit)
        if isinstance(answer, Failure):
            return Said(failure=answer.kind)
        return Said(float(answer.value.accurate), answer.value.accurate)

    return list(await asyncio.gather(*(one(claim) for claim in claims)))


def _by_number(given: Sequence[tuple[int, str]], ranks: Mapping[str, int], n: int) -> list[Said]:
    """Return the label of each claim, by its number from 1."""
    found: list[Said] = []
    for number in range(1, n + 1):
        labels = [label for index, label in given if index == number]
        if len(labels) == 1:
            found.append(Said(ranks[labels[0]], labels[0] == "supported"))
        else:
            found.append(Said(failure="incomplete"))
    return found


Original = Callable[[PageEvidence, Sequence[Claim], Judge], Awaitable[list[Said]]]


class Way(NamedTuple):
    """One way to verify."""

    whose: str
    about: str
    """Order and form, for the table."""
    digest: Callable[[], str]
    config: ClaimsConfig
    original: Original | None = None
    """None for what the product does itself, by `config`."""


def _own(
    method: Literal["scored", "grouped"], form: Literal["full", "terse"] = "terse", view: View = "page"
) -> ClaimsConfig:
    return ClaimsConfig(
        method=method, form=form, view=view, reliability=False, calibration="none", threshold=NEUTRAL
    )


def _scored_digest(view: View) -> str:
    exhibit, claim = sample_exhibit(), sample_claims()[0]
    nearest = Quote(text="Text.", start=0, end=5)
    prompts = [question(exhibit, name, claim, [nearest]) for name in QUESTIONS[view]]
    return digest_of(prompts, [OPTIONS])


def _grouped_digest(form: str, answer: type[Any]) -> str:
    return digest_of([verification_prompt(sample_exhibit(), sample_claims(), form)], [json_schema(answer)])


WAYS: Final[Mapping[str, Way]] = {
    "scored": Way("ours", "page, claim, question; one token", lambda: _scored_digest("page"), _own("scored")),
    "scored_near": Way(
        "ours",
        "question, sentences around the nearest, claim; one token",
        lambda: _scored_digest("near"),
        _own("scored", view="near"),
    ),
    "grouped_terse": Way(
        "ours",
        "page, instructions, claims of the page; quotation, label",
        lambda: _grouped_digest("terse", TerseFinding),
        _own("grouped", "terse"),
    ),
    "grouped_full": Way(
        "ours",
        "page, instructions, claims of the page; quotation, rationale, label",
        lambda: _grouped_digest("full", FullFinding),
        _own("grouped", "full"),
    ),
    "deer": Way(
        "DEER",
        "instructions, claims of the page, page; source, reasoning, label",
        lambda: digest_of([deer_prompt(sample_exhibit(), sample_claims())], [json_schema(DeerReply)]),
        _own("grouped", "full"),
        deer,
    ),
    "fact": Way(
        "FACT",
        "instructions, page, statements of the page; label",
        lambda: digest_of([fact_prompt(sample_exhibit(), sample_claims())], [json_schema(FactReply)]),
        _own("grouped", "full"),
        fact,
    ),
    "liveresearchbench": Way(
        "LiveResearchBench",
        "instructions, one claim, page; reasoning, true or false",
        lambda: digest_of(
            [accuracy_prompt(sample_exhibit(), sample_claims()[0])], [json_schema(AccuracyReply)]
        ),
        _own("grouped", "full"),
        liveresearchbench,
    ),
}


async def verified(way: Way, planted: Sequence[PlantedClaim], snapshot: Snapshot, judge: Judge) -> list[Said]:
    """Return the result of each claim, in order."""
    rows = [ClaimRow(id=one.id, claim=one.claim, url=one.url) for one in planted]
    if way.original is None:
        found = await verify_rows(rows, snapshot, judge, way.config)
        return [_said(row, way.config.method) for row in found]
    original = way.original
    by_url: dict[str, list[Claim]] = {}
    for row in rows:
        by_url.setdefault(normalise_url(row.url), []).append(claim_of(row))
    groups = [
        group
        for url, claims in by_url.items()
        for group in evidence_groups(snapshot.page(url), claims, snapshot, way.config)
    ]
    answers = await asyncio.gather(*(original(exhibit, claims, judge) for exhibit, claims in groups))
    said = {
        claim.id: one
        for (_, claims), answer in zip(groups, answers, strict=True)
        for claim, one in zip(claims, answer, strict=True)
    }
    return [said[row.id] for row in rows]


def _said(row: VerifiedRow, method: str) -> Said:
    if row.label is None:
        return Said(failure=row.failure.kind if row.failure else "malformed")
    rank = row.confidence if method == "scored" else RANKS[row.label]
    return Said(rank, row.label == "supported")


def verification_figures(planted: Sequence[PlantedClaim], said: Sequence[Said]) -> dict[str, Any]:
    """AUC (Mann-Whitney, ties a half) and the shares of `planted.quality`, over the claims that were answered.

    `fitted_accuracy`: each page's claims judged at the threshold of rank that is best on all other pages' claims.
    """
    pairs = [(claim, one) for claim, one in zip(planted, said, strict=True) if one.failure is None]
    judged = [Judged(claim.true, one.rank or 0.0, claim.url) for claim, one in pairs]
    area = auc(judged) if judged else None
    n_pages = len({one.page for one in judged})
    held = out_of_fold(judged, method=None, n_folds=n_pages) if n_pages > 1 and area is not None else None
    right = None if held is None else sum(map(operator.eq, held.called, (one.true for one in judged)))
    return {
        "n": len(pairs),
        "failed": len(said) - len(pairs),
        "failure_kinds": sorted({one.failure for one in said if one.failure is not None}),
        "auc": None if area is None else round(area, 4),
        "fitted_accuracy": None if right is None else share(right, len(judged)),
        **quality([claim for claim, _ in pairs], [bool(one.stated) for _, one in pairs]),
    }
