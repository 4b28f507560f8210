"""Runs of reports with sources beside their text, and of folders with other files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from local_judge.reporting.page.sources import Sources
from local_judge.runs.storage.records import load_records
from local_judge.runs.storage.store import RunStore

from ..stub_thread import StubThread
from .conftest import REPORT, Command

ADDRESSES = ["https://heat.example/fernholt/renewal", "https://council.example/minutes/2021-03-18"]


def test_sources_beside_the_text_are_a_part_of_the_run(
    command: Command, report: Path, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    """The scores are those of the report with a list; another source is another report."""
    rows, run = tmp_path / "rows.jsonl", tmp_path / "run"

    def write(sources: Any) -> None:
        body = REPORT.partition("## References")[0]
        rows.write_text(json.dumps({"id": "mill", "report": body, "sources": sources}))

    def evaluate(reports: Path, out: Path) -> Any:
        where = ("--judge", preset, "--base-url", server.url, "--snapshot", snapshot, "--out", out)
        return command("run", reports, *where, "--protocol", "fact")

    def scores(out: Path) -> Any:
        return (out / "scores" / "fact.jsonl").read_text()

    write(ADDRESSES)
    assert evaluate(rows, run).code == 0
    assert evaluate(report, tmp_path / "listed").code == 0
    assert scores(run) == scores(tmp_path / "listed")
    records = load_records(RunStore(run))
    sources = Sources(RunStore(run))
    assert (sources.report(records[0].document) or "").startswith("# The mill")
    sources.close()
    assert command("bundle", run, "-o", tmp_path / "run.ljz").code == 0

    assert "0 calls" in evaluate(rows, run).err
    write(ADDRESSES[::-1])
    assert "different reports" in evaluate(rows, run).line()
    rows.unlink()
    audited = command("audit", tmp_path / "run.ljz", "--json")
    assert audited.code == 0
    assert {check["status"] for check in json.loads(audited.out)["checks"]} == {"ok"}


def test_a_run_of_a_folder_names_the_files_that_it_does_not_read(
    command: Command, report: Path, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    report.rename(folder / report.name)
    (folder / "other.pdf").write_text("%PDF-1.7")
    where = ("--judge", preset, "--base-url", server.url, "--snapshot", snapshot, "--out", tmp_path / "run")
    planned = command("run", folder, *where, "--protocol", "fact", "--dry-run")
    assert planned.code == 0
    assert planned.err.startswith(f"{folder}: 1 of 2 files ") and "other.pdf (" in planned.err
