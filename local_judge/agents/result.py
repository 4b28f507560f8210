"""What an agent's run comes to, whole and typed.

Invariant: a run is `answered` only if the judge finished by itself with an answer of the type asked for; whatever else
ended it is named, and an answer that was asked for at a limit stands beside the limit's name. Nothing in here needs the
snapshot or the judge to be read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, Literal, TypeVar, get_args

from pydantic import JsonValue

from local_judge.agents.limits import AgentLimits
from local_judge.agents.observations import Asked, AskedKind, Lack, Observation
from local_judge.agents.toolbox import ToolSettings
from local_judge.judge.failures import Failure
from serving.types import Frozen

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
    tool: AskedKind
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
    coverage: dict[AskedKind, Tally]
    """By kind, those that were asked for."""
    evidence_gaps: tuple[EvidenceGap, ...]
    transcript: Transcript


def no_answer(result: AgentResult[Any]) -> Failure:
    """Why a run has no answer, as data."""
    detail = f"an agent's run ended {result.outcome} after {result.spent.turns} turns, without an answer"
    return result.failure or Failure(kind="incomplete", detail=detail)


def tallied(asked: Sequence[Asked]) -> dict[AskedKind, Tally]:
    """How much of what was asked for the snapshot could answer, each different query or page once."""
    answered = _answered(asked)
    found: dict[AskedKind, Tally] = {}
    for kind in get_args(AskedKind):
        different = {one.what for one in asked if one.kind == kind}
        if different:
            n_answered = sum((kind, what) in answered for what in different)
            found[kind] = Tally(asked=len(different), answered=n_answered)
    return found


def gaps_of(asked: Sequence[Asked]) -> tuple[EvidenceGap, ...]:
    """What was never answered, each different thing once; pages first, then queries, by their text."""
    answered = _answered(asked)
    counts: dict[tuple[AskedKind, str, Lack], int] = {}
    for one in asked:
        if one.lack is not None and (one.kind, one.what) not in answered:
            key = (one.kind, one.what, one.lack)
            counts[key] = counts.get(key, 0) + 1
    return _in_order(_gap(kind, what, why, times) for (kind, what, why), times in counts.items())


def merged(gaps: Iterable[EvidenceGap]) -> tuple[EvidenceGap, ...]:
    """The evidence gaps of several runs, equal ones added up."""
    sums: dict[tuple[AskedKind, str, Lack], int] = {}
    for one in gaps:
        key = (one.tool, one.url or one.query or "", one.why)
        sums[key] = sums.get(key, 0) + one.times
    return _in_order(_gap(kind, what, why, times) for (kind, what, why), times in sums.items())


def _answered(asked: Iterable[Asked]) -> set[tuple[AskedKind, str]]:
    return {(one.kind, one.what) for one in asked if one.lack is None}


def _gap(kind: AskedKind, what: str, why: Lack, times: int) -> EvidenceGap:
    if kind == "page":
        return EvidenceGap(url=what, tool=kind, why=why, times=times)
    return EvidenceGap(query=what, tool=kind, why=why, times=times)


def _in_order(gaps: Iterable[EvidenceGap]) -> tuple[EvidenceGap, ...]:
    return tuple(
        sorted(gaps, key=lambda gap: (gap.url is None, gap.url or gap.query or "", gap.tool, gap.why))
    )
