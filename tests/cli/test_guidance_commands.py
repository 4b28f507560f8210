"""`local-judge tasks ... guidance`: drafted by the stub, decided on by flags, by an editor and at a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_judge.tasks.guidance import GUIDANCE_KIND, GuidanceRow, Point
from tests.stub_server import Fault, StubPlan

from ..stub_thread import StubThread, answer, write_preset
from .conftest import ROOT, Command

TASKS = """{"id": "mill", "prompt": "What did the retrofit change?"}
{"id": "given", "prompt": "Who paid?", "guidance": "Name the payer."}
{"id": "votes", "prompt": "How did the council vote? Name the date."}
"""


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.jsonl"
    path.write_text(TASKS)
    return path


def row(task: str, statement: str = "Names who paid.") -> GuidanceRow:
    return GuidanceRow(
        task_id=task,
        text=f"1. {statement}",
        status="drafted",
        task="Who [bold]paid[/bold]?\x1b[31m",
        points=(Point(statement=statement, quote_rejected="no such words"),),
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "guidance.jsonl"
    for task in ("a", "b", "c"):
        GUIDANCE_KIND.file(path).add(row(task), {})
    return path


def test_draft_continues_where_it_stopped(
    command: Command, tasks: Path, tmp_path: Path, snapshot: Path, server: StubThread, preset: Path
) -> None:
    out = tmp_path / "guidance.jsonl"
    options = ("--judge", preset, "--base-url", server.url, "--snapshot", snapshot, "--out", out)
    ended = command("tasks", "draft", "guidance", tasks, *options)
    assert (ended.code, ended.out) == (0, f"2 drafted, 1 had guidance, 0 failed: {out}\n")
    drafted = GUIDANCE_KIND.file(out).load()
    assert list(drafted) == ["mill", "votes"]
    assert all(row.points[0].source is not None and row.snapshot for row in drafted.values())
    assert (tmp_path / "guidance.ledger.sqlite").is_file()
    asked = len(server.chats)
    again = command("tasks", "draft", "guidance", tasks, *options)
    assert (again.code, again.out) == (0, f"0 drafted, 3 had guidance, 0 failed: {out}\n")
    assert len(server.chats) == asked
    # The file is lost and the ledger is not: the same bytes, and no question.
    whole = out.read_bytes()
    out.unlink()
    assert command("tasks", "draft", "guidance", tasks, *options).code == 0
    assert out.read_bytes() == whole
    assert len(server.chats) == asked


def test_failed_drafts_are_named_one_a_line(command: Command, tasks: Path, tmp_path: Path) -> None:
    out = tmp_path / "guidance.jsonl"
    with StubThread(StubPlan(answer=answer, faults=(Fault("400"), Fault("400")))) as server:
        options = ("--judge", write_preset(tmp_path), "--base-url", server.url, "--out", out)
        ended = command("tasks", "draft", "guidance", tasks, *options)
        assert (ended.code, ended.out) == (3, f"0 drafted, 1 had guidance, 2 failed: {out}\n")
        assert [line.split(":")[0] for line in ended.err.splitlines()] == ["task mill", "task votes"]
        assert command("tasks", "draft", "guidance", tasks, *options).code == 0
    assert list(GUIDANCE_KIND.file(out).load()) == ["mill", "votes"]


def test_show(command: Command, file: Path) -> None:
    table = command("tasks", "show", "guidance", file).out
    assert [line.replace("│", " ").split()[:2] for line in table.splitlines()[2:]] == [
        ["a", "drafted"],
        ["b", "drafted"],
        ["c", "drafted"],
    ]
    one = command("tasks", "show", "guidance", file, "--task", "b").out
    assert "Who [bold]paid[/bold]? [31m" in one and "\x1b" not in one
    assert 'quotation in no passage: "no such words"' in one
    assert [
        entry["task_id"] for entry in json.loads(command("tasks", "show", "guidance", file, "--json").out)
    ] == [
        "a",
        "b",
        "c",
    ]
    ended = command("tasks", "show", "guidance", file, "--task", "z")
    assert ended.code == 1
    assert "no task 'z'" in ended.line()


def test_review_by_flags(command: Command, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    review = ("tasks", "review", "guidance", file, "--reviewer", "Ada")
    assert command(*review, "--task", "a", "--reject").out == "task a: rejected\n"
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i 's/who paid/all who paid/'")
    assert command(*review, "--task", "b", "--edit").out == "task b: reviewed\n"
    # Without --task: what still waits, and that is c alone.
    assert command(*review, "--accept").out == "task c: reviewed\n"
    rows = GUIDANCE_KIND.file(file).load()
    assert [(one.status, one.text, one.reviewer) for one in rows.values()] == [
        ("rejected", "1. Names who paid.", "Ada"),
        ("reviewed", "1. Names all who paid.", "Ada"),
        ("reviewed", "1. Names who paid.", "Ada"),
    ]
    assert rows["b"].text_before == "1. Names who paid."
    assert command(*review, "--accept").out == f"{file}: no draft waits for a decision\n"
    # A decision can be taken back by name.
    assert command(*review, "--task", "a", "--accept").out == "task a: reviewed\n"
    assert all(row.content for row in GUIDANCE_KIND.file(file).load().values())
    assert "text\n1. Names all who paid." in command("tasks", "show", "guidance", file, "--task", "b").out


def test_review_refuses_in_one_line(command: Command, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command("tasks", "review", "guidance", file, "--accept").code == 2  # nobody says who decides
    review = ("tasks", "review", "guidance", file, "--reviewer", "Ada")
    ended = command(*review)
    assert ended.code == 1
    assert ended.line() == (
        "local-judge: review: standard input is not a terminal; give --accept, --reject or --edit"
    )
    assert command(*review, "--accept", "--reject").code == 2
    for editor, said in (("", "set EDITOR"), ("false", "nothing was changed"), ("/no/such", "No such file")):
        monkeypatch.setenv("VISUAL", "")
        monkeypatch.setenv("EDITOR", editor)
        ended = command(*review, "--task", "a", "--edit")
        assert ended.code == 1
        assert said in ended.line()
    monkeypatch.setenv("EDITOR", "true")
    assert command(*review, "--task", "a", "--edit").out == "task a: unchanged\n"
    assert all(one.status == "drafted" for one in GUIDANCE_KIND.file(file).load().values())


class Terminal:
    """A command at a terminal of its own."""

    def __init__(self, *arguments: str | Path, **env: str) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "local_judge", *map(str, arguments)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb", "COLUMNS": "100", **env},
        )
        os.close(slave)
        self.seen = ""

    def expect(self, text: str, timeout: float = 120.0) -> None:
        """Read until `text` is there, and forget what stands before its end."""
        deadline = time.monotonic() + timeout
        while text not in self.seen:
            ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"waited for {text!r}; there is {self.seen!r}"
            self.seen += os.read(self._master, 65536).decode(errors="replace")
        self.seen = self.seen.partition(text)[2]

    def say(self, line: str) -> None:
        os.write(self._master, (line + "\n").encode())

    def close(self) -> int:
        """End, and the exit code."""
        try:
            return self.process.wait(timeout=120)
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self._master)


@pytest.fixture
def terminal(file: Path) -> Iterator[Terminal]:
    opened = Terminal(
        "tasks", "review", "guidance", file, "--reviewer", "Ada", EDITOR="sed -i 's/who/all who/'", VISUAL=""
    )
    yield opened
    if opened.process.poll() is None:
        opened.process.kill()
        opened.process.wait()


def test_review_at_a_terminal(terminal: Terminal, file: Path) -> None:
    question = "[a]ccept, [e]dit, [r]eject, [s]kip, [q]uit? "
    terminal.expect("task a")
    terminal.expect('quotation in no passage: "no such words"')
    terminal.expect(question)
    terminal.say("perhaps")
    terminal.expect(question)
    terminal.say("edit")
    terminal.expect("task a: reviewed")
    # Each decision is in the file at once.
    assert GUIDANCE_KIND.file(file).load()["a"].text == "1. Names all who paid."
    terminal.expect(question)
    terminal.say("s")
    terminal.expect("task c")
    terminal.expect(question)
    terminal.say("R")
    terminal.expect("task c: rejected")
    assert terminal.close() == 0
    assert [one.status for one in GUIDANCE_KIND.file(file).load().values()] == [
        "reviewed",
        "drafted",
        "rejected",
    ]


def test_quitting_leaves_the_rest(terminal: Terminal, file: Path) -> None:
    terminal.expect("[q]uit? ")
    terminal.say("q")
    assert terminal.close() == 0
    assert {one.status for one in GUIDANCE_KIND.file(file).load().values()} == {"drafted"}


def test_what_was_saved_and_refused_is_there_again(file: Path, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    # The first time it empties the text, which no guidance may be; the second time it writes into what it finds.
    editor.write_text(
        f"#!/bin/sh\ncat $1 > {tmp_path}/found\nif grep -q who $1; then : > $1; else echo Mine. > $1; fi\n"
    )
    editor.chmod(0o755)
    opened = Terminal("tasks", "review", "guidance", file, "--reviewer", "Ada", EDITOR=str(editor), VISUAL="")
    opened.expect("[q]uit? ")
    opened.say("e")
    opened.expect("the guidance is empty; reject it instead")
    opened.expect("[q]uit? ")
    assert "who paid" in (tmp_path / "found").read_text()
    opened.say("e")
    opened.expect("task a: reviewed")
    assert (tmp_path / "found").read_text() == ""
    opened.expect("[q]uit? ")
    opened.say("q")
    assert opened.close() == 0
    assert GUIDANCE_KIND.file(file).load()["a"].text == "Mine."
