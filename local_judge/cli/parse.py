"""`local-judge parse`: one report as the evaluator reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from local_judge.cli.options import AsJson
from local_judge.cli.output import print_json
from local_judge.documents import describe, parse_report
from local_judge.documents.model import Document
from local_judge.errors import InputError
from local_judge.runs.inputs import load_reports
from local_judge.terminal import plain_table, safe, stdout


def parse(
    report: Annotated[Path, typer.Argument(help="A Markdown or text file, or a JSONL file of one report.")],
    as_json: AsJson = False,
) -> None:
    """Show a report's sentences, citations and references, and what could not be resolved."""
    reports = load_reports([report])
    if len(reports) > 1:
        raise InputError(f"{report}: holds {len(reports)} reports; `parse` shows one")
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
