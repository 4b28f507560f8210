"""Evaluation of all reports by all protocols and judges.

Invariants: a report's claim sets and findings are written as soon as all of them are complete; a report that cannot be
evaluated gets a line in `cases.jsonl` with its failure and does not stop the others; judges do not wait for slower
ones, except for the claims, which one of them extracts for all; scores are computed from stored findings only, by
the function that `rescore` uses. Only the reports in flight are in memory.
"""

from __future__ import annotations

import asyncio
import traceback
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import dropwhile
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from indexes.errors import IndexesError
from indexes.snapshot import Snapshot
from indexes.text.language import detect_language
from local_judge.base.errors import ConfigError, JudgeError, UserError
from local_judge.claims.build import ClaimMethod, extract_claim_set
from local_judge.claims.model import ClaimSet
from local_judge.documents import UnreadableReport, check_health
from local_judge.documents.words import body_size
from local_judge.judge.judge import Judge
from local_judge.judge.planning import STAGE
from local_judge.judge.scheduler import in_order_of
from local_judge.protocols.base import AnyProtocol, Case, EvalContext, Findings, OtherReport
from local_judge.runs.planning.config import RunConfig, chosen_protocols
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.items import FAILED, claims_file, file_key, findings_file, line_of
from local_judge.runs.storage.records import CaseRecord, n_too_long
from local_judge.runs.storage.rescoring import rescore
from local_judge.runs.storage.store import CASES, RunStore
from local_judge.tasks.model import Task
from serving.errors import ServingError

CASES_IN_FLIGHT = 8
"""Reports that a judge examines concurrently: enough to keep an engine busy, and few enough to finish some early."""

RUN_ERRORS = (UserError, ServingError, IndexesError, JudgeError)
"""Errors that affect every report, such as a full disk or an altered snapshot; they end the run with one line."""


class Gate:
    """Limit on the reports in progress, in order of arrival.

    A report that several runs evaluate counts once: while it is in progress, every run may work on it, so that its
    calls come together.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """Maximum number of reports in progress."""
        self._inside: Counter[str] = Counter()
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def entered(self, report: str) -> AsyncGenerator[None]:
        """Wait until a report, given by its id, may be in progress."""
        await self._enter(report)
        try:
            yield
        finally:
            self._leave(report)

    async def _enter(self, report: str) -> None:
        if report in self._inside or len(self._inside) < self.limit:
            self._inside[report] += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(report, []).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # admitted, but cancelled before it woke
                self._leave(report)
            raise

    def _leave(self, report: str) -> None:
        self._inside[report] -= 1
        if self._inside[report]:
            return
        del self._inside[report]
        while self._waiting and len(self._inside) < self.limit:
            following = next(iter(self._waiting))
            turns = [turn for turn in self._waiting.pop(following) if not turn.cancelled()]
            if turns:
                self._inside[following] = len(turns)
            for turn in turns:
                turn.set_result(None)


class Gates:
    """Gates of the judges of a run, or of runs with the same judges, and of all of them together.

    Args:
        judges: number of judges.
        reports: number of reports that a judge examines concurrently.
        order: places of reports, by id, in which their calls are made; without it, in order of arrival.
    """

    def __init__(
        self, judges: int, reports: int = CASES_IN_FLIGHT, order: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        self._reports = reports
        self._order = order
        self._judges: dict[str, Gate] = {}
        self.run = Gate(reports * judges)
        """Enough reports that no judge is idle while a slower one is busy."""

    def planned(self, reports: Sequence[RawReport]) -> list[RawReport]:
        """Return reports in the order in which they are evaluated."""
        return sorted(reports, key=lambda report: self._order.get(report.id, 0))

    def begin(self, report: str) -> None:
        """Give the calls of this task the place of its report."""
        if report in self._order:
            in_order_of(self._order[report], self._reports)

    def judge(self, name: str) -> Gate:
        """Return the gate of a judge."""
        return self._judges.setdefault(name, Gate(self._reports))


class RunJudge(NamedTuple):
    """One judge of a run."""

    judge: Judge
    name: str | None
    """Name of the judge in file names; None for the only judge."""
    gate: Gate
    """Limit of the reports that it examines concurrently."""


class RunContext(NamedTuple):
    """Inputs and settings shared by the evaluations of a run's reports."""

    judges: Sequence[RunJudge]
    extractor: int
    """Position of the judge that extracts the claims."""
    snapshot: Snapshot | None
    config: RunConfig
    protocols: Sequence[AnyProtocol]
    store: RunStore | None
    """Run directory; None writes nothing."""


