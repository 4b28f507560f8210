"""Many addresses: each once, in order, resumable, and whole whatever interrupts."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from indexes.archive.model import Capture
from indexes.fetch.crawl import Tally, fetch_pages, plan
from indexes.fetch.page import PageFetcher
from indexes.urls import normalise_url

from ...waiting import Clock, until
from .site import Request, Web, article, redirect, reply, settings

ROOT = Path(__file__).resolve().parents[3]


def test_addresses_that_are_one_are_planned_once() -> None:
    planned = plan(
        [
            "http://www.a.test/x/#part",
            "https://a.test/x?utm_source=y",
            "https://a.test/x",
            "https://a.test/y",
            "http://b.test/",
            "not an address",
            "not an address",
            "https://doi.org/10.1000/ABC",
            "http://dx.doi.org/10.1000/abc",
        ],
        done={"https://a.test/y"},
    )
    assert planned.by_host == {
        "a.test": ["https://a.test/x"],
        "b.test": ["http://b.test/"],
        "doi.org": ["https://doi.org/10.1000/ABC"],
    }
    assert (planned.n_given, planned.n_different, planned.n_done) == (9, 4, 1)
    assert [wrong.url for wrong in planned.not_addresses] == ["not an address"]


async def test_hosts_take_turns_and_addresses_are_sorted(web: Web) -> None:
    urls = [
        web.site.url(f"{host}/{number}") for host in ("a.test", "b.test", "c.test") for number in range(3)
    ]
    for url in urls:
        web.site.routes[url.removeprefix("http://").replace(f":{web.site.port}", "")] = reply(article())
    for given in (urls, urls[::-1]):
        web.site.requests.clear()
        await web.fetch(*given, per_host=1, concurrency=1)
        asked = [(one.host, one.path) for one in web.site.requests]
        assert asked[:3] == [(host, "/robots.txt") for host in ("a.test", "b.test", "c.test")]
        for host in ("a.test", "b.test", "c.test"):
            assert web.site.asked(host) == ["/0", "/1", "/2"]
        # However long a host's page took to read, the others were asked meanwhile, and none twice as often.
        for number in range(len(asked)):
            counts = [
                sum(host == one for one, _ in asked[:number]) for host in ("a.test", "b.test", "c.test")
            ]
            assert max(counts) - min(counts) <= 2


async def test_what_is_stored_does_not_depend_on_when_it_came(web: Web) -> None:
    async def later(request: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.02 * (int(request.path[1:]) % 3))
        writer.write(reply(article(request.path), "200 OK", "Connection: close"))

    urls = [web.site.url(f"{host}/{number}") for host in ("a.test", "b.test") for number in range(5)]
    for host in ("a.test", "b.test"):
        for number in range(5):
            web.site.routes[f"{host}/{number}"] = later
    runs: list[list[Capture]] = []
    for per_host in (1, 4):
        found, _ = await web.fetch(*urls, per_host=per_host)
        captures = [found[url] for url in sorted(found)]
        runs.append(
            [
                capture.model_copy(
                    update={
                        "fetched": None,
                        "exchanges": tuple(one.model_copy(update={"at": ""}) for one in capture.exchanges),
                    }
                )
                for capture in captures
            ]
        )
    assert runs[0] == runs[1]


async def test_a_second_run_goes_on_where_the_first_stopped(web: Web) -> None:
    """Cancelled in the middle: what was stored is whole, and no page is asked for twice."""
    urls = [web.site.url(f"a.test/{number}") for number in range(12)]
    for number in range(12):
        web.site.routes[f"a.test/{number}"] = reply(article())
    stored: dict[str, Capture] = {}
    half = asyncio.Event()

    def store(capture: Capture) -> None:
        stored[normalise_url(capture.url)] = capture
        if len(stored) == 6:
            half.set()

    def start() -> asyncio.Task[object]:
        return asyncio.create_task(
            fetch_pages(urls, settings(web.site), store=store, done=dict(stored), resolver=web.names)
        )

    first = start()
    await half.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert 6 <= len(stored) < 12
    await start()
    assert len(stored) == 12
    assert all(capture.outcome == "page" for capture in stored.values())
    # What was under way when it stopped was not stored, and is asked for again: at most one a worker.
    assert len(web.site.asked()) <= 12 + 2
    assert set(web.site.asked()) == {f"/{number}" for number in range(12)}


async def test_nothing_is_asked_for_once_all_is_done(web: Web) -> None:
    url = web.site.url("a.test/")
    found, report = await web.fetch(url, done={normalise_url(url)})
    assert (found, web.site.requests, report.n_done_before) == ({}, [], 1)


async def test_a_full_disk_ends_the_run_with_its_own_error(web: Web) -> None:
    for number in range(20):
        web.site.routes[f"a.test/{number}"] = reply(article())
    stored: list[Capture] = []

    def store(capture: Capture) -> None:
        if len(stored) == 3:
            raise OSError(28, "No space left on device")
        stored.append(capture)

    urls = [web.site.url(f"a.test/{number}") for number in range(20)]
    with pytest.raises(OSError, match="No space left"):
        await fetch_pages(urls, settings(web.site), store=store, resolver=web.names)
    assert len(stored) == 3
    assert len(web.site.asked()) <= 6


async def test_a_fault_of_the_fetcher_is_named_and_left_for_another_run(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.site.routes["a.test/good"] = reply(article())
    real = PageFetcher.fetch

    async def sometimes(self: PageFetcher, url: str) -> Capture:
        if url.endswith("bad"):
            raise RecursionError("too deep")
        return await real(self, url)

    monkeypatch.setattr(PageFetcher, "fetch", sometimes)
    found, report = await web.fetch(web.site.url("a.test/bad"), web.site.url("a.test/good"))
    assert list(found) == [web.site.url("a.test/good")]
    assert [(one.url, one.reason) for one in report.failed] == [
        (web.site.url("a.test/bad"), "RecursionError: too deep")
    ]


async def test_progress_is_told_by_host(web: Web) -> None:
    web.site.routes["a.test/1"] = reply(article())
    seen: list[tuple[int, int, dict[str, int]]] = []

    def progress(tally: Tally) -> None:
        ended = {host: one.n_ended for host, one in tally.hosts.items()}
        seen.append((tally.planned, sum(tally.ended.values()), ended))

    urls = [web.site.url(place) for place in ("a.test/1", "a.test/2", "b.test/")]
    await web.fetch(*urls, progress=progress, per_host=1, concurrency=1)
    assert seen[0] == (3, 0, {"a.test": 0, "b.test": 0})
    assert seen[-1] == (3, 3, {"a.test": 2, "b.test": 1})
    assert [total for _, total, _ in seen] == [0, 1, 2, 3]


INTERRUPTED = """
import asyncio, signal, sys
from ipaddress import ip_address
from indexes.fetch.crawl import fetch_pages
from indexes.fetch.settings import FetchSettings

