"""`local-judge text clean`: texts, diffs and removals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.stub_server import StubPlan

from ..stub_thread import StubThread
from .conftest import Command

TEXT = "# T\n\nA is so [1].\n\n## References\n\n[1] A: https://a.example\n"


@pytest.fixture
def cited(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "a.md"
    path.parent.mkdir()
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_one_report_is_printed(command: Command, cited: Path) -> None:
    assert command("text", "clean", cited) == (0, "# T\n\nA is so.\n", "")


def test_several_need_a_place(command: Command, cited: Path) -> None:
    (cited.parent / "b.md").write_text("B.\n", encoding="utf-8")
    ended = command("text", "clean", cited.parent)
    assert ended.code == 1
    assert ended.line() == "local-judge: 2 reports: give --out, --diff or --json"


def test_a_diff_names_each_changed_line(command: Command, cited: Path) -> None:
    ended = command("text", "clean", cited, "--diff")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "--- a",
        "+++ a (cleaned)",
        "@@ -1,7 +1,3 @@",
        " # T",
        " ",
        "-A is so [1].",
        "-",
        "-## References",
        "-",
        "-[1] A: https://a.example",
        "+A is so.",
    ]


def test_a_diff_prints_no_markup_and_no_control_characters(command: Command, cited: Path) -> None:
    cited.write_text("[bold]A[/bold] is\x1b[31m so [1].\n", encoding="utf-8")
    ended = command("text", "clean", cited, "--diff")
    assert "-[bold]A[/bold] is [31m so [1]." in ended.out.splitlines()
    assert "\x1b" not in ended.out


def test_removals_as_json(command: Command, cited: Path) -> None:
    row = json.loads(command("text", "clean", cited, "--json").out)
    assert row["id"] == "a"
    assert [(r["kind"], r["text"]) for r in row["removed"]] == [
        ("marker", " [1]"),
        ("reference_section", TEXT.removeprefix("# T\n\nA is so [1].")),
    ]


def test_rows_keep_ids_prompts_and_order(command: Command, tmp_path: Path) -> None:
    rows = [
        {"id": 7, "prompt": "Why?", "article": TEXT},
        {"id": "x/y", "article": "B [1]."},
        {"id": "07", "article": "C."},
    ]
    path = tmp_path / "raw.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert command("text", "clean", path, "--out", tmp_path / "cleaned.jsonl") == (0, "", "")
    written = (tmp_path / "cleaned.jsonl").read_text(encoding="utf-8").splitlines()
    assert written == [
        '{"id": 7, "prompt": "Why?", "article": "# T\\n\\nA is so.\\n"}',
        '{"id": "x/y", "prompt": null, "article": "B."}',
        '{"id": "07", "prompt": null, "article": "C."}',
    ]


def test_a_folder_gets_a_file_for_each_report(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "raw.jsonl"
    path.write_text(
        '{"id": "a", "article": "A [1]."}\n{"id": "../b", "article": "B [1]."}\n', encoding="utf-8"
    )
    assert command("text", "clean", path, "--out", tmp_path / "out") == (0, "", "")
    files = {file.name: file.read_text(encoding="utf-8") for file in (tmp_path / "out").iterdir()}
    # The first 16 digits of the SHA-256 of "../b".
    assert files == {"a.md": "A.", "95cd90691029e024.md": "B."}


def test_what_was_read_is_not_written_over(command: Command, cited: Path, tmp_path: Path) -> None:
    ended = command("text", "clean", cited.parent, "--out", cited.parent)
    assert ended.code == 1
    assert ended.line().endswith("a.md: is an input file and would be replaced; give another --out")
    assert cited.read_text(encoding="utf-8") == TEXT
    path = tmp_path / "raw.jsonl"
    path.write_text('{"id": "a", "article": "A [1]."}\n', encoding="utf-8")
    assert command("text", "clean", path, "--out", path).code == 1
    assert "[1]" in path.read_text(encoding="utf-8")


def test_an_unreadable_report_is_named_and_the_others_are_cleaned(command: Command, cited: Path) -> None:
    (cited.parent / "empty.md").write_text("", encoding="utf-8")
    ended = command("text", "clean", cited.parent, "--out", cited.parent.parent / "out")
    assert ended.code == 1
    assert re.search(r"empty\.md: .* is empty$", ended.line())
    assert (cited.parent.parent / "out" / "a.md").read_text(encoding="utf-8") == "# T\n\nA is so.\n"


def test_chatter_goes_where_it_is_asked_for(command: Command, cited: Path) -> None:
    cited.write_text("Let me search for more data.\n\n" + TEXT, encoding="utf-8")
    assert command("text", "clean", cited).out == "Let me search for more data.\n\n# T\n\nA is so.\n"
    assert command("text", "clean", cited, "--chatter").out == "# T\n\nA is so.\n"


def test_two_forms_of_output_exclude_each_other(command: Command, cited: Path) -> None:
    ended = command("text", "clean", cited, "--diff", "--json")
    assert (ended.code, ended.line()) == (1, "local-judge: --diff and --json exclude each other")


NAMED = "# T\n\nA is so (Reuters, 5 May 2024), and so is B [1].\n"


def test_a_judge_says_what_is_a_citation(command: Command, cited: Path, tmp_path: Path, preset: Path) -> None:
    cited.write_text(NAMED, encoding="utf-8")
    copy = json.dumps({"text": "A is so, and so is B."})
    with StubThread(StubPlan(content=copy)) as running:
        options = ("--judge", preset, "--base-url", running.url)
        ended = command("text", "clean", cited, *options, "--ledger", tmp_path / "l.sqlite")
        assert ended == (0, "# T\n\nA is so, and so is B.\n", "")
        assert "\n```\nA is so (Reuters" in running.chats[0].json["messages"][-1]["content"]
        ended = command("text", "clean", cited, *options, "--ledger", tmp_path / "l.sqlite", "--diff")
        assert ended.out.splitlines()[-2:] == [
            "-A is so (Reuters, 5 May 2024), and so is B [1].",
            "+A is so, and so is B.",
        ]
        assert len(running.chats) == 1, "the ledger answers"
        assert command("text", "clean", cited, *options, "--out", tmp_path / "cleaned.jsonl").code == 0
        assert (tmp_path / "cleaned.ledger.sqlite").exists()
    # Code takes the mark alone.
    assert command("text", "clean", cited).out == "# T\n\nA is so (Reuters, 5 May 2024), and so is B.\n"


def test_a_copy_with_other_words_is_named_and_code_cleans(
    command: Command, cited: Path, tmp_path: Path, preset: Path
) -> None:
    with StubThread(StubPlan(content='{"text": "B is so."}')) as running:
        options = ("--judge", preset, "--base-url", running.url, "--ledger", tmp_path / "l.sqlite")
        ended = command("text", "clean", cited, *options, "--json")
    assert ended.code == 3
    assert ended.line().startswith("local-judge: a: a piece was cleaned by code: invalid_reply: reply ")
    assert re.search("'Bisso' .*'Aisso'", ended.line())
    row = json.loads(ended.out)
    assert row["removed"][0]["text"] == " [1]"
    assert (row["pieces"], [failure["kind"] for failure in row["by_code"]]) == (1, ["invalid_reply"])


def test_a_judge_needs_a_ledger_and_a_ledger_a_judge(command: Command, cited: Path, preset: Path) -> None:
    assert command("text", "clean", cited, "--judge", preset).line() == (
        "local-judge: no file for the judge's replies: give --ledger FILE or --out"
    )
    for nameless in (".", "..", "/"):
        assert command("text", "clean", cited, "--judge", preset, "--out", nameless).line() == (
            f"local-judge: --out {nameless}: has no file name to derive the ledger's name from; give --ledger"
        )
    assert command("text", "clean", cited, "--ledger", "l.sqlite").line() == (
        "local-judge: --base-url, --serve and --ledger need a judge; name it with --judge"
    )