async def execute(
    reports: Sequence[RawReport],
    judges: Judge | Mapping[str, Judge],
    snapshot: Snapshot | None,
    config: RunConfig,
    store: RunStore | None,
    done: Callable[[CaseRecord], None] = lambda record: None,
    kept: Mapping[str, CaseRecord] = MappingProxyType({}),
    extractor: str | None = None,
    gates: Gates | None = None,
) -> list[CaseRecord]:
    """Evaluate `reports`.

    Args:
        reports: reports to evaluate.
        judges: the only judge, or several by name.
        snapshot: pages of the claims; None if no claims are verified.
        config: settled settings.
        store: run directory; None writes nothing (a dry run).
        done: called with the record of each finished report.
        kept: records, by report id, of reports whose stored files are reused.
        extractor: name of the judge that extracts the claims; None for the first.
        gates: limits on the reports in progress, shared with other runs; None for limits of its own.

    Returns:
        One record per report, in input order.

    Raises:
        UserError, ServingError, IndexesError, JudgeError: an error that affects every report; all work has stopped.
    """
    named = judges if isinstance(judges, Mapping) else {"": judges}
    gates = gates or Gates(len(named))
    run_judges = [
        RunJudge(judge, name if len(named) > 1 else None, gates.judge(name)) for name, judge in named.items()
    ]
    lead = 0 if extractor is None else list(named).index(extractor)
    run = RunContext(run_judges, lead, snapshot, config, chosen_protocols(config), store)
    by_task = reports_by_task(reports)
    records: dict[str, CaseRecord] = {}
    waiting = iter(gates.planned(reports))

    async def work() -> None:
        for report in waiting:  # shared: each report is taken by one worker
            record = kept.get(report.id)
            if record is None:
                gates.begin(report.id)
                async with gates.run.entered(report.id):
                    record = await _evaluate(report, other_reports_of(report, by_task), run)
            records[report.id] = record
            done(record)

    try:
        async with asyncio.TaskGroup() as group:
            # Twice as many as may be in progress: runs that share the gates wait for the same reports.
            for _ in range(min(len(reports), 2 * gates.run.limit)):
                group.create_task(work())
    except ExceptionGroup as failed:
        raise first_error(failed) from None
    found = [records[report.id] for report in reports]
    if store is not None:
        store.collect(record.key for record in found)
        store.write_jsonl(CASES, found)
        rescore(store, config.protocols, found, list(named) if len(named) > 1 else ())
    return found


def reports_by_task(reports: Sequence[RawReport]) -> dict[Task, list[RawReport]]:
    """Return the reports on each task, in their order."""
    found: dict[Task, list[RawReport]] = {}
    for report in reports:
        if report.task is not None:
            found.setdefault(report.task, []).append(report)
    return found


def other_reports_of(
    report: RawReport, by_task: Mapping[Task, Sequence[RawReport]]
) -> tuple[OtherReport, ...]:
    """Return the later reports of other systems on the task of a report.

    Of any two reports on a task by different systems, exactly one lists the other. A report without a system counts as
    a system of its own.
    """
    if report.task is None:
        return ()
    _, *later = dropwhile(lambda other: other is not report, by_task[report.task])
    return tuple(
        OtherReport(id=other.id, system=other.system, content=other.content, sources=other.sources)
        for other in later
        if other.system is None or other.system != report.system
    )


