"""FACT's files of a run, one folder for each system where there are several; and a `validated.jsonl` as findings.

Invariant: what `stat` of the published code makes of `validated.jsonl` is what `fact_result.txt` says; a report without
findings has no row, as there, and is named.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from local_judge.errors import InputError
from local_judge.protocols.fact.findings import FactFindings
from local_judge.protocols.fact.formats import Rows, fact_result, read_validated, rows_of
from local_judge.protocols.file_formats import (
    Exported,
    FileFormat,
    Imported,
    NumberedReport,
    Outcome,
    ReportList,
    RunFindings,
    by_folder,
    jsonl_text,
)
from local_judge.terminal import count


class FactFiles(FileFormat[FactFindings]):
    """`extracted.jsonl`, `deduplicated.jsonl`, `validated.jsonl`, `fact_result.txt`."""

    title = "FACT"
    reads = "a `validated.jsonl`"

    def write(self, run: RunFindings[FactFindings]) -> Exported:
        """A row's id is its task's where these are whole numbers, else its report's position in the run.

        `fact_result.txt` is left out where the published code would divide by zero.
        """
        exported: dict[str, NumberedReport] = {}
        files: dict[str, str] = {}
        for folder, own in by_folder(run):
            known: list[FactFindings] = []
            rows: list[Rows] = []
            for number, report in own:
                findings = report.findings
                exported[report.id] = NumberedReport(
                    report=report.id,
                    task=report.task,
                    system=report.system,
                    folder=folder,
                    sample=None if findings is None else number,
                    left_out="" if findings is not None else report.status,
                    n_failed=0 if findings is None else sum(pair.failed for pair in findings.pairs),
                )
                if findings is not None:
                    known.append(findings)
                    rows.append(rows_of(findings, number))
            for index, name in enumerate(Rows._fields):
                files[f"{folder}/{name}.jsonl"] = jsonl_text(row[index] for row in rows)
            with suppress(ZeroDivisionError):  # the code writes none either: it stops
                files[f"{folder}/fact_result.txt"] = fact_result(known).text()
        listed = [exported[report.id] for report in run.reports]
        n_failed = sum(row.n_failed for row in listed)
        said = f"{count(n_failed, 'pair')} failed, written as unknown or with the error of their URL"
        return Exported(
            files,
            [
                ReportList(
                    name="samples.json",
                    what=count(len(files), "file"),
                    outcomes=[Outcome(row, row.sample is not None, row.left_out) for row in listed],
                    notes=[said] if n_failed else [],
                )
            ],
        )

    def read(self, path: Path) -> Imported[FactFindings]:
        """The rows of a `validated.jsonl`; reports and tasks have the rows' ids."""
        found = read_validated(path)
        if not found:
            raise InputError(f"{path}: no rows in it")
        return Imported(found, hashlib.sha256(path.read_bytes()).hexdigest())
