"""Checkable statements of a document, cited or not.

Invariants: a reply is about one sentence. A statement is kept only if its words occur in the sentence and something in
it can be looked up; others are rejected and counted. A sentence whose statements are missing is a failure, never one
without statements.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import chain
from typing import Annotated, NamedTuple

from pydantic import Field

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.evidence import shared_report
from local_judge.claims.extract import is_numeric, without_marks
from local_judge.claims.model import Claim, ClaimSet, ExtractionFailure
from local_judge.claims.quotes import QuoteFinder, find_labelled
from local_judge.documents.model import Document, Sentence, Span
from local_judge.judge.fitting import room_for
from local_judge.judge.judge import Answer, Judge
from local_judge.ledger.requests import sha256
from local_judge.prompts import Prompt, fence, fill, load_prompt
from local_judge.protocols.asking import at_most
from local_judge.protocols.deepresearcheval.facts.findings import FactsSettings, Rejected, Statement
from local_judge.protocols.deepresearcheval.facts.segments import Segment

REPLY_TOKENS = 100
"""Limit of a reply, for each sentence, and again for each statement that one may have."""
MIN_REPLY_TOKENS = 60
"""Minimum room for each sentence, in tokens, that a prompt has to leave."""

Entity = Annotated[str, Field(min_length=1, max_length=60)]


class ReadStatement(Frozen):
    """One statement in a judge's reply."""

    statement: Annotated[str, Field(min_length=1, max_length=300)]
    quote: Annotated[str, Field(max_length=200)]
    entities: Annotated[list[Entity], Field(max_length=3)]
    salient: Annotated[bool, Field(strict=True)]


class ReadSentence(Frozen):
    """Statements of one sentence; the settings limit their number."""

    statements: list[ReadStatement]


