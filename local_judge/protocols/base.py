"""The base class of protocols, and what a protocol may use.

Invariants: a protocol's `examine` is the only place where it may ask a judge; its `score` and `aggregate` are pure
functions of stored findings, whatever the protocol's settings are by then. One judge is an ensemble of one. Protocols
register under the entry-point group `local_judge.protocols`, so that anyone can add one.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from indexes.snapshot import Snapshot
from local_judge.agents.result import AgentResult, EvidenceGap
from local_judge.base.errors import ConfigError, SettingError, first_problem
from local_judge.base.model import Frozen
from local_judge.base.output import Table
from local_judge.claims.build import ClaimMethod, PageVerifier
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.model import ClaimSet
from local_judge.documents.model import Document, Source
from local_judge.judge.judge import Judge
from local_judge.protocols.file_formats import FileFormat
from local_judge.protocols.originals import Original, PromptSource
from local_judge.protocols.probes import InjectionProbe, SensitivityProbe
from local_judge.protocols.stated import Stated
from local_judge.rubric.answers import ItemRow
from local_judge.scoring.node import Place, Profile, ScoreNode
from local_judge.tasks.model import Task

GROUP = "local_judge.protocols"


class PathSetting:
    """Mark of a setting that is a path: `Annotated[str | None, PathSetting()]`.

    In a run file, a relative path starts at the file's folder.

    Examples:
        >>> path_settings("dream")
        [('authority', 'ratings_file')]
    """


class OtherReport(Frozen):
    """Another system's report on the same task, as it was found.

    Examples:
        >>> OtherReport(id="birch/q1", system="birch", content=b"The mill cost 9 million crowns.").system
        'birch'
    """

    id: str
    system: str | None
    content: bytes
    sources: tuple[Source, ...] = ()


class Case(Frozen):
    """A report with the task that it answers.

    Examples:
        >>> from local_judge.documents import parse_report
        >>> case = Case(id="q1", report=parse_report("The mill opened in 1931. It cost 9 million crowns."))
        >>> [sentence.label for sentence in case.report.sentences]
        ['L1.S1', 'L1.S2']
    """

    id: str
    report: Document
    task: Task | None = None
    others: tuple[OtherReport, ...] = ()
    """The reports of other systems on the task that come after this one in the run: so that of any two one has the
    other."""


class EvalContext(BaseModel):
    """The judge, the pages and the claims that a protocol may use for one report.

    Examples:
        >>> from pathlib import Path
        >>> from local_judge.ledger.ledger import Ledger
        >>> from serving.engines.scripted import ScriptedEngine
        >>> async def no_claims():
        ...     raise NotImplementedError
        >>> with Ledger.open(Path("ledger.sqlite")) as ledger:
        ...     context = EvalContext(judge=Judge(ScriptedEngine(), ledger), claims=no_claims)
        >>> context.pages("fact")
        Traceback (most recent call last):
        local_judge.base.errors.ConfigError: fact: judging pages needs a snapshot; give --snapshot
    """

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    judge: Judge
    snapshot: Snapshot | None = None
    today: date | None = None
    """Day of the evaluation, as given to the run; None if none was given. The clock is never read."""
    prompts: PromptSource | None = None
    """Source of the prompts; None for those of this package."""
    extractor: Judge | None = None
    """Judge that extracts the claims; None for `judge`."""
    claims: Callable[[], Awaitable[ClaimSet]]
    """The report's claim set; made once, while other questions about the same report are asked. Only for protocols
    that say that they need it."""

    def pages(self, protocol: str) -> Snapshot:
        """Return the snapshot, which `protocol` cannot do without.

        Raises:
            ConfigError: there is none.
        """
        if self.snapshot is None:
            raise ConfigError(f"{protocol}: judging pages needs a snapshot; give --snapshot")
        return self.snapshot


class Findings(Frozen):
    """Stored answers of one judge about one report. Each protocol has its own subclass.

    Examples:
        >>> class Lengths(Findings):
        ...     words: int
        >>> Lengths(case="q1", document="d1", words=912).n_failed
        0
    """

    case: str
    """Id of the report."""
    document: str
    """Id of the document."""
    stated: Stated | None = None
    """Scores that a published file states; None for answers of a judge."""

    @property
    def n_failed(self) -> int:
        """Number of the protocol's own questions without an answer; those of the claim set are counted apart."""
        return 0


