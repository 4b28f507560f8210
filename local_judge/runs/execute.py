"""Carrying a run out.

Invariants: a report's claim set and findings are on disk as soon as they are complete; a report that cannot be
evaluated is a line in `cases.jsonl` with its failure and stops no other; scores are computed from stored findings
only, by the same function that `rescore` uses.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from indexes.errors import IndexesError
from indexes.snapshot import Snapshot
from local_judge.agents.result import Wish, merged
from local_judge.agents.wishes import WISHES
from local_judge.claims.build import build_claim_set
from local_judge.claims.model import ClaimSet
from local_judge.documents import UnreadableReport, parse_report
from local_judge.documents.model import Document
from local_judge.documents.size import body_size
from local_judge.errors import ConfigError, UserError
from local_judge.judge.errors import JudgeError
from local_judge.judge.judge import Judge
from local_judge.protocols.base import (
    Bench,
    Case,
    Evaluation,
    Findings,
    Particular,
    ReadsPages,
    ScoresOver,
    Wishes,
    load_protocol,
)
from local_judge.protocols.scores import Profile, ScoreNode
from local_judge.runs.config import RunConfig, chosen_protocols
from local_judge.runs.inputs import RawReport
from local_judge.runs.store import RunStore, file_key
from serving.errors import ServingError
from serving.types import Frozen

CASES_IN_FLIGHT = 8
"""Reports examined at the same time: enough to keep an engine busy, few enough to finish early ones early."""


MENDABLE = (UserError, ServingError, IndexesError, JudgeError)
"""What concerns every report alike, such as a full disk or an altered snapshot: it ends the run in one line."""


class CaseRecord(Frozen):
    """One line of `cases.jsonl`."""

    id: str
    key: str
    document: str | None = None
    task: str | None = None
    """Id of the task that it answers: reports of several systems may share one."""
    system: str | None = None
    """The agent that wrote it, where the input says so."""
    n_characters: int = 0
    """Of the report's body: no reference sections, no chat around it, no white space."""
    n_words: int = 0
    """Of the body, as `documents.words` counts them."""
    n_sentences: int = 0
    status: Literal["done", "unreadable", "crashed"]
    detail: str = ""
    n_sentences_failed: int = 0
    """Sentences whose claims are not known."""
    n_verdicts_failed: int = 0
    """Claims that a page was not judged on."""
    n_sources: int = 0
    """Pages that the report's claims lean on."""
    n_sources_read: int = 0
    """Those of them that the snapshot has with text."""
    n_pages_unrated: int = 0
    """Pages of which the judge did not say whether they are reliable, though it was to be asked."""
    n_questions_failed: int = 0
    """Questions of the protocols themselves, such as a rubric's items, that have no answer."""

    @property
    def n_calls_failed(self) -> int:
        """How many of the judge's answers are missing."""
        return (
            self.n_sentences_failed + self.n_verdicts_failed + self.n_pages_unrated + self.n_questions_failed
        )


class ScoreRecord(Frozen):
    """One line of `scores/<protocol>.jsonl`."""

    case: str
    protocol: str
    version: str
    profile: Profile
    scores: tuple[ScoreNode, ...]


class RunScoreRecord(Frozen):
    """One line of `scores/<protocol>.all.jsonl`: scores over all reports of one system."""

    protocol: str
    version: str
    profile: Profile
    system: str | None
    """None where the input names none."""
    n_reports: int
    """Reports of the system in the run."""
    n_missing: int
    """Those of them that have no findings."""
    scores: tuple[ScoreNode, ...]


async def execute(
    reports: Sequence[RawReport],
    judge: Judge,
    snapshot: Snapshot | None,
    config: RunConfig,
    store: RunStore | None,
    done: Callable[[CaseRecord], None] = lambda record: None,
) -> list[CaseRecord]:
    """Evaluate `reports`, in order; `store` None writes nothing (a dry run), `snapshot` None has no claims verified.

    Returns:
        One record per report, in input order.
    """
    protocols = chosen_protocols(config)
    gate = asyncio.Semaphore(CASES_IN_FLIGHT)

    async def one(report: RawReport) -> CaseRecord:
        async with gate:
            record = await _evaluate(report, judge, snapshot, config, protocols, store)
        done(record)
        return record

    records = await asyncio.gather(*(one(report) for report in reports))
    if store is not None:
        store.write_jsonl("cases.jsonl", records)
        rescore(store, config.protocols, records)
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


async def _evaluate(
    report: RawReport,
    judge: Judge,
    snapshot: Snapshot | None,
    config: RunConfig,
    protocols: Sequence[Evaluation[Any]],
    store: RunStore | None,
) -> CaseRecord:
    record = CaseRecord(
        id=report.id,
        key=file_key(report.id),
        task=report.task.id if report.task else report.task_id,
        system=report.system,
        status="done",
    )
    try:
        document = parse_report(report.content)
    except UnreadableReport as error:
        return record.model_copy(update={"status": "unreadable", "detail": f"{report.place}: {error}"})
    record = record.model_copy(update={"document": document.id, **body_size(document)._asdict()})
    case = Case(id=report.id, report=document, task=report.task)
    try:
        claims, findings = await _examine(case, judge, snapshot, config, protocols, store)
    except MENDABLE:
        raise
    except Exception as error:  # a defect of ours: this report's failure, not the run's
        place = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})"
        return record.model_copy(update={"status": "crashed", "detail": detail})
    failed = {"n_questions_failed": sum(found.n_failed for found in findings)}
    return record.model_copy(update=failed | (_claim_counts(claims, config) if claims else {}))


