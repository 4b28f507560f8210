"""The lines of a run's files.

Invariant: a line names whose it is: the report, the protocol and profile, and the judge where there are several; a line
without judge is of the only judge, or of the ensemble.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from local_judge.runs.seal import check_seal
from local_judge.runs.store import CASES, RunStore
from local_judge.scoring.node import Profile, Score, ScoreNode
from serving.types import Frozen


class CaseRecord(Frozen):
    """One line of `cases.jsonl`."""

    id: str
    key: str
    document: str | None = None
    task: str | None = None
    """Id of the task that it answers: reports of several systems may share one."""
    system: str | None = None
    """The agent that wrote it, where the input says so."""
    attributes: dict[str, str] = Field(default_factory=dict[str, str])
    """Of its task, by name: its topic, its language, and what else its row has. Where the task names no language, the
    detected one; of a report without a task, the report's."""
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
    """Claims that a page was not judged on; of several judges, all of theirs."""
    n_sources: int = 0
    """Pages that the report's claims lean on."""
    n_sources_read: int = 0
    """Those of them that the snapshot has with text."""
    n_pages_unrated: int = 0
    """Pages of which the judge did not say whether they are reliable, though it was to be asked."""
    n_questions_failed: int = 0
    """Questions of the protocols themselves, such as a rubric's items, that have no answer."""
    n_too_long: int = 0
    """Failures whose cause is that the question does not fit the judge's context."""
    n_failed_by_judge: dict[str, int] = Field(default_factory=dict[str, int])
    """Of several judges, how many of each one's answers are missing; those about sentences are the first judge's."""

    def calls_failed(self, judge: str | None) -> int:
        """Number of one judge's answers that are missing; of all judges together for None."""
        return self.n_calls_failed if judge is None else self.n_failed_by_judge.get(judge, 0)

    @property
    def n_calls_failed(self) -> int:
        """Number of the judges' answers that are missing."""
        return (
            self.n_sentences_failed + self.n_verdicts_failed + self.n_pages_unrated + self.n_questions_failed
        )


class ScoreRecord(Frozen):
    """One line of `scores/<protocol>.jsonl`."""

    case: str
    protocol: str
    version: str
    profile: Profile
    judge: str | None = None
    """Whose scores, where there are several judges; None for those of the ensemble, or of the only one."""
    scores: tuple[ScoreNode, ...]


class RunScoreRecord(Frozen):
    """One line of `scores/<protocol>.all.jsonl`: scores over all reports of one system."""

    protocol: str
    version: str
    profile: Profile
    judge: str | None = None
    """As of a score record."""
    system: str | None
    """None where the input names none."""
    n_reports: int
    """Reports of the system in the run."""
    n_missing: int
    """Those of them that have no findings."""
    scores: tuple[ScoreNode, ...]


def scores_over_reports(
    aggregates: Sequence[RunScoreRecord], like: ScoreRecord, system: str | None
) -> dict[tuple[str, ...], Score]:
    """A protocol's own scores over a system's reports, by path: they stand for the system in place of plain means.

    Args:
        aggregates: the run's scores over all reports of each system.
        like: a score record with the protocol, profile and judge that are wanted.
        system: the agent that wrote the reports.
    """
    key = (like.protocol, like.profile, like.judge, system)
    own = (row for row in aggregates if (row.protocol, row.profile, row.judge, row.system) == key)
    return {path: node.score for row in own for root in row.scores for path, node in root.walk()}


Judges = Sequence[str | None]
"""Whose lines to read; None for those of the ensemble, or of the only judge."""

ENSEMBLE: Judges = (None,)


def load_records(store: RunStore, *, rescoring: bool = False) -> list[CaseRecord]:
    """The reports of a finished run, in input order. All of its files are checked: whoever reads a run begins here.

    Args:
        store: the run.
        rescoring: whether its scores are about to be computed anew.

    Raises:
        RunError: the run is not finished, or was modified since and `runs.seal.modified_allowed` does not say that it
            may be read all the same.
    """
    if (store.root / CASES).exists():
        check_seal(store, rescoring=rescoring)
    return read_records(store)


def read_records(store: RunStore) -> list[CaseRecord]:
    """The reports that `cases.jsonl` lists, whether or not the run is sealed."""
    return store.read_models(CASES, CaseRecord)


def load_scores(store: RunStore, protocols: Sequence[str], judges: Judges = ENSEMBLE) -> list[ScoreRecord]:
    """The stored scores by some protocols and judges."""
    rows = [row for name in protocols for row in store.read_models(f"scores/{name}.jsonl", ScoreRecord)]
    return [row for row in rows if row.judge in judges]


def load_run_scores(
    store: RunStore, protocols: Sequence[str], judges: Judges = ENSEMBLE
) -> list[RunScoreRecord]:
    """The stored scores over all reports by those protocols that have any, and by some judges."""
    files = [f"scores/{name}.all.jsonl" for name in protocols]
    rows = [
        row
        for file in files
        if (store.root / file).exists()
        for row in store.read_models(file, RunScoreRecord)
    ]
    return [row for row in rows if row.judge in judges]
