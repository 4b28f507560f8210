"""Reasons to trust the results of a run less, for the terminal, the page and the Python interface.

Invariant: a warning is one plain sentence without control characters and without rich markup; a number in it is counted
in the run's own files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, cast

from local_judge.base.errors import plain
from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.claims.model import ClaimSet
from local_judge.judge.qualification_record import QualificationRecord
from local_judge.reporting.health import problem_text
from local_judge.reporting.qualification import qualification_line
from local_judge.runs.execution.qualifications import recorded_qualifications
from local_judge.runs.storage.items import claims_file
from local_judge.runs.storage.manifest import judges_of, prompts_of, protocols_of, read_manifest
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.resume import is_finished
from local_judge.runs.storage.store import RunStore
from serving.types import ReplicaUse

Kind = Literal[
    "unfinished",
    "not_evaluated",
    "few_sources",
    "failed_calls",
    "unread_citations",
    "qualification",
    "partial_pages",
    "single_draw",
    "published_prompts",
    "few_tasks",
    "server_away",
]
Level = Literal["warning", "note"]

NAMED = 5
"""Maximum number of reports named individually."""
FEW_TASKS = 20
"""Number of tasks below which intervals are noted as too narrow. A percentile bootstrap interval of a mean of n values
is about 1.96 sqrt((n - 1) / n) / t(n - 1) as wide as Student's (Hesterberg 2015, The American Statistician 69(4)):
0.91 at n = 20, 0.82 at n = 10."""
MANY_FAILED = 0.1
"""Share of the reports with missing answers, and of a report's citations that were not read, above which these are a
warning instead of a note."""


class RunWarning(Frozen):
    """Reason to trust the numbers of a run less."""

    kind: Kind
    level: Level
    text: str
    """One sentence without a capital letter and a full stop, like the program's other messages."""
    judge: str | None = None
    """Judge that it concerns; None for all of them."""
    n: int | None = None
    """Number of affected units, such as reports or sources."""
    of: int | None = None
    """Number of all units."""


def run_warnings(
    store: RunStore,
    records: Sequence[CaseRecord],
    *,
    judge: str | None = None,
    claims: Iterable[ClaimSet] = (),
    servers: Iterable[ReplicaUse] = (),
) -> tuple[RunWarning, ...]:
    """Return all warnings about a run, the most important first.

    Args:
        store: the run.
        records: its reports.
        judge: one of several judges; only its qualification and its missing answers count. None for all.
        claims: claim sets (`stored_claims`), for the warning about pages that judges read in part.
        servers: use of the judges' servers, of a run in this process.

    Raises:
        RunError: the directory is not that of a run.
    """
    found = [
        *_unfinished(store, records),
        *record_warnings(records, judge),
        *_qualifications(store, judge),
        *server_warnings(servers),
        *_partial_pages(claims),
        *_single_draw(store),
        *_few_tasks(records),
        *_published_prompts(store),
    ]
    return tuple(sorted(found, key=lambda one: one.level != "warning"))


def record_warnings(records: Sequence[CaseRecord], judge: str | None = None) -> Iterator[RunWarning]:
    """Yield what the list of reports shows: unread sources, missing reports and missing answers."""
    n_sources = sum(record.n_sources for record in records)
    n_read = sum(record.n_sources_read for record in records)
    if 2 * n_read < n_sources:
        verb = "is" if n_sources == 1 else "are"
        text = (
            f"{n_read:,} of {count(n_sources, 'source')} {verb} in the snapshot with text: run "
            "`local-judge snapshot fetch` for a snapshot of what the reports cite"
        )
        yield RunWarning(kind="few_sources", level="warning", text=text, n=n_read, of=n_sources)
    troubled = [record for record in records if record.status != "done"]
    for record in troubled[:NAMED]:
        text = plain(f"{record.id}: {record.status}: {record.detail}")
        yield RunWarning(kind="not_evaluated", level="warning", text=text, n=1, of=len(records))
    if (left := len(troubled) - NAMED) > 0:
        text = f"{left} more reports were not evaluated: `--json` lists them"
        yield RunWarning(kind="not_evaluated", level="warning", text=text, n=left, of=len(records))
    yield from unread_citations(records)
    missing = [failed for record in records if (failed := record.calls_failed(judge))]
    if missing:
        text = (
            f"{count(sum(missing), 'answer')} of the judge {'is' if sum(missing) == 1 else 'are'} missing, in "
            f"{len(missing)} of {count(len(records), 'report')}: their scores have bounds"
        )
        level: Level = "warning" if len(missing) > MANY_FAILED * len(records) else "note"
        yield RunWarning(kind="failed_calls", level=level, text=text, n=len(missing), of=len(records))


