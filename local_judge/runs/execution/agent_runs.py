"""Runs of agents: those stored in a run directory, and the directory that `lab agent` writes.

Invariants: a stored run is what was written with the findings, so reading it needs no snapshot and no judge; the
directory of `lab agent` contains one question, and never replaces a run or the answer to another question.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from local_judge.agents.ask import AskedQuestion
from local_judge.agents.result import EVIDENCE_GAPS, AgentResult, write_evidence_gaps
from local_judge.agents.transcript import render_transcript
from local_judge.base.errors import RunError
from local_judge.protocols.base import load_protocol
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.manifest import one_judge_of, protocols_of
from local_judge.runs.storage.records import load_records
from local_judge.runs.storage.store import RunStore

ANSWER, TRANSCRIPT = "answer.json", "transcript.md"


class StoredRun(NamedTuple):
    """One run of an agent."""

    protocol: str
    report: str
    item: str
    """Ids of the items that the run is about."""
    result: AgentResult[Any]


def stored_runs(
    store: RunStore, report: str | None = None, item: str | None = None, judge: str | None = None
) -> list[StoredRun]:
    """Return the agents' runs of a run directory, in the order of its reports.

    Args:
        store: the run.
        report: id of the only report to include.
        item: id of an item; only runs about it are included.
        judge: name of a judge, required if the run has several.

    Raises:
        RunError: there is no such run of an agent, or there are several judges and none is named.
    """
    judge = one_judge_of(store, judge, "transcripts")
    records = [one for one in load_records(store) if one.status == "done" and report in (None, one.id)]
    found: list[StoredRun] = []
    for name in protocols_of(store):
        protocol = load_protocol(name)
        for record in records:
            findings = store.read_item(findings_file(name, judge), record.key, protocol.findings_type)
            found += [
                StoredRun(name, record.id, about, result)
                for about, result in protocol.agent_runs(findings)
                if item is None or item in about.split(", ")
            ]
    if not found:
        asked = [f"about {item!r}"] * (item is not None) + [f"of report {report!r}"] * (report is not None)
        raise RunError(f"{store.root}: contains no run of an agent {' '.join(asked)}".rstrip())
    return found


def claim_answer(store: RunStore, question: str) -> None:
    """Check that the answer to a question may be written to a directory.

    Raises:
        RunError: the directory contains a run, the answer to another question, or something else.
    """
    if not (store.root / ANSWER).exists():
        if not store.is_new():
            raise RunError(f"{store.root}: contains a run; choose another --out")
    elif store.read_model(ANSWER, AskedQuestion).question != question:
        raise RunError(f"{store.root}: contains the answer to another question; choose another --out")


def write_answer(store: RunStore, asked: AskedQuestion) -> None:
    """Write an answer, its transcript and its evidence gaps. Raises RunError: a file cannot be written."""
    store.write_json(ANSWER, asked)
    store.write_text(TRANSCRIPT, render_transcript(asked.result))
    write_evidence_gaps(store.root / EVIDENCE_GAPS, asked.result.evidence_gaps)
