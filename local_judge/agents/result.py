"""Result of an agent's run: limits, transcript, counts and evidence gaps.

Invariants: every loop ends: a run has at most `turns` turns, each of them one question that is asked at most
`1 + reasks` times, and the last one asks for the answer alone. A run is `answered` only if the judge finished by itself
with an answer of the type asked for. Every other end is named, and an answer given at a limit keeps the limit's name.
The result can be read without the snapshot or the judge.

A file of evidence gaps lists each gap once with the number of requests, pages first, sorted by their text, so that
equal runs give equal bytes. Its URLs are those that judges requested. A judge may have invented one or copied it from
a page: check the list before fetching it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args

from pydantic import Field, JsonValue

from local_judge.agents.observations import Lack, Observation, RequestKind, SnapshotRequest
from local_judge.agents.toolbox import ToolSettings
from local_judge.base.errors import InputError
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.base.rows import read_models, write_jsonl


class AgentLimits(Frozen):
    """Limits of one run. Reaching one asks the judge to finish in one more turn."""

    turns: int = Field(default=12, ge=1)
    """Questions to the judge; in the last one it can only finish."""
    tokens: int = Field(default=200_000, ge=1)
    """Tokens of all prompts and replies together, as the engine reports them. The next turn and the one that finishes
    have to fit. They are estimated from the last prompt and the bytes added to it, so the sum may exceed the limit
    slightly."""
    calls: int = Field(default=40, ge=1)
    """Queries, pages opened, and queries within pages."""
    repeats: int = Field(default=3, ge=1)
    """Repeated actions. Each is answered by a note that says so."""
    reply_tokens: int = Field(default=1024, ge=16)
    """Tokens of one reply."""
    context_tokens: int | None = Field(default=None, ge=1)
    """Tokens of one prompt with its reply; None, or more than the judge has: its whole context."""


T = TypeVar("T")

Outcome = Literal[
    "answered",  # the judge finished
    "out_of_turns",
    "out_of_tokens",
    "out_of_calls",
    "repeating",  # it repeated actions too often
    "too_long",  # a prompt did not fit, even without the results
    "failed",  # the judge's reply failed
]


class Step(Frozen):
    """One turn."""

    turn: int
    thought: str
    action: dict[str, JsonValue]
    """Action as the judge wrote it."""
    observation: Observation | None = None
    """Answer of the tool; None if the action ended the run."""
    dropped: tuple[int, ...] = ()
    """Turns whose results were dropped from the prompt before this turn."""
    replies: tuple[str, ...]
    """Ledger keys of its replies; the last one holds the action."""
    prompt_tokens: int
    """Prompt tokens of all these replies."""
    completion_tokens: int


class Transcript(Frozen):
    """Full record of a run."""

    snapshot: str
    """Digest of the snapshot."""
    tools: ToolSettings
    limits: AgentLimits
    task: str
    material: str
    """Material as it was shown, fenced."""
    steps: tuple[Step, ...]

    @property
    def observations(self) -> tuple[Observation, ...]:
        """Answers of the tools, in order."""
        return tuple(step.observation for step in self.steps if step.observation is not None)

    @property
    def replies(self) -> tuple[str, ...]:
        """Ledger keys of all turns."""
        return tuple(key for step in self.steps for key in step.replies)


class Spent(Frozen):
    """Resources that a run used, counted over the turns with a reply."""

    turns: int
    calls: int
    """Queries, pages, and queries within pages that were carried out."""
    errors: int
    """Actions that could not be carried out: unknown tools, invalid arguments or answers."""
    repeats: int
    prompt_tokens: int
    completion_tokens: int


class Tally(Frozen):
    """Number of different requests of one kind, and of those that the snapshot could answer."""

    asked: int
    """Number of different requests."""
    answered: int
    """Number of those that the snapshot could answer."""


class EvidenceGap(Frozen):
    """Request that the snapshot could not answer."""

    url: str | None = None
    """Page; exactly one of this and `query` is set."""
    query: str | None = None
    """Query; exactly one of this and `url` is set."""
    tool: RequestKind
    """Tool that searched, or `page`."""
    why: Lack
    """Reason: the search found nothing or only weak matches, or the page's status."""
    times: int
    """Number of requests."""


