"""Questions about statements, and the types of their answers.

Invariants: an answer names each statement exactly once, with one of the labels and at most `MOST` quotations of bounded
length; evidence comes first and the label last, so that a judge writes its reasons before its verdict. Text of a report
or a task stands in a fence. All questions about a report share their opening, up to the first word about one segment or
statement. An agent is shown the segment of its statements, as the published agent is; a judge of passages is shown the
sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cache
from typing import Annotated, Any, NamedTuple

from pydantic import Field, create_model

from local_judge.agents.citations import CheckedCitation
from local_judge.base.model import Frozen
from local_judge.documents.model import Document
from local_judge.prompts import fence
from local_judge.protocols.deepresearcheval.facts.findings import (
    Evidence,
    Label,
    Ruling,
    Stance,
    Statement,
    borne_out,
)
from local_judge.protocols.deepresearcheval.facts.segments import Segment

MOST = 3
"""Maximum number of quotations for one statement."""

Quotation = Annotated[str, Field(max_length=300)]
Reasoning = Annotated[str, Field(max_length=400)]


class QuotedPage(Frozen):
    """Quotation of a page, by its URL."""

    url: Annotated[str, Field(min_length=1, max_length=500)]
    quote: Quotation
    stance: Stance


class QuotedPassage(Frozen):
    """Quotation of a passage, by its number; `by_passages` bounds the number."""

    passage: int
    quote: Quotation
    stance: Stance


class ByPages(Frozen):
    """Answer of an agent to one statement."""

    evidence: Annotated[tuple[QuotedPage, ...], Field(max_length=MOST)]
    reasoning: Reasoning
    label: Label


class ByPassages(Frozen):
    """Answer of a judge to one statement, by the passages that it was given."""

    evidence: tuple[QuotedPassage, ...]
    reasoning: Reasoning
    label: Label


@cache
def by_passages(n: int) -> type[ByPassages]:
    """Return the type of an answer by `n` passages."""
    number: Any = Annotated[int, Field(ge=1, le=n)]
    passage: Any = create_model("QuotedPassage", __base__=QuotedPassage, passage=(number, ...))
    evidence: Any = Annotated[tuple[passage, ...], Field(max_length=MOST)]
    return create_model("ByPassages", __base__=ByPassages, evidence=(evidence, ...))


@cache
def by_pages(n: int) -> type[Frozen]:
    """Return the type of an answer to `n` statements, under `s1`, `s2` and so on."""
    fields: Any = {f"s{number}": (ByPages, ...) for number in range(1, n + 1)}
    return create_model("Statements", __base__=Frozen, **fields)


def ruling_of(
    statement: str, answer: ByPages | ByPassages, checked: Sequence[CheckedCitation], replies: tuple[str, ...]
) -> Ruling:
    """Return the ruling of an answer; `checked` are its quotations after they were looked up."""
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
    """Report that is checked."""

    document: Document
    request: str | None
    """Request of its task."""
    today: date | None
    segments: tuple[Segment, ...] = ()
    """Segments of the report; empty if only sentences are shown."""

    @property
    def opening(self) -> str:
        """Text that opens all questions about it; may be empty."""
        parts = [f"Today is {self.today.isoformat()}."] if self.today else []
        if self.request:
            parts.append(fence(self.request, "Request that the report answers:"))
        return "\n\n".join(parts)

    def segment_of(self, statement: Statement) -> Segment | None:
        """Return the segment of a statement."""
        return next((segment for segment in self.segments if statement.sentence in segment.sentences), None)

    def part(self, segment: Segment | None) -> str:
        """Return the text of a segment with its citations; empty without a segment."""
        if segment is None:
            return ""
        text = self.document.text[segment.span.start : segment.span.end]
        return fence(text, "Part of the report that the statements are from:")

    def list_statements(self, statements: Sequence[Statement]) -> str:
        """List the statements, `s1` and so on, each with its sentence if that says more."""
        lines: list[str] = []
        by_label = {sentence.label: sentence.text for sentence in self.document.sentences}
        for number, one in enumerate(statements, 1):
            lines.append(f"[s{number}] {one.text}")
            sentence = " ".join(by_label.get(one.sentence, "").split())
            if sentence and sentence != one.text:
                lines.append(f"    in the sentence: {sentence[:SENTENCE]}")
        return fence("\n".join(lines), "Statement:" if len(statements) == 1 else "Statements:")
