"""`lab agent` against a server, what it leaves, and a fetch of what it missed."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from indexes.snapshot import Snapshot
from local_judge.agents.ask import AskedQuestion
from local_judge.agents.mcp_server import make_server
from local_judge.agents.result import EvidenceGap, write_evidence_gaps
from local_judge.agents.toolbox import Toolbox
from local_judge.base.errors import UserError
from local_judge.runs.execution.cited import collect_urls

from ..stub_thread import StubThread
from .conftest import Command, Ended

QUESTION = "dwellings that the retrofit connected"


def ask(command: Command, snapshot: Path, preset: Path, server: StubThread, *more: str | Path) -> Ended:
    where = ("--judge", preset, "--base-url", server.url)
    return command("lab", "agent", snapshot, *where, *more)


def test_a_question_is_answered_with_a_quotation_that_was_looked_up(
    command: Command, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    out = tmp_path / "asked"
    done = ask(command, snapshot, preset, server, QUESTION, "--out", out, "--transcript")
    assert (done.code, done.err) == (0, "")
    answer, citation, ended, coverage, *rest = done.out.splitlines()
    kept = AskedQuestion.model_validate_json((out / "answer.json").read_bytes())
    assert kept.result.answer is not None
    [checked] = kept.citations
    assert (answer, checked.status) == (kept.result.answer.text, "found")
    assert checked.start is not None
    page = Snapshot.open(snapshot).page(checked.url)
    assert page.text[checked.start : checked.end] == checked.quote
    assert citation == f'[1] {checked.url} ({checked.start} to {checked.end}): "{checked.quote}"'
    assert ended.startswith("answered: 2 turns, 1 call, ")
    assert coverage.startswith("asked by search: 1, ") and coverage.endswith(" 1")
    assert (out / "transcript.md").read_text() == "\n".join(rest[1:]) + "\n"
    assert (out / "evidence_gaps.jsonl").read_text() == ""
    before = len(server.chats)
    again = ask(command, snapshot, preset, server, QUESTION, "--ledger", out / "ledger.sqlite", "--json")
    assert json.loads(again.out) == json.loads((out / "answer.json").read_text())
    assert len(server.chats) == before


def test_an_answer_that_came_before_the_lock_is_not_written_over(
    command: Command,
    snapshot: Path,
    preset: Path,
    server: StubThread,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, out = tmp_path / "first", tmp_path / "asked"
    assert ask(command, snapshot, preset, server, QUESTION, "--out", first).code == 0

    @contextmanager
    def taken(root: Path) -> Generator[None]:
        """The lock of a directory in which another command has just ended."""
        shutil.copytree(first, root)
        yield

    monkeypatch.setattr("local_judge.cli.lab.agent.locked", taken)
    other = ask(command, snapshot, preset, server, "zeppelin", "--out", out)
    assert "another question" in other.err and "--out" in other.err
    assert (out / "answer.json").read_bytes() == (first / "answer.json").read_bytes()


def test_a_directory_holds_one_question_and_no_run(
    command: Command, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    out, run = tmp_path / "asked", tmp_path / "run"
    assert ask(command, snapshot, preset, server, QUESTION, "--out", out).code == 0
    kept = (out / "answer.json").read_bytes()
    assert (
        ask(command, snapshot, preset, server, QUESTION, "--out", out).code == 0
    )  # the same question goes on
    other = ask(command, snapshot, preset, server, "zeppelin", "--out", out)
    assert (other.code, other.err) == (
        1,
        f"local-judge: {out}: contains the answer to another question; choose another --out\n",
    )
    run.mkdir()
    (run / "manifest.json").write_text("{}")
    (run / "evidence_gaps.jsonl").write_text("its own\n")
    refused = ask(command, snapshot, preset, server, QUESTION, "--out", run)
    assert (refused.code, refused.err) == (1, f"local-judge: {run}: contains a run; choose another --out\n")
    assert (out / "answer.json").read_bytes() == kept
    assert (run / "evidence_gaps.jsonl").read_text() == "its own\n"


def test_what_was_not_found_is_a_gap(
    command: Command, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    done = ask(command, snapshot, preset, server, "zeppelin", "--out", tmp_path / "asked", "--turns", "2")
    assert done.code == 0
    assert done.out.splitlines()[0] == "Unknown."
    assert "out_of_turns: 2 turns, 1 call" in done.out
    [line] = (tmp_path / "asked" / "evidence_gaps.jsonl").read_text().splitlines()
    assert json.loads(line) == {
        "query": "zeppelin",
        "times": 1,
        "tool": "search",
        "url": None,
        "why": "nothing_found",
    }
    vain = command("snapshot", "fetch", tmp_path / "next", "--evidence-gaps", tmp_path / "asked")
    assert vain.code == 1
    assert "lists no missing page, only 1 query" in vain.line()


def test_mistakes_end_in_one_line(command: Command, snapshot: Path, preset: Path, server: StubThread) -> None:
    assert re.search("--ledger FILE .*--out$", ask(command, snapshot, preset, server, QUESTION).line())
    here = ("--ledger", "l.sqlite")
    assert "question is empty" in ask(command, snapshot, preset, server, " ", *here).line()
    half = ask(command, snapshot, preset, server, "How large?\udcff", *here).line()
    assert half == "local-judge: the question is not UTF-8: 'How large?\\udcff'"
    wrong = ask(command, snapshot, preset, server, QUESTION, *here, "--tool", "shell").line()
    assert "--tool shell: " in wrong
    assert wrong.endswith(" search, search_papers, search_code, open, find")


def test_without_the_sdk_the_extra_is_named(
    command: Command, snapshot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(UserError, match="extra `mcp`"):
        make_server(Toolbox(Snapshot.open(snapshot)))
    assert "pip install 'local-judge[mcp]'" in command("snapshot", "mcp", snapshot).line()


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<html><title>Found</title><p>" + b"The page that was missed. " * 30
        self.send_response(200 if self.path == "/missed" else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_missed_pages_are_fetched_and_queries_are_named(command: Command, site: str, tmp_path: Path) -> None:
    missed = EvidenceGap(url=f"http://{site}/missed", tool="page", why="not_in_snapshot", times=3)
    query = EvidenceGap(query="zeppelin", tool="search", why="weak", times=1)
    write_evidence_gaps(tmp_path / "evidence_gaps.jsonl", [query, missed])
    found = collect_urls(evidence_gaps=[tmp_path])
    assert (found.urls, found.queries) == ((missed.url,), ("zeppelin",))
    done = command(
        "snapshot",
        "fetch",
        tmp_path / "next",
        "--evidence-gaps",
        tmp_path,
        "--allow-host",
        site,
        "--delay",
        "0",
    )
    assert done.code == 0
    assert done.line() == "A query cannot be fetched: zeppelin"
    page = Snapshot.open(tmp_path / "next").page(str(missed.url))
    assert (page.status, page.title) == ("ok", "Found")
