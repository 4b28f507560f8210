"""Settings and findings of active fact-checking.

The judge weighs the evidence on both sides by the published definitions (DeepResearchEval, section 4.2): Wrong means
that reliable sources contradict the statement, or that the statement itself mixes true and false. Code checks that the
quotations support the label:

    Right      the judge labels it Right, and a quotation that supports it was found in a page that was shown
    Wrong      the judge labels it Wrong, and a quotation that contradicts it was found in a page that was shown
    Unknown    otherwise

Invariants: every option that changes an answer or its meaning is a setting, recorded in the run's manifest. A statement
has its place in the report, found by code; each chosen statement has exactly one ruling. A label rests on quotations
that code has found, and a ruling also keeps the judge's own label. A missing answer is a failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, get_args

from pydantic import Field

from local_judge.agents.citations import CheckedCitation
from local_judge.agents.observations import Observation, RequestKind, SnapshotRequest
from local_judge.agents.result import AgentLimits, AgentResult, EvidenceGap, Tally, gaps_of, merged
from local_judge.agents.toolbox import ToolSettings
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.model import ExtractionFailure
from local_judge.documents.model import Span
from local_judge.protocols.metric import MetricFindings


class SegmentSettings(Frozen):
    """Division of a report into segments."""

    by: Literal["code", "judge"] = "code"
    """`judge`: the judge names the sentences that begin a segment, and code divides segments that are too long."""
    sentences: int = Field(default=12, ge=1, le=50)
    """Maximum number of sentences of a segment."""
    characters: int = Field(default=4000, ge=200)
    """Maximum number of characters of a segment's sentences; a longer sentence is a segment."""
    least: int = Field(default=3, ge=1)
    """`code`: minimum number of sentences before a heading that begins a new segment."""


class FactLimits(AgentLimits):
    """Limits of an agent's work on a statement. The published configuration allows 30 turns."""

    turns: int = Field(default=8, ge=1)
    """Questions to the judge; the published configuration has 30."""
    tokens: int = Field(default=80_000, ge=1)
    calls: int = Field(default=16, ge=1)
    repeats: int = Field(default=2, ge=1)
    reply_tokens: int = Field(default=768, ge=16)
    """Tokens of one reply, for each statement of the run."""


class FactsSettings(Frozen):
    """Settings for finding, choosing and checking statements."""

    statements: Literal["own", "shared"] = "own"
    """Origin of the statements. `own`: asked for segment by segment. `shared`: the checkable claims of the claim set.
    """
    segments: SegmentSettings = SegmentSettings()
    """Division of the report into segments."""
    shown: Literal["report", "segment"] = "report"
    """Text before the question for a segment's statements: the report, as in every other prompt, or the segment with
    the report's headings. The published agent is shown the segment alone."""
    statements_per_sentence: int = Field(default=4, ge=1, le=8)
    """Maximum number of statements of a sentence."""
    max_statements: int | None = Field(default=None, ge=1)
    """Maximum number of statements of a report that are checked; None checks all. The published agent has no limit, and
    is asked to choose the core statements of a segment."""
    choose: Literal["seed", "salience"] = "seed"
    """Choice among more statements: drawn by `seed` with equal chances, or salient ones first, drawn among equals."""
    seed: int = 0
    """Random seed of that choice."""
    method: Literal["agent", "search"] = "agent"
    """`agent`: a judge searches and reads within `limits`. `search`: code searches for the statement, and the judge
    labels it by the passages found, in one call."""
    per_run: int = Field(default=1, ge=1, le=8)
    """Statements that one agent checks in one run."""
    limits: FactLimits = FactLimits()
    """Limits of one agent."""
    tools: ToolSettings = ToolSettings()
    """Tools and search settings."""
    passages: int = Field(default=5, ge=1, le=10)
    """`search`: passages for each query."""


Label = Literal["Right", "Wrong", "Unknown"]
Stance = Literal["supports", "contradicts"]

_NEEDED: dict[Label, Stance] = {"Right": "supports", "Wrong": "contradicts"}
_BY_NAME: dict[str, Label] = {label.casefold(): label for label in get_args(Label)}


class Segment(Frozen):
    """Consecutive sentences of a report."""

    id: str
    """`g1`, `g2`, …"""
    span: Span
    """Range from the first sentence's start to the last one's end."""
    sentences: tuple[str, ...]
    """Labels of its sentences."""


class Statement(Frozen):
    """Checkable statement of a report."""

    id: str
    """`<sentence label>.<n>`, n from 1; the claim's id if it is a claim of the claim set."""
    text: str
    """The statement."""
    sentence: str
    """Label of its sentence; empty if a file does not give it."""
    span: Span | None = None
    """Place of its words in the report's text; None for a statement of a file, or of a claim, which has its own place.
    """
    entities: tuple[str, ...] = ()
    """Names, numbers and dates that can be looked up."""
    cited: bool | None = None
    """Flag: its sentence has a citation; None if a file does not give it."""
    salient: bool | None = None
    """Flag: the report's message depends on it, according to the judge."""
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class Rejected(Frozen):
    """Rejected statement of a judge."""

    sentence: str
    text: str
    why: Literal["not_located", "no_entity", "repeated"]
    """`not_located`: neither the quotation nor the statement occurs in the sentence. `no_entity`: nothing in it can be
    looked up. `repeated`: the sentence has it already."""


