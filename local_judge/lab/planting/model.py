"""Planted claims and planted flaws, and what can be made false in a statement.

Invariants: every row says where its words come from and what was done to them, by offsets into texts that a digest
names, so that undoing the edit gives the source back, character for character. The words for alterations are the same
wherever a statement is altered, by code or by a person.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from local_judge.protocols.probes import FlawKind
from serving.types import EngineIdentity, Frozen

AlterationKind = Literal["number", "date", "name", "unit", "direction", "negation", "scope", "causal"]
"""What was changed: `direction` turns a comparison or a trend round, `scope` widens or narrows what is spoken of,
`causal` takes the effect for the cause, or puts another cause in the place of the one that the page gives."""
ALTERATIONS: tuple[AlterationKind, ...] = get_args(AlterationKind)

FalseKind = Literal[AlterationKind, "attribution", "foreign"]
"""Beside alterations: `attribution` gives a page's statement to another page on a kindred matter, `foreign` to one that
has nothing to do with it. Both are left word for word."""
FALSE_KINDS: tuple[FalseKind, ...] = (*ALTERATIONS, "attribution", "foreign")

Language = Literal["en", "zh"]
"""In which something can be planted."""
LANGUAGES: tuple[Language, ...] = get_args(Language)


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


class Change(Frozen):
    """One stretch of a report with another in its place."""

    start: int
    """In the report as it was."""
    before: str
    perturbed_start: int
    """In the perturbed report."""
    after: str


class PlantedFlaw(Frozen):
    """A perturbed report of a report with one flaw. One line of `planted.jsonl`."""

    id: str
    """Of the perturbed report: `<report>~<kind>`."""
    report: str
    """Id of the report that it is a perturbed report of."""
    kind: FlawKind
    language: Language
    report_digest: str
    """SHA-256 of the report's text, UTF-8."""
    perturbed_digest: str
    changes: tuple[Change, ...] = Field(min_length=1)
    """In the order of the text."""
    sentences: tuple[str, ...]
    """Labels `Lx.Sy` in the perturbed report of the sentences that were put in or that bear other citations."""
    about: tuple[str, ...] = ()
    """Labels in the report of what was contradicted, dropped, or robbed of its citations."""
    detail: str = ""
    """What was done, in words: the kind of alteration or of fallacy, the requirement, the words put in."""
    seed: int


class PerturbedRow(Frozen):
    """A report as `run` takes it. One line of `reports.jsonl`."""

    id: str
    report: str
    task: str | None = None
    task_id: str
    system: str | None = None
