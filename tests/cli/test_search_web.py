"""`snapshot search-web` from the command to the snapshot, and what evaluations make of the new pages."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest

from indexes.making.fetching import FETCH
from indexes.making.importing import import_pages
from indexes.making.searching import searches_of
from indexes.model import FoundBy
from indexes.snapshot import Snapshot
from indexes.verify import verify
from indexes.websearch import SEARCHES, read_searches
from local_judge.agents.result import EvidenceGap, read_evidence_gaps, write_evidence_gaps
from local_judge.base.output import QUIET
from tests.stub_server import StubPlan

from ..stub_thread import StubThread, answer
from .conftest import Command

ICE = "The lake froze late that year, and the ferries ran until the second week of January. " * 10
MILL = (
    "The record of the mill. The retrofit connected 1,240 dwellings, and the retrofit was approved by eleven votes to "
    "four in the council of Fernholt. "
) * 5


class Web(BaseHTTPRequestHandler):
    """A SearXNG server, and the pages that it finds: one host, whose answers do not depend on the time."""

    queries: ClassVar[list[str]] = []
    fails: ClassVar[dict[str, int]] = {}
    """Query: HTTP status of the answer."""
    bodies: ClassVar[dict[str, str]] = {}
    """Query: body of the answer."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/search":
            fields = parse_qs(url.query)
            assert fields["format"] == ["json"]
            query = fields["q"][0]
            Web.queries.append(query)
            body = Web.bodies.get(query) or json.dumps(self._found(query))
            self._send(Web.fails.get(query, 200), "application/json", body)
        else:
            text = {"/ice": ICE, "/mill": MILL}.get(url.path)
            self._send(404 if text is None else 200, "text/html", f"<title>{url.path}</title><p>{text}</p>")

    def _found(self, query: str) -> dict[str, Any]:
        here = f"http://{self.headers['Host']}"
        paths = ["/ice", "/gone"] if "ice" in query else ["/mill", "/ice"]
        urls = [here + path for path in paths] + ["http://169.254.169.254/latest/meta-data", "javascript:1"]
        if "nothing" in query:
            return {"results": [], "unresponsive_engines": [["bing", "timeout"]]}
        return {"query": query, "results": [{"url": url, "engines": ["bing"]} for url in urls]}

    def _send(self, status: int, kind: str, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        with suppress(ConnectionError):  # the client hangs up in a body that is too large
            self.wfile.write(text.encode())

    def date_time_string(self, timestamp: float | None = None) -> str:
        return "Sat, 31 Jan 2026 12:00:00 GMT"

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    Web.queries, Web.fails, Web.bodies = [], {}, {}
    monkeypatch.setenv(QUIET, "1")  # no lines of progress on a slow machine

    def noon(_: object) -> str:
        return "2026-01-31T12:00:00Z"

    for module in ("client", "page"):
        monkeypatch.setattr(f"indexes.fetch.{module}.stamp", noon)
    with ThreadingHTTPServer(("127.0.0.1", 0), Web) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "queries.txt"
    path.write_text("when does ice form\nmill\n")
    return path


def arguments(place: str, out: Path, *more: str | Path) -> tuple[str | Path, ...]:
    fast = ("--delay", "0", "--allow-host", place)
    return ("snapshot", "search-web", out, "--searxng", f"http://{place}", *fast, *more)


def test_results_are_fetched_and_name_their_search(
    command: Command, place: str, queries: Path, tmp_path: Path
) -> None:
    out = tmp_path / "found"
    ended = command(*arguments(place, out, "--queries", queries, "--json"))
    assert (ended.code, ended.err) == (0, "")
    report = json.loads(ended.out)
    assert (report["queries"], report["results"], report["n_given"]) == (2, 6, 4)
    assert report["outcomes"] == {"page": 2, "dead": 1, "blocked": 1}
    assert verify(out).ok

    snapshot = Snapshot.open(out)
    ice = FoundBy(query="when does ice form", rank=1, engines=("bing",), at="2026-01-31T12:00:00Z")
    mill = FoundBy(query="mill", rank=2, engines=("bing",), at="2026-01-31T12:00:00Z")
    assert snapshot.page(f"http://{place}/ice").found_by == (ice, mill)
    secret = snapshot.page("http://169.254.169.254/latest/meta-data")
    assert (secret.status, secret.found_by[0].rank) == ("blocked", 3)
    shown = command("snapshot", "page", out, f"http://{place}/ice", "--json").out
    assert json.loads(shown)["found_by"][1] == mill.model_dump(mode="json")

    # All again: no query is sent, no page requested.
    assert command(*arguments(place, out, "--queries", queries)).code == 0
    assert Web.queries == ["when does ice form", "mill"]
    queries.write_text("another\n")
    refused = command(*arguments(place, out, "--queries", queries)).line()
    assert "is whole and lacks 1 of these queries; search into another directory" in refused
    assert Web.queries == ["when does ice form", "mill"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["found", "queries.txt"]


def test_recorded_results_give_the_same_snapshot(
    command: Command, place: str, queries: Path, tmp_path: Path
) -> None:
    out, again, wacz = tmp_path / "found", tmp_path / "again", tmp_path / "found.wacz"
    assert command(*arguments(place, out, "--queries", queries)).code == 0
    options = ("--delay", "0", "--allow-host", place)
    given = ("snapshot", "search-web", again, "--results", out / SEARCHES, *options)
    assert command(*given).code == 0
    assert Web.queries == ["when does ice form", "mill"]
    assert command("snapshot", "info", out, again).code == 0
    assert (again / SEARCHES).read_bytes() == (out / SEARCHES).read_bytes()

    # The searches are in the archive: they survive export, import and merging.
    assert command("snapshot", "export", out, "--wacz", wacz).code == 0
    assert command("snapshot", "import", wacz, tmp_path / "imported").code == 0
    assert command("snapshot", "import", out, again, tmp_path / "merged").code == 0
    for name in ("imported", "merged"):
        assert Snapshot.open(tmp_path / name).digest == Snapshot.open(out).digest

    # Fewer results per query are other pages.
    first = ("snapshot", "search-web", tmp_path / "first", "--results", out / SEARCHES, "--per-query", "1")
    assert command(*first, *options).code == 0
    assert len(Snapshot.open(tmp_path / "first")) == 2
    assert (tmp_path / "first" / FETCH).exists()


def test_results_that_cannot_be_fetched_are_refused_in_one_line(command: Command, tmp_path: Path) -> None:
    results, out = tmp_path / "results.jsonl", tmp_path / "found"
    results.write_text("")
    line = command("snapshot", "search-web", out, "--results", results).line()
    assert line == "local-judge: no search has a result, so there is nothing to fetch"
    results.write_text('{"query": "mill", "at": "yesterday"}\n')
    line = command("snapshot", "search-web", out, "--results", results).line()
    assert line.endswith("results.jsonl:1: at: 'yesterday' is no ISO 8601 time, such as 2026-01-31T12:00:00Z")


def test_a_stopped_search_continues(command: Command, place: str, queries: Path, tmp_path: Path) -> None:
    out = tmp_path / "found"
    Web.fails = {"mill": 403}
    stopped = command(*arguments(place, out, "--queries", queries))
    assert stopped.code == 1 and "answered 403; add `json`" in stopped.line()
    assert not out.exists()
    stored = searches_of(out)
    [search] = read_searches(stored)
    assert search.query == "when does ice form"
    stored.write_bytes(stored.read_bytes() + b'{"query": "mil')  # of a process that was killed while it wrote
    Web.fails = {}
    assert command(*arguments(place, out, "--queries", queries)).code == 0
    assert Web.queries == ["when does ice form", "mill", "mill"]
    assert len(Snapshot.open(out)) == 4
    assert not stored.exists()


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (500, "", "HTTP 500"),
        (429, "", "answered 429: too many requests"),
        (200, "<html>", "does not return SearXNG's JSON"),
        (200, '{"results": ' + "[" * 100_000, "does not return SearXNG's JSON"),
        (200, " " * 2_000_001, "too large"),
        (200, '{"results": [], "unresponsive_engines": [["bing", "timeout"]]}', "bing: timeout"),
    ],
)
def test_a_query_without_an_answer_is_asked_again(
    command: Command, place: str, queries: Path, tmp_path: Path, status: int, body: str, reason: str
) -> None:
    """A failure is never a search without results; the snapshot waits for the answer."""
    out = tmp_path / "found"
    queries.write_text("mill\nempty\nwhen does ice form\n")
    Web.fails, Web.bodies = {"mill": status}, {"mill": body, "empty": '{"results": []}'}
    missing = command(*arguments(place, out, "--queries", queries))
    assert missing.code == 3 and not out.exists()
    assert re.match(rf"Missing: 1 of 3 queries have no answer \(.*{reason}.*\)\. .*--results", missing.line())
    as_json = json.loads(command(*arguments(place, out, "--queries", queries, "--json")).out)
    assert (as_json["snapshot"], list(as_json["unanswered"])) == (None, ["mill"])
    without = command(
        "snapshot", "search-web", tmp_path / "other", "--results", searches_of(out), "--delay", "0"
    )
    assert "2 queries with 3 results" in without.out

    Web.fails, Web.bodies = {}, {}
    ended = command(*arguments(place, out, "--queries", queries))
    assert (ended.code, ended.err) == (0, "No result: empty\n")
    assert "3 queries with 6 results" in ended.out
    assert [len(search.results) for search in read_searches(out / SEARCHES)] == [3, 0, 3]
    assert list(dict.fromkeys(Web.queries)) == ["mill", "empty", "when does ice form"]
    assert [Web.queries.count(query) for query in ("empty", "when does ice form")] == [1, 1]


