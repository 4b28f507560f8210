"""How long an agent may work.

Invariant: every loop ends. Whatever a judge writes, there are at most `turns` turns, each of them one question that the
judge puts at most `1 + reasks` times, and the last of them asks for the answer alone.


What an agent's run comes to, whole and typed.

Invariant: a run is `answered` only if the judge finished by itself with an answer of the type asked for; whatever else
ended it is named, and an answer that was asked for at a limit stands beside the limit's name. Nothing in here needs the
snapshot or the judge to be read again.


What a snapshot lacked, on disk.

Invariant: a file of evidence gaps lists each thing once with the number of times that it was asked for, pages first,
each by its text: the same runs give the same bytes, in whatever order they ended.

The addresses are what judges asked for. A judge may have made one up, or have it from a page: who fetches them should
look at the list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args

from pydantic import Field, JsonValue

from local_judge.agents.observations import Lack, Observation, RequestKind, SnapshotRequest
from local_judge.agents.toolbox import ToolSettings
from local_judge.errors import InputError
from local_judge.judge.failures import Failure
from local_judge.rows import read_models, write_jsonl
from serving.types import Frozen


class AgentLimits(Frozen):
    """What one run may take. Reaching one of them asks the judge to finish in one more turn, with what it has."""

    turns: int = Field(default=12, ge=1)
    """Questions to the judge; in the last one it can only finish."""
    tokens: int = Field(default=200_000, ge=1)
    """Of all prompts and replies together, as the engine reports them. The turn ahead and the one in which it finishes
    have to fit. They are estimated from the last prompt and the bytes added to it: the sum may pass the limit by a
    little."""
    calls: int = Field(default=40, ge=1)
    """Queries, pages opened, and queries within pages."""
    repeats: int = Field(default=3, ge=1)
    """Actions that had been taken before. Each is answered by a note that says so."""
    reply_tokens: int = Field(default=1024, ge=16)
    """Of one reply."""
    context_tokens: int | None = Field(default=None, ge=1)
    """Of one prompt with its reply; None, or more than the judge has: all that it has."""


T = TypeVar("T")

Outcome = Literal[
    "answered",  # the judge finished
    "out_of_turns",
    "out_of_tokens",
    "out_of_calls",
    "repeating",  # it took actions that it had taken before, once too often
    "too_long",  # a prompt did not fit, with all results dropped that may be
    "failed",  # the judge's reply could not be had
]


class Step(Frozen):
    """One turn."""

    turn: int
    thought: str
    action: dict[str, JsonValue]
    """As the judge wrote it."""
    observation: Observation | None = None
    """What it was answered; None where the action ended the run."""
    dropped: tuple[int, ...] = ()
    """Turns whose results left the prompt before this turn was asked."""
    replies: tuple[str, ...]
    """Ledger keys of the replies that it took, the one that holds it last."""
    prompt_tokens: int
    """Of all these replies, like the next."""
    completion_tokens: int


class Transcript(Frozen):
    """All that was asked, done and seen."""

    snapshot: str
    """Digest."""
    tools: ToolSettings
    limits: AgentLimits
    task: str
    material: str
    """As it was shown, fenced."""
    steps: tuple[Step, ...]

    @property
    def observations(self) -> tuple[Observation, ...]:
        """What the judge was answered, in order."""
        return tuple(step.observation for step in self.steps if step.observation is not None)

    @property
    def replies(self) -> tuple[str, ...]:
        """Ledger keys of all turns."""
        return tuple(key for step in self.steps for key in step.replies)


class Spent(Frozen):
    """What a run took, counted over the turns that were answered."""

    turns: int
    calls: int
    """Queries, pages, and queries within pages that were carried out."""
    errors: int
    """Actions that could not be carried out as they were written: unknown tools, bad arguments or answers."""
    repeats: int
    prompt_tokens: int
    completion_tokens: int


class Tally(Frozen):
    """How many different things of one kind were asked for, and how many of them the snapshot could answer."""

    asked: int
    answered: int


class EvidenceGap(Frozen):
    """Something that the snapshot could not answer."""

    url: str | None = None
    """A page; exactly one of this and `query` is set."""
    query: str | None = None
    tool: RequestKind
    """The tool that searched, or `page`."""
    why: Lack
    times: int
    """How often it was asked for."""


class AgentResult(Frozen, Generic[T]):
    """The end of a run."""

    outcome: Outcome
    answer: T | None = None
    """None where the judge gave none; `answered` always has one."""
    failure: Failure | None = None
    """Why there is no answer, where a reply could not be had or read."""
    spent: Spent
    coverage: dict[RequestKind, Tally]
    """By kind, those that were asked for."""
    evidence_gaps: tuple[EvidenceGap, ...]
    transcript: Transcript


def no_answer(result: AgentResult[Any]) -> Failure:
    """Why a run has no answer, as data."""
    detail = f"an agent's run ended {result.outcome} after {result.spent.turns} turns, without an answer"
    return result.failure or Failure(kind="incomplete", detail=detail)


def tallied(asked: Sequence[SnapshotRequest]) -> dict[RequestKind, Tally]:
    """How much of what was asked for the snapshot could answer, each different query or page once."""
    answered = _answered(asked)
    found: dict[RequestKind, Tally] = {}
    for kind in get_args(RequestKind):
        different = {one.what for one in asked if one.kind == kind}
        if different:
            n_answered = sum((kind, what) in answered for what in different)
            found[kind] = Tally(asked=len(different), answered=n_answered)
    return found


def gaps_of(asked: Sequence[SnapshotRequest]) -> tuple[EvidenceGap, ...]:
    """Return what was never answered, each different thing once: pages first, then queries, by their text."""
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
    """Write the evidence gaps of runs, equal ones added up. Raises InputError."""
    write_jsonl(path, merged(evidence_gaps))


def read_evidence_gaps(path: Path) -> tuple[EvidenceGap, ...]:
    """The evidence gaps in a file, or in the file of a run's directory.

    Raises:
        InputError: there is none, or it has a line that is no evidence gap.
    """
    file = path / EVIDENCE_GAPS if path.is_dir() else path
    found: list[EvidenceGap] = []
    for place, gap in read_models(file, EvidenceGap):
        if (gap.url is None) == (gap.query is None):
            raise InputError(f"{place}: needs one of `url` and `query`")
        found.append(gap)
    return merged(found)
