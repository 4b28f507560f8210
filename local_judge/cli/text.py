"""`local-judge text`: a report as the evaluator reads it, and reports without their citations."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from local_judge.cli.ending import stoppable
from local_judge.cli.options import AsJson, BaseUrls, Offline
from local_judge.cli.output import print_json
from local_judge.documents import describe, parse_report
from local_judge.documents.cleaning.diff import unified_diff
from local_judge.documents.model import Document
from local_judge.errors import InputError, plain
from local_judge.reporting.progress import RunProgress
from local_judge.runs.clean import (
    CleanedReport,
    Outcome,
    clean_reports,
    clean_reports_by_judge,
    write_cleaned,
)
from local_judge.runs.inputs import RawReport, load_reports
from local_judge.runs.judges import open_judge
from local_judge.terminal import plain_table, safe, stdout
from serving.presets import Preset, load_preset

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def parse(
    report: Annotated[Path, typer.Argument(help="A Markdown or text file, or a JSONL file of one report.")],
    as_json: AsJson = False,
) -> None:
    """Print a report's sentences, citations and references, and what is unresolved."""
    reports = load_reports([report])
    if len(reports) > 1:
        raise InputError(f"{report}: holds {len(reports)} reports; `text parse` shows one")
    document = parse_report(reports[0].content)
    if as_json:
        print_json({**document.model_dump(mode="json"), "summary": describe(document)})
        return
    console = stdout()
    console.print(_sentences(document))
    console.print(_references(document))
    for key, entry in describe(document).items():
        console.print(
            f"{key}: {safe(entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False))}"
        )


def _sentences(document: Document) -> Table:
    table = plain_table("sentences")
    table.add_column("label", no_wrap=True)
    table.add_column("text", overflow="fold")
    table.add_column("citations", overflow="fold")
    by_id = {citation.id: citation for citation in document.citations}
    for sentence in document.sentences:
        cited = (by_id[citation] for citation in sentence.citations)
        listed = ", ".join(c.key + ("" if c.state == "resolved" else f" ({c.state})") for c in cited)
        table.add_row(sentence.label, safe(sentence.text), safe(listed))
    return table


def _references(document: Document) -> Table:
    table = plain_table("references")
    table.add_column("key", no_wrap=True)
    table.add_column("url", overflow="fold")
    table.add_column("state")
    for reference in document.references:
        table.add_row(safe(reference.key or ""), safe(reference.url or "no URL"), reference.state)
    return table


def clean(
    reports: Annotated[
        list[Path], typer.Argument(help="Reports: Markdown or text files, folders of them, or JSONL files.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the texts here: a file `*.jsonl`, or a folder of one file each."),
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print what changes as a unified diff.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the removals, one JSON object for each report.")
    ] = False,
    chatter: Annotated[
        bool, typer.Option("--chatter", help="Also remove an agent's remarks and wrappers around the report.")
    ] = False,
    judge: Annotated[
        str | None,
        typer.Option("--judge", help="Let a judge say what is a citation: a preset, or a preset file."),
    ] = None,
    base_url: BaseUrls = None,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", help="Keep the judge's replies here instead of beside --out.")
    ] = None,
    offline: Offline = True,
) -> None:
    """Remove citation marks, addresses and reference lists from reports."""
    if diff and as_json:
        raise InputError("--diff and --json exclude each other")
    loaded = load_reports(reports)
    if len(loaded) > 1 and not (out or diff or as_json):
        raise InputError(
            f"{len(loaded)} reports: say with --out where to write them, or ask for --diff or --json"
        )
    if judge is None:
        if base_url or ledger:
            raise InputError("--base-url and --ledger are for a judge; name it with --judge")
        outcomes = list(clean_reports(loaded, chatter=chatter))
    else:
        preset, replies = load_preset(judge), _ledger(ledger, out)
        with stoppable(replies):
            outcomes = asyncio.run(_ask(loaded, preset, base_url or (), replies, offline, chatter))
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


async def _ask(
    loaded: Sequence[RawReport],
    preset: Preset,
    base_urls: Sequence[str],
    ledger: Path,
    offline: bool,
    chatter: bool,
) -> list[Outcome]:
    async with open_judge(preset, base_urls=base_urls, ledger=ledger, reasks=2, only_engine=offline) as judge:
        with RunProgress(judge, len(loaded)) as progress:
            return await clean_reports_by_judge(loaded, judge, chatter=chatter, done=progress.one_done)


def _ledger(given: Path | None, out: Path | None) -> Path:
    if given is not None:
        return given
    if out is None:
        raise InputError("--judge: say with --ledger where to keep the judge's replies, or give --out")
    if out.name in ("", ".."):
        raise InputError(f"--out {out}: has no name to call the ledger after; give --ledger")
    return out.with_suffix(".ledger.sqlite")


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
    """Name the pieces that were left to code; 3 if there are any, 1 if a report could not be read."""
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
    """As it is into a file or a pipe; on a terminal without control characters."""
    if sys.stdout.isatty():
        text = "\n".join(map(plain, text.split("\n")))
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