def unread_citations(records: Sequence[CaseRecord]) -> Iterator[RunWarning]:
    """Yield warnings about the reports of which citations were not read, those with the largest shares first."""
    unread = sorted((record for record in records if record.problems), key=_unread_share, reverse=True)
    for record in unread[:NAMED]:
        text = plain(f"{record.id} was read in part: {'; '.join(map(problem_text, record.problems))}")
        level: Level = "warning" if _unread_share(record) > MANY_FAILED else "note"
        yield RunWarning(
            kind="unread_citations", level=level, text=text, n=record.n_unread_citations, of=len(records)
        )
    if (left := len(unread) - NAMED) > 0:
        text = f"{left} more reports have citations that were not read: `local-judge text check` names them"
        level = "warning" if _unread_share(unread[NAMED]) > MANY_FAILED else "note"
        yield RunWarning(kind="unread_citations", level=level, text=text, n=left, of=len(records))


def _unread_share(record: CaseRecord) -> float:
    """Return the largest share that a problem names; entries in the text count in full."""
    return max(problem.n / problem.of if problem.of else 1.0 for problem in record.problems)


def _unfinished(store: RunStore, records: Sequence[CaseRecord]) -> Iterator[RunWarning]:
    if not is_finished(store):
        n_reports = read_manifest(store)["reports"]["n"]
        text = (
            f"the run is not finished: {len(records)} of {count(n_reports, 'report')} so far; the same command "
            "continues it"
        )
        yield RunWarning(kind="unfinished", level="warning", text=text, n=len(records), of=n_reports)


def server_warnings(servers: Iterable[ReplicaUse]) -> Iterator[RunWarning]:
    """Yield a warning for each server that does not answer now."""
    for one in servers:
        if one.away:
            text = plain(
                f"the server {one.url} has not answered for {one.seconds_away:.0f} s; others do its work"
            )
            yield RunWarning(kind="server_away", level="warning", text=text)


def stored_claims(store: RunStore, records: Iterable[CaseRecord]) -> Iterator[ClaimSet]:
    """Yield the claim sets of all evaluated reports by all judges."""
    for record in records:
        for judge in judges_of(store) or (None,):
            if record.status == "done":
                found = store.find_item(claims_file(judge), record.key, ClaimSet)
                if found is not None:
                    yield found


def _qualifications(store: RunStore, judge: str | None) -> Iterator[RunWarning]:
    protocols = protocols_of(store)
    for name, record in recorded_qualifications(store).items():
        if judge in (None, name):
            level: Level = "warning" if record is None or _refused(record, protocols) else "note"
            text = qualification_line(name, record, protocols)
            yield RunWarning(kind="qualification", level=level, text=text, judge=name)


def _refused(record: QualificationRecord, protocols: Sequence[str]) -> bool:
    verdicts = [record.of(protocol) for protocol in protocols]
    return any(one is not None and one.verdict == "refused" for one in verdicts)


def _partial_pages(claims: Iterable[ClaimSet]) -> Iterator[RunWarning]:
    seen = [verdict.evidence for one in claims for verdict in one.verdicts if verdict.evidence is not None]
    partial = sum(not evidence.whole_page for evidence in seen)
    if partial:
        text = (
            f"for {partial:,} of {count(len(seen), 'verdict')} the judge saw passages of the page, not all of it: "
            "a statement elsewhere in the page counts as missing"
        )
        level: Level = "warning" if 2 * partial > len(seen) else "note"
        yield RunWarning(kind="partial_pages", level=level, text=text, n=partial, of=len(seen))


def _single_draw(store: RunStore) -> Iterator[RunWarning]:
    manifest = read_manifest(store)
    if len(manifest.get("judges", ())) == 1 and not _repeats(manifest["config"].get("settings", {})):
        text = (
            "each judgement was made once, so the judge's own noise is unknown: `local-judge results stats stability` "
            "compares repeated runs"
        )
        yield RunWarning(kind="single_draw", level="note", text=text)


def _published_prompts(store: RunStore) -> Iterator[RunWarning]:
    for protocol, prompts in prompts_of(store).items():
        text = f"{protocol}: with the published prompts of {prompts}"
        yield RunWarning(kind="published_prompts", level="note", text=text)


def _repeats(settings: object) -> bool:
    """Check whether a protocol's setting `draws` repeats judgements."""
    if not isinstance(settings, dict):
        return False
    below = cast("dict[str, Any]", settings)
    return any(
        one > 1 if key == "draws" and isinstance(one, int) else _repeats(one) for key, one in below.items()
    )


def _few_tasks(records: Sequence[CaseRecord]) -> Iterator[RunWarning]:
    by_system: dict[str | None, set[str]] = {}
    for record in records:
        if record.status == "done" and not record.is_mean:
            by_system.setdefault(record.system, set()).add(record.task or record.id)
    fewest = min((len(tasks) for tasks in by_system.values()), default=0)
    if 0 < fewest < FEW_TASKS:
        text = (
            f"{count(fewest, 'task')} per system {'is' if fewest == 1 else 'are'} few: scores on other tasks can "
            f"differ, and intervals of fewer than {FEW_TASKS} tasks are too narrow"
        )
        yield RunWarning(kind="few_tasks", level="note", text=text, n=fewest)
