"""Protocols that are tables of metrics.

A metric is one thing, in one file where it fits: what it asks and needs, how the findings of one judge or several
become a score, and how reports aggregate. A protocol lists its metrics; its settings, its findings, and everything that
follows from scores are derived from the list.

Invariant: a metric neither reads nor changes what another has found; it has findings, under its id, exactly where it
was asked for.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast, get_args

from pydantic import BeforeValidator, Field, create_model

from local_judge.agents.result import AgentResult, EvidenceGap
from local_judge.base.errors import ConfigError
from local_judge.base.model import Frozen
from local_judge.protocols.base import (
    BaseProtocol,
    Case,
    Contest,
    Decision,
    EvalContext,
    Examiner,
    Findings,
    View,
)
from local_judge.rubric.answers import ItemRow
from local_judge.scoring.ensemble import mean_trees
from local_judge.scoring.node import PERCENT, Place, Profile, Scale, Score, ScoreNode, Vertical
from local_judge.tasks.model import Task


class NoSettings(Frozen):
    """A metric that has nothing to set.

    Examples:
        >>> NoSettings.model_fields
        {}
    """


class MetricFindings(Frozen):
    """Stored answers of one judge for one metric of one report. Each metric has its own subclass.

    Examples:
        >>> class SupportFindings(MetricFindings):
        ...     supported: int
        ...     judged: int
        >>> SupportFindings(supported=2, judged=3).n_failed
        0
    """

    @property
    def n_failed(self) -> int:
        """Number of its own questions without an answer; those of the claim set are counted apart."""
        return 0


S = TypeVar("S", bound=Frozen)
F = TypeVar("F", bound=MetricFindings)
T = TypeVar("T")


class Metric(Examiner[S, F]):
    """One metric. `examine` and `score` are its own; all else has a default.

    Examples:
        >>> from local_judge.scoring.algebra import share
        >>> class LengthFindings(MetricFindings):
        ...     words: int
        >>> class Length(Metric[NoSettings, LengthFindings]):
        ...     id, label = "length", "Share of 1,000 words"
        ...
        ...     async def examine(self, case, context):
        ...         return LengthFindings(words=len(case.report.text.split()))
        ...
        ...     def score(self, judges, profile):
        ...         return self.node(share(min(judges[0].words, 1000), 1000, 0, top=100.0))
        >>> Length().score([LengthFindings(words=912)], "paper").score.value
        91.2
    """

    id: ClassVar[str]
    """Id of its root in the score tree, of its findings, and of its part in the settings."""
    label: ClassVar[str]
    """The paper's name of it."""
    scale: ClassVar[Scale | None] = PERCENT
    vertical: ClassVar[Vertical | None] = None
    settings_type: ClassVar[type[Frozen]] = NoSettings
    settings_key: ClassVar[str] = ""
    """Name of its settings where that is not its id: metrics that share settings have one key."""
    findings_type: ClassVar[type[MetricFindings]]
    default: ClassVar[bool] = True
    """The metric is judged if no parts are chosen."""
    needs_task: ClassVar[bool] = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Take the types of settings and findings from the type parameters, as in `Metric[Settings, Findings]`."""
        super().__init_subclass__(**kwargs)
        for base in vars(cls).get("__orig_bases__", ()):
            given = [one for one in get_args(base) if isinstance(one, type)]
            if len(given) == 2 and "findings_type" not in vars(cls):
                cls.settings_type, cls.findings_type = given

    def missing_inputs(self, task: Task) -> str | None:
        """Name what a report's task lacks and which option gives it, in half a line; None if it lacks nothing."""
        return None

    @abstractmethod
    def score(self, judges: Sequence[F], profile: Profile) -> ScoreNode | tuple[ScoreNode, ...]:
        """Return the score of one report; its root has the metric's id. A pure function of findings, not of settings.

        Args:
            judges: the findings of each judge about it; one at least.
            profile: the profile whose formulas are used.
        """

    def node(self, score: Score, children: tuple[ScoreNode, ...] = ()) -> ScoreNode:
        """Return the metric's root in the score tree."""
        return ScoreNode(id=self.id, label=self.label, score=score, children=children)

    @property
    def aggregates(self) -> bool:
        """True if the metric has a rule of its own over reports."""
        return cast("type[Any]", type(self)).aggregate is not cast("type[Any]", Metric).aggregate

    def aggregate(
        self, reports: Sequence[Sequence[F]], profile: Profile, n_missing: int
    ) -> ScoreNode | tuple[ScoreNode, ...]:
        """Return the scores over the reports of one system, if they are not means of the reports' scores."""
        return ()

    def lines(self, findings: F) -> Iterable[str]:
        """Return a line or two about the findings for the terminal."""
        return ()