def test_three_queries_in_a_row_without_an_answer_stop(
    command: Command, place: str, queries: Path, tmp_path: Path
) -> None:
    queries.write_text("nothing\nnothing 2\nnothing 3\nmill\n")
    stopped = command(*arguments(place, tmp_path / "other", "--queries", queries))
    assert stopped.code == 3
    assert (
        stopped.line()
        == "Missing: 4 of 4 queries have no answer (bing: timeout). The same command asks again."
    )
    assert Web.queries == ["nothing", "nothing 2", "nothing 3"]


def test_mistakes_end_in_one_line(command: Command, place: str, queries: Path, tmp_path: Path) -> None:
    out = tmp_path / "found"
    both = command("snapshot", "search-web", out)
    assert both.code == 2 and "give either --searxng or --results" in both.err
    mixed = command("snapshot", "search-web", out, "--results", queries, "--queries", queries)
    assert mixed.code == 2 and "of its own" in mixed.err
    missed = EvidenceGap(url="https://a.test/1", tool="page", why="dead", times=1)
    write_evidence_gaps(tmp_path / "evidence_gaps.jsonl", [missed])
    assert "no query to search for" in command(*arguments(place, out, "--evidence-gaps", tmp_path)).line()
    queries.write_text("x" * 1_001)
    assert "a query of more than 1,000" in command(*arguments(place, out, "--queries", queries)).line()
    odd = command("snapshot", "search-web", out, "--results", queries).line()
    assert odd == f"local-judge: {queries}:1: not JSON"
    assert Web.queries == []


