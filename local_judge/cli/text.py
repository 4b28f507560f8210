"""`local-judge text`: parsed reports, what was read of them, and reports without their citations."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from local_judge.base.errors import InputError, plain
from local_judge.cli.ending import stoppable
from local_judge.cli.judging import OptionalJudge
from local_judge.cli.options import AsJson
from local_judge.cli.output import print_json, print_left_out
from local_judge.documents import UnreadableReport, check_health
from local_judge.documents.cleaning.diff import unified_diff
from local_judge.documents.model import Document
from local_judge.reporting.health import CheckedReport, health_lines, health_table
from local_judge.reporting.progress import RunProgress
from local_judge.runs.execution.clean import (
    CleanedReport,
    Outcome,
    clean_reports,
    clean_reports_by_judge,
    write_cleaned,
)
from local_judge.runs.execution.judges import JudgeSpec
from local_judge.runs.planning.inputs import RawReport, load_reports
from local_judge.terminal import plain_table, safe, stdout

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def _sentences(document: Document, report: str) -> Table:
    table = plain_table(f"sentences of {safe(report)}")
    table.add_column("label", no_wrap=True)
    table.add_column("text", overflow="fold")
    table.add_column("citations", overflow="fold")
    by_id = {citation.id: citation for citation in document.citations}
    for sentence in document.sentences:
        cited = (by_id[citation] for citation in sentence.citations)
        listed = ", ".join(c.key + ("" if c.state == "resolved" else f" ({c.state})") for c in cited)
        table.add_row(sentence.label, safe(sentence.text), safe(listed))
    return table


def _references(document: Document, report: str) -> Table:
    table = plain_table(f"references of {safe(report)}")
    table.add_column("key", no_wrap=True)
    table.add_column("url", overflow="fold")
    table.add_column("state")
    for reference in document.references:
        table.add_row(safe(reference.key or ""), safe(reference.url or "no URL"), reference.state)
    return table


def check(
    reports: Annotated[
        list[Path],
        typer.Argument(help="Reports: Markdown, text or HTML files, folders of them, or JSONL files."),
    ],
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 if a report has a problem.")
    ] = False,
    sentences: Annotated[
        bool,
        typer.Option(
            "--sentences", help="Also print the sentences with their citations, and the references."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check how much of the reports' citations and source lists is read.

    Makes no model calls. With --json, prints one object per report; --sentences adds the whole parsed report.
    """
    found: list[CheckedReport] = []
    unreadable = 0
    loaded = load_reports(reports)
    print_left_out(reports)
    for report in loaded:
        try:
            document = report.parse()
            health = check_health(document)
        except UnreadableReport as error:
            unreadable += 1
            sys.stderr.write(f"local-judge: {plain(f'{report.place}: {error}')}\n")
            continue
        found.append(CheckedReport(report.id, report.format, health))
        if as_json:
            parsed = document.model_dump(mode="json") if sentences else {}
            print_json({**parsed, "id": report.id, "format": report.format, **health.model_dump(mode="json")})
        elif sentences:
            stdout().print(_sentences(document, report.id), _references(document, report.id), sep="\n")
    if found and not as_json:
        stdout().print(health_table(found))
        for line in health_lines(found):
            stdout().print(line, soft_wrap=True)
    if unreadable or (strict and any(one.health.problems for one in found)):
        raise SystemExit(1)


def clean(
    reports: Annotated[
        list[Path],
        typer.Argument(help="Reports: Markdown, text or HTML files, folders of them, or JSONL files."),
    ],
    judge: OptionalJudge,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Write the texts to a `*.jsonl` file, or to a folder with one file per report."
        ),
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print the changes as a unified diff.")] = False,
    chatter: Annotated[
        bool, typer.Option("--chatter", help="Also remove an agent's remarks and wrappers around the report.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove citation marks, addresses and reference lists from reports.

    With --judge, a judge decides what counts as a citation. With --json, the output lists the removals, one object per
    report.
    """
    if diff and as_json:
        raise InputError("--diff and --json exclude each other")
    loaded = load_reports(reports)
    print_left_out(reports)
    if len(loaded) > 1 and not (out or diff or as_json):
        raise InputError(f"{len(loaded)} reports: give --out, --diff or --json")
    spec = judge.spec()
    if spec is None:
        outcomes = list(clean_reports(loaded, chatter=chatter))
    else:
        ledger = judge.ledger_beside(out)
        with stoppable(ledger):
            outcomes = asyncio.run(_cleaned_by_judge(loaded, judge, spec, ledger, chatter))
    done = [item for item in outcomes if isinstance(item, CleanedReport)]
    for item in outcomes:
        if not isinstance(item, CleanedReport):
            sys.stderr.write(f"local-judge: {plain(f'{item[0].place}: {item[1]}')}\n")
    if out is not None:
        write_cleaned(out, done, reports)
    for item in done:
        if as_json:
            print_json(_json(item))
        elif diff:
            _print_diff(item)
        elif out is None:
            _print_text(item.cleaned.text)
    _end(done, len(loaded))


async def _cleaned_by_judge(
    loaded: Sequence[RawReport], options: OptionalJudge, spec: JudgeSpec, ledger: Path, chatter: bool
) -> list[Outcome]:
    async with options.open(spec, ledger) as judge:
        with RunProgress(judge, len(loaded)) as progress:
            return await clean_reports_by_judge(loaded, judge, chatter=chatter, done=progress.one_done)


def _json(item: CleanedReport) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": item.report.id,
        "removed": [removal.model_dump(mode="json") for removal in item.cleaned.removed],
    }
    if item.judged is not None:
        row["pieces"] = item.judged.n_pieces
        row["by_code"] = [failure.model_dump(mode="json") for failure in item.judged.failures]
    return row


def _end(done: Sequence[CleanedReport], n_reports: int) -> None:
    """Print the pieces that code cleaned because the judge failed; exit with code 3 for these, 1 for unread reports."""
    left = [(item, failure) for item in done if item.judged for failure in item.judged.failures]
    for item, failure in left:
        said = f"{item.report.id}: a piece was cleaned by code: {failure.kind}: {failure.detail}"
        sys.stderr.write(f"local-judge: {plain(said)}\n")
    if len(done) < n_reports:
        raise SystemExit(1)
    if left:
        raise SystemExit(3)


def _print_diff(item: CleanedReport) -> None:
    console = stdout()
    for line in unified_diff(item.original, item.cleaned, item.report.id):
        style = "bold" if line.startswith(("--- ", "+++ ")) else _STYLES.get(line[0], "")
        console.print(Text(plain(line), style=style), soft_wrap=True)


def _print_text(text: str) -> None:
    """Write a text unchanged to a file or a pipe, and without control characters to a terminal."""
    if sys.stdout.isatty():
        text = "\n".join(map(plain, text.split("\n")))
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