def mean_over_judges_of(score: Callable[[F], ScoreNode], judges: Sequence[F]) -> ScoreNode:
    """Return the mean score of the judges, for metrics whose answers cannot be merged item by item.

    Examples:
        >>> from local_judge.scoring.algebra import share
        >>> def score(supported):
        ...     return ScoreNode(id="support", label="Supported claims", score=share(supported, 4, 0))
        >>> mean_over_judges_of(score, [2, 3]).score.value
        0.625
    """
    return score(judges[0]) if len(judges) == 1 else mean_trees([(score(judge),) for judge in judges])[0]


class PartSettings(Frozen):
    """The metrics to judge, and their settings under their keys.

    Examples:
        >>> PartSettings(parts=("coverage", "citation")).parts
        ('coverage', 'citation')
    """

    parts: tuple[str, ...]
    """Ids of the metrics that are judged."""


class PartFindings(Findings):
    """The findings of each metric under its id; None for one that was not run.

    Examples:
        >>> PartFindings(case="q1", document="d1", request="What did the mill cost?").n_failed
        0
    """

    task: str | None = None
    """Id of the task; None where the report has none."""
    request: str | None = None
    """Text of the task."""

    @property
    def n_failed(self) -> int:
        """Questions of all metrics without an answer; those of the claim set are counted apart."""
        found = (getattr(self, name) for name in type(self).model_fields)
        return sum(one.n_failed for one in found if isinstance(one, MetricFindings))


def metrics_in(package: ModuleType, order: Sequence[str] = ()) -> tuple[type[Metric[Any, Any]], ...]:
    """Return the metrics that the modules of a package define, so that a new module is all that a metric needs.

    Args:
        package: the package.
        order: ids of metrics in the order in which they are shown; other metrics follow, by id.

    Examples:
        >>> from local_judge.protocols.liveresearchbench import metrics
        >>> [metric.id for metric in metrics_in(metrics, order=["presentation", "coverage"])][:2]
        ['presentation', 'coverage']
    """
    modules = [import_module(f"{package.__name__}.{one.name}") for one in iter_modules(package.__path__)]
    kinds: list[Any] = [kind for module in modules for kind in vars(module).values()]
    found: dict[str, type[Metric[Any, Any]]] = {
        kind.id: kind
        for kind in kinds
        if hasattr(kind, "id") and isinstance(kind, type) and issubclass(kind, Metric)
    }
    places = {id: place for place, id in enumerate(order)}
    return tuple(found[id] for id in sorted(found, key=lambda id: (places.get(id, len(places)), id)))


def one_part(given: object) -> object:
    """Accept one name alone, as in `PROTOCOL.parts=coverage`.

    Examples:
        >>> one_part("coverage")
        ('coverage',)
    """
    return (given,) if isinstance(given, str) else given


P = TypeVar("P", bound=PartFindings)


