"""Folders of reports say which files they took; files of other kinds are refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from local_judge.base.errors import InputError
from local_judge.documents import UnreadableReport
from local_judge.runs.planning.inputs import load_reports
from local_judge.runs.planning.report_files import left_out


def test_a_folder_says_what_it_leaves_out(tmp_path: Path) -> None:
    names = (
        "a.md",
        "a.html",
        "b.htm",
        "c.pdf",
        "d.docx",
        "e.tex",
        "f.csv",
        "rows.jsonl",
        "note",
        ".DS_Store",
    )
    for name in names:
        (tmp_path / name).write_text("It rose.")
    for name in ("b_files", "inner"):
        (tmp_path / name).mkdir()
    assert [report.id for report in load_reports([tmp_path])] == ["a", "b"]
    (line,) = left_out([tmp_path])
    assert line.startswith(f"{tmp_path}: 2 of 10 files are read; left out: a.html (a.md is read); c.pdf (")
    for part in ("pandoc d.docx", "pandoc e.tex --citeproc", "f.jsonl", "rows.jsonl (", "note (", "inner ("):
        assert part in line
    assert not any(part in line for part in ("b_files", "DS_Store"))


def test_a_folder_of_reports_alone_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("It rose.")
    assert list(left_out([tmp_path, tmp_path / "a.md"])) == []


def test_many_files_are_counted(tmp_path: Path) -> None:
    for number in range(13):
        (tmp_path / f"{number:02}.pdf").write_text("%PDF-1.7")
    with pytest.raises(InputError, match=r"0 of 13 files .* 00\.pdf .*; and 3 more$"):
        load_reports([tmp_path])


@pytest.mark.parametrize("name", ["q.pdf", "q.docx", "q.tex", "q.csv", "q.unknown"])
def test_a_file_of_another_kind_is_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("It rose.")
    with pytest.raises(InputError) as caught:
        load_reports([tmp_path / name])
    assert str(caught.value).startswith(f"{tmp_path / name}: ")


def test_a_list_in_a_json_file_is_rows(tmp_path: Path) -> None:
    path = tmp_path / "reports.json"
    path.write_text(json.dumps([{"id": "q1", "report": "It rose."}, {"id": "q2", "article": "It fell."}]))
    assert [(report.id, report.content) for report in load_reports([path])] == [
        ("q1", b"It rose."),
        ("q2", b"It fell."),
    ]
    path.write_text('[{"id": "q1", "report": "It rose."}, 3]')
    with pytest.raises(InputError, match=r"reports\.json: \[1\]: "):
        load_reports([path])


def test_markup_that_cannot_be_read_fails_alone(tmp_path: Path) -> None:
    """A row or a file keeps its content, which no parser takes for prose."""
    rows = [
        {"id": "a", "report": "It rose."},
        {"id": "b", "report": "<html><body><script>x</script></body></html>"},
        {"id": "c", "report": "\\documentclass{article} It rose."},
    ]
    (tmp_path / "d.html").write_text("<div>" * 300)
    good, *bad = load_reports([*rows, tmp_path / "d.html"])
    assert good.parse().text == "It rose."
    for report, reason in zip(bad, ("no text", "pandoc", "deep"), strict=True):
        with pytest.raises(UnreadableReport, match=reason):
            report.parse()
