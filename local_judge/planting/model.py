"""Planted claims and planted flaws.

Invariant: every row says where its words come from and what was done to them, by offsets into texts that a digest
names, so that undoing the edit gives the source back, character for character.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from local_judge.documents.model import Frozen
from local_judge.planting.kinds import AlterationKind, FalseKind, Language
from serving.types import EngineIdentity

Length = Literal["short", "medium", "long", "passages"]
"""Of a page, in estimated tokens: up to 500, up to 2,000, up to 6,000 (shown whole by default), more."""
LENGTHS: dict[Length, int | None] = {"short": 500, "medium": 2000, "long": 6000, "passages": None}

Form = Literal["verbatim", "paraphrase", "merged"]
"""How a claim says what its source sentences say: in their words, in others, two of them in one."""


class Edit(Frozen):
    """One stretch of a sentence with another in its place."""

    kind: AlterationKind
    start: int
    """Where the stretch starts, in the sentence as in the claim."""
    before: str
    after: str

    def applied(self, sentence: str) -> str:
        """`sentence` with the edit."""
        return sentence[: self.start] + self.after + sentence[self.start + len(self.before) :]

    def undone(self, claim: str) -> str:
        """The sentence that `claim` was made of."""
        return claim[: self.start] + self.before + claim[self.start + len(self.after) :]


class SourceSentence(Frozen):
    """A sentence of a page."""

    url: str
    text_digest: str
    """SHA-256 of the page's text."""
    start: int
    end: int
    """Offsets `[start, end)` in the page's text."""
    text: str


class PlantedClaim(Frozen):
    """A claim with what is known of it. One line of `planted.jsonl`."""

    id: str
    claim: str
    url: str
    """The page that it is to be verified against."""
    text_digest: str
    """SHA-256 of that page's text."""
    true: bool
    """Whether that page states it."""
    kind: FalseKind | None
    """What is wrong with it; None if it is true."""
    form: Form = "verbatim"
    language: Language
    length: Length
    """Of the page that it is to be verified against."""
    sources: tuple[SourceSentence, ...] = Field(min_length=1)
    """Where it comes from: one sentence, or two that were merged."""
    edit: Edit | None = None
    """Of alterations."""
    seed: int
    judge: EngineIdentity | None = None
    """Who paraphrased or merged."""
    replies: tuple[str, ...] = ()
    """Ledger keys of the replies."""


FlawKind = Literal[
    "contradiction", "moved_citations", "shuffled_references", "dropped", "reasoning", "padding"
]


class Change(Frozen):
    """One stretch of a report with another in its place."""

    start: int
    """In the report as it was."""
    before: str
    twin_start: int
    """In the twin."""
    after: str


class PlantedFlaw(Frozen):
    """A twin of a report with one flaw. One line of `planted.jsonl`."""

    id: str
    """Of the twin: `<report>~<kind>`."""
    report: str
    """Id of the report that it is a twin of."""
    kind: FlawKind
    language: Language
    report_digest: str
    """SHA-256 of the report's text, UTF-8."""
    twin_digest: str
    changes: tuple[Change, ...] = Field(min_length=1)
    """In the order of the text."""
    sentences: tuple[str, ...]
    """Labels `Lx.Sy` in the twin of the sentences that were put in or that bear other citations."""
    about: tuple[str, ...] = ()
    """Labels in the report of what was contradicted, dropped, or robbed of its citations."""
    detail: str = ""
    """What was done, in words: the kind of alteration or of fallacy, the requirement, the words put in."""
    seed: int


class TwinRow(Frozen):
    """A report as `run` takes it. One line of `reports.jsonl`."""

    id: str
    report: str
    task: str | None = None
    task_id: str
    system: str | None = None
