"""`snapshot fetch` with an archive in memory, against a server on this machine."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import typer
from rich.console import Console

from indexes.archive.model import Capture, Exchange
from indexes.fetch.crawl import Tally
from indexes.fetch.settings import FetchSettings
from indexes.urls import normalise_url
from local_judge import __version__
from local_judge.cli.snapshot_fetch import add_fetch
from local_judge.errors import ConfigError, InputError
from local_judge.reporting.fetching import FetchProgress

PAGE = b"<html><title>Ice</title><p>" + b"The lake froze late that year. " * 20


class Memory:
    """An archive that keeps what it is given."""

    def __init__(self) -> None:
        self.captures: dict[str, Capture] = {}
        self.known: dict[str, Exchange] = {}
        self.opened: list[tuple[Path, Path | None, FetchSettings]] = []
        self.finished = 0
        self.stop_after = 1_000

    @property
    def done(self) -> set[str]:
        return set(self.captures)

    def store(self, capture: Capture) -> None:
        if len(self.captures) == self.stop_after:
            raise KeyboardInterrupt
        self.captures[normalise_url(capture.url)] = capture

    def previous(self, url: str) -> Exchange | None:
        return self.known.get(url)

    @contextmanager
    def open(self, out: Path, base: Path | None, settings: FetchSettings) -> Generator[Memory]:
        self.opened.append((out, base, settings))
        yield self
        self.finished += 1


class Server(BaseHTTPRequestHandler):
    agents: list[str | None]

    def do_GET(self) -> None:
        self.agents.append(self.headers["User-Agent"])
        found = self.path in ("/1", "/2")
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE) if found else 0))
        self.end_headers()
        if found:
            self.wfile.write(PAGE)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def place() -> Iterator[str]:
    Server.agents = []
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


def run(memory: Memory, *arguments: str | Path) -> int:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.callback()(lambda: None)
    add_fetch(app, memory.open)
    try:
        app(["fetch", *map(str, arguments)], standalone_mode=False)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def test_a_list_is_fetched_once(
    lists: Path, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = Memory()
    arguments = (tmp_path / "snap", "--urls", lists, "--allow-host", place, "--delay", "0", "--json")
    assert run(memory, *arguments) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["outcomes"] == {"page": 2, "dead": 1}
    assert (report["n_given"], report["n_different"], report["n_requests"]) == (4, 3, 4)
    assert set(Server.agents) == {f"local_judge/{__version__} (+keeps the pages that research reports cite)"}
    assert (memory.finished, memory.opened[0][:2]) == (1, (tmp_path / "snap", None))

    Server.agents.clear()
    assert run(memory, *arguments[:-1]) == 0
    assert Server.agents == []
    assert "4 spellings of 3 addresses, 3 fetched before; 0 requests" in capsys.readouterr().out


def test_reports_and_tasks_are_sources_too(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.md").write_text(f"# Ice\n\nIt froze [1].\n\n## References\n\n[1] http://{place}/1\n")
    (tmp_path / "b.md").write_bytes(b"\xff\xfe")
    (tmp_path / "t.jsonl").write_text(json.dumps({"id": 1, "url": f"http://{place}/2"}) + "\n")
    memory = Memory()
    assert (
        run(
            memory, tmp_path / "snap", "--reports", tmp_path, "--tasks", tmp_path / "t.jsonl",
            "--allow-host", place, "--delay", "0", "--base", tmp_path / "old", "--user-agent", "me/1",
        )
        == 0
    )  # fmt: skip
    assert {capture.outcome for capture in memory.captures.values()} == {"page"}
    assert len(memory.captures) == 2
    assert memory.opened[0][1] == tmp_path / "old"
    assert set(Server.agents) == {"me/1"}
    shown = capsys.readouterr()
    assert f"Not read: {tmp_path / 'b.md'}" in shown.err
    assert "127.0.0.1" in shown.out


def test_ctrl_c_says_how_to_go_on(
    lists: Path, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = Memory()
    memory.stop_after = 1
    assert (
        run(
            memory,
            tmp_path / "snap",
            "--urls",
            lists,
            "--allow-host",
            place,
            "--delay",
            "0",
            "--per-host",
            "1",
        )
        == 130
    )
    said = capsys.readouterr().err
    assert said == f"Stopped. Every finished page is kept in {tmp_path / 'snap'}; the same command goes on.\n"
    assert (len(memory.captures), memory.finished) == (1, 0)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--delay", "-1", "--delay: Input should be greater than or equal to 0, not -1.0"),
        ("--timeout", "0", "--timeout: Input should be greater than 0, not 0.0"),
        ("--per-host", "0", "--per-host: Input should be greater than or equal to 1, not 0"),
        ("--user-agent", "a\nb", "--user-agent: String should match pattern"),
        ("--user-agent", "", "--user-agent: String should match pattern"),
    ],
)
def test_values_that_are_none_are_said(
    lists: Path, tmp_path: Path, option: str, value: str, said: str
) -> None:
    with pytest.raises(ConfigError) as error:
        run(Memory(), tmp_path / "snap", "--urls", lists, option, value)
    assert str(error.value).startswith(said)


def test_nothing_to_fetch_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name at least one"):
        run(Memory(), tmp_path / "snap")


def test_progress_shows_the_hosts_with_most_left() -> None:
    tally = Tally({f"h{number:02}.test": number for number in range(1, 30)})
    tally.hosts["h29.test"].ended["page"] += 28
    tally.hosts["h28.test"].ended["dead"] += 1
    progress = FetchProgress()
    progress(tally)
    console = Console(width=100, file=None, record=True, quiet=False)
    with console.capture() as shown:
        console.print(progress.table())
    lines = [re.sub(r"[^\w./ ]", " ", line).split() for line in shown.get().splitlines()]
    assert lines[0][:4] == ["host", "done", "page", "dead"]
    assert lines[2] == ["h27.test", "0/27"]  # 28 has as many left, and comes later in the alphabet
    assert lines[3] == ["h28.test", "1/28", "1"]
    assert not any(line[:1] == ["h29.test"] for line in lines)
    assert ["29", "hosts", "29/435", "28", "1"] in lines  # 1 + 2 + … + 29 = 435
