"""Runs as files of DeepResearch Bench's FACT.

Invariant: what `stat` of the published code makes of `validated.jsonl` is what `fact_result.txt` says; a report without
findings has no row, as there, and is named.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from local_judge.protocols.fact import FactFindings
from local_judge.protocols.fact.formats import Rows, fact_result, rows_of
from local_judge.reporting.exports import (
    Exported,
    ExportedSample,
    by_folder,
    check_export,
    finish_export,
)
from local_judge.runs.records import load_records
from local_judge.runs.store import RunStore


def export_fact(store: RunStore, out: Path) -> Exported:
    """Write FACT's files of a run to `out`, one folder for each system where there are several.

    A row's id is its task's where the reports of a system all have whole numbers for ids, each its own; else the
    report's position in the run, from 1. `fact_result.txt` is left out where the published code would divide by zero.

    Raises:
        RunError: the run has nothing of FACT, or `out` is not empty or cannot be written.
    """
    check_export(store, out, "fact", "FACT")
    records = load_records(store)
    target = RunStore(out)
    samples: dict[str, ExportedSample] = {}
    n_files = 0
    for folder, own in by_folder(records):
        reports: list[FactFindings] = []
        rows: list[Rows] = []
        for record, number in own:
            done = record.status == "done"
            samples[record.id] = ExportedSample(
                report=record.id,
                task=record.task,
                system=record.system,
                folder=folder,
                sample=number if done else None,
                left_out="" if done else record.status,
            )
            if not done:
                continue
            findings = store.read_model(f"findings/fact/{record.key}.json", FactFindings)
            n_failed = sum(pair.failed for pair in findings.pairs)
            samples[record.id] = samples[record.id].model_copy(update={"n_failed": n_failed})
            reports.append(findings)
            rows.append(rows_of(findings, number))
        files = {
            f"{name}.jsonl": "".join(json.dumps(row[index], ensure_ascii=False) + "\n" for row in rows)
            for index, name in enumerate(Rows._fields)
        }
        with suppress(ZeroDivisionError):  # the code writes none either: it stops
            files["fact_result.txt"] = fact_result(reports).text()
        for name, text in files.items():
            target.write_text(f"{folder}/{name}", text)
        n_files += len(files)
    return finish_export(target, records, samples, n_files)
