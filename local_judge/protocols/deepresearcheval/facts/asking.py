"""What a judge must answer about a statement.

Invariant: an answer names each statement exactly once, with a label of the menu and at most `MOST` quotations, all of
bounded length: evidence first, label last, so that a judge that writes in order has its reasons before its verdict.


What a judge is told of a statement and of the report that makes it.

Invariants: what a report or a task says stands in a fence; all questions about a report open alike, up to the first
word that is about one segment or statement. Of the report an agent is shown the segment that its statements stand in,
as the published agent is; a judge of passages is shown the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cache
from typing import Annotated, Any, NamedTuple

from pydantic import Field, create_model

from local_judge.agents.citations import CheckedCitation
from local_judge.documents.model import Document
from local_judge.judge.layout import fence
from local_judge.protocols.deepresearcheval.facts.findings import (
    Evidence,
    Label,
    Ruling,
    Stance,
    Statement,
    borne_out,
)
from local_judge.protocols.deepresearcheval.facts.segments import Segment
from serving.types import Frozen

MOST = 3
"""Quotations for one statement."""

Quotation = Annotated[str, Field(max_length=300)]
Reasoning = Annotated[str, Field(max_length=400)]


class QuotedPage(Frozen):
    """Words of a page, by its address."""

    url: Annotated[str, Field(min_length=1, max_length=500)]
    quote: Quotation
    stance: Stance


class QuotedPassage(Frozen):
    """Words of a passage, by its number; `by_passages` bounds it."""

    passage: int
    quote: Quotation
    stance: Stance


class ByPages(Frozen):
    """An agent's answer to one statement."""

    evidence: Annotated[tuple[QuotedPage, ...], Field(max_length=MOST)]
    reasoning: Reasoning
    label: Label


class ByPassages(Frozen):
    """A judge's answer by passages that it was given."""

    evidence: tuple[QuotedPassage, ...]
    reasoning: Reasoning
    label: Label


@cache
def by_passages(n: int) -> type[ByPassages]:
    """The type of an answer by `n` passages."""
    number: Any = Annotated[int, Field(ge=1, le=n)]
    passage: Any = create_model("QuotedPassage", __base__=QuotedPassage, passage=(number, ...))
    evidence: Any = Annotated[tuple[passage, ...], Field(max_length=MOST)]
    return create_model("ByPassages", __base__=ByPassages, evidence=(evidence, ...))


@cache
def by_pages(n: int) -> type[Frozen]:
    """The type of an answer to `n` statements, under `s1`, `s2` and so on."""
    fields: Any = {f"s{number}": (ByPages, ...) for number in range(1, n + 1)}
    return create_model("Statements", __base__=Frozen, **fields)


def ruling_of(
    statement: str, answer: ByPages | ByPassages, checked: Sequence[CheckedCitation], replies: tuple[str, ...]
) -> Ruling:
    """What an answer comes to; `checked`: its quotations after code has looked them up."""
    evidence = tuple(
        Evidence(url=found.url, quote=found.quote, stance=quoted.stance, checked=found)
        for found, quoted in zip(checked, answer.evidence, strict=True)
    )
    return Ruling(
        statement=statement,
        label=borne_out(answer.label, evidence),
        given=answer.label,
        evidence=evidence,
        reasoning=answer.reasoning,
        replies=replies,
    )


SENTENCE = 600
"""Characters of a sentence that are shown."""


class Subject(NamedTuple):
    """The report that is checked."""

    document: Document
    request: str | None
    """Of its task."""
    today: date | None
    segments: tuple[Segment, ...] = ()
    """Of the report; none where only sentences are shown."""

    @property
    def opening(self) -> str:
        """What all questions about it open with; empty where there is nothing to say."""
        parts = [f"Today is {self.today.isoformat()}."] if self.today else []
        if self.request:
            parts.append(fence(self.request, "Request that the report answers:"))
        return "\n\n".join(parts)

    def segment_of(self, statement: Statement) -> Segment | None:
        """The segment that a statement stands in."""
        return next((one for one in self.segments if statement.sentence in one.sentences), None)

    def part(self, segment: Segment | None) -> str:
        """A segment whole, with its citations; empty where there is none."""
        if segment is None:
            return ""
        text = self.document.text[segment.span.start : segment.span.end]
        return fence(text, "Part of the report that the statements are from:")

    def listed(self, statements: Sequence[Statement]) -> str:
        """The statements, `s1` and so on, each with the sentence that it stands in where that says more."""
        lines: list[str] = []
        by_label = {sentence.label: sentence.text for sentence in self.document.sentences}
        for number, one in enumerate(statements, 1):
            lines.append(f"[s{number}] {one.text}")
            sentence = " ".join(by_label.get(one.sentence, "").split())
            if sentence and sentence != one.text:
                lines.append(f"    in the sentence: {sentence[:SENTENCE]}")
        return fence("\n".join(lines), "Statement:" if len(statements) == 1 else "Statements:")
