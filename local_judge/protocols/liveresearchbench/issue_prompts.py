"""Prompts for lists of issues, and the types of the lists.

Invariants: the names and fields of the types are part of the question. A list is at most as long as the settings allow.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from local_judge.base.model import Frozen
from local_judge.prompts import Prompt, fill, load_prompt
from local_judge.protocols.asking import at_most, evaluated_on, listed_references, request_blocks
from local_judge.protocols.base import Case
from local_judge.rubric.asking import report_prompt

Kind = Literal["consistency", "citation"]

Words = Annotated[str, Field(max_length=400)]


class Contradiction(Frozen):
    """Two places that disagree, or one that contradicts itself."""

    quote: Words
    other: Words
    reason: Words

    @property
    def quoted(self) -> tuple[str, ...]:
        """Quotations of the issue."""
        return (self.quote, self.other) if self.other.strip() else (self.quote,)


class Unlinked(Frozen):
    """Statement without a citation, or with one whose source is about something else."""

    quote: Words
    citation: Words
    """Misplaced citation; empty if it is missing."""
    reason: Words

    @property
    def quoted(self) -> tuple[str, ...]:
        """Quotations of the issue."""
        return (self.quote,)


class Contradictions(Frozen):
    """Answer of a judge on consistency."""

    issues: list[Contradiction]


class UnlinkedStatements(Frozen):
    """Answer of a judge on citation association."""

    issues: list[Unlinked]


def answer_type(metric: Kind, limit: int) -> type[Contradictions] | type[UnlinkedStatements]:
    """Return the type of a list of at most `limit` issues."""
    return at_most(Contradictions if metric == "consistency" else UnlinkedStatements, issues=limit)


def issues_prompt(metric: Kind, case: Case, today: date | None, limit: int) -> Prompt:
    """Return the prompt for all issues of a report, with its request and, for citations, its references."""
    references = listed_references(case.report) if metric == "citation" else None
    shown = [*([] if references is None else [references]), *request_blocks(case.task)]
    values = {"today": evaluated_on(today), "limit": str(limit)}
    return report_prompt(
        case.report, [*shown, fill(load_prompt("local_judge.protocols.liveresearchbench", metric), values)]
    )