class Evidence(Frozen):
    """Quotation of a page about a statement."""

    url: str
    quote: str
    stance: Stance | None = None
    """Relation to the statement, according to the judge; None if a file does not give it."""
    checked: CheckedCitation | None = None
    """Result of looking it up; None for evidence from a file, which is not looked up."""

    @property
    def found(self) -> bool:
        """Flag: a page that was shown contains it."""
        return self.checked is not None and self.checked.status == "found"


def borne_out(given: Label, evidence: Sequence[Evidence]) -> Label:
    """Return the judge's label if its quotations support it, else Unknown; opposing evidence changes nothing."""
    needed = _NEEDED.get(given)
    return given if any(one.found and one.stance == needed for one in evidence) else "Unknown"


def read_label(text: str) -> Label | None:
    """Return the label of a file, ignoring letter case and outer white space; None if it is no label."""
    return _BY_NAME.get(text.strip().casefold())


class Ruling(Frozen):
    """Result for one statement."""

    statement: str
    """Id of the statement."""
    label: Label | None = None
    """Label that its evidence supports (`borne_out`); None for a failure, and for an unknown label of a file."""
    given: str | None = None
    """Label of the judge or the file; None for a failure, and if nothing was found and the judge was not asked."""
    evidence: tuple[Evidence, ...] = ()
    """Evidence: `url`, `quote`, `stance`, and `checked` with its status, offsets, title and digest of the
    page's text."""
    reasoning: str = ""
    """Reason given by the judge."""
    failure: Failure | None = None
    """Reason why there is no label."""
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class Run(Frozen):
    """Work of an agent on one statement or a few."""

    statements: tuple[str, ...]
    """Ids of its statements."""
    result: AgentResult[dict[str, Any]]


class Lookup(Frozen):
    """Search for a statement with its result."""

    statement: str
    observation: Observation


class FactsFindings(MetricFindings):
    """All statements of one report."""

    source: Literal["own", "shared", "file"]
    """Origin of the statements: asked for by segment, the claim set's, or a file of the published project."""
    method: Literal["agent", "search"] | None = None
    """Method of the checks; None for a file."""
    segments: tuple[Segment, ...] = ()
    """Segments: `id`, `span` and `sentences`."""
    uncut: Failure | None = None
    """Reason why the judge did not divide the report and code did."""
    statements: tuple[Statement, ...] = ()
    """All statements that were located, in reading order."""
    rejected: tuple[Rejected, ...] = ()
    """Statements that were not accepted: `sentence`, `text`, `why`."""
    unread: tuple[ExtractionFailure, ...] = ()
    """Sentences whose statements are unknown."""
    limit: int | None = None
    """Maximum number of statements that are checked."""
    choose: Literal["seed", "salience"] | None = None
    """Choice among more statements: a random sample, or salient ones first. None for a file."""
    rulings: tuple[Ruling, ...] = ()
    """Rulings of the chosen statements, in reading order."""
    runs: tuple[Run, ...] = ()
    """Agent runs: `statements`, `result`."""
    lookups: tuple[Lookup, ...] = ()
    """Searches: `statement`, `observation`."""
    own_texts: tuple[str, ...] = ()
    """Digests of the snapshot's texts that are this report and were not shown."""

    @property
    def n_unread(self) -> int:
        """Number of sentences whose statements are unknown."""
        return sum(len(lost.sentences) for lost in self.unread)

    @property
    def most_unread(self) -> int:
        """Largest number of statements that these sentences may have."""
        return sum(len(lost.sentences) * lost.most for lost in self.unread)

    @property
    def n_failed(self) -> int:
        """Number of questions without an answer; those of the claim set are counted with it."""
        own = self.n_unread if self.source == "own" else 0
        ruled = sum(ruling.failure is not None for ruling in self.rulings)
        return own + ruled + (self.uncut is not None)

    @property
    def outcomes(self) -> dict[str, int]:
        """Number of agent runs by outcome."""
        return dict(sorted(Counter(run.result.outcome for run in self.runs).items()))

    @property
    def coverage(self) -> dict[RequestKind, Tally]:
        """Counts of what all runs and searches asked for, and of what the snapshot could answer."""
        tallies = [pair for run in self.runs for pair in run.result.coverage.items()]
        for asked in self._snapshot_requests():
            tallies.append((asked.kind, Tally(asked=1, answered=int(asked.lack is None))))
        sums: dict[RequestKind, Tally] = {}
        for kind, one in tallies:
            before = sums.get(kind, Tally(asked=0, answered=0))
            sums[kind] = Tally(asked=before.asked + one.asked, answered=before.answered + one.answered)
        return sums

    @property
    def evidence_gaps(self) -> tuple[EvidenceGap, ...]:
        """Requests that the snapshot could not answer."""
        missed = [gap for run in self.runs for gap in run.result.evidence_gaps]
        return merged([*missed, *gaps_of(self._snapshot_requests())])

    def _snapshot_requests(self) -> list[SnapshotRequest]:
        return [asked for lookup in self.lookups for asked in lookup.observation.asked]