class Names:
    async def resolve(self, host):
        return [ip_address("127.0.0.1")]

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs start with it ignored
port = int(sys.argv[1])
urls = [f"http://a.test:{port}/{number}" for number in range(1000)]
settings = FetchSettings(allow_hosts=(f"a.test:{port}",), delay=0.01)

def store(capture):
    print(capture.outcome, flush=True)

asyncio.run(fetch_pages(urls, settings, store=store, resolver=Names()))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
async def test_ctrl_c_and_kill_end_it_at_once(web: Web, how: signal.Signals) -> None:
    for number in range(1000):
        web.site.routes[f"a.test/{number}"] = reply(article())
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        INTERRUPTED,
        str(web.site.port),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
    )
    assert process.stdout is not None
    for _ in range(5):
        assert await process.stdout.readline() == b"page\n"
    process.send_signal(how)
    rest, complaints = await process.communicate()
    assert process.returncode not in (0, None)
    assert len(web.site.asked()) < 1000
    assert all(line == b"page" for line in rest.splitlines())
    if how is signal.SIGINT:
        assert complaints.splitlines()[-1] == b"KeyboardInterrupt"
        assert b"Unclosed" not in complaints


async def test_good_slow_failing_and_hostile_hosts(web: Web, clock: Clock) -> None:
    """All at once: every address ends with an outcome, and the hostile ones hold nobody up."""
    site = web.site

    async def slow(_: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.1)
        writer.write(reply(article(), "200 OK", "Connection: close"))

    async def tarpit(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while not writer.is_closing():
            writer.write(b"X: y\r\n")
            await writer.drain()
            await asyncio.sleep(0.05)

    for number in range(20):
        site.routes[f"a.test/{number}"] = reply(article(f"Page {number}. " * 20))
    for number in range(4):
        site.routes[f"slow.test/{number}"] = slow
    flapping = iter([reply(b"", "503 Service Unavailable")] * 2)
    site.routes["b.test/flaps"] = lambda _: next(flapping, reply(article()))
    site.routes["b.test/gone"] = reply(b"", "410 Gone")
    site.routes["b.test/down"] = reply(b"", "500 Internal Server Error")
    site.routes["c.test/robots.txt"] = reply(b"User-agent: *\nDisallow: /", kind="text/plain")
    site.routes["hostile.test/inside"] = redirect("http://169.254.169.254/")
    site.routes["hostile.test/loop"] = redirect("/loop")
    site.routes["hostile.test/tarpit"] = tarpit
    site.routes["hostile.test/large"] = reply(b"x", length=10**12)
    site.routes["hostile.test/captcha"] = reply(
        b"<title>Just a moment...</title><script src=/cdn-cgi/challenge-platform/x.js></script>"
    )
    places = (
        [f"a.test/{number}" for number in range(20)]
        + [f"slow.test/{number}" for number in range(4)]
        + ["b.test/flaps", "b.test/gone", "b.test/down", "c.test/x", "c.test/y"]
        + [f"hostile.test/{trick}" for trick in ("inside", "loop", "tarpit", "large", "captcha")]
    )
    n_ended = 0

    def progress(tally: Tally) -> None:
        nonlocal n_ended
        n_ended = sum(tally.ended.values())

    limits = dict.fromkeys(("connect_seconds", "stall_seconds"), 1e6)
    urls = [*map(site.url, places), "http://nowhere.example/"]
    fetching = asyncio.create_task(web.fetch(*urls, progress=progress, total_seconds=1_000.0, **limits))
    await until(lambda: n_ended == len(places))  # all but the tarpit
    while not fetching.done():
        if site.open:
            clock.advance(10)
        await asyncio.sleep(0.001)
    found, report = await fetching
    assert len(found) == len(places) + 1
    assert report.outcomes == {
        "blocked": 4,
        "dead": 2,
        "page": 25,
        "unavailable": 3,
        "unsupported_type": 1,
    }
    assert report.hosts == {
        "a.test": {"page": 20},
        "b.test": {"dead": 1, "page": 1, "unavailable": 1},
        "c.test": {"blocked": 2},
        "hostile.test": {"blocked": 2, "unavailable": 2, "unsupported_type": 1},
        "nowhere.example": {"dead": 1},
        "slow.test": {"page": 4},
    }
    assert report.failed == ()
    assert all(one.reason for one in found.values() if one.outcome != "page")
    reason = found[site.url("hostile.test/tarpit")].reason
    assert reason.startswith("timed out: hostile.test ") and reason.endswith(" 1000 s")