class AgentResult(Frozen, Generic[T]):
    """Result of a run."""

    outcome: Outcome
    answer: T | None = None
    """None if the judge gave none; an `answered` run always has one."""
    failure: Failure | None = None
    """Reason why there is no answer, if a reply failed."""
    spent: Spent
    coverage: dict[RequestKind, Tally]
    """Counts of requests by kind."""
    evidence_gaps: tuple[EvidenceGap, ...]
    transcript: Transcript


def no_answer(result: AgentResult[Any]) -> Failure:
    """Return the failure of a run without an answer."""
    detail = f"an agent's run ended {result.outcome} after {result.spent.turns} turns, without an answer"
    return result.failure or Failure(kind="incomplete", detail=detail)


def tallied(asked: Sequence[SnapshotRequest]) -> dict[RequestKind, Tally]:
    """Count the requests of each kind, and those that the snapshot could answer; equal requests count once."""
    answered = _answered(asked)
    found: dict[RequestKind, Tally] = {}
    for kind in get_args(RequestKind):
        different = {one.what for one in asked if one.kind == kind}
        if different:
            n_answered = sum((kind, what) in answered for what in different)
            found[kind] = Tally(asked=len(different), answered=n_answered)
    return found


def gaps_of(asked: Sequence[SnapshotRequest]) -> tuple[EvidenceGap, ...]:
    """Return the requests that were never answered, each once: pages first, then queries, by their text."""
    answered = _answered(asked)
    return _gaps(
        Counter(
            (one.kind, one.what, one.lack)
            for one in asked
            if one.lack is not None and (one.kind, one.what) not in answered
        )
    )


def merged(gaps: Iterable[EvidenceGap]) -> tuple[EvidenceGap, ...]:
    """Return the evidence gaps of several runs, with equal ones added up."""
    counts: Counter[tuple[RequestKind, str, Lack]] = Counter()
    for gap in gaps:
        counts[gap.tool, gap.url or gap.query or "", gap.why] += gap.times
    return _gaps(counts)


def _answered(asked: Iterable[SnapshotRequest]) -> set[tuple[RequestKind, str]]:
    return {(one.kind, one.what) for one in asked if one.lack is None}


def _gaps(counts: Mapping[tuple[RequestKind, str, Lack], int]) -> tuple[EvidenceGap, ...]:
    gaps = (
        EvidenceGap(**{"url" if kind == "page" else "query": what}, tool=kind, why=why, times=times)
        for (kind, what, why), times in counts.items()
    )
    return tuple(
        sorted(gaps, key=lambda gap: (gap.url is None, gap.url or gap.query or "", gap.tool, gap.why))
    )


EVIDENCE_GAPS = "evidence_gaps.jsonl"
"""Name of the file in a run's directory."""


def write_evidence_gaps(path: Path, evidence_gaps: Iterable[EvidenceGap]) -> None:
    """Write the evidence gaps of runs, with equal ones added up. Raises InputError."""
    write_jsonl(path, merged(evidence_gaps))


def read_evidence_gaps(path: Path) -> tuple[EvidenceGap, ...]:
    """Read the evidence gaps of a file, or of a run's directory.

    Raises:
        InputError: the file is missing, or a line is not an evidence gap.
    """
    file = path / EVIDENCE_GAPS if path.is_dir() else path
    found: list[EvidenceGap] = []
    for place, gap in read_models(file, EvidenceGap):
        if (gap.url is None) == (gap.query is None):
            raise InputError(f"{place}: must have either `url` or `query`")
        found.append(gap)
    return merged(found)
