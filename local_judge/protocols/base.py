"""What a protocol is, and what it may use.

Invariant: a protocol's `examine` is the only place where it may ask a judge; its `score` is a pure function of stored
findings. Protocols register under the entry-point group `local_judge.protocols`, so that anyone can add one.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from indexes.snapshot import Snapshot
from local_judge.claims.model import ClaimSet
from local_judge.documents.model import Document
from local_judge.errors import ConfigError
from local_judge.judge.judge import Judge
from local_judge.protocols.scores import Profile, ScoreNode

GROUP = "local_judge.protocols"


class Case(BaseModel):
    """A report with the task that it answers."""

    model_config = ConfigDict(frozen=True)

    id: str
    report: Document
    task: str | None = None


class Bench(BaseModel):
    """What a protocol may use for one report."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    judge: Judge
    snapshot: Snapshot
    claims: ClaimSet


class Findings(BaseModel):
    """All that a protocol learnt about one report. Each protocol has its own subclass."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    case: str
    document: str
    """Id of the document."""


F = TypeVar("F", bound=Findings)


class Evaluation(Protocol[F]):
    """One published way to judge a report."""

    name: ClassVar[str]
    version: ClassVar[str]
    """Raised when a prompt or a rule changes."""
    profiles: ClassVar[tuple[Profile, ...]]
    findings: type[F]

    async def examine(self, case: Case, bench: Bench) -> F:
        """Learn what the protocol needs to know about one report."""
        ...

    def score(self, findings: F, profile: Profile) -> tuple[ScoreNode, ...]:
        """The protocol's scores as trees, overall ones at the roots."""
        ...


def load_protocol(name: str) -> Evaluation[Any]:
    """The protocol registered as `name`.

    Raises:
        ConfigError: there is none; names those that there are.
    """
    found = entry_points(group=GROUP)
    for entry in found:
        if entry.name == name:
            return entry.load()()
    names = ", ".join(sorted(entry.name for entry in found)) or "none: is local-judge installed?"
    raise ConfigError(f"no protocol {name!r}; there are: {names}")
