"""Extraction by our prompts and in DEER's order and style, on the same composed reports.

    terse, full   the report, instructions, the sentences of a batch by number; an answer under each number
    deer          instructions, the report, the sentences of a batch by label; a list of claims with reasons for their
                  classes

Invariants: all ways are asked about the same sentences in batches of the same size, and are held against what is known
in the same way (`qualification.parts.extraction`). Of DEER's form of answer, a claim whose position is no sentence of
its batch is ignored; a reply that cannot be read is a failure of all sentences of its batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import shared_report
from local_judge.claims.extract import (
    FullSentence,
    TerseSentence,
    extract_claims,
    extraction_prompt,
    settle_type,
    without_marks,
)
from local_judge.claims.model import ClaimType
from local_judge.documents import parse_report
from local_judge.documents.model import Document, Sentence
from local_judge.judge.failures import Failure, FailureKind
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence
from local_judge.judge.schemas import json_schema
from local_judge.lab.planting.composed import Composed
from local_judge.lab.qualification.parts.extraction import Form, Read, SentenceAnswer, answer_of
from scripts.benchmarking.planted import share
from scripts.benchmarking.prompt_rows import digest_of, instructions

BATCH = 20
REPLY_TOKENS_PER_SENTENCE = 240


class _Reply(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DeerClaim(_Reply):
    """One claim in DEER's form of answer."""

    position: Annotated[str, Field(max_length=12)]
    claim: Annotated[str, Field(max_length=400)]
    claim_type: ClaimType
    rationale: Annotated[str, Field(max_length=300)]
    numeric: bool
    citations: Annotated[list[Annotated[str, Field(max_length=12)]], Field(max_length=4)]
    cross_references: Annotated[list[Annotated[str, Field(max_length=12)]], Field(max_length=4)]


class DeerClaims(_Reply):
    """DEER's form of answer."""

    claims: Annotated[list[DeerClaim], Field(max_length=60)]


def deer_prompt(document: Document, batch: Sequence[Sentence]) -> Prompt:
    """Instructions, report, sentences."""
    report = shared_report(document)
    lines = "\n".join(f"{sentence.label}: {sentence.text}" for sentence in batch)
    return Prompt(
        shared=report.shared,
        own=fence(lines, "Target sentences:"),
        prefix_key=f"deer:{report.prefix_key}",
        system=instructions("deer_extraction"),
    )


Claims = dict[str, list[Read] | FailureKind]
"""Label of a sentence -> its claims, or why they could not be had."""


async def deer(document: Document, judge: Judge) -> Claims:
    """DEER's way (its `claim_processor`)."""
    body = [one for one in document.sentences if document.blocks[one.block].role == "body"]
    batches = [body[start : start + BATCH] for start in range(0, len(body), BATCH)]
    found: Claims = {}

    async def one(batch: Sequence[Sentence]) -> Claims:
        limit = REPLY_TOKENS_PER_SENTENCE * len(batch)
        answer = await judge.ask(deer_prompt(document, batch), DeerClaims, max_tokens=limit)
        if isinstance(answer, Failure):
            return {sentence.label: answer.kind for sentence in batch}
        return {sentence.label: _claims(document, sentence, answer.value) for sentence in batch}

    for part in await asyncio.gather(*(one(batch) for batch in batches)):
        found.update(part)
    return found


def _claims(document: Document, sentence: Sentence, reply: DeerClaims) -> list[Read]:
    return [
        Read(
            without_marks(document, sentence, one.claim),
            settle_type(document, sentence, one.claim_type, one.cross_references),
            one.claim_type,
        )
        for one in reply.claims
        if one.position.strip() == sentence.label and one.claim.strip()
    ]


async def own(document: Document, judge: Judge, form: Form) -> Claims:
    """Ask as the product does."""
    extraction = await extract_claims(document, judge, ClaimsConfig(form=form, batch_sentences=BATCH))
    found: Claims = {
        label: failure.failure.kind for failure in extraction.failures for label in failure.sentences
    }
    for sentence in document.sentences:
        if sentence.label not in found:
            found[sentence.label] = [
                Read(claim.text, claim.type, claim.type_judged)
                for claim in extraction.claims
                if claim.sentence == sentence.label
            ]
    return found


class Way(NamedTuple):
    """One way to extract."""

    whose: str
    about: str
    digest: Callable[[], str]
    form: Form | None
    """None of DEER's."""


def _sample() -> Document:
    """Return a report that never changes."""
    return parse_report("# T\n\nOne [1]. Two.\n\n## References\n\n[1] S. https://page.example/\n")


def _own_digest(form: Form, answer: type[Any]) -> str:
    document = _sample()
    return digest_of([extraction_prompt(document, None, document.sentences, form)], [json_schema(answer)])


WAYS: Final[Mapping[str, Way]] = {
    "terse": Way(
        "ours",
        "report, instructions, sentences by number; one claim, class",
        lambda: _own_digest("terse", TerseSentence),
        "terse",
    ),
    "full": Way(
        "ours",
        "report, instructions, sentences by number; claims, classes, flags",
        lambda: _own_digest("full", FullSentence),
        "full",
    ),
    "deer": Way(
        "DEER",
        "instructions, report, sentences by label; claims, classes with reasons, flags",
        lambda: digest_of([deer_prompt(_sample(), _sample().sentences)], [json_schema(DeerClaims)]),
        None,
    ),
}


async def extracted(way: Way, reports: Sequence[Composed], judge: Judge) -> list[Claims]:
    """Return the claims of each report, by its sentences."""
    work = (
        deer(one.document, judge) if way.form is None else own(one.document, judge, way.form)
        for one in reports
    )
    return list(await asyncio.gather(*work))


def extraction_figures(reports: Sequence[Composed], found: Sequence[Claims]) -> dict[str, Any]:
    """Recall, precision and F1 over the sentences that were answered; formulas in `qualification.parts.extraction`."""
    answers: list[tuple[bool, bool, SentenceAnswer]] = []
    kinds: set[str] = set()
    asked = 0
    for report, claims in zip(reports, found, strict=True):
        for sentence in report.sentences:
            asked += 1
            given = claims[sentence.label]
            if isinstance(given, str):
                kinds.add(given)
            else:
                answers.append((sentence.planted, sentence.cited, answer_of(sentence, given)))
    planted = [(cited, one.said) for is_planted, cited, one in answers if is_planted]
    uncited = [said for cited, said in planted if not cited]
    right, called = sum(said for _, said in planted), sum(one.called for _, _, one in answers)
    return {
        "n": len(answers),
        "failed": asked - len(answers),
        "failure_kinds": sorted(kinds),
        "planted": len(planted),
        "recall": share(right, len(planted)),
        "recall_uncited": share(sum(uncited), len(uncited)),
        "precision": share(right, called),
        "f1": share(2 * right, len(planted) + called),
    }
