"""A task and its data: guidance, criteria, dimensions, a checklist, a plan, reference reports.

Invariant: guidance, criteria, dimensions, checklists and plans record their origin, so that a judge's draft is never
taken for an expert's work; data joined to a task records what it was joined by.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Literal

from pydantic import Field

from local_judge.base.model import Frozen

GuidanceStatus = Literal["given", "drafted", "reviewed"]
"""`given`: came with the task. `drafted`: written by a judge. `reviewed`: drafted, then accepted or changed by a
person."""


class Guidance(Frozen):
    """Requirements for a good report on a task, in an expert's words (DEER, section 4.3)."""

    text: str
    status: GuidanceStatus = "given"
    reviewer: str | None = None
    """Person who reviewed it."""


JoinedBy = Literal["id", "prompt"]
"""`id`: the same id, and no different requests. `prompt`: the same request, except for white space at its ends."""


class Criterion(Frozen):
    """One criterion to be scored."""

    id: str
    """`<dimension>.<number>`, counted from 1: unique among the criteria of a task."""
    criterion: str
    explanation: str = ""
    weight: float = Field(ge=0, allow_inf_nan=False)
    """Share of its dimension."""


class Dimension(Frozen):
    """Criteria that are combined into one score."""

    id: str
    weight: float = Field(ge=0, allow_inf_nan=False)
    criteria: tuple[Criterion, ...] = Field(min_length=1)


class Criteria(Frozen):
    """Criteria for comparing reports on one task (DeepResearch Bench, section 3.1)."""

    dimensions: tuple[Dimension, ...] = Field(min_length=1)
    status: GuidanceStatus = "given"
    joined: JoinedBy = "id"


DimensionKind = Literal["general", "specific"]
"""`general`: the same for every task. `specific`: made for one task."""


class QualityDimension(Dimension):
    """One dimension of a report's quality; its weight is its share of the whole."""

    name: str
    definition: str
    kind: DimensionKind


class QualityDimensions(Frozen):
    """Dimensions for judging each report on one task alone (DeepResearchEval, section 4.1)."""

    dimensions: tuple[QualityDimension, ...] = Field(min_length=1)
    """The general ones first; their weights sum to 1, and so do those of each one's criteria."""
    status: GuidanceStatus = "given"
    reviewer: str | None = None
    """Person who reviewed them."""
    joined: JoinedBy = "id"


class Reference(Frozen):
    """Report on the same task that others are compared with."""

    text: str
    joined: JoinedBy = "id"


class ChecklistItem(Frozen):
    """Yes-or-no requirement for a report."""

    id: str
    """`q<number>`, counted from 1 in the order of the list."""
    text: str = Field(min_length=1)


class Checklist(Frozen):
    """Checklist of what a report on one task must deliver (LiveResearchBench, section 3.3)."""

    items: tuple[ChecklistItem, ...] = Field(min_length=1)
    status: GuidanceStatus = "given"
    reviewer: str | None = None
    """Person who reviewed it."""
    joined: JoinedBy = "id"

    @classmethod
    def of(
        cls, items: Iterable[str], status: GuidanceStatus = "given", reviewer: str | None = None
    ) -> Checklist:
        """Return a checklist of numbered texts."""
        numbered = (ChecklistItem(id=f"q{number}", text=text) for number, text in enumerate(items, 1))
        return cls(items=tuple(numbered), status=status, reviewer=reviewer)


class KeySource(Frozen):
    """Page that an item of key information is based on, and a quotation from it."""

    url: str
    """URL of the page; normalised in a draft."""
    quote: str = ""
    """Quotation, as in the page if it was found there."""
    published: str | None = None
    """Date of publication of the page, ISO 8601; None if it is unknown."""
    text_digest: str = ""
    """Digest of the page's text; empty without a snapshot, like the offsets."""
    start: int | None = None
    """Offsets of the quotation in that text, or in the title."""
    end: int | None = None
    """End of the quotation; exclusive."""
    in_title: bool = False
    """True if the offsets are of the title."""


class KeyInformation(Frozen):
    """One fact that a report should contain, as a yes-or-no question."""

    id: str
    """`k<number>`, counted from 1 in the order of the list."""
    question: str = Field(min_length=1)
    source: KeySource | None = None


class ReasoningQuestion(Frozen):
    """One question that validates the reasoning of a report, with its plan."""

    id: str
    """`r<number>`, counted from 1 in the order of the list."""
    question: str = Field(min_length=1)
    extract: str
    """Content to take from the report."""
    verify: str
    """Facts to verify outside of the report."""
    compare: str
    """Comparison of the two."""


class Plan(Frozen):
    """Evaluation plan for reports on one task, made from the task alone (DREAM, section 3: protocol creation)."""

    key_information: tuple[KeyInformation, ...] = ()
    reasoning: tuple[ReasoningQuestion, ...] = ()
    status: GuidanceStatus = "given"
    reviewer: str | None = None
    """Person who reviewed it."""
    snapshot: str | None = None
    """Digest of the snapshot that it was drafted from."""
    as_of: date | None = None
    """Day after which pages were not used."""
    joined: JoinedBy = "id"


class Task(Frozen):
    """Research task."""

    id: str
    prompt: str
    guidance: Guidance | None = None
    criteria: Criteria | None = None
    dimensions: QualityDimensions | None = None
    references: tuple[Reference, ...] = ()
    checklist: Checklist | None = None
    plan: Plan | None = None
    topic: str | None = None
    """Topic, as named in the task's file."""
    attributes: tuple[tuple[str, str], ...] = ()
    """Names and values by which results can be grouped, such as a domain or a language; see `rows.attributes_of`."""
