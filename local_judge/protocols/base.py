"""What a protocol is, and what it may use.

Invariant: a protocol's `examine` is the only place where it may ask a judge; its `score` is a pure function of stored
findings, whatever the protocol's settings are by then. Protocols register under the entry-point group
`local_judge.protocols`, so that anyone can add one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import date
from importlib.metadata import entry_points
from typing import Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict, ValidationError

from indexes.snapshot import Snapshot
from local_judge.agents.result import AgentResult, Wish
from local_judge.claims.model import ClaimSet
from local_judge.documents.model import Document
from local_judge.errors import ConfigError, brief
from local_judge.judge.judge import Judge
from local_judge.protocols.scores import Profile, ScoreNode
from local_judge.tasks.model import Task
from serving.types import Frozen

GROUP = "local_judge.protocols"


class Rival(Frozen):
    """Another system's report on the same task, as it was found."""

    id: str
    system: str | None
    content: bytes


class Case(BaseModel):
    """A report with the task that it answers."""

    model_config = ConfigDict(frozen=True)

    id: str
    report: Document
    task: Task | None = None
    rivals: tuple[Rival, ...] = ()
    """The reports of other systems on the task that come after this one in the run: so that of any two one has the
    other."""


class Bench(BaseModel):
    """What a protocol may use for one report."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    judge: Judge
    snapshot: Snapshot | None = None
    today: date | None = None
    """The day on which the report is evaluated, as the run was told; None where it was not. Nothing asks the clock."""
    claims: Callable[[], Awaitable[ClaimSet]]
    """The report's claim set; made once, while other questions about the same report are asked. Only for protocols
    that say that they need it."""


class Findings(BaseModel):
    """All that a protocol learnt about one report. Each protocol has its own subclass."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    case: str
    document: str
    """Id of the document."""

    @property
    def n_failed(self) -> int:
        """How many of the protocol's own questions have no answer; those of the claim set are counted apart."""
        return 0


F = TypeVar("F", bound=Findings)


class Evaluation(Protocol[F]):
    """One published way to judge a report."""

    name: ClassVar[str]
    version: ClassVar[str]
    """Raised when a prompt or a rule changes."""
    profiles: ClassVar[tuple[Profile, ...]]
    findings: type[F]
    settings: type[Frozen]
    """What can be set, each with its default."""
    given: Frozen
    """Its settings: what was given over the defaults."""

    @property
    def needs_claims(self) -> bool:
        """Whether it reads the claim set, and so needs a snapshot."""
        ...

    @property
    def without_task(self) -> str | None:
        """The setting under which no task is needed, where one is; None where a report needs none."""
        ...

    def data_digest(self) -> str | None:
        """SHA-256 over the texts that it asks with and that can be replaced; None where it has none."""
        ...

    async def examine(self, case: Case, bench: Bench) -> F:
        """Learn what the protocol needs to know about one report."""
        ...

    def score(self, findings: F, profile: Profile) -> tuple[ScoreNode, ...]:
        """The protocol's scores as trees, overall ones at the roots."""
        ...


@runtime_checkable
class ReadsPages(Protocol):
    """What a protocol may have beside: pages are read even where it does not read the claim set."""

    @property
    def needs_snapshot(self) -> bool:
        """Whether it needs a snapshot."""
        ...


@runtime_checkable
class ScoresOver(Protocol):
    """What a protocol may have beside: scores over all reports of a run that are no means of the reports' scores."""

    def over(self, findings: Sequence[Any], profile: Profile, n_missing: int) -> tuple[ScoreNode, ...]:
        """The scores of several reports together, as trees that are the same in every profile.

        A pure function, as `score` is. A run calls it once for each system whose reports it holds.

        Args:
            findings: the protocol's own, of the reports of one system, in input order.
            profile: by whose formulas.
            n_missing: reports of that system without findings: unreadable, or stopped by a defect.
        """
        ...


@runtime_checkable
class Wishes(Protocol):
    """What a protocol may have beside: agents of its own, who asked the snapshot for what it did not have."""

    def wishes(self, findings: Any) -> Sequence[Wish]:
        """What was missed in the evaluation of one report. A pure function, as `score` is."""
        ...