class Decision(Frozen):
    """One label or number of a report, in a form in which labels are counted and judges compared.

    Examples:
        >>> Decision(metric="coverage", item="q1/cost", value="met", scale="nominal").by
        'judge'
    """

    metric: str
    """Name that all comparable decisions share, such as `coverage`."""
    item: str
    """Unique within the metric and the report."""
    value: str | float | None
    """A label or a number; None where the judge gave no answer."""
    scale: Literal["nominal", "ordinal", "interval"]
    by: Literal["judge", "code"] = "judge"
    """`code`: no judge was asked, so that it tells nothing of the agreement of judges."""


class PageVerdict(NamedTuple):
    """Verdict on a statement about a page.

    Examples:
        >>> PageVerdict("The mill cost 9 million crowns.", "https://paper.example/cost", supported=True).supported
        True
    """

    statement: str
    url: str
    supported: bool | None
    """None without an answer."""


class Contest(Frozen):
    """A report compared with another on its task: one or more games.

    Examples:
        >>> contest = Contest(opponent="birch", case="birch/q1", document="d2", points=(1.0, 0.5))
        >>> sum(contest.points) / len(contest.points)
        0.75
    """

    opponent: str
    """The other's system, or the report's id where the input names none; of a baseline its name."""
    case: str | None
    """Id of the other report in the run; None for one that is not in it."""
    document: str
    """Id of its document."""
    points: tuple[float | None, ...]
    """One number a game: 1 won, 0.5 tied, 0 lost; None where the judge failed."""
    consistent: tuple[bool, ...] = ()
    """Agreement of the two orders, for each judge that answered in both."""


class View(NamedTuple):
    """The output of one protocol about one report beside its scores.

    Examples:
        >>> View({"house": {"kept": 2}}, ("house: 2 of 2 rules",)).lines
        ('house: 2 of 2 rules',)
    """

    data: Mapping[str, object]
    """JSON, under keys that no other protocol has; the same keys whatever was found."""
    lines: tuple[str, ...] = ()
    """Lines about the findings as a whole."""
    tables: tuple[Table, ...] = ()
    """Tables beside that of the items."""


S = TypeVar("S", bound=Frozen)
F = TypeVar("F", bound=Frozen)
R = TypeVar("R", bound=Findings)


class Examiner(ABC, Generic[S, F]):
    """Common part of protocols and metrics: settings, needs, questions, and what is read from findings.

    Examples:
        >>> protocol = load_protocol("fact")
        >>> isinstance(protocol, Examiner), protocol.needs_claims
        (True, True)
    """

    settings_type: ClassVar[type[Frozen]]
    """Model of the settings; each has a default."""
    compares_reports: ClassVar[bool] = False
    """`contests` returns comparisons of reports, by which systems can be ranked."""
    searches: ClassVar[bool] = False
    """It searches the snapshot itself, and so may have evidence gaps."""

    def __init__(self, settings: S | None = None) -> None:
        self.settings: S = settings if settings is not None else cast("S", self.settings_type())

    @property
    def needs_claims(self) -> bool:
        """It reads the claim set, and so needs a snapshot."""
        return False

    @property
    def reads_upstream_pairs(self) -> bool:
        """It reads the pairs of the published code's back-tracking beside those of the claim set."""
        return False

    def claim_settings(self, claims: ClaimsConfig) -> ClaimsConfig:
        """Return the settings of the claim set with those that the protocol's settings imply.

        Raises:
            ConfigError: both are set, and differ.
        """
        return claims

    @property
    def needs_snapshot(self) -> bool:
        """It reads pages even if it does not read the claim set."""
        return False

    def data_digest(self) -> str | None:
        """Return the SHA-256 of the replaceable texts and data in its prompts; None if there are none."""
        return None

    @abstractmethod
    async def examine(self, case: Case, context: EvalContext) -> F:
        """Ask the judge about one report, and read its claims and pages.

        Raises:
            ConfigError: the report's task lacks what `missing_inputs` names.
        """

    def decisions(self, findings: F) -> Iterable[Decision]:
        """Return all decisions about one report, answered or not; judges can agree or differ on those of a judge."""
        return ()

    def items(self, findings: F) -> Iterable[ItemRow]:
        """Return all answers of one judge about one report in words; by default its decisions without their words.

        Claims, sources and verdicts of the claim set are left out: they are the same for all protocols.
        """
        return (ItemRow(one.metric, one.item, value=one.value) for one in self.decisions(findings))

    def page_verdicts(self, findings: F) -> Iterable[PageVerdict]:
        """Return the verdicts of one judge on the statements of one report, as the protocol counts them."""
        return ()

    def evidence_gaps(self, findings: F) -> Iterable[EvidenceGap]:
        """Yield the searches that found nothing in the snapshot; by default those of its agents."""
        for _, run in self.agent_runs(findings):
            yield from run.evidence_gaps

    def agent_runs(self, findings: F) -> Iterable[tuple[str, AgentResult[Any]]]:
        """Return the runs of agents about one report, each with the ids of its subject."""
        return ()

    def contests(self, judges: Sequence[F], profile: Profile) -> Iterable[Contest]:
        """Return all contests of one report with others, from each judge's findings about it."""
        return ()


