"""Lines of a run's files, and the failures counted in them.

Invariants: a line names its report, its protocol and profile, and its judge if there are several; a line without a
judge belongs to the only judge or to the ensemble. Failures are counted in the findings themselves, so that a dry run,
which writes nothing, counts the same ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from pydantic import BaseModel, Field

from local_judge.base.errors import RunError, brief
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.documents.health import Problem, n_unread_citations
from local_judge.protocols.stated import ALL
from local_judge.runs.storage.seal import check_seal
from local_judge.runs.storage.store import CASES, RunStore
from local_judge.scoring.node import Profile, ScoreNode


class CaseRecord(Frozen):
    """One line of `cases.jsonl`."""

    id: str
    """Id of the report."""
    key: str
    """KEY in the names of its files."""
    document: str | None = None
    """First 16 hex digits of the SHA-256 of its text; null if it is unreadable."""
    task: str | None = None
    """Id of the task that it answers; reports of several systems may share one."""
    system: str | None = None
    """Agent that wrote it, if the input names one."""
    attributes: dict[str, str] = Field(default_factory=dict[str, str])
    """Attributes of its task, by name: topic, language, and others of the task's row. If the task names no language,
    the detected one; for a report without a task, the report's."""
    n_characters: int = 0
    """Characters of the report's body, without reference sections, chat messages and white space."""
    n_words: int = 0
    """Words of the body, as counted by `documents.words`."""
    n_sentences: int = 0
    """Sentences of the body."""
    problems: tuple[Problem, ...] = ()
    """Citations and list entries that were not read, as `text check` names them."""
    status: Literal["done", "unreadable", "crashed"]
    """Result of reading and evaluating it."""
    detail: str = ""
    """Reason for another status than `done`, on one line."""
    n_sentences_failed: int = 0
    """Sentences whose claims are unknown."""
    n_verdicts_failed: int = 0
    """Claims without a verdict on a page, summed over the judges."""
    n_sources: int = 0
    """Pages cited by the report's claims."""
    n_sources_read: int = 0
    """Cited pages that the snapshot has with text."""
    n_pages_unrated: int = 0
    """Pages without an answer to the question whether they are reliable, if it is asked."""
    n_questions_failed: int = 0
    """Unanswered questions of the protocols themselves, such as a rubric's items."""
    n_too_long: int = 0
    """Failures caused by a prompt that does not fit the judge's context."""
    n_failed_by_judge: dict[str, int] = Field(default_factory=dict[str, int])
    """Missing answers of each judge, if there are several; those about sentences count for the first judge."""

    @property
    def is_mean(self) -> bool:
        """True for the mean over a system's reports that a published file states: it has no text."""
        return self.task == ALL and self.status == "done" and not self.n_sentences

    @property
    def n_unread_citations(self) -> int:
        """Citations of which the source is unknown, by `documents.health`."""
        return n_unread_citations(self.problems)

    def calls_failed(self, judge: str | None) -> int:
        """Return the number of missing answers of one judge; of the ensemble for None."""
        return self.n_calls_failed if judge is None else self.n_failed_by_judge.get(judge, 0)

    @property
    def n_calls_failed(self) -> int:
        """Number of missing answers of all judges."""
        return (
            self.n_sentences_failed + self.n_verdicts_failed + self.n_pages_unrated + self.n_questions_failed
        )


def problems_of(records: Iterable[CaseRecord]) -> dict[str, tuple[Problem, ...]]:
    """Return what was not read of the reports that have problems, by id."""
    return {record.id: record.problems for record in records if record.problems}


def records_by_system(records: Sequence[CaseRecord]) -> dict[str | None, list[CaseRecord]]:
    """Return the reports of each system, systems in the order of their first report."""
    found: dict[str | None, list[CaseRecord]] = {}
    for record in records:
        found.setdefault(record.system, []).append(record)
    return found


class ScoreRecord(Frozen):
    """One line of `scores/<protocol>.jsonl`."""

    case: str
    """Id of the report."""
    protocol: str
    """Name of the protocol."""
    version: str
    """Version of the protocol."""
    profile: Profile
    judge: str | None = None
    """Name of the judge, if there are several; None for the ensemble or the only judge."""
    scores: tuple[ScoreNode, ...]
    """Trees of nodes, with overall scores at the roots."""


class RunScoreRecord(Frozen):
    """One line of `scores/<protocol>.all.jsonl`: scores over all reports of one system."""

    protocol: str
    version: str
    profile: Profile
    judge: str | None = None
    """Name of the judge, as in a score record."""
    system: str | None
    """Agent that wrote the reports; None if the input names none."""
    n_reports: int
    """Reports of the system in the run."""
    n_missing: int
    """Reports of the system without findings."""
    scores: tuple[ScoreNode, ...]
    """Trees of nodes."""


def scores_over_reports(
    aggregates: Sequence[RunScoreRecord], like: ScoreRecord, system: str | None
) -> dict[tuple[str, ...], ScoreNode]:
    """Return a protocol's own scores over a system's reports, by path; they replace plain means.

    Args:
        aggregates: scores over all reports of each system.
        like: a score record of the wanted protocol, profile and judge.
        system: agent that wrote the reports.
    """
    key = (like.protocol, like.profile, like.judge, system)
    own = (row for row in aggregates if (row.protocol, row.profile, row.judge, row.system) == key)
    return {path: node for row in own for root in row.scores for path, node in root.walk()}


