"""A protocol from another package offers the files of its project with one class."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from local_judge.base.errors import ConfigError, RunError
from local_judge.protocols import base
from local_judge.protocols.base import BaseProtocol, Case, EvalContext, Findings, file_formats
from local_judge.protocols.file_formats import (
    Exported,
    ExportedReport,
    FileFormat,
    Glimpse,
    Imported,
    ImportedReport,
    Outcome,
    ReadableFormat,
    ReportList,
    RunFindings,
)
from local_judge.protocols.metric import NoSettings
from local_judge.reporting.exports import export_files, export_lines
from local_judge.runs.execution.importing import import_files, readable_formats
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.seal import seal_run
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.algebra import exactly
from local_judge.scoring.node import Profile, ScoreNode

from ..rubric_run import record


class TallyFindings(Findings):
    points: int


class TallyFiles(ReadableFormat[TallyFindings]):
    """`points.txt`: a report and its points in each line."""

    title = "Tally"
    reads = "a `points.txt`"

    def write(self, run: RunFindings[TallyFindings]) -> Exported:
        lines = [f"{one.id} {one.findings.points}\n" for one in run.reports if one.findings is not None]
        outcomes = [
            Outcome(
                ExportedReport(report=one.id, task=one.task, system=one.system),
                one.findings is not None,
                "" if one.findings is not None else one.status,
            )
            for one in run.reports
        ]
        files = {"points.txt": "".join(lines)} if lines else {}
        return Exported(files, [ReportList("reports.json", "points.txt", outcomes, ["all [points] count"])])

    def recognises(self, seen: Glimpse) -> bool:
        return seen.has("points.txt")

    def read(self, path: Path) -> Imported[TallyFindings]:
        rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
        found = [
            ImportedReport(TallyFindings(case=name, document="d", points=int(points)), None, "ada")
            for name, points in rows
        ]
        return Imported(found, hashlib.sha256(path.read_bytes()).hexdigest())


class Plain(BaseProtocol[NoSettings, TallyFindings]):
    name = "plain"
    version = "1"
    settings_type = NoSettings
    findings_type = TallyFindings

    async def examine(self, case: Case, context: EvalContext) -> TallyFindings:
        return TallyFindings(case=case.id, document=case.report.id, points=0)

    def score(self, judges: Sequence[TallyFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        return (ScoreNode(id="points", label="Points", score=exactly(judges[0].points)),)


class Tally(Plain):
    name = "tally"

    def file_format(self) -> FileFormat[TallyFindings]:
        return TallyFiles()


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def entries(group: str) -> list[EntryPoint]:
        return [EntryPoint(kind.name, f"{__name__}:{kind.__name__}", group) for kind in (Tally, Plain)]

    monkeypatch.setattr(base, "registered", entries)


def finished(folder: Path, protocol: str, **points: int | None) -> RunStore:
    """A run with these points by report; None for one that could not be read."""
    store = RunStore(folder)
    cases = [
        record(name, name, "ada", "done" if number is not None else "unreadable")
        for name, number in points.items()
    ]
    store.write_json(
        "manifest.json",
        {"format_version": 4, "config": {"protocols": [protocol]}, "reports": {"n": 0}},
    )
    store.write_items(
        findings_file(protocol, None),
        (
            (name, TallyFindings(case=name, document="d", points=number))
            for name, number in points.items()
            if number is not None
        ),
    )
    store.write_jsonl("cases.jsonl", cases)
    seal_run(store)
    return store


def test_what_is_installed_offers_its_formats() -> None:
    assert list(file_formats()) == list(readable_formats()) == ["tally"]


def test_a_run_is_written_said_and_read_back(tmp_path: Path) -> None:
    out = tmp_path / "out"
    exported = export_files(finished(tmp_path / "run", "tally", a=3, b=None), out, "tally")
    assert (out / "points.txt").read_text(encoding="utf-8") == "a 3\n"
    assert list(export_lines(exported, out)) == [
        f"points.txt of 1 of 2 reports in {out}; reports.json there says which",
        r"all \[points] count",
        "b: left out: unreadable",
    ]
    again = RunStore(tmp_path / "again")
    [read] = import_files([out / "points.txt"], again, "tally")
    assert (read.id, read.system) == ("a", "ada")
    export_files(again, tmp_path / "out2", "tally")
    assert (tmp_path / "out2/points.txt").read_bytes() == (out / "points.txt").read_bytes()


def test_what_cannot_be_written_or_read_is_one_line(tmp_path: Path) -> None:
    empty = finished(tmp_path / "empty", "tally", b=None)
    with pytest.raises(RunError, match="no report has a result for Tally's files; unreadable"):
        export_files(empty, tmp_path / "out", "tally")
    with pytest.raises(RunError, match="plain has no files of a published project"):
        export_files(finished(tmp_path / "plain", "plain", a=1), tmp_path / "out", "plain")
    with pytest.raises(ConfigError, match="files of 'plain' cannot be read; readable formats: auto, tally"):
        import_files([tmp_path / "points.txt"], RunStore(tmp_path / "new"), "plain")
    assert not (tmp_path / "out").exists()
