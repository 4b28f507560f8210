"""What a judge is told of a statement and of the report that makes it.

Invariants: what a report or a task says stands in a fence; all questions about a report open alike, up to the first
word that is about one segment or statement. Of the report an agent is shown the segment that its statements stand in,
as the published agent is; a judge of passages is shown the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from local_judge.documents.model import Document
from local_judge.judge.layout import fence
from local_judge.protocols.deepresearcheval.facts.findings import Statement
from local_judge.protocols.deepresearcheval.facts.segments import Segment

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
