"""Terminal, page and CSV have the same numbers."""

from __future__ import annotations

import csv
import re
import shutil
from functools import partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest

from indexes.making.importing import import_pages
from local_judge.base.errors import RunError
from local_judge.protocols.base import load_protocol
from local_judge.reporting.formats import export_csv
from local_judge.reporting.groups import group_scores
from local_judge.reporting.page import detail
from local_judge.reporting.page.overview import overview
from local_judge.reporting.page.results import load_results
from local_judge.reporting.page.sources import Sources
from local_judge.reporting.page.write import write_page
from local_judge.reporting.run_tables import run_summary
from local_judge.runs.proof.material import Places
from local_judge.runs.results.attributes import open_runs
from local_judge.runs.results.tables import system_rows
from local_judge.runs.storage.records import load_records
from local_judge.runs.storage.resume import begin_journal, kept_of
from local_judge.runs.storage.store import JOURNAL, RunStore
from local_judge.runs.storage.summaries import load_system_scores

from ..printing import printed
from .conftest import Sample


def test_the_page_has_the_numbers_of_show_and_of_csv(sample: Sample, tmp_path: Path) -> None:
    found = overview(load_results([sample.run]))
    export_csv(RunStore(sample.run), tmp_path / "csv")
    with (tmp_path / "csv" / "systems.csv").open(encoding="utf-8") as file:
        rows = {(row["system"], row["protocol"], row["path"]): row for row in csv.DictReader(file)}
    groups = group_scores(open_runs([sample.run]), ["system"])
    shown = {
        (group.key["system"], column.protocol, column.path): cell
        for group in groups.groups
        for column, cell in zip(groups.columns, group.cells, strict=True)
    }
    n_compared = 0
    for row in found.rows:
        for column, cell in zip(found.columns, row.cells, strict=True):
            assert cell is not None and row.system is not None
            line = rows[row.system, column.protocol, "/".join(column.path)]
            for name in ("value", "low", "high"):
                assert line[name] == ("" if getattr(cell, name) is None else str(getattr(cell, name)))
            assert line["n_values"] == str(cell.n_values)
            other = shown.get((row.system, column.protocol, column.path))
            if other is not None:
                for name in ("value", "low", "high", "by_rule"):
                    assert getattr(other, name) == getattr(cell, name)
                n_compared += 1
    assert n_compared >= 8


def test_a_page_holds_only_texts_with_the_runs_digests(sample: Sample, tmp_path: Path) -> None:
    run = shutil.copytree(sample.run, tmp_path / "run")
    (run / "ledger.sqlite").unlink()
    other = tmp_path / "other.md"
    other.write_text("# Another report", encoding="utf-8")
    given = Places([other], None, None)
    written = write_page([run], tmp_path / "page.html", given)
    assert written.missing[0].startswith("text of 0 of 6 reports found")
    with pytest.raises(RunError, match="not the snapshot of"):
        write_page([run], tmp_path / "page.html", Places((), empty_snapshot(tmp_path)))


def empty_snapshot(folder: Path) -> Path:
    (folder / "pages").mkdir()
    (folder / "pages" / "a.md").write_text("Nothing.", encoding="utf-8")
    (folder / "pages" / "pages.jsonl").write_text(
        '{"url": "https://a.example/", "file": "a.md"}\n', encoding="utf-8"
    )
    import_pages(folder / "pages", folder / "empty", workers=0)
    return folder / "empty"


def test_a_folder_has_the_same_page_and_is_written_again(sample: Sample, tmp_path: Path) -> None:
    out = tmp_path / "folder"
    for _ in range(2):
        written = write_page([sample.run], out)
        assert written.path == out / "index.html"
    n_reports, n_lists = 6, 2 * 2  # claims and items of two systems
    assert len(list((out / "data").iterdir())) == n_reports + n_lists
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(RunError, match="not an empty folder and not a page"):
        write_page([sample.run], tmp_path / "full")


def test_a_folder_has_whole_prompts_and_a_file_says_so(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detail, "SHOWN_SHARED", 300)
    results = load_results([sample.run])
    run, record = results.runs[0], results.runs[0].records[0]
    sources = Sources(run.store)
    read = partial(detail.read_detail, run.store, record, None, sources, [load_protocol("deer")])
    cut, whole = (read(results.trees(0, None, record.id), whole=one) for one in (False, True))
    sources.close()
    notes = [text for text in cut.texts if "characters: local-judge report RUN -o FOLDER shows them" in text]
    assert notes and all(len(text) < 400 for text in notes)
    assert max(map(len, whole.texts)) > 400
    assert all(text.startswith(short[:200]) for text, short in zip(whole.texts, cut.texts, strict=True))


def test_the_same_run_gives_the_same_bytes(sample: Sample, tmp_path: Path) -> None:
    first, second = (
        write_page([sample.run], tmp_path / name).path.read_bytes() for name in ("a.html", "b.html")
    )
    assert first == second


def test_an_unfinished_run_shows_what_is_complete_and_says_so(sample: Sample, tmp_path: Path) -> None:
    whole = overview(load_results([sample.run]))
    run = shutil.copytree(sample.run, tmp_path / "run")
    store = RunStore(run)
    begin_journal(store, kept_of(store, ()), ())  # the run has begun again and stops here
    found = overview(load_results([run]))
    assert "not finished: 6 of 6 reports" in found.warnings[0].text
    assert [row.cells for row in found.rows] == [row.cells for row in whole.rows]
    journal = (run / JOURNAL).read_bytes()
    assert journal.count(b"\n") == 1 + 6
    (run / JOURNAL).write_bytes(journal.replace(b'"outcome":"', b'"outcome":" ', 1))  # in one line
    found = overview(load_results([run]))
    assert "not finished: 5 of 6 reports" in found.warnings[0].text
    assert (found.runs[0].n_reports, found.runs[0].n_evaluated) == (6, 5)
    assert write_page([run], tmp_path / "page.html").n_reports == 5


def test_the_page_has_the_numbers_of_the_terminal_and_of_python(sample: Sample) -> None:
    found = overview(load_results([sample.run]))
    store = RunStore(sample.run)
    records = load_records(store)
    terminal = printed(*run_summary(records, load_system_scores(store, ["deer", "fact"])), width=200)
    python = {(row["system"], row["protocol"], row["path"]): row for row in system_rows(store)}
    n_intervals = 0
    for row in found.rows:
        assert f"{row.n_sources_read}/{row.n_sources}" in terminal
        for column, cell in zip(found.columns, row.cells, strict=True):
            assert cell is not None
            same = python[row.system, column.protocol, "/".join(column.path)]
            assert (same["value"], same["low"], same["high"]) == (cell.value, cell.low, cell.high)
            if column.headline and cell.value is not None:
                assert f"{cell.value:.2f}" in terminal
                low, high = cell.interval_low or 0.0, cell.interval_high or 0.0
                if f"{low:.2f}" != f"{high:.2f}":
                    assert f"({low:.2f} to {high:.2f})" in terminal
                    n_intervals += 1
    assert n_intervals


def test_the_chart_library_is_the_published_one() -> None:
    vendor = files("local_judge.reporting.page").joinpath("assets", "vendor")
    listed = re.findall(
        r"^([0-9a-f]{64})  (\S+)$", vendor.joinpath("LICENSES.txt").read_text("utf-8"), re.MULTILINE
    )
    assert {name for _, name in listed} == {"d3.min.js", "plot.umd.min.js"}
    for digest, name in listed:
        assert sha256(vendor.joinpath(name).read_bytes()).hexdigest() == digest
