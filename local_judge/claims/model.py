"""Claims, sources, evidence and verdicts: one claim set, read by every protocol.

Invariant: a claim set contains the place of each claim and the reply behind each verdict; code found each quotation in
the page. What is not known is a `Failure` or a named status, never a label.
"""

from __future__ import annotations

from typing import Literal

from indexes.model import Page, SourceStatus
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.documents.model import Span

ClaimType = Literal["A", "B", "C", "D", "E", "F"]
"""DEER's classes: A cited on its sentence; B support cited in the same section; C support cited in an earlier section;
D recap or structure; E needs no citation; F needs a source and has none."""

VERIFIABLE: frozenset[ClaimType] = frozenset({"A", "B", "C"})
"""The classes that claim external support: cited on the sentence, in its section, in an earlier one."""

ViolationKind = Literal["unknown_position", "not_earlier", "other_section", "same_section", "dead_end"]
"""`unknown_position`: no such sentence. `not_earlier`: the claim's own sentence, or a later one of another block.
`other_section` (class B) and `same_section` (class C): the class does not fit the section of the position.
`dead_end`: a place that carries no citation and leads to none."""

Label = Literal["supported", "partial", "contradicted", "not_found", "off_topic", "unusable"]
"""`unusable`: the page is a captcha, a log-in form, a paywall or an error message; what it says is not known."""


TruthLabel = Literal["supported", "partial", "unsupported", "contradicted"]
"""Label of a claim by people, or by the code that planted it. `unsupported`: the page or text does not state the claim,
or is about something else."""


class Traced(Frozen):
    """Citations that a claim has by a rule of back-tracking."""

    citations: tuple[str, ...] = ()
    """Citation ids, written and recovered, each once."""
    untraced: bool = False
    """Flag: its support leads to a sentence whose claims are unknown."""


class Claim(Frozen):
    """One atomic statement of a report."""

    id: str
    """`<sentence label>.<n>`, n from 1: stable within a document and an extraction."""
    text: str
    """The statement."""
    sentence: str
    """Label `Lx.Sy`."""
    span: Span
    """Span of the sentence in the report."""
    type: ClaimType
    """Type that the judge named."""
    numeric: bool = False
    """Holds a number, in digits or in words; decided by code."""
    checkable: bool | None = None
    """A source could prove it right or wrong; None if the judge was not asked (terse form)."""
    salient: bool | None = None
    """The report's message rests on it; None if the judge was not asked."""
    citations: tuple[str, ...] = ()
    """Ids of the citations on the sentence that belong to this claim, whatever the type (`claims.marks`)."""
    shares_citations: bool = False
    """It has all citations of its sentence, whose words do not show which of them belong to it."""
    evidence_positions: tuple[str, ...] = ()
    """Sentences that the judge named as this claim's support."""
    recovered: tuple[str, ...] = ()
    """Citation ids recovered by back-tracking."""
    recovered_from: tuple[str, ...] = ()
    """Labels of the sentences that they were recovered from."""
    untraced: bool = False
    """Its support leads to a sentence whose claims are unknown, so that more citations might be recovered."""
    upstream: Traced | None = None
    """Citations by the published code's back-tracking; None before back-tracking."""

    @property
    def needs_no_source(self) -> bool:
        """The report gives no source, and needs none: a recap, common knowledge, or the author's own reasoning."""
        return self.type in ("D", "E") and not self.citations


def leaves_open(status: SourceStatus) -> bool:
    """Check whether a source's status says nothing about the report: what its page says is then unknown.

    The one rule of all protocols. Only a `dead` source counts against a report: the server answers that it has no such
    page (404, 410), or there is no such host. What this package did not fetch or may not ask for, what refuses this
    reader, answers with an error or not at all, and what has no text that can be read is unknown.
    """
    return status not in ("ok", "dead")


def retrievable(status: SourceStatus) -> bool | None:
    """Check whether a reader can get the text of a source: what DEER's reproducibility measures, and nothing else does.

    None for a page that was not fetched, and where the server may answer another time.
    """
    return None if status in ("not_in_snapshot", "unavailable") else status == "ok"


