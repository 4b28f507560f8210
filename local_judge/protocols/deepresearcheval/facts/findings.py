"""What can be set of active fact-checking.

Invariant: whatever changes an answer or its meaning is a field here, and is recorded in the run's manifest.


What active fact-checking finds in one report.

The judge weighs the evidence on both sides by the published definitions (section 4.2): Wrong means that reliable
sources contradict the statement, or that the statement itself mixes true and false. Code checks that the quotations
bear the label out:

    Right      the judge says Right, and a quotation that supports the statement was found in a page that was shown
    Wrong      the judge says Wrong, and a quotation that contradicts it was found in a page that was shown
    Unknown    else

Invariants: a statement stands where code found it in the report; each statement that was chosen has exactly one ruling;
a label rests on words that code has found, whatever the judge says, and a ruling keeps what the judge said beside it;
what could not be asked or answered is a failure.
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
from local_judge.claims.model import ExtractionFailure
from local_judge.documents.model import Span
from local_judge.judge.failures import Failure
from local_judge.protocols.metric import MetricFindings
from serving.types import Frozen


class SegmentSettings(Frozen):
    """How a report is divided."""

    by: Literal["code", "judge"] = "code"
    """`judge`: it names the sentences that begin a segment; what is longer than the sizes is divided by code."""
    sentences: int = Field(default=12, ge=1, le=50)
    """Most sentences of a segment."""
    characters: int = Field(default=4000, ge=200)
    """Most characters of a segment's sentences; a longer sentence stands alone."""
    least: int = Field(default=3, ge=1)
    """`code`: a heading begins a new segment only behind one of at least so many sentences."""


class FactLimits(AgentLimits):
    """How long an agent may work on a statement. The published configuration allows 30 turns."""

    turns: int = Field(default=8, ge=1)
    tokens: int = Field(default=80_000, ge=1)
    calls: int = Field(default=16, ge=1)
    repeats: int = Field(default=2, ge=1)
    reply_tokens: int = Field(default=768, ge=16)
    """Of one reply, for each statement of the run."""


class FactsSettings(Frozen):
    """How statements are found, chosen and checked."""

    statements: Literal["own", "shared"] = "own"
    """`own`: asked for segment by segment. `shared`: the checkable claims of the claim set."""
    segments: SegmentSettings = SegmentSettings()
    shown: Literal["report", "segment"] = "report"
    """What stands in front of the question for a segment's statements: the report, as in every other prompt, or the
    segment with the report's headings; the published agent is shown the segment alone."""
    statements_per_sentence: int = Field(default=4, ge=1, le=8)
    """Most statements that a sentence may have."""
    max_statements: int | None = Field(default=None, ge=1)
    """Most statements of a report that are checked; None checks all. The published agent has no limit, and is told to
    choose the core statements of a segment."""
    choose: Literal["seed", "salience"] = "seed"
    """Which, where there are more: drawn by `seed`, each with the same chance; or salient ones first, drawn among
    equals."""
    seed: int = 0
    method: Literal["agent", "search"] = "agent"
    """`agent`: a judge searches and reads within `limits`. `search`: code searches for the statement, and the judge
    labels it by the passages found, in one call."""
    per_run: int = Field(default=1, ge=1, le=8)
    """Statements that one agent checks in one run."""
    limits: FactLimits = FactLimits()
    tools: ToolSettings = ToolSettings()
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
    """From the first sentence's start to the last one's end."""
    sentences: tuple[str, ...]
    """Labels."""


class Statement(Frozen):
    """Something that a report says and that can be checked."""

    id: str
    """`<sentence label>.<n>`, n from 1; of a claim of the claim set its id."""
    text: str
    sentence: str
    """Label; empty where a file does not say it."""
    span: Span | None = None
    """Of the words that say it, in the report's text; None where a file does not say it, and of a claim: it has one."""
    entities: tuple[str, ...] = ()
    """What of it can be looked up: names, numbers, dates."""
    cited: bool | None = None
    """Whether its sentence carries a citation; None where a file does not say it."""
    salient: bool | None = None
    """Whether the report's message leans on it, as the judge said."""
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class Rejected(Frozen):
    """What a judge gave as a statement of a sentence, and is none."""

    sentence: str
    text: str
    why: Literal["not_located", "no_entity", "repeated"]
    """`not_located`: neither the quotation nor the statement's words stand in the sentence. `no_entity`: nothing in it
    can be looked up. `repeated`: the sentence has it already."""