def check_inputs(
    reports: Sequence[RawReport],
    snapshot: Snapshot | None,
    protocols: Sequence[AnyProtocol],
    *,
    published_prompts: bool = False,
) -> None:
    """Check that the inputs contain what the protocols need, before a judge is asked.

    Args:
        reports: reports of the run.
        snapshot: snapshot of the run.
        protocols: protocols of the run.
        published_prompts: whether the run uses the prompts of the published projects.

    Raises:
        ConfigError: a report has no task or its task lacks something (the first such report is named), or a protocol
            needs a snapshot and none is given.
    """
    for protocol in protocols:
        reads = protocol.needs_claims or protocol.needs_snapshot
        if reads and snapshot is None:
            raise ConfigError(f"{protocol.name}: verifying claims needs a snapshot; give --snapshot")
        without = [report for report in reports if report.task is None]
        if protocol.without_task and without:
            others = f" (and {len(without) - 1} others)" if len(without) > 1 else ""
            raise ConfigError(
                f"{protocol.name}: report {without[0].id!r} has no task{others}; give --tasks, or do without: "
                f"{protocol.without_task}"
            )
        missing = protocol.missing_for_prompts if published_prompts else protocol.missing_inputs
        lacking = [(report, why) for report in reports if (why := missing(report.task)) is not None]
        if lacking:
            report, why = lacking[0]
            others = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
            raise ConfigError(f"{protocol.name}: report {report.id!r}{others}: {why}")


async def _evaluate(report: RawReport, others: tuple[OtherReport, ...], run: RunContext) -> CaseRecord:
    """Evaluate one report, and add it to the run's journal."""
    record, items = await _evaluated(report, others, run)
    if run.store is not None:
        failed = record.n_calls_failed or any(FAILED in line for line in items.values())
        complete = record.status != "crashed" and not failed
        run.store.append(record.key, record, items, complete=complete)
    return record


async def _evaluated(
    report: RawReport, others: tuple[OtherReport, ...], run: RunContext
) -> tuple[CaseRecord, dict[str, bytes]]:
    """Return the record of a report, and its lines by the names of their files."""
    record = CaseRecord(
        id=report.id,
        key=file_key(report.id),
        task=report.task.id if report.task else report.task_id,
        system=report.system,
        attributes=_attributes(report.task) if report.task else {},
        status="done",
    )
    try:
        document = report.parse()
    except UnreadableReport as error:
        return record.model_copy(update={"status": "unreadable", "detail": f"{report.place}: {error}"}), {}
    record = record.model_copy(
        update={
            "document": document.id,
            "attributes": record.attributes or {"language": document.language},
            **body_size(document)._asdict(),
            "problems": check_health(document).problems,
        }
    )
    case = Case(id=report.id, report=document, task=report.task, others=others)
    try:
        examined = await _examine(case, run)
        items = {} if run.store is None else dict(_items(examined, run, report.id))
    except RUN_ERRORS:
        raise
    except Exception as error:  # a bug fails this report, not the run
        place = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})"
        return record.model_copy(update={"status": "crashed", "detail": detail}), {}
    return record.model_copy(update=_counts(examined, run)), items


def _items(examined: Sequence[Examined], run: RunContext, case: str) -> Iterator[tuple[str, bytes]]:
    """Yield the lines of a report by the names of their files, for each judge."""
    for by, one in zip(run.judges, examined, strict=True):
        if one.claims is not None:
            yield claims_file(by.name), line_of(case, one.claims)
        for protocol, found in zip(run.protocols, one.findings, strict=True):
            yield findings_file(protocol.name, by.name), line_of(case, found)


def _attributes(task: Task) -> dict[str, str]:
    """Return the attributes that reports are grouped by; a task without a language gets that of its request."""
    said = {**dict(task.attributes), **({"topic": task.topic} if task.topic else {})}
    return said if "language" in said else {**said, "language": detect_language(task.prompt)}


class Examined(NamedTuple):
    """The claim set and the findings of one judge about a report."""

    claims: ClaimSet | None
    findings: Sequence[Findings]
    """Findings of each protocol."""


async def _examine(case: Case, run: RunContext) -> list[Examined]:
    """Return each judge's findings by every protocol; all questions about the report are asked concurrently."""
    needed = any(protocol.needs_claims for protocol in run.protocols)
    method = _claim_method(run)
    extraction: asyncio.Task[ClaimSet] | None = None
    try:
        async with asyncio.TaskGroup() as group:

            def extracted(snapshot: Snapshot) -> asyncio.Task[ClaimSet]:
                """Start the extraction when the first judge reaches the report."""
                nonlocal extraction
                if extraction is None:
                    lead = run.judges[run.extractor].judge
                    STAGE.set("extraction")
                    extraction = group.create_task(
                        method.extract(case.report, snapshot, lead, run.config.claims)
                    )
                    STAGE.set("verification")
                return extraction

            async def verified(snapshot: Snapshot, by: RunJudge) -> ClaimSet:
                # Shielded, so that a judge that stops waiting does not cancel it for the others.
                STAGE.set("verification")
                claims = await asyncio.shield(extracted(snapshot))
                return await method.verify(claims, case.report, snapshot, by.judge, run.config.claims)

            async def examined_by(by: RunJudge) -> Examined:
                async with by.gate.entered(case.id), asyncio.TaskGroup() as own:
                    snapshot = run.snapshot
                    claims = None
                    if needed and snapshot is not None:
                        claims = own.create_task(verified(snapshot, by))
                    findings = [
                        own.create_task(_findings(case, protocol, by, claims, run))
                        for protocol in run.protocols
                    ]
                return Examined(claims.result() if claims else None, [task.result() for task in findings])

            examined = [group.create_task(examined_by(by)) for by in run.judges]
    except ExceptionGroup as failed:
        raise first_error(failed) from None  # one is enough to describe what failed
    return [task.result() for task in examined]


