"""`snapshot fetch` from the command to the snapshot, against a server on this machine."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from rich.console import Console

from indexes.archive.model import Capture
from indexes.compare import compare
from indexes.errors import SnapshotExists, SnapshotMissing
from indexes.fetch.crawl import Tally
from indexes.fetch.state import FetchState
from indexes.snapshot import Snapshot
from indexes.verify import verify
from local_judge import __version__
from local_judge.base.errors import ConfigError, InputError
from local_judge.cli.options import CommandGroup
from local_judge.cli.snapshot.fetch import fetch
from local_judge.reporting.fetching import FetchProgress
from local_judge.terminal import render_table

from ..waiting import SECONDS, wait_until

PAGE = b"<html><title>Ice</title><p>" + b"The lake froze late that year. " * 20


class Server(BaseHTTPRequestHandler):
    """Two pages with tags; the second may change."""

    agents: ClassVar[list[str | None]] = []
    paths: ClassVar[list[str]] = []
    changed: ClassVar[bool] = False
    not_modified: ClassVar[int] = 0
    held_from: ClassVar[int] = 1000
    """Number of requests after which slow pages wait for `go_on`."""
    go_on: ClassVar[threading.Event] = threading.Event()

    def do_GET(self) -> None:
        Server.agents.append(self.headers["User-Agent"])
        Server.paths.append(self.path)
        if self.path.startswith("/slow") and len(Server.paths) > Server.held_from:
            Server.go_on.wait(SECONDS)
        page = {"/1": PAGE, "/2": PAGE + b"Changed." if Server.changed else PAGE}.get(self.path)
        page = PAGE + self.path.encode() if self.path.startswith("/slow") else page
        tag = f'"{len(page or b"")}"'
        if page is not None and self.headers["If-None-Match"] == tag:
            Server.not_modified += 1
            self.send_response(304)
            self.end_headers()
            return
        self.send_response(404 if page is None else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page or b"")))
        if page is not None:
            self.send_header("ETag", tag)
        self.end_headers()
        self.wfile.write(page or b"")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def place() -> Iterator[str]:
    Server.agents, Server.paths, Server.changed, Server.not_modified = [], [], False, 0
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def lists(tmp_path: Path, place: str) -> Path:
    path = tmp_path / "urls.txt"
    path.write_text(
        f"http://{place}/1\nhttp://{place}/2#x\nhttp://{place}/gone\nhttp://{place}/1?utm_source=a\n"
    )
    return path


def run(*arguments: str | Path) -> int:
    app = CommandGroup()
    app.command("fetch")(fetch)
    try:
        app(["fetch", *map(str, arguments)], standalone_mode=False)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def test_a_list_is_fetched_once_into_a_snapshot(
    lists: Path, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (tmp_path / "snap", "--urls", lists, "--allow-host", place, "--delay", "0", "--json")
    assert run(*arguments) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["outcomes"] == {"page": 2, "dead": 1}
    assert (report["n_given"], report["n_different"], report["n_requests"]) == (4, 3, 4)
    assert set(Server.agents) == {f"local_judge/{__version__} (+keeps the pages that research reports cite)"}
    snapshot = Snapshot.open(tmp_path / "snap")
    assert snapshot.digest == report["snapshot"]
    assert verify(tmp_path / "snap").ok
    page = snapshot.page(f"http://{place}/2")
    assert (page.status, page.title, page.http_status) == ("ok", "Ice", 200)
    assert snapshot.raw(page) == PAGE
    gone = snapshot.page(f"http://{place}/gone")
    assert (gone.status, gone.reason) == ("dead", "HTTP 404 Not Found")
    assert json.loads((tmp_path / "snap/fetch.json").read_text())[0]["allow_hosts"] == [place]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["snap", "urls.txt"]

    Server.agents.clear()
    assert run(*arguments[:-1]) == 0
    assert Server.agents == []
    assert "4 spellings of 3 addresses, 3 fetched before; 0 requests" in capsys.readouterr().out

    lists.write_text(lists.read_text() + f"http://{place}/3\n")
    with pytest.raises(SnapshotExists, match=r"snap is whole and lacks 1 of these addresses"):
        run(*arguments)


def test_what_was_not_changed_is_taken_from_the_base(
    lists: Path, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--urls", lists, "--allow-host", place, "--delay", "0")
    assert run(tmp_path / "old", *options) == 0
    Server.changed = True  # /2 is another page now; /1 has its tag still
    assert run(tmp_path / "new", *options, "--base", tmp_path / "old") == 0
    capsys.readouterr()
    old, new = Snapshot.open(tmp_path / "old"), Snapshot.open(tmp_path / "new")
    assert Server.not_modified == 1
    assert new.raw(new.page(f"http://{place}/1")) == old.raw(old.page(f"http://{place}/1")) == PAGE
    assert new.raw(new.page(f"http://{place}/2")) == PAGE + b"Changed."
    assert verify(tmp_path / "new").ok
    assert [page.kind for page in compare(old, new).pages][-1] in ("bytes", "record", "text")


def test_reports_and_tasks_are_sources_too(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.md").write_text(f"# Ice\n\nIt froze [1].\n\n## References\n\n[1] http://{place}/1\n")
    (tmp_path / "b.md").write_bytes(b"\xff\xfe")
    (tmp_path / "t.jsonl").write_text(json.dumps({"id": 1, "url": f"http://{place}/2"}) + "\n")
    options = ("--tasks", tmp_path / "t.jsonl", "--allow-host", place, "--delay", "0", "--user-agent", "me/1")
    assert run(tmp_path / "snap", "--reports", tmp_path, *options) == 0
    assert Snapshot.open(tmp_path / "snap").manifest.statuses == {"ok": 2}
    assert set(Server.agents) == {"me/1"}
    shown = capsys.readouterr()
    assert f"Not read: {tmp_path / 'b.md'}" in shown.err
    assert "127.0.0.1" in shown.out


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on_and_nothing_is_asked_for_twice(
    lists: Path,
    place: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = ("--urls", lists, "--allow-host", place, "--delay", "0", "--per-host", "1")
    keep = FetchState.store

    def stop(state: FetchState, capture: Capture) -> None:
        keep(state, capture)
        signal.raise_signal(signal.SIGINT)

    # What was started in the background inherits that the signal is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(FetchState, "store", stop)
    try:
        assert run(tmp_path / "snap", *options) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    said = capsys.readouterr().err
    assert (
        said
        == f"Stopped. Finished pages are stored next to {tmp_path / 'snap'}; run the same command to continue.\n"
    )
    with pytest.raises(SnapshotMissing, match="was begun and is not whole"):
        Snapshot.open(tmp_path / "snap")
    asked = len(Server.agents)
    monkeypatch.setattr(FetchState, "store", keep)
    assert run(tmp_path / "snap", *options) == 0
    assert Snapshot.open(tmp_path / "snap").manifest.statuses == {"dead": 1, "ok": 2}
    assert len(Server.agents) == asked + 3  # robots.txt anew, and the two that were left


@pytest.mark.slow
def test_a_kill_loses_nothing_that_was_stored(place: str, tmp_path: Path) -> None:
    lists = tmp_path / "urls.txt"
    lists.write_text("".join(f"http://{place}/slow{number}\n" for number in range(40)))
    options = [
        "snapshot",
        "fetch",
        tmp_path / "snap",
        "--urls",
        lists,
        "--allow-host",
        place,
        "--delay",
        "0",
        "--json",
    ]
    command = [sys.executable, "-m", "local_judge", *map(str, options)]
    database = tmp_path / ".snap.fetch.db"
    stored: set[str] = set()
    for at_least in (5, 15):
        Server.paths.clear()
        Server.go_on.clear()
        Server.held_from = at_least + 5  # robots.txt, and what may be under way
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda at_least=at_least: database.exists() and len(stored_in(database)) >= at_least)
        finally:
            process.kill()
            process.wait()
        stored = stored_in(database)
        Server.go_on.set()
    Server.paths.clear()
    Server.held_from = 1000
    assert 15 <= len(stored) < 40
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["n_done_before"] == len(stored)
    assert not stored & {f"https://{place}{path}" for path in Server.paths}
    snapshot = Snapshot.open(tmp_path / "snap")
    assert snapshot.manifest.statuses == {"ok": 40}
    assert verify(tmp_path / "snap").ok


def stored_in(database: Path) -> set[str]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        try:
            return {url for (url,) in connection.execute("SELECT url FROM captures")}
        except sqlite3.OperationalError:  # not made yet
            return set()


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--delay", "-1", "--delay must be at least 0 (got -1.0)"),
        ("--timeout", "0", "--timeout must be greater than 0 (got 0.0)"),
        ("--per-host", "0", "--per-host must be at least 1 (got 0)"),
        ("--user-agent", "a\nb", "--user-agent must have the form"),
        ("--user-agent", "", "--user-agent must have the form"),
    ],
)
def test_values_that_are_none_are_said(
    lists: Path, tmp_path: Path, option: str, value: str, said: str
) -> None:
    with pytest.raises(ConfigError) as error:
        run(tmp_path / "snap", "--urls", lists, option, value)
    assert str(error.value).startswith(said)


def test_nothing_to_fetch_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name at least one"):
        run(tmp_path / "snap")


def test_progress_shows_the_hosts_with_most_left() -> None:
    tally = Tally({f"h{number:02}.test": number for number in range(1, 30)})
    tally.hosts["h29.test"].ended["page"] += 28
    tally.hosts["h28.test"].ended["dead"] += 1
    progress = FetchProgress()
    progress(tally)
    console = Console(width=100, file=None, record=True, quiet=False)
    with console.capture() as shown:
        console.print(render_table(progress.table()))
    lines = [re.sub(r"[^\w./ ]", " ", line).split() for line in shown.get().splitlines()]
    assert lines[0][:4] == ["host", "done", "page", "dead"]
    assert lines[2] == ["h27.test", "0/27"]  # 28 has as many left, and comes later in the alphabet
    assert lines[3] == ["h28.test", "1/28", "1"]
    assert not any(line[:1] == ["h29.test"] for line in lines)
    assert ["29", "hosts", "29/435", "28", "1"] in lines  # 1 + 2 + … + 29 = 435
