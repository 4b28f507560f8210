"""A task, and what was written for it: guidance, criteria, dimensions, a checklist, a plan, reference reports.

Invariant: guidance, criteria, dimensions, checklists and plans say where they come from; what a judge has drafted is
never taken for an expert's; what was joined to a task says by what.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Literal

from pydantic import Field

from serving.types import Frozen

GuidanceStatus = Literal["given", "drafted", "reviewed"]
"""`given`: came with the task. `drafted`: written by a judge. `reviewed`: drafted, then accepted or changed by a
person."""


class Guidance(Frozen):
    """What a good report on this task must do, in an expert's words (DEER, section 4.3)."""

    text: str
    status: GuidanceStatus = "given"
    reviewer: str | None = None
    """Who reviewed it."""


JoinedBy = Literal["id", "prompt"]
"""`id`: the task's, and the requests do not contradict each other. `prompt`: the request, character by character but
for white space at its ends."""


class Criterion(Frozen):
    """One thing to be scored."""

    id: str
    """`<dimension>.<number>`, counted from 1: unique among the criteria of a task."""
    criterion: str
    explanation: str = ""
    weight: float = Field(ge=0, allow_inf_nan=False)
    """Within its dimension."""


class Dimension(Frozen):
    """Criteria that count as one score."""

    id: str
    weight: float = Field(ge=0, allow_inf_nan=False)
    criteria: tuple[Criterion, ...] = Field(min_length=1)


class Criteria(Frozen):
    """What reports on one task are compared by (DeepResearch Bench, section 3.1)."""

    dimensions: tuple[Dimension, ...] = Field(min_length=1)
    status: GuidanceStatus = "given"
    joined: JoinedBy = "id"


DimensionKind = Literal["general", "specific"]
"""`general`: of every task. `specific`: made for the one task."""


class QualityDimension(Dimension):
    """One side of a report's quality; its weight is its share of the whole."""

    name: str
    definition: str
    kind: DimensionKind


class QualityDimensions(Frozen):
    """By what the reports on one task are judged, each for itself (DeepResearchEval, section 4.1)."""

    dimensions: tuple[QualityDimension, ...] = Field(min_length=1)
    """The general ones first; their weights sum to 1, and so do those of each one's criteria."""
    status: GuidanceStatus = "given"
    reviewer: str | None = None
    """Who reviewed them."""
    joined: JoinedBy = "id"


class Reference(Frozen):
    """A report on the same task that others are compared with."""

    text: str
    joined: JoinedBy = "id"


class ChecklistItem(Frozen):
    """One thing that a report either delivers or does not."""

    id: str
    """`q<number>`, counted from 1 in the order of the list."""
    text: str = Field(min_length=1)


class Checklist(Frozen):
    """What a report on one task has to deliver, item by item (LiveResearchBench, section 4.1)."""

    items: tuple[ChecklistItem, ...] = Field(min_length=1)
    status: GuidanceStatus = "given"
    reviewer: str | None = None
    """Who reviewed it."""
    joined: JoinedBy = "id"

    @classmethod
    def of(
        cls, items: Iterable[str], status: GuidanceStatus = "given", reviewer: str | None = None
    ) -> Checklist:
        """A checklist of these texts, numbered."""
        numbered = (ChecklistItem(id=f"q{number}", text=text) for number, text in enumerate(items, 1))
        return cls(items=tuple(numbered), status=status, reviewer=reviewer)


class KeySource(Frozen):
    """The page that an item of key information rests on, and its words."""

    url: str
    """Normalised, of a draft."""
    quote: str = ""
    """As the page has it, where it was found there."""
    published: str | None = None
    """Date of publication of the page, ISO 8601; None where the snapshot does not know it."""
    text_digest: str = ""
    """Of the page's text; empty where no snapshot was looked into, like the offsets."""
    start: int | None = None
    """Offsets of the quotation in that text, or in the title."""
    end: int | None = None
    in_title: bool = False


class KeyInformation(Frozen):
    """One thing that a report should say, as a question that yes or no answers."""

    id: str
    """`k<number>`, counted from 1 in the order of the list."""
    question: str = Field(min_length=1)
    source: KeySource | None = None


class ReasoningQuestion(Frozen):
    """One question by which the reasoning of a report is validated, and the plan for it."""

    id: str
    """`r<number>`, counted from 1 in the order of the list."""
    question: str = Field(min_length=1)
    extract: str
    """What to take from the report."""
    verify: str
    """What to verify outside of it."""
    compare: str
    """How to compare the two."""


class Plan(Frozen):
    """What reports on one task are evaluated by, made from the task alone (DREAM, section 3: protocol creation)."""

    key_information: tuple[KeyInformation, ...] = ()
    reasoning: tuple[ReasoningQuestion, ...] = ()
    status: GuidanceStatus = "given"
    reviewer: str | None = None
    """Who reviewed it."""
    snapshot: str | None = None
    """Digest of the snapshot that it was drafted from."""
    as_of: date | None = None
    """Pages that were known only after this day were not used."""
    joined: JoinedBy = "id"


class Task(Frozen):
    """A research request."""

    id: str
    prompt: str
    guidance: Guidance | None = None
    criteria: Criteria | None = None
    dimensions: QualityDimensions | None = None
    references: tuple[Reference, ...] = ()
    checklist: Checklist | None = None
    plan: Plan | None = None
    topic: str | None = None
    """What it is about, in the words of the file that it came from."""
    attributes: tuple[tuple[str, str], ...] = ()
    """Names and values by which results can be grouped, such as a domain or a language; see `rows.attributes_of`."""