class MetricProtocol(BaseProtocol[PartSettings, P]):
    """A protocol that is a table of metrics, each by itself.

    Examples:
        >>> from local_judge.protocols.base import load_protocol
        >>> benchmark = load_protocol("liveresearchbench", {"parts": "coverage"})
        >>> benchmark.missing_inputs(None)
        'no task; give --tasks'
    """

    metrics: ClassVar[tuple[type[Metric[Any, Any]], ...]]
    """Metrics in the order in which they are shown."""
    findings_type = PartFindings
    """Model of the findings; a metric for which a protocol's own model has no field gets one."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.settings_type = _settings_type(cls)
        cls.findings_type = _findings_type(cls)
        own = {metric.id: Place(vertical=metric.vertical, scale=metric.scale) for metric in cls.metrics}
        cls.places = {**{id: place for id, place in own.items() if place.vertical is not None}, **cls.places}
        cls.compares_reports = any(metric.compares_reports for metric in cls.metrics)
        cls.searches = any(metric.searches for metric in cls.metrics)

    @cached_property
    def _all(self) -> dict[str, Metric[Any, Any]]:
        return {metric.id: metric(getattr(self.settings, _key(metric), None)) for metric in self.metrics}

    @cached_property
    def _chosen(self) -> dict[str, Metric[Any, Any]]:
        return {part: self._all[part] for part in self.settings.parts}

    @property
    def needs_claims(self) -> bool:
        """A chosen metric reads claims."""
        return any(metric.needs_claims for metric in self._chosen.values())

    @property
    def needs_snapshot(self) -> bool:
        """A chosen metric reads pages."""
        return any(metric.needs_snapshot for metric in self._chosen.values())

    @property
    def without_task(self) -> str | None:
        """The setting under which no task is needed; None where none is needed, or no metric does without."""
        free = [metric.id for metric in self.metrics if not metric.needs_task]
        return None if set(self._chosen) <= set(free) or not free else self._setting(free)

    def missing_inputs(self, task: Task | None) -> str | None:
        """Name what the chosen metrics miss in a report's task."""
        if task is None:
            return "no task; give --tasks" if any(one.needs_task for one in self._chosen.values()) else None
        missing = {part: metric.missing_inputs(task) for part, metric in self._chosen.items()}
        lacking = [why for why in missing.values() if why is not None]
        if not lacking:
            return None
        others = [part for part, why in missing.items() if why is None]
        return lacking[0] + (f", or do without: {self._setting(others)}" if others else "")

    def _setting(self, parts: Sequence[str]) -> str:
        return f"--set {self.name}.parts=[{','.join(parts)}]"

    def data_digest(self) -> str | None:
        """Digests of the chosen metrics, joined; None where none has any."""
        digests = [digest for metric in self._chosen.values() if (digest := metric.data_digest()) is not None]
        return "+".join(digests) or None

    async def examine(self, case: Case, context: EvalContext) -> P:
        """Examine the report by each chosen metric; all questions are asked at once.

        Raises:
            ConfigError: the report has no task, or its task lacks something.
            ExceptionGroup: of what its metrics raise.
        """
        lacking = self.missing_inputs(case.task)
        if lacking is not None:
            raise ConfigError(f"{self.name}: report {case.id!r}: {lacking}")
        async with asyncio.TaskGroup() as group:
            found = {
                part: group.create_task(metric.examine(case, context))
                for part, metric in self._chosen.items()
            }
        return cast("type[P]", self.findings_type)(
            case=case.id,
            document=case.report.id,
            task=case.task.id if case.task else None,
            request=case.task.prompt if case.task else None,
            **{part: task.result() for part, task in found.items()},
        )

    def score(self, judges: Sequence[P], profile: Profile) -> tuple[ScoreNode, ...]:
        """Return the roots of each metric that was run, in the order of the metrics."""
        return tuple(
            root
            for metric, found in self._findings_by_metric(judges)
            for root in _trees(metric.score(found, profile))
        )

    def aggregate(
        self, reports: Sequence[Sequence[P]], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        """Return the roots of each metric that was run and has a rule of its own over reports."""
        by_metric: dict[str, list[list[Any]]] = {}
        if not any(metric.aggregates for metric in self._all.values()):
            return ()
        for judges in reports:
            for metric, found in self._findings_by_metric(judges):
                if metric.aggregates:
                    by_metric.setdefault(metric.id, []).append(found)
        return tuple(
            root
            for id, metric in self._all.items()
            if id in by_metric
            for root in _trees(metric.aggregate(by_metric[id], profile, n_missing))
        )

    def decisions(self, findings: P) -> Sequence[Decision]:
        """Return all decisions of one judge."""
        return self._gather(findings, lambda metric, own: metric.decisions(own))

    def items(self, findings: P) -> Sequence[ItemRow]:
        """Return all answers of one judge in words."""
        return self._gather(findings, lambda metric, own: metric.items(own))

    def evidence_gaps(self, findings: P) -> Sequence[EvidenceGap]:
        """Searches of all metrics that found nothing in the snapshot."""
        return self._gather(findings, lambda metric, own: metric.evidence_gaps(own))

    def agent_runs(self, findings: P) -> Sequence[tuple[str, AgentResult[Any]]]:
        """Return the agents' runs about one report."""
        return self._gather(findings, lambda metric, own: metric.agent_runs(own))

    def contests(self, judges: Sequence[P], profile: Profile) -> Sequence[Contest]:
        """Return the comparisons of one report."""
        return tuple(
            contest
            for metric, found in self._findings_by_metric(judges)
            for contest in metric.contests(found, profile)
        )

    def view(self, findings: P, paper: Sequence[ScoreNode], items: bool) -> View:
        """Return a line or two of each metric."""
        lines = self._gather(findings, lambda metric, own: metric.lines(own))
        return super().view(findings, paper, items)._replace(lines=lines)

    def _findings_by_metric(self, judges: Sequence[P]) -> Iterator[tuple[Metric[Any, Any], list[Any]]]:
        """Yield each metric that was run, in their order, with what each judge found."""
        for id, metric in self._all.items():
            found = [own for judge in judges if (own := getattr(judge, id, None)) is not None]
            if found:
                yield metric, found

    def _gather(self, findings: P, what: Callable[[Metric[Any, Any], Any], Iterable[T]]) -> tuple[T, ...]:
        """Results of a method over one judge's findings, metric by metric."""
        return tuple(
            one for metric, (own,) in self._findings_by_metric([findings]) for one in what(metric, own)
        )


def _key(metric: type[Metric[Any, Any]]) -> str:
    return metric.settings_key or metric.id


def _settings_type(protocol: type[MetricProtocol[Any]]) -> type[PartSettings]:
    ids = tuple(metric.id for metric in protocol.metrics)
    default = tuple(metric.id for metric in protocol.metrics if metric.default)
    parts: Any = Annotated[tuple[Literal[ids], ...], BeforeValidator(one_part)]  # type: ignore[valid-type]
    own: dict[str, Any] = {
        _key(metric): (metric.settings_type, metric.settings_type())
        for metric in protocol.metrics
        if metric.settings_type is not NoSettings
    }
    return create_model(
        f"{protocol.__name__}Settings",
        __base__=PartSettings,
        __module__=protocol.__module__,
        parts=(parts, Field(default=default, min_length=1)),
        **own,
    )


def _findings_type(protocol: type[MetricProtocol[Any]]) -> type[PartFindings]:
    base = cast("type[PartFindings]", protocol.findings_type)
    fields: dict[str, Any] = {
        metric.id: (metric.findings_type | None, None)
        for metric in protocol.metrics
        if metric.id not in base.model_fields
    }
    if not fields:
        return base
    name = f"{protocol.__name__}Findings"
    return create_model(name, __base__=base, __module__=protocol.__module__, **fields)


def _trees(scored: ScoreNode | tuple[ScoreNode, ...]) -> tuple[ScoreNode, ...]:
    return (scored,) if isinstance(scored, ScoreNode) else scored