class OriginalVerifier(NamedTuple):
    """Published prompts that verify given claims.

    Examples:
        >>> load_protocol("dream").original_verifier(PromptSource(original=("checkout",)))
        Traceback (most recent call last):
        local_judge.base.errors.ConfigError: dream: no published prompt of it verifies given claims
    """

    prompts: Original
    verify: PageVerifier


class BaseProtocol(Examiner[S, R]):
    """One published way to judge a report. `examine` and `score` are its own; all else has a default.

    Examples:
        >>> load_protocol("deer").needs_claims
        True
        >>> rubric = load_protocol("deer", {"parts": ["rubric"]})
        >>> rubric.needs_claims
        False
    """

    name: ClassVar[str]
    version: ClassVar[str]
    """Raised when a prompt or a rule changes."""
    profiles: ClassVar[tuple[Profile, ...]] = ("paper",)
    findings_type: ClassVar[type[Findings]]
    places: ClassVar[Mapping[str, Place]] = {}
    """Vertical and scale of scores by their paths (`a/b/c`); see `scoring.node`. A score that spans
    several verticals has no place itself: what it is made of has."""
    dated_prompts: ClassVar[bool] = False
    """Published prompts show the day of the evaluation, so that a run with them needs one."""
    sensitivity_probes: ClassVar[Sequence[SensitivityProbe]] = ()
    """Runs by which a qualification tests whether scores fall when reports are made worse."""
    injection_probes: ClassVar[Sequence[InjectionProbe]] = ()
    """Questions by which a qualification tests whether judges follow instructions inside reports."""

    @classmethod
    def configured(cls, settings: Mapping[str, Any]) -> Self:
        """Return the protocol with `settings` laid over its defaults.

        Raises:
            ConfigError: it has no such setting, or the value is not allowed.
        """
        try:
            return cls(cast("S", cls.settings_type.model_validate(settings)))
        except ValidationError as error:
            problem = first_problem(error, model=cls.settings_type, below=cls.name, noun="setting")
            raise SettingError(problem, (cls.name, *map(str, error.errors()[0]["loc"]))) from None

    @property
    def without_task(self) -> str | None:
        """The setting under which no task is needed, where one is; None where a report needs none."""
        return None

    def missing_inputs(self, task: Task | None) -> str | None:
        """Name what a report's task lacks and which option gives it, in half a line; None if it lacks nothing."""
        return None

    def missing_for_prompts(self, task: Task | None) -> str | None:
        """Name what a report's task lacks for a run with published prompts, as `missing_inputs` does."""
        return self.missing_inputs(task)

    def original_prompts(self, source: PromptSource) -> Original:
        """Return the prompts of the published project that the settings ask for.

        Raises:
            ConfigError: no published prompts can be used, or not with these settings.
        """
        raise ConfigError(f"{self.name}: cannot be run with published prompts; leave --prompts out")

    def original_claims(self, source: PromptSource) -> ClaimMethod | None:
        """Return the functions that make the claim set with published prompts; None if the protocol has none.

        Raises:
            ConfigError: see `original_prompts`.
        """
        return None

    def original_verifier(self, source: PromptSource) -> OriginalVerifier:
        """Return the published prompts with the function that verifies given claims with them.

        Raises:
            ConfigError: no published prompt verifies given claims, or see `original_prompts`.
        """
        raise ConfigError(f"{self.name}: no published prompt of it verifies given claims")

    @abstractmethod
    def score(self, judges: Sequence[R], profile: Profile) -> tuple[ScoreNode, ...]:
        """Return the scores of one report as trees, overall ones at the roots.

        Args:
            judges: the findings of each judge about it, in the order in which judges were given; one at least.
            profile: the profile whose formulas are used.
        """

    def aggregate(
        self, reports: Sequence[Sequence[R]], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        """Return scores over the reports of one system that are not means of the reports' scores.

        Args:
            reports: of each report, the findings of each judge, judges in one order throughout, in input order. They
                are read from the disk each time that they are asked for: go through them once, and keep numbers.
            profile: the profile whose formulas are used.
            n_missing: reports of that system without findings: unreadable, or stopped by a defect.
        """
        return ()

    def view(self, findings: R, paper: Sequence[ScoreNode], items: bool) -> View:
        """Output about one report beside its scores.

        Args:
            findings: of one judge.
            paper: the report's scores by the paper's profile.
            items: whether the data has every item.
        """
        return View({self.name: findings.model_dump(mode="json") if items else None})

    def file_format(self) -> FileFormat[R] | None:
        """Return the format that writes a run as the files of the published project; None if there is none."""
        return None


AnyProtocol = BaseProtocol[Any, Any]


def registered(group: str) -> EntryPoints:
    """Return the entry points of a group of all installed packages.

    The metadata of all packages is read once for each search path, because that takes tens of milliseconds.

    Examples:
        >>> "deer" in registered(GROUP).names
        True
    """
    return _registered(group, tuple(sys.path))


@cache
def _registered(group: str, search_path: tuple[str, ...]) -> EntryPoints:
    return entry_points(group=group)


def protocol_names() -> list[str]:
    """Return the names of all installed protocols.

    Examples:
        >>> "deer" in protocol_names()
        True
    """
    return sorted({entry.name for entry in registered(GROUP)})


def file_formats() -> dict[str, FileFormat[Any]]:
    """Return the formats that installed protocols offer, by the protocols' names.

    Examples:
        >>> "race" in file_formats()
        True
    """
    found = {name: load_protocol(name).file_format() for name in protocol_names()}
    return {name: offered for name, offered in found.items() if offered is not None}


def load_protocol(name: str, settings: Mapping[str, Any] | None = None) -> AnyProtocol:
    """Return the protocol registered as `name`, with `settings` laid over its defaults.

    Raises:
        ConfigError: there is none (names those that there are), it cannot be imported, or it has no such setting.

    Examples:
        >>> load_protocol("deer", {"parts": ["rubric"]}).settings.parts
        ('rubric',)
    """
    return _protocol_type(name).configured(settings or {})


def path_settings(name: str) -> list[tuple[str, ...]]:
    """Return the steps of a protocol's settings that are paths, such as `("authority", "ratings_file")`.

    Raises:
        ConfigError: there is no such protocol, or it cannot be imported.

    Examples:
        >>> path_settings("dream")
        [('authority', 'ratings_file')]
    """

    def below(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
        for key, field in model.model_fields.items():
            if any(isinstance(mark, PathSetting) for mark in field.metadata):
                yield (key,)
            elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                yield from ((key, *steps) for steps in below(field.annotation))

    return list(below(_protocol_type(name).settings_type))


def _protocol_type(name: str) -> type[AnyProtocol]:
    found = {entry.name: entry for entry in registered(GROUP)}
    if name not in found:
        there = ", ".join(sorted(found)) or "none: is local-judge installed?"
        raise ConfigError(f"no protocol {name!r}; there are: {there}")
    entry = found[name]
    try:
        kind: type[AnyProtocol] = entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"protocol {name!r}: {entry.value} cannot be imported: {error}") from None
    if kind.name != name:
        raise ConfigError(f"protocol {name!r}: {entry.value} has the name {kind.name!r}; register it as that")
    return kind