def _claim_method(run: RunContext) -> ClaimMethod:
    """Return the functions that make claim sets: those of the published prompts if a protocol has some."""
    source = run.config.prompts
    if source is not None:
        for protocol in run.protocols:
            if (found := protocol.original_claims(source)) is not None:
                return found
    upstream = any(protocol.reads_upstream_pairs for protocol in run.protocols)
    return ClaimMethod(partial(extract_claim_set, upstream=upstream))


async def _findings(
    case: Case,
    protocol: AnyProtocol,
    by: RunJudge,
    claims: asyncio.Task[ClaimSet] | None,
    run: RunContext,
) -> Findings:
    async def claim_set() -> ClaimSet:
        if claims is None:
            raise RuntimeError("a protocol that declares no need for claims asked for them")
        return await asyncio.shield(claims)

    STAGE.set(protocol.name)
    context = EvalContext(
        judge=by.judge,
        snapshot=run.snapshot,
        today=run.config.date,
        prompts=run.config.prompts,
        extractor=run.judges[run.extractor].judge,
        claims=claim_set,
    )
    return await protocol.examine(case, context)


def first_error(failed: ExceptionGroup[Exception]) -> Exception:
    """Return one error of a group: one that affects every report if there is one."""
    leaves = list(_errors_in(failed))
    return next((leaf for leaf in leaves if isinstance(leaf, RUN_ERRORS)), leaves[0])


def _errors_in(group: ExceptionGroup[Exception]) -> Iterator[Exception]:
    for error in group.exceptions:
        if isinstance(error, ExceptionGroup):
            yield from _errors_in(cast("ExceptionGroup[Exception]", error))
        else:
            yield error


def _counts(examined: Sequence[Examined], run: RunContext) -> dict[str, Any]:
    """Return the counts of missing answers: of the ensemble, and of each judge."""
    by_judge = [_missing(one, run) for one in examined]
    unread = 0
    counts: dict[str, Any] = {}
    claims = examined[run.extractor].claims
    if claims is not None:
        unread = sum(len(failure.sentences) for failure in claims.extraction_failures)
        counts["n_sources"] = len(claims.sources)
        counts["n_sources_read"] = sum(source.status == "ok" for source in claims.sources)
    counts |= {name: sum(one[name] for one in by_judge) for name in by_judge[0]}
    counts["n_sentences_failed"] = unread
    counts["n_too_long"] = n_too_long(
        [
            *(found for one in examined for found in one.findings),
            *([claims] if claims is not None else []),
            *(
                verdict
                for place, one in enumerate(examined)
                if place != run.extractor and one.claims is not None
                for verdict in one.claims.verdicts
            ),
        ]
    )
    if len(examined) > 1:
        totals = [sum(one.values()) for one in by_judge]
        totals[run.extractor] += unread
        names = [by.name for by in run.judges]
        counts["n_failed_by_judge"] = dict(zip(names, totals, strict=True))
    return counts


def _missing(examined: Examined, run: RunContext) -> dict[str, int]:
    verdicts = examined.claims.verdicts if examined.claims is not None else ()
    unrated = {one.url for one in verdicts if one.reliable is None and one.label != "unusable"}
    return {
        "n_verdicts_failed": sum(verdict.failure is not None for verdict in verdicts),
        "n_pages_unrated": len(unrated) if run.config.claims.reliability else 0,
        "n_questions_failed": sum(found.n_failed for found in examined.findings),
    }