class Evidence(Frozen):
    """Words of a page that bear on a statement."""

    url: str
    quote: str
    stance: Stance | None = None
    """What they are to the statement, as the judge says; None where a file does not say it."""
    checked: CheckedCitation | None = None
    """What code found of it; None for evidence from a file, which nobody has looked up."""

    @property
    def found(self) -> bool:
        """Whether a page that was shown has these words."""
        return self.checked is not None and self.checked.status == "found"


def borne_out(given: Label, evidence: Sequence[Evidence]) -> Label:
    """The judge's label where its quotations bear it out, else Unknown; evidence for the other side changes nothing."""
    needed = _NEEDED.get(given)
    return given if any(one.found and one.stance == needed for one in evidence) else "Unknown"


def read_label(text: str) -> Label | None:
    """The label that a file means, up to letter case and white space at its ends; None if it is none."""
    return _BY_NAME.get(text.strip().casefold())


class Ruling(Frozen):
    """What became of one statement."""

    statement: str
    """Its id."""
    label: Label | None = None
    """As its evidence bears out (`borne_out`); None for a failure, and for a label of a file that is none."""
    given: str | None = None
    """As the judge, or a file, said; None for a failure, and where nobody was asked since nothing was found."""
    evidence: tuple[Evidence, ...] = ()
    reasoning: str = ""
    failure: Failure | None = None
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class Run(Frozen):
    """An agent's work on one statement or a few."""

    statements: tuple[str, ...]
    """Ids."""
    result: AgentResult[dict[str, Any]]


class Lookup(Frozen):
    """What code searched for a statement, and found."""

    statement: str
    observation: Observation


class FactsFindings(MetricFindings):
    """All statements of one report."""

    source: Literal["own", "shared", "file"]
    """Asked for by segment, the claim set's, or from a file of the published project."""
    method: Literal["agent", "search"] | None = None
    """None for a file."""
    segments: tuple[Segment, ...] = ()
    uncut: Failure | None = None
    """Why the judge, asked to divide the report, did not; code did."""
    statements: tuple[Statement, ...] = ()
    """All that were located, in reading order."""
    rejected: tuple[Rejected, ...] = ()
    unread: tuple[ExtractionFailure, ...] = ()
    """Sentences whose statements are not known."""
    most: int = 0
    """Most statements that one such sentence may have."""
    limit: int | None = None
    """Most statements that were to be checked."""
    choose: Literal["seed", "salience"] | None = None
    """How they are chosen where there are more: a random sample, or salient ones first. None for a file."""
    rulings: tuple[Ruling, ...] = ()
    """Of the statements that were chosen, in reading order."""
    runs: tuple[Run, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    own_texts: tuple[str, ...] = ()
    """Digests of texts of the snapshot that are this report: they were not shown."""

    @property
    def n_unread(self) -> int:
        """Sentences whose statements are not known."""
        return sum(len(lost.sentences) for lost in self.unread)

    @property
    def n_failed(self) -> int:
        """Questions without answer; those of the claim set are counted with it."""
        own = self.n_unread if self.source == "own" else 0
        ruled = sum(ruling.failure is not None for ruling in self.rulings)
        return own + ruled + (self.uncut is not None)

    @property
    def outcomes(self) -> dict[str, int]:
        """How many runs of the agent ended how."""
        return dict(sorted(Counter(run.result.outcome for run in self.runs).items()))

    @property
    def coverage(self) -> dict[RequestKind, Tally]:
        """What all runs and searches asked for, and how much of that the snapshot could answer; summed over them."""
        tallies = [pair for run in self.runs for pair in run.result.coverage.items()]
        for asked in self._asked():
            tallies.append((asked.kind, Tally(asked=1, answered=int(asked.lack is None))))
        sums: dict[RequestKind, Tally] = {}
        for kind, one in tallies:
            before = sums.get(kind, Tally(asked=0, answered=0))
            sums[kind] = Tally(asked=before.asked + one.asked, answered=before.answered + one.answered)
        return sums

    @property
    def evidence_gaps(self) -> tuple[EvidenceGap, ...]:
        """What the snapshot could not answer."""
        missed = [gap for run in self.runs for gap in run.result.evidence_gaps]
        return merged([*missed, *gaps_of(self._asked())])

    def _asked(self) -> list[SnapshotRequest]:
        return [asked for lookup in self.lookups for asked in lookup.observation.asked]
