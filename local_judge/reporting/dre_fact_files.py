"""Runs as DeepResearchEval's files of checked facts: `results/<method>/task_<stem>.json`.

Invariants: a file's name is made of numbers and plain letters, never of a report's text; a report without a file is
named, with the reason; what failed has no row and is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from local_judge.documents.model import Frozen
from local_judge.protocols.deepresearcheval import DreFindings
from local_judge.protocols.deepresearcheval.facts.files import result_rows
from local_judge.reporting.exports import folder_name
from local_judge.runs.records import CaseRecord
from local_judge.runs.store import RunStore, findings_file

FOLDER = "results"

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class ExportedFacts(Frozen):
    """The facts of one report of a run."""

    report: str
    task: str | None
    system: str | None
    file: str | None = None
    """Relative to what was exported to; None if it was left out."""
    left_out: str = ""
    """Why, in a few words."""
    n_failed: int = 0
    """Statements without a label, which have no row."""
    n_unread: int = 0
    """Sentences whose statements are not known."""


def fact_files(
    store: RunStore, records: Sequence[CaseRecord], judge: str | None
) -> tuple[tuple[ExportedFacts, ...], Mapping[str, list[dict[str, Any]]]]:
    """What becomes of each report, in the order of the run, and the rows by file.

    `<stem>` is the task's id where the reports of a system all have plain ones, each its own; else the report's
    position in the run, from 1.
    """
    found: dict[str, ExportedFacts] = {}
    files: dict[str, list[dict[str, Any]]] = {}
    for folder, stem, record in _named(records):
        report = ExportedFacts(report=record.id, task=record.task, system=record.system)
        found[record.id] = report
        if record.status != "done":
            found[record.id] = report.model_copy(update={"left_out": record.status})
            continue
        facts = store.read_model(findings_file("deepresearcheval", record.key, judge), DreFindings).facts
        if facts is None:
            found[record.id] = report.model_copy(update={"left_out": "its facts were not checked"})
            continue
        file = f"{FOLDER}/{folder}/task_{stem}.json"
        files[file] = result_rows(facts)
        n_failed = sum(ruling.failure is not None for ruling in facts.rulings)
        update = {"file": file, "n_failed": n_failed, "n_unread": facts.n_unread}
        found[record.id] = report.model_copy(update=update)
    return tuple(found[record.id] for record in records), files


def _named(records: Sequence[CaseRecord]) -> Iterator[tuple[str, str, CaseRecord]]:
    """The folder and the stem of each report's file."""
    for system in dict.fromkeys(record.system for record in records):
        own = [(n, record) for n, record in enumerate(records, 1) if record.system == system]
        tasks = [record.task or "" for _, record in own]
        plain = len({task.casefold() for task in tasks}) == len(tasks) and all(map(_PLAIN.fullmatch, tasks))
        for n, record in own:
            yield folder_name(system), (record.task or "") if plain else str(n), record