def judge(asked: Mapping[str, Any]) -> str:
    """Asks for the record of the mill, whatever a claim says."""
    text: str = asked["messages"][-1]["content"]
    if "search queries" not in text:
        return answer(asked)
    numbers = re.findall(r"^(\d+)\. ", text.rpartition("Claims:")[2], re.MULTILINE)
    return json.dumps({number: {"queries": ["Fernholt mill record"]} for number in numbers})


@pytest.fixture
def server() -> Iterator[StubThread]:
    with StubThread(StubPlan(answer=judge)) as running:
        yield running


@pytest.mark.parametrize(
    ("protocol", "settings"),
    [
        ("deepresearcheval", ("parts=facts", "facts.limits.turns=3")),
        ("dream", ("parts=[factuality]",)),
    ],
)
def test_evaluations_use_what_was_found(
    command: Command,
    place: str,
    server: StubThread,
    preset: Path,
    report: Path,
    tmp_path: Path,
    protocol: str,
    settings: tuple[str, ...],
) -> None:
    """A run names what it lacks; the search finds it; the next run reads it."""
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/zoo.txt").write_text("Zebras graze. " * 50)
    (tmp_path / "pages/pages.jsonl").write_text('{"url": "https://zoo.test/", "file": "zoo.txt"}\n')
    import_pages(tmp_path / "pages", tmp_path / "little")

    def reads_it(snapshot: str, out: str) -> bool:
        """Run on a snapshot, and check whether the judge is shown the page that only the search finds."""
        n_before = len(server.chats)
        chosen = [word for one in settings for word in ("--set", f"{protocol}.{one}")]
        given = ("run", report, "--judge", preset, "--base-url", server.url, "--protocol", protocol, *chosen)
        ended = command(*given, "--snapshot", tmp_path / snapshot, "--out", tmp_path / out)
        assert ended.code == 0, ended.err
        return any(b"The record of the mill" in chat.body for chat in server.chats[n_before:])

    assert not reads_it("little", "before")
    lacking = {gap.query for gap in read_evidence_gaps(tmp_path / "before")}
    assert lacking
    assert command(*arguments(place, tmp_path / "found", "--evidence-gaps", tmp_path / "before")).code == 0
    assert set(Web.queries) == lacking
    assert command("snapshot", "import", *(tmp_path / name for name in ("little", "found", "town"))).code == 0
    assert reads_it("town", "after")
    assert len(list(read_evidence_gaps(tmp_path / "after"))) < len(lacking)