class Rated(Frozen):
    """One thing that a judge decided about a report, in a form in which judges can be compared."""

    metric: str
    """Name of what all comparable decisions have in common, such as `coverage`."""
    item: str
    """Unique within the metric and the report."""
    value: str | float | None
    """A label or a number; None where the judge gave no answer."""
    scale: Literal["nominal", "ordinal", "interval"]


@runtime_checkable
class KeepsRuns(Protocol):
    """What a protocol may have beside: runs of agents, each with its transcript."""

    def runs(self, findings: Any) -> Sequence[tuple[str, AgentResult[Any]]]:
        """The runs about one report, each under the ids of what it was about. A pure function, as `score` is."""
        ...


@runtime_checkable
class Compares(Protocol):
    """What a protocol may have beside: decisions in which judges can agree or not."""

    def rated(self, findings: Any) -> tuple[Rated, ...]:
        """All decisions of one judge about one report, whether answered or not."""
        ...


@runtime_checkable
class ScoresTogether(Protocol):
    """What a protocol may have beside: the rule by which several judges' findings about a report make one score.

    Where a protocol has none, each score is the mean over the judges that have a value (`ensemble.mean_trees`).
    """

    def together(self, findings: Sequence[Any], profile: Profile) -> tuple[ScoreNode, ...]:
        """The scores of one report by all judges, in the order in which they were given; two at least.

        A pure function, as `score` is. What a judge failed at opens the bounds (see `ensemble.opened`).
        """
        ...


@runtime_checkable
class ScoresOverTogether(Protocol):
    """What a protocol that has `over` may have beside: the same by several judges together.

    Where it has none, each score is the mean over the judges.
    """

    def over_together(
        self, findings: Sequence[Sequence[Any]], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        """As `over`, with the findings of all judges about each report, judges in one order throughout."""
        ...


class Contest(Frozen):
    """A report compared with another on its task: one or more games."""

    opponent: str
    """The other's system, or the report's id where the input names none; of a baseline its name."""
    case: str | None
    """Id of the other report in the run; None for one that is not in it."""
    document: str
    """Id of its document."""
    points: tuple[float | None, ...]
    """In each game: 1 won, 0.5 tied, 0 lost; None where the judge failed."""
    consistent: tuple[bool, ...] = ()
    """Of each judge that answered both ways round: whether it said the same."""


@runtime_checkable
class Contests(Protocol):
    """What a protocol may have beside: comparisons of reports by which their systems can be ranked."""

    def contests(self, findings: Sequence[Any], profile: Profile) -> tuple[Contest, ...]:
        """All contests of one report, from each judge's findings about it. A pure function, as `score` is."""
        ...


@runtime_checkable
class Particular(Protocol):
    """A protocol that needs more of a task than its request. Optional."""

    def lacks(self, task: Task | None) -> str | None:
        """What it misses in a report's task and where that may come from, in half a line; None if nothing."""
        ...


def protocol_names() -> list[str]:
    """Of all that are installed."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def load_protocol(name: str, settings: dict[str, Any] | None = None) -> Evaluation[Any]:
    """The protocol registered as `name`, with `settings` laid over its defaults.

    Raises:
        ConfigError: there is none (names those that there are), or it has no such setting.
    """
    found = entry_points(group=GROUP)
    for entry in found:
        if entry.name == name:
            kind = entry.load()
            try:
                return kind(kind.settings.model_validate(settings or {}))
            except ValidationError as error:
                first = error.errors()[0]
                key = ".".join(map(str, (name, *first["loc"])))
                if first["type"] == "extra_forbidden":
                    raise ConfigError(f"settings: unknown key {key!r}") from None
                raise ConfigError(f"settings: {key}: {first['msg']} (got {brief(first['input'])})") from None
    names = ", ".join(sorted(entry.name for entry in found)) or "none: is local-judge installed?"
    raise ConfigError(f"no protocol {name!r}; there are: {names}")
