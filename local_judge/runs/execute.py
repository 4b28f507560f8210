"""Carrying a run out.

Invariants: a report's claim sets and findings are on disk as soon as they are complete; a report that cannot be
evaluated is a line in `cases.jsonl` with its failure and stops no other; no judge waits for a slower one but for the
claims, which the first one extracts for all; scores are computed from stored findings only, by the same function that
`rescore` uses.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from indexes.errors import IndexesError
from indexes.snapshot import Snapshot
from indexes.text.language import detect_language
from local_judge.claims.build import extract_claim_set, verify_claim_set
from local_judge.claims.model import ClaimSet
from local_judge.documents import UnreadableReport, parse_report
from local_judge.documents.size import body_size
from local_judge.errors import ConfigError, UserError
from local_judge.judge.errors import JudgeError
from local_judge.judge.judge import Judge
from local_judge.protocols.base import Bench, Case, Evaluation, Findings, Particular, ReadsPages, Rival
from local_judge.runs.config import RunConfig, chosen_protocols
from local_judge.runs.inputs import RawReport
from local_judge.runs.records import CaseRecord
from local_judge.runs.rescoring import rescore
from local_judge.runs.rivals import rivals_of
from local_judge.runs.store import CASES, RunStore, claims_file, file_key, findings_file
from local_judge.runs.too_long import n_too_long
from local_judge.tasks.model import Task
from serving.errors import ServingError

CASES_IN_FLIGHT = 8
"""Reports that a judge examines at the same time: enough to keep an engine busy, few enough to finish early ones early.
"""


MENDABLE = (UserError, ServingError, IndexesError, JudgeError)
"""What concerns every report alike, such as a full disk or an altered snapshot: it ends the run in one line."""


class Member(NamedTuple):
    """One judge of a run."""

    judge: Judge
    name: str | None
    """As its files bear it; None for the only one."""
    gate: asyncio.Semaphore
    """How many reports it examines at a time."""


class Course(NamedTuple):
    """What all reports of a run share while it is carried out."""

    members: Sequence[Member]
    """The first extracts the claims."""
    snapshot: Snapshot | None
    config: RunConfig
    protocols: Sequence[Evaluation[Any]]
    store: RunStore | None
    """None writes nothing."""


async def execute(
    reports: Sequence[RawReport],
    judges: Judge | Mapping[str, Judge],
    snapshot: Snapshot | None,
    config: RunConfig,
    store: RunStore | None,
    done: Callable[[CaseRecord], None] = lambda record: None,
    kept: Mapping[str, CaseRecord] = MappingProxyType({}),
) -> list[CaseRecord]:
    """Evaluate `reports`, in order.

    Args:
        reports: what to evaluate.
        judges: the only judge, or several by name, of which the first extracts the claims.
        snapshot: None has no claims verified.
        config: settled.
        store: None writes nothing (a dry run).
        done: told of each report that is finished.
        kept: by id, the records of reports whose files are there and are taken as they stand.

    Returns:
        One record per report, in input order.

    Raises:
        UserError, ServingError, IndexesError, JudgeError: what concerns every report; no report is worked on any more.
    """
    named = judges if isinstance(judges, Mapping) else {"": judges}
    members = [
        Member(judge, name if len(named) > 1 else None, asyncio.Semaphore(CASES_IN_FLIGHT))
        for name, judge in named.items()
    ]
    course = Course(members, snapshot, config, chosen_protocols(config), store)
    # So many that no judge is idle while a slower one has its hands full.
    gate = asyncio.Semaphore(CASES_IN_FLIGHT * len(members))
    rivals = rivals_of(reports)

    async def one(report: RawReport) -> CaseRecord:
        if report.id in kept:
            done(kept[report.id])
            return kept[report.id]
        async with gate:
            record = await _evaluate(report, rivals[report.id], course)
        done(record)
        return record

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(report)) for report in reports]
    except ExceptionGroup as failed:
        raise next(_leaves(failed)) from None
    records = [task.result() for task in tasks]
    if store is not None:
        store.write_jsonl(CASES, records)
        rescore(store, config.protocols, records, list(named) if len(named) > 1 else ())
    return records


def check_inputs(
    reports: Sequence[RawReport], snapshot: Snapshot | None, protocols: Sequence[Evaluation[Any]]
) -> None:
    """Refuse what some protocol cannot do without, before a judge is asked.

    Raises:
        ConfigError: names the first report without a task, or whose task lacks something, or the protocol that needs a
        snapshot.
    """
    for protocol in protocols:
        reads = protocol.needs_claims or (isinstance(protocol, ReadsPages) and protocol.needs_snapshot)
        if reads and snapshot is None:
            raise ConfigError(f"{protocol.name}: verifying claims needs a snapshot; give --snapshot")
        without = [report for report in reports if report.task is None]
        if protocol.without_task and without:
            others = f" (nor have {len(without) - 1} others)" if len(without) > 1 else ""
            raise ConfigError(
                f"{protocol.name}: report {without[0].id!r} has no task{others}; give --tasks, or do without: "
                f"{protocol.without_task}"
            )
        if isinstance(protocol, Particular):
            _check_particular(protocol, protocol.name, reports)


def _check_particular(protocol: Particular, name: str, reports: Sequence[RawReport]) -> None:
    lacking = [(report, why) for report in reports if (why := protocol.lacks(report.task)) is not None]
    if lacking:
        report, why = lacking[0]
        others = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
        raise ConfigError(f"{name}: report {report.id!r}{others}: {why}")


async def _evaluate(report: RawReport, rivals: tuple[Rival, ...], course: Course) -> CaseRecord:
    record = CaseRecord(
        id=report.id,
        key=file_key(report.id),
        task=report.task.id if report.task else report.task_id,
        system=report.system,
        attributes=_attributes(report.task) if report.task else {},
        status="done",
    )
    try:
        document = parse_report(report.content)
    except UnreadableReport as error:
        return record.model_copy(update={"status": "unreadable", "detail": f"{report.place}: {error}"})
    record = record.model_copy(
        update={
            "document": document.id,
            "attributes": record.attributes or {"language": document.language},
            **body_size(document)._asdict(),
        }
    )
    case = Case(id=report.id, report=document, task=report.task, rivals=rivals)
    try:
        examined = await _examine(case, course)
    except MENDABLE:
        raise
    except Exception as error:  # a defect of ours: this report's failure, not the run's
        place = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})"
        return record.model_copy(update={"status": "crashed", "detail": detail})
    return record.model_copy(update=_counts(examined, course))


def _attributes(task: Task) -> dict[str, str]:
    """By what the reports on a task can be grouped; its language is that of the request where it names none."""
    said = {**dict(task.attributes), **({"topic": task.topic} if task.topic else {})}
    return said if "language" in said else {**said, "language": detect_language(task.prompt)}


class Examined(NamedTuple):
    """What one judge has found of a report."""

    claims: ClaimSet | None
    findings: Sequence[Findings]
    """Of each protocol."""


async def _examine(case: Case, course: Course) -> list[Examined]:
    """What each judge finds, by every protocol; all questions about the report together."""
    needed = any(protocol.needs_claims for protocol in course.protocols)
    extraction: asyncio.Task[ClaimSet] | None = None
    try:
        async with asyncio.TaskGroup() as group:

            def extracted(snapshot: Snapshot) -> asyncio.Task[ClaimSet]:
                """Begun when the first of the judges comes to the report."""
                nonlocal extraction
                if extraction is None:
                    lead = course.members[0].judge
                    extraction = group.create_task(
                        extract_claim_set(case.report, snapshot, lead, course.config.claims)
                    )
                return extraction

            async def verified(snapshot: Snapshot, member: Member) -> ClaimSet:
                # Shielded: who stops waiting for it does not stop it for the others.
                claims = await asyncio.shield(extracted(snapshot))
                made = await verify_claim_set(claims, snapshot, member.judge, course.config.claims)
                if course.store is not None:
                    course.store.write_json(claims_file(file_key(case.id), member.name), made)
                return made

            async def by(member: Member) -> Examined:
                async with member.gate, asyncio.TaskGroup() as own:
                    snapshot = course.snapshot
                    claims = own.create_task(verified(snapshot, member)) if snapshot and needed else None
                    findings = [
                        own.create_task(_findings(case, protocol, member, claims, course))
                        for protocol in course.protocols
                    ]
                return Examined(claims.result() if claims else None, [task.result() for task in findings])

            examined = [group.create_task(by(member)) for member in course.members]
    except ExceptionGroup as failed:
        # One is enough to say what is wrong with a report; what concerns every report goes before what is its own.
        leaves = list(_leaves(failed))
        raise next((leaf for leaf in leaves if isinstance(leaf, MENDABLE)), leaves[0]) from None
    return [task.result() for task in examined]


async def _findings(
    case: Case,
    protocol: Evaluation[Any],
    member: Member,
    claims: asyncio.Task[ClaimSet] | None,
    course: Course,
) -> Findings:
    async def claim_set() -> ClaimSet:
        if claims is None:
            raise RuntimeError("a protocol that says it needs no claims asked for them")
        return await asyncio.shield(claims)

    bench = Bench(judge=member.judge, snapshot=course.snapshot, today=course.config.date, claims=claim_set)
    found = await protocol.examine(case, bench)
    if course.store is not None:
        course.store.write_json(findings_file(protocol.name, file_key(case.id), member.name), found)
    return found


def _leaves(group: ExceptionGroup[Exception]) -> Iterator[Exception]:
    for error in group.exceptions:
        if isinstance(error, ExceptionGroup):
            yield from _leaves(cast("ExceptionGroup[Exception]", error))
        else:
            yield error


def _counts(examined: Sequence[Examined], course: Course) -> dict[str, Any]:
    """What is missing of all judges' answers, and of each one's."""
    by_judge = [_missing(one, course) for one in examined]
    unread = 0
    counts: dict[str, Any] = {}
    claims = examined[0].claims
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
            *(verdict for one in examined[1:] if one.claims is not None for verdict in one.claims.verdicts),
        ]
    )
    if len(examined) > 1:
        totals = [sum(one.values()) for one in by_judge]
        totals[0] += unread
        names = [member.name for member in course.members]
        counts["n_failed_by_judge"] = dict(zip(names, totals, strict=True))
    return counts


def _missing(examined: Examined, course: Course) -> dict[str, int]:
    verdicts = examined.claims.verdicts if examined.claims is not None else ()
    unrated = {verdict.url for verdict in verdicts if verdict.reliable is None}
    return {
        "n_verdicts_failed": sum(verdict.failure is not None for verdict in verdicts),
        "n_pages_unrated": len(unrated) if course.config.claims.reliability else 0,
        "n_questions_failed": sum(found.n_failed for found in examined.findings),
    }
