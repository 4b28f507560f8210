"""Planted claims, planted flaws, and the kinds of alterations.

Invariants: every row records the origin of its words and their edits, as offsets into texts identified by digests, so
that undoing the edit restores the source character by character. Alterations by code and by people use the same kinds.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from local_judge.base.model import Frozen
from local_judge.documents import Source
from local_judge.protocols.probes import FlawKind
from serving.types import EngineIdentity

AlterationKind = Literal["number", "date", "name", "unit", "direction", "negation", "scope", "causal"]
"""Altered detail: `direction` reverses a comparison or a trend, `scope` widens or narrows the subject, `causal`
exchanges cause and effect or names another cause."""
ALTERATIONS: tuple[AlterationKind, ...] = get_args(AlterationKind)

FalseKind = Literal[AlterationKind, "attribution", "foreign"]
"""Alterations, and statements attributed unchanged to another page: a related one (`attribution`) or an unrelated one
(`foreign`)."""
FALSE_KINDS: tuple[FalseKind, ...] = (*ALTERATIONS, "attribution", "foreign")

Language = Literal["en", "zh"]
"""Languages of pages and reports in which errors can be planted."""
LANGUAGES: tuple[Language, ...] = get_args(Language)


Length = Literal["short", "medium", "long", "passages"]
"""Length class of a page in estimated tokens: up to 500, up to 2,000, up to 6,000 (shown whole by default), more."""
LENGTHS: dict[Length, int | None] = {"short": 500, "medium": 2000, "long": 6000, "passages": None}

Form = Literal["verbatim", "paraphrase", "merged"]
"""Wording of a claim: that of its source sentence, another one, or two source sentences in one."""


class Edit(Frozen):
    """Replacement of one span of a sentence."""

    kind: AlterationKind
    """Kind of alteration."""
    start: int
    """Start of the span, in the sentence and in the claim."""
    before: str
    """Words before the edit."""
    after: str
    """Words after the edit."""

    def applied(self, sentence: str) -> str:
        """Return `sentence` with the edit."""
        return sentence[: self.start] + self.after + sentence[self.start + len(self.before) :]

    def undone(self, claim: str) -> str:
        """Return the sentence that `claim` was made from."""
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
    """The sentence."""


class PlantedClaim(Frozen):
    """A claim with its label and origin. One line of `planted.jsonl`."""

    id: str
    """Id, as in `claims.jsonl`."""
    claim: str
    """The claim."""
    url: str
    """Page to verify the claim against."""
    text_digest: str
    """SHA-256 of that page's text."""
    true: bool
    """True if that page states the claim."""
    kind: FalseKind | None
    """Kind of error; None for a true claim."""
    form: Form = "verbatim"
    """Wording of the claim."""
    language: Language
    """Language of that page."""
    length: Length
    """Length class of the page to verify the claim against."""
    sources: tuple[SourceSentence, ...] = Field(min_length=1)
    """Origin: one sentence, or two that were merged."""
    edit: Edit | None = None
    """Edit of an altered claim."""
    seed: int
    """Random seed."""
    judge: EngineIdentity | None = None
    """Judge that paraphrased or merged."""
    replies: tuple[str, ...] = ()
    """Ledger keys of the replies."""


class Change(Frozen):
    """Replacement of one span of a report."""

    start: int
    """Offset in the original report."""
    before: str
    """Words of the original report."""
    perturbed_start: int
    """Offset in the perturbed report."""
    after: str
    """Words of the perturbed report."""


class PlantedFlaw(Frozen):
    """A perturbed report with one flaw. One line of `planted.jsonl`."""

    id: str
    """Id of the perturbed report: `<report>~<kind>`."""
    report: str
    """Id of the original report."""
    kind: FlawKind
    """Kind of flaw."""
    language: Language
    """Language of the report."""
    report_digest: str
    """SHA-256 of the report's text, UTF-8."""
    perturbed_digest: str
    """SHA-256 of the perturbed report's text, UTF-8."""
    changes: tuple[Change, ...] = Field(min_length=1)
    """Changes in the order of the text."""
    sentences: tuple[str, ...]
    """Labels `Lx.Sy`, in the perturbed report, of added sentences or of sentences with other citations."""
    about: tuple[str, ...] = ()
    """Labels, in the report, of sentences that were contradicted, dropped, or lost their citations."""
    detail: str = ""
    """Description of the change: kind of alteration or fallacy, requirement, added words."""
    seed: int
    """Random seed."""


class PerturbedRow(Frozen):
    """A report as `run` reads it. One line of `reports.jsonl`."""

    id: str
    report: str
    task: str | None = None
    task_id: str
    system: str | None = None
    sources: tuple[Source, ...] = ()