Judges = Sequence[str | None]
"""Judges whose lines are read; None stands for the ensemble or the only judge."""

ENSEMBLE: Judges = (None,)

TOO_LONG = ("prompt_too_long", "report_too_long")
"""Kinds of failures caused by a prompt that does not fit the judge's context."""


def load_records(store: RunStore, *, rescoring: bool = False) -> list[CaseRecord]:
    """Return the reports of a finished run, in input order, after checking the run against its seal.

    Args:
        store: the run.
        rescoring: whether its scores are about to be computed again.

    Raises:
        RunError: the run is not finished, or was modified and `runs.seal.modified_allowed` does not allow it.
    """
    if (store.root / CASES).exists():
        check_seal(store, rescoring=rescoring)
    return read_records(store)


def read_records(store: RunStore) -> list[CaseRecord]:
    """Return the reports that `cases.jsonl` lists, whether or not the run is sealed."""
    return store.read_models(CASES, CaseRecord)


_STRING = rb'"(?:[^"\\]|\\.)*"'
_HEAD = re.compile(
    rb'\{"case":(%b),"protocol":%b,"version":%b,"profile":"([a-z]+)"(?:,"judge":(%b))?,"scores":'
    % (_STRING, _STRING, _STRING, _STRING)
)
"""Start of a score record as `store.write_jsonl` writes it."""


def load_scores(
    store: RunStore,
    protocols: Sequence[str],
    judges: Judges = ENSEMBLE,
    *,
    profile: str | None = None,
    case: str | None = None,
) -> list[ScoreRecord]:
    """Return the stored scores of some protocols and judges; of all profiles and reports unless one is named."""
    return [row for name in protocols for row in each_score(store, name, judges, profile=profile, case=case)]


def each_score(
    store: RunStore,
    protocol: str,
    judges: Judges = ENSEMBLE,
    *,
    profile: str | None = None,
    case: str | None = None,
) -> Iterator[ScoreRecord]:
    """Yield stored scores, as `load_scores`; other lines are not parsed."""

    def wanted(of: str | None, by: str | None, name: str | None) -> bool:
        return by in judges and profile in (None, of) and case in (None, name)

    for row in store.each_model(score_file(protocol), ScoreRecord, _keeping(wanted)):
        if wanted(row.profile, row.judge, row.case):
            yield row


def _keeping(wanted: Callable[[str | None, str | None, str | None], bool]) -> Callable[[bytes], bool]:
    """Return a check of the start of a line; a line that starts in another way is kept."""

    def keep(line: bytes) -> bool:
        head = _HEAD.match(line)
        if head is None:
            return True
        name, profile, judge = head.groups()
        return wanted(profile.decode(), None if judge is None else json.loads(judge), json.loads(name))

    return keep


def score_file(protocol: str) -> str:
    """Return the name of the file of the reports' scores by a protocol."""
    return f"scores/{protocol}.jsonl"


Steps = tuple[str, ...]
"""Ids from a root down."""


def each_node(
    store: RunStore, protocol: str, profile: str, judge: str | None, paths: Collection[Steps]
) -> Iterator[tuple[str, dict[Steps, ScoreNode]]]:
    """Yield reports with the scores that `paths` name, without the parts of these; other scores are not parsed.

    Raises:
        RunError: as `RunStore.each_model`.
    """
    keep = _keeping(lambda of, by, name: (of, by) == (profile, judge))
    name = score_file(protocol)
    for number, line in enumerate(store.lines(name), 1):
        if line and keep(line):
            try:
                row = json.loads(line)
                if (row["profile"], row.get("judge")) == (profile, judge):
                    yield row["case"], dict(_nodes(row["scores"], paths))
            except (ValueError, LookupError, TypeError) as error:  # a ValidationError is a ValueError
                raise RunError(
                    f"{store.root / name}:{number}: not a score record: {brief(str(error))}"
                ) from None


def _nodes(
    roots: Sequence[Mapping[str, Any]], paths: Collection[Steps], above: Steps = ()
) -> Iterator[tuple[Steps, ScoreNode]]:
    for root in roots:
        path = (*above, root["id"])
        if path in paths:
            own = {key: value for key, value in root.items() if key != "children"}
            yield path, ScoreNode.model_validate(own)
        if any(len(one) > len(path) and one[: len(path)] == path for one in paths):
            yield from _nodes(root.get("children", ()), paths, path)


def load_run_scores(
    store: RunStore, protocols: Sequence[str], judges: Judges = ENSEMBLE
) -> list[RunScoreRecord]:
    """Return the stored scores over all reports, of those protocols that have any and of some judges."""
    files = [f"scores/{name}.all.jsonl" for name in protocols]
    rows = [
        row
        for file in files
        if (store.root / file).exists()
        for row in store.read_models(file, RunScoreRecord)
    ]
    return [row for row in rows if row.judge in judges]


def n_too_long(found: Iterable[BaseModel]) -> int:
    """Return the number of failures in findings or claim sets caused by a prompt that exceeds the judge's context."""
    return sum(failure.kind in TOO_LONG for one in found for failure in failures_in(one))


def failures_in(value: object) -> Iterator[Failure]:
    """Yield all failures in a value, at any depth, in its order."""
    if isinstance(value, Failure):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from failures_in(getattr(value, name))
    elif isinstance(value, tuple | list):
        for one in cast("Iterable[object]", value):
            yield from failures_in(one)
    elif isinstance(value, dict):
        for one in cast("Mapping[object, object]", value).values():
            yield from failures_in(one)