class Found(NamedTuple):
    """Statements of some sentences."""

    statements: tuple[Statement, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    unread: tuple[ExtractionFailure, ...] = ()


def join_found(parts: Sequence[Found]) -> Found:
    """Return the findings of several groups of sentences together, in order."""
    return Found(*(tuple(chain.from_iterable(column)) for column in zip(*parts, strict=True)))


async def find_statements(
    document: Document, segments: Sequence[Segment], judge: Judge, settings: FactsSettings
) -> Found:
    """Return the statements of all segments, in reading order."""
    return join_found(
        await asyncio.gather(*(_of_segment(document, segment, judge, settings) for segment in segments))
    )


def statements_prompt(
    document: Document, shown: frozenset[int] | None, sentences: Sequence[Sentence], most: int
) -> Prompt:
    """Return the prompt for the statements of some sentences; `shown` as in `shared_report`."""
    listed = "\n".join(f"{number}. {one.label}: {one.text}" for number, one in enumerate(sentences, 1))
    opening = shared_report(document, shown)
    values = {"most": str(most), "targets": fence(listed, "Sentences:"), "count": str(len(sentences))}
    own = fill(load_prompt("local_judge.protocols.deepresearcheval.facts", "statements"), values)
    return Prompt(shared=opening.shared, own=own, prefix_key=opening.prefix_key)


async def _of_segment(document: Document, segment: Segment, judge: Judge, settings: FactsSettings) -> Found:
    """Return the statements of one segment, after the whole report if that is set and fits.

    Otherwise the segment comes first, with the report's headings.
    """
    labels = frozenset(segment.sentences)
    sentences = [sentence for sentence in document.sentences if sentence.label in labels]
    most, n = settings.statements_per_sentence, len(sentences)
    own = frozenset(sentence.block for sentence in sentences)
    shown, lacking = own, None
    for shown in (None, own) if settings.shown == "report" else (own,):
        prompt = statements_prompt(document, shown, sentences, most)
        lacking = await room_for(judge, prompt, MIN_REPLY_TOKENS * n)
        if lacking is None or lacking.kind != "report_too_long":
            break
    if lacking is not None:
        return Found(unread=(ExtractionFailure(sentences=segment.sentences, failure=lacking, most=most),))

    def prompt_for(indices: Sequence[int]) -> Prompt:
        return statements_prompt(document, shown, [sentences[index] for index in indices], most)

    replies = await judge.ask_items(
        prompt_for, at_most(ReadSentence, statements=most), n, max_tokens=REPLY_TOKENS * (1 + most) * n
    )
    return join_found([_of_sentence(document, *pair, most) for pair in zip(sentences, replies, strict=True)])


def _of_sentence(
    document: Document, sentence: Sentence, reply: Answer[ReadSentence] | Failure, most: int
) -> Found:
    if isinstance(reply, Failure):
        lost = ExtractionFailure(sentences=(sentence.label,), failure=reply, most=most)
        return Found(unread=(lost,))
    kept: list[Statement] = []
    rejected: list[Rejected] = []
    for read in reply.value.statements:
        text = without_marks(document, sentence, read.statement)
        span = locate_statement(document, sentence, read)
        entities = _entities(text, read.entities)
        why = None
        if span is None:
            why = "not_located"
        elif not entities and not is_numeric(text):
            why = "no_entity"
        elif any(_fold(one.text) == _fold(text) for one in kept):
            why = "repeated"
        if why is not None:
            rejected.append(Rejected(sentence=sentence.label, text=text, why=why))
            continue
        kept.append(
            Statement(
                id=f"{sentence.label}.{len(kept) + 1}",
                text=text,
                sentence=sentence.label,
                span=span,
                entities=entities,
                cited=bool(sentence.citations),
                salient=read.salient,
                replies=reply.replies,
            )
        )
    return Found(tuple(kept), tuple(rejected))


def locate_statement(document: Document, sentence: Sentence, read: ReadStatement) -> Span | None:
    """Return the place of a statement's quotation in its sentence, else of its own words; None without either."""
    start, end = sentence.span.start, sentence.span.end
    words = document.text[start:end]
    finder = QuoteFinder(words)
    for quoted in (read.quote, read.statement):
        found = find_labelled(finder, quoted)
        if found is not None:
            return Span(start=start + found.start, end=start + found.end)
        # A name or a number alone is too short to look up.
        place = words.find(quoted.strip())
        if quoted.strip() and place >= 0:
            return Span(start=start + place, end=start + place + len(quoted.strip()))
    return None


def _entities(statement: str, named: Sequence[str]) -> tuple[str, ...]:
    """Return the named entities that the statement contains, each once."""
    own = [" ".join(one.split()) for one in named]
    return tuple(dict.fromkeys(one for one in own if one and _fold(one) in _fold(statement)))


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def shared_statements(claims: ClaimSet) -> Found:
    """Return the checkable claims of a claim set; without a judge's answer, what needs no source is not checkable."""
    return Found(
        tuple(_of_claim(claim) for claim in claims.claims if _checkable(claim)),
        unread=claims.extraction_failures,
    )


def _checkable(claim: Claim) -> bool:
    return not claim.needs_no_source if claim.checkable is None else claim.checkable


def _of_claim(claim: Claim) -> Statement:
    """Return a statement that refers to a claim by its id."""
    return Statement(
        id=claim.id,
        text=claim.text,
        sentence=claim.sentence,
        cited=bool(claim.citations),
        salient=claim.salient,
    )


def choose(statements: Sequence[Statement], document: str, settings: FactsSettings) -> tuple[Statement, ...]:
    """Return the statements to check: at most `max_statements`, in reading order.

    The choice depends on the report, the statements and the seed alone: each statement has its place in the draw by its
    id, so that one more statement replaces one other at the most.

    Args:
        statements: statements of one report.
        document: id of the report, so that reports with equal numbers of statements have different samples.
        settings: the limit and the method of choice.
    """
    limit = settings.max_statements
    if limit is None or len(statements) <= limit:
        return tuple(statements)

    def drawn_by(place: int) -> tuple[bool, str]:
        one = statements[place]
        passed = settings.choose == "salience" and not one.salient
        return passed, sha256(f"{settings.seed} {document} {one.id}")

    drawn = sorted(range(len(statements)), key=drawn_by)
    return tuple(statements[place] for place in sorted(drawn[:limit]))