async def _examine(
    case: Case,
    judge: Judge,
    snapshot: Snapshot | None,
    config: RunConfig,
    protocols: Sequence[Evaluation[Any]],
    store: RunStore | None,
) -> tuple[ClaimSet | None, list[Findings]]:
    """The claim set, where it is needed, and every protocol's findings; all questions about the report together."""
    key = file_key(case.id)

    async def make_claims(snapshot: Snapshot, document: Document) -> ClaimSet:
        made = await build_claim_set(document, snapshot, judge, config.claims)
        if store is not None:
            store.write_json(f"claims/{key}.json", made)
        return made

    async def examine(protocol: Evaluation[Any], bench: Bench) -> Findings:
        found = await protocol.examine(case, bench)
        if store is not None:
            store.write_json(f"findings/{protocol.name}/{key}.json", found)
        return found

    needed = snapshot is not None and any(protocol.needs_claims for protocol in protocols)
    try:
        async with asyncio.TaskGroup() as group:
            claims = group.create_task(make_claims(snapshot, case.report)) if snapshot and needed else None

            async def claim_set() -> ClaimSet:
                if claims is None:
                    raise RuntimeError("a protocol that says it needs no claims asked for them")
                # Shielded: who stops waiting for it does not stop it for the others.
                return await asyncio.shield(claims)

            bench = Bench(judge=judge, snapshot=snapshot, today=config.date, claims=claim_set)
            examined = [group.create_task(examine(protocol, bench)) for protocol in protocols]
    except ExceptionGroup as failed:
        # One is enough to say what is wrong with a report; what concerns every report goes before what is its own.
        leaves = list(_leaves(failed))
        raise next((leaf for leaf in leaves if isinstance(leaf, MENDABLE)), leaves[0]) from None
    return claims.result() if claims else None, [task.result() for task in examined]


def _leaves(group: ExceptionGroup[Exception]) -> Iterator[Exception]:
    for error in group.exceptions:
        if isinstance(error, ExceptionGroup):
            yield from _leaves(cast("ExceptionGroup[Exception]", error))
        else:
            yield error


def _claim_counts(claims: ClaimSet, config: RunConfig) -> dict[str, int]:
    unrated = {verdict.url for verdict in claims.verdicts if verdict.reliable is None}
    return {
        "n_sentences_failed": sum(len(failure.sentences) for failure in claims.extraction_failures),
        "n_verdicts_failed": sum(verdict.failure is not None for verdict in claims.verdicts),
        "n_sources": len(claims.sources),
        "n_sources_read": sum(source.status == "ok" for source in claims.sources),
        "n_pages_unrated": len(unrated) if config.claims.reliability else 0,
    }


def load_records(store: RunStore) -> list[CaseRecord]:
    """The reports of a finished run, in input order."""
    return store.read_models("cases.jsonl", CaseRecord)


def load_scores(store: RunStore, protocols: Sequence[str]) -> list[ScoreRecord]:
    """The stored scores of some protocols."""
    return [row for name in protocols for row in store.read_models(f"scores/{name}.jsonl", ScoreRecord)]


def load_run_scores(store: RunStore, protocols: Sequence[str]) -> list[RunScoreRecord]:
    """The stored scores over all reports of those protocols that have any."""
    files = [f"scores/{name}.all.jsonl" for name in protocols]
    return [
        row
        for file in files
        if (store.root / file).exists()
        for row in store.read_models(file, RunScoreRecord)
    ]


def rescore(store: RunStore, protocols: Sequence[str], records: Sequence[CaseRecord]) -> list[ScoreRecord]:
    """Compute all scores from stored findings and write them; needs no judge, no snapshot and no network.

    So are the wishes of protocols that have agents.
    """
    written: list[ScoreRecord] = []
    wishes: list[Wish] | None = None
    for name in protocols:
        protocol = load_protocol(name)
        found = {
            record.id: store.read_model(f"findings/{name}/{record.key}.json", protocol.findings)
            for record in records
            if record.status == "done"
        }
        rows = [
            ScoreRecord(
                case=case,
                protocol=name,
                version=protocol.version,
                profile=profile,
                scores=protocol.score(findings, profile),
            )
            for case, findings in found.items()
            for profile in protocol.profiles
        ]
        store.write_jsonl(f"scores/{name}.jsonl", rows)
        if isinstance(protocol, ScoresOver):
            over = _over(protocol, protocol.over, records, found)
            store.write_jsonl(f"scores/{name}.all.jsonl", over)
        if isinstance(protocol, Wishes):
            missed = [wish for findings in found.values() for wish in protocol.wishes(findings)]
            wishes = [*(wishes or []), *missed]
        written.extend(rows)
    if wishes is not None:
        store.write_jsonl(WISHES, merged(wishes))
    return written


def _over(
    protocol: Evaluation[Any],
    over: Callable[[Sequence[Any], Profile, int], tuple[ScoreNode, ...]],
    records: Sequence[CaseRecord],
    found: Mapping[str, Findings],
) -> list[RunScoreRecord]:
    """Each system's scores over its reports, systems in the order of their first report."""
    rows: list[RunScoreRecord] = []
    for system in dict.fromkeys(record.system for record in records):
        own = [record.id for record in records if record.system == system]
        known = [found[case] for case in own if case in found]
        n_missing = len(own) - len(known)
        rows += [
            RunScoreRecord(
                protocol=protocol.name,
                version=protocol.version,
                profile=profile,
                system=system,
                n_reports=len(own),
                n_missing=n_missing,
                scores=over(known, profile, n_missing),
            )
            for profile in protocol.profiles
        ]
    return rows
