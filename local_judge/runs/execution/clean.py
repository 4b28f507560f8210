"""Removal of citations from report files.

Invariants: reports keep the order of the input; an unreadable report fails alone; no input file is replaced.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from local_judge.base.errors import InputError
from local_judge.cleaning.judged import JudgedCleaning, clean_by_judge
from local_judge.documents import UnreadableReport
from local_judge.documents.clean import Cleaned, clean
from local_judge.judge.judge import Judge
from local_judge.runs.execution.execute import CASES_IN_FLIGHT
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.items import file_key
from local_judge.runs.storage.store import RunStore

_FILE_NAME = re.compile(r"[^\W_][\w.-]{0,99}")


class CleanedReport(NamedTuple):
    """Report and its cleaned text."""

    report: RawReport
    original: str
    """Text of the report as parsed."""
    cleaned: Cleaned
    judged: JudgedCleaning | None = None
    """Result of a judge, if one was asked."""


Outcome = CleanedReport | tuple[RawReport, UnreadableReport]
"""Cleaned report, or a report and the reason why it cannot be read."""


def clean_reports(reports: Sequence[RawReport], *, chatter: bool = False) -> Iterator[Outcome]:
    """Clean each report by code."""
    for report in reports:
        try:
            document = report.parse()
        except UnreadableReport as error:
            yield report, error
        else:
            yield CleanedReport(report, document.text, clean(document, chatter=chatter))


async def clean_reports_by_judge(
    reports: Sequence[RawReport],
    judge: Judge,
    *,
    chatter: bool = False,
    done: Callable[[], None] = lambda: None,
) -> list[Outcome]:
    """Clean each report by a judge, in order.

    Args:
        reports: reports to clean.
        judge: the judge; pieces that it fails at are cleaned by code.
        chatter: see `clean_reports`.
        done: called for each finished report.
    """
    gate = asyncio.Semaphore(CASES_IN_FLIGHT)

    async def one(report: RawReport) -> Outcome:
        async with gate:
            try:
                document = report.parse()
            except UnreadableReport as error:
                done()
                return report, error
            judged = await clean_by_judge(document, judge, chatter=chatter)
        done()
        return CleanedReport(report, document.text, judged.cleaned, judged)

    return await asyncio.gather(*(one(report) for report in reports))


def write_cleaned(out: Path, cleaned: Sequence[CleanedReport], read: Sequence[Path]) -> None:
    """Write the texts: as rows of a JSONL file, or one file a report in a folder.

    Rows have `id`, `prompt` (null for a report without a task) and `article`; an id that is a whole number is written
    as one. A file is named after the report's id, or after a hash of it if the id is not a plain name.

    Args:
        out: a file that ends in `.jsonl`, or a folder.
        cleaned: the reports in the input's order.
        read: the files and folders that the reports came from.

    Raises:
        InputError: an input file would be replaced.
    """
    if out.suffix.lower() == ".jsonl":
        _refuse(out, read)
        rows = [
            {
                "id": int(item.report.id) if _is_number(item.report.id) else item.report.id,
                "prompt": item.report.task.prompt if item.report.task else None,
                "article": item.cleaned.text,
            }
            for item in cleaned
        ]
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        RunStore(out.parent).write_text(out.name, "".join(lines))
        return
    names = [_file_name(item.report.id) for item in cleaned]
    for name in names:
        _refuse(out / name, [path / name if path.is_dir() else path for path in read])
    for name, item in zip(names, cleaned, strict=True):
        RunStore(out).write_text(name, item.cleaned.text)


def _refuse(target: Path, read: Sequence[Path]) -> None:
    if target.exists() and any(path.exists() and target.samefile(path) for path in read):
        raise InputError(f"{target}: is an input file and would be replaced; give another --out")


def _is_number(identity: str) -> bool:
    return (
        identity.isascii() and identity.isdecimal() and len(identity) < 16 and str(int(identity)) == identity
    )


def _file_name(identity: str) -> str:
    return (identity if _FILE_NAME.fullmatch(identity) else file_key(identity)) + ".md"