class Source(Frozen):
    """A cited URL after normalisation."""

    url: str
    """Normalised URL."""
    status: SourceStatus
    """Status of the page in the snapshot."""
    reason: str = ""
    """Reason for the status."""
    text_digest: str = ""
    """SHA-256 of the page's text."""
    claims: tuple[str, ...] = ()
    """Ids of the claims that cite it, in reading order."""
    upstream: tuple[str, ...] | None = None
    """Ids of those that cite it by the published code's back-tracking; None if no protocol of the run reads them."""


class Evidence(Frozen):
    """The part of one page that the judge was shown."""

    url: str
    text_digest: str
    chunks: tuple[str, ...]
    """Chunk ids in page order."""
    whole_page: bool
    stretches: tuple[tuple[int, int], ...] = ()
    """Text shown in place of chunks by the view `near`, as offsets `[start, end)` into the page's text."""


class Quote(Frozen):
    """A verbatim passage of a page, found there by code."""

    text: str
    """Quotation as in the page."""
    start: int
    """Start in the text."""
    end: int
    """End in the text; exclusive."""
    in_title: bool = False
    """The quotation and its offsets are those of the page's title, not of its text."""


class Verdict(Frozen):
    """A judge's finding for one claim against one source. Exactly one of `label` and `failure` is set."""

    claim: str
    """Id of the claim."""
    url: str
    """URL of the source in the claim set; the page may have been fetched under another (see `evidence`)."""
    label: Label | None
    """Verdict; null if `failure` is set."""
    failure: Failure | None = None
    """Reason why there is no label."""
    quote: Quote | None = None
    """Quotation with its offsets in the page's text, or in its title."""
    quote_rejected: str | None = None
    """Quotation by the judge that does not occur in the page."""
    rationale: str = ""
    """Reason given by the judge; `grouped` only."""
    confidence: float | None = None
    """P(supported) in [0, 1] where the method gives one (`scored`); calibrated where the judge has a calibration."""
    confidence_raw: float | None = None
    """P(yes) by the judge, if `confidence` is calibrated."""
    calibration: str | None = None
    """Id of that calibration."""
    threshold: float | None = None
    """Minimum confidence of `supported`, if the method has one."""
    reliable: bool | None = None
    """The judge rates the source as reliable (DEER)."""
    reliable_reply: str | None = None
    """Ledger key of the reply about reliability; one for all verdicts on a page."""
    evidence: Evidence | None = None
    """Text that the judge was shown."""
    method: Literal["grouped", "scored"]
    """Method of verification."""
    replies: tuple[str, ...] = ()
    """Ledger keys of the replies that it came from."""


def beyond_page(page: Page) -> Failure | None:
    """Return why a claim that was not found on a page may still be on it; None for a page that was stored whole."""
    detail = f"{page.url}: only the beginning of the page was stored; fetch or import it whole"
    return Failure(kind="page_cut", detail=detail) if page.truncated else None


def on_page(verdict: Verdict, page: Page) -> Verdict:
    """Return a verdict as far as the page allows it: what the beginning of a page does not show is unknown."""
    failure = beyond_page(page)
    if failure is None or verdict.label not in ("not_found", "off_topic", "partial"):
        return verdict
    return verdict.model_copy(update={"label": None, "failure": failure})


class Violation(Frozen):
    """A statement of the judge about a claim's evidence that breaks the rule."""

    claim: str
    position: str
    kind: ViolationKind


class ExtractionFailure(Frozen):
    """Sentences whose claims are unknown."""

    sentences: tuple[str, ...]
    failure: Failure
    most: int
    """Largest number of claims that one of the sentences may have."""
    any_citation: bool = False
    """Their claims may have any citation of the report, and not only those of their sentence: the judge names them."""


class ClaimSet(Frozen):
    """All claims of one report with their sources and verdicts."""

    document: str
    """Id of the document."""
    n_sentences: int
    """Number of sentences of the report."""
    claims: tuple[Claim, ...]
    sources: tuple[Source, ...]
    verdicts: tuple[Verdict, ...]
    """Verdicts of one judge; empty before verification."""
    extraction_failures: tuple[ExtractionFailure, ...] = ()
    """Failed calls: `sentences`, `failure`, `most` and `any_citation`."""
    violations: tuple[Violation, ...] = ()
    """Impossible or unfitting support references: `claim`, `position`, `kind`."""
