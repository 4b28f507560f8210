"""`local-judge text check`: what of the reports' citations was read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Command

LIST = "\n\n## References\n\n" + "".join(f"{n}. Source {n}. https://s{n}.example/\n" for n in range(1, 4))
READ = "# T\n\nA is so [1].\n\nB is so [2, 3]." + LIST
UNREAD = "# T\n\nA turns ⟦K1⟧.\n\nB turns ⟦K2⟧.\n\nC turns ⟦K3⟧." + LIST


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    path.mkdir()
    (path / "read.md").write_text(READ, encoding="utf-8")
    (path / "[b]unread.txt").write_text(UNREAD, encoding="utf-8")
    return path


def test_a_row_for_each_report_their_sums_and_the_problems(command: Command, folder: Path) -> None:
    ended = command("text", "check", folder)
    assert ended.code == 0
    lines = ended.out.splitlines()
    head = [cell.strip() for cell in lines[0].split("┃")]
    assert head[3:7] == ["sentences", "marks", "resolved", "no list entry"]
    assert head[7:] == ["no address", "unknown style", "list entries", "never cited", "in the text"]
    rows = [[cell.strip() for cell in line.split("│")] for line in lines if "│" in line]
    assert rows == [
        ["[b]unread", "txt", "und", "3", "0", "0", "0", "0", "3", "3", "3", "0"],
        ["read", "md", "und", "2", "3", "3", "0", "0", "0", "3", "0", "0"],
        ["2 reports", "", "", "5", "3", "3", "0", "0", "3", "6", "3", "0"],
    ]
    assert [line for line in lines if ":" in line] == [
        "format: md 1, txt 1",
        "language: und 2",
        "marks: number 3",
        "unread: bracket 3",
        "[b]unread: list entries without a mark: 3 of 3; marks of an unknown style: 3 of 3",
    ]


def test_strict_fails_on_a_problem(command: Command, folder: Path) -> None:
    assert command("text", "check", folder, "--strict").code == 1
    assert command("text", "check", folder / "read.md", "--strict").code == 0


def test_unreadable_reports_are_named(command: Command, folder: Path) -> None:
    (folder / "empty.md").write_bytes(b"")
    ended = command("text", "check", folder)
    assert ended.code == 1
    assert ended.line().startswith(f"local-judge: {folder / 'empty.md'}: ") and "unread" in ended.out


def test_one_object_per_report(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"id": "a", "report": UNREAD}) + "\n", encoding="utf-8")
    (row,) = map(json.loads, command("text", "check", path, "--json").out.splitlines())
    assert (row["id"], row["format"], row["n_entries"], row["n_uncited"]) == ("a", "jsonl", 3, 3)
    assert row["unread"] == {"bracket": 3}
    assert [(one["kind"], one["n"], one["of"]) for one in row["problems"]] == [
        ("uncited_list", 3, 3),
        ("unread_marks", 3, 3),
    ]


def test_sentences_have_labels_and_citations(command: Command, folder: Path, tmp_path: Path) -> None:
    def table(report: Path) -> list[str]:
        lines = command("text", "check", report, "--sentences").out.splitlines()
        return [line for line in lines if line.startswith("L")]

    parsed = table(folder / "read.md")
    assert [line.split("│")[2].strip() for line in parsed] == ["1", "2, 3"]
    # The parsed report is a report itself: its text is under `text`.
    whole = command("text", "check", folder / "read.md", "--sentences", "--json").out
    (tmp_path / "parsed.jsonl").write_text(whole, encoding="utf-8")
    assert table(tmp_path / "parsed.jsonl") == parsed
