"""Robots, delays, limits a host, and asking again."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise

import pytest

from indexes.fetch.politeness import HostGate
from local_judge.base.http import retry_after

from ...waiting import SECONDS, until
from .site import Request, Web, article, redirect, reply

TEXT = "text/plain"


async def test_rules_for_this_tool_and_for_all(web: Web) -> None:
    for place in ("a.test/open", "a.test/closed/x", "b.test/open"):
        web.site.routes[place] = reply(article())
    web.site.routes["a.test/robots.txt"] = reply(b"User-agent: *\nDisallow: /closed/\n", kind=TEXT)
    web.site.routes["b.test/robots.txt"] = reply(
        b"User-agent: *\nAllow: /\n\nUser-agent: local_judge\nDisallow: /\n", kind=TEXT
    )
    places = ("a.test/closed/x", "a.test/closed/y", "a.test/open", "b.test/open")
    found, report = await web.fetch(*map(web.site.url, places))
    reasons = [found[web.site.url(place)].reason for place in places]
    assert ["robots.txt" in reason for reason in reasons] == [True, True, False, True] and not reasons[2]
    assert web.site.asked() == ["/open"]
    assert [request.host for request in web.site.requests if request.path == "/robots.txt"].count(
        "a.test"
    ) == 1
    assert report.n_requests == 3  # two robots.txt and one page


@pytest.mark.parametrize(
    ("robots", "outcome", "reason"),
    [
        (reply(b"gone", "404 Not Found"), "page", ""),
        (reply(b"no", "403 Forbidden"), "page", ""),
        (reply(b"", "204 No Content"), "page", ""),
        (reply(b"<html>Not here, sorry</html>"), "page", ""),  # a page in its place says nothing
        (reply(b"\xff\xfeU\x00s\x00", kind=TEXT), "page", ""),
        (redirect("/robots.txt"), "page", ""),  # redirects without end: as good as absent
        (redirect("/elsewhere"), "blocked", "robots.txt does not allow it"),
        (
            reply(b"oops", "503 Service Unavailable"),
            "blocked",
            "robots.txt answers HTTP 503, so nothing may be asked for (RFC 9309)",
        ),
        (redirect("http://10.0.0.1/"), "blocked", "address refused: 10.0.0.1 (private)"),
        (
            reply(b"", kind="image/png"),
            "blocked",
            "robots.txt cannot be read (wrong type: image/png), so nothing may be asked for",
        ),
    ],
)
async def test_every_fate_of_robots_txt(web: Web, robots: bytes, outcome: str, reason: str) -> None:
    web.site.routes["a.test/"] = reply(article())
    web.site.routes["a.test/robots.txt"] = robots
    web.site.routes["a.test/elsewhere"] = reply(b"User-agent: *\nDisallow: /\n", kind=TEXT)
    found = await web.capture("a.test/")
    assert (found.outcome, found.reason) == (outcome, reason)


async def test_rules_for_many_agents_take_memory_in_proportion(web: Web) -> None:
    """1,000 names before 1,000 rules: 31 kB, and a million rules if each name had its own (70 MB)."""
    agents = "".join(f"User-agent: a{number}\n" for number in range(1_000))
    rules = "".join(f"Disallow: /{number}\n" for number in range(1_000))
    robots = f"{agents}{rules}User-agent: local*\nDisallow: /closed\n"
    web.site.routes["a.test/robots.txt"] = reply(robots.encode(), kind=TEXT)
    web.site.routes["a.test/1"] = reply(article())
    tracemalloc.start()
    try:
        found, _ = await web.fetch(web.site.url("a.test/1"), web.site.url("a.test/closed"))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert [one.outcome for _, one in sorted(found.items())] == ["page", "blocked"]


async def test_robots_of_every_hop_are_read(web: Web) -> None:
    web.site.routes["a.test/"] = redirect(web.site.url("b.test/private"))
    web.site.routes["b.test/robots.txt"] = reply(b"User-agent: *\nDisallow: /private\n", kind=TEXT)
    found = await web.capture("a.test/")
    assert found.outcome == "blocked"
    assert found.reason.startswith("robots.txt ")
    assert found.reason.endswith(f"(led there from {web.site.url('a.test/')})")
    assert web.site.asked("b.test") == []


async def test_a_host_that_cannot_be_reached_is_not_tried_for_each_page(web: Web) -> None:
    urls = [f"http://gone.example/{number}" for number in range(20)]
    found, _ = await web.fetch(*urls)
    [reason] = {one.reason for one in found.values()}
    assert reason.startswith("gone.example: ")
    assert web.names.looked_up == ["gone.example"]


async def test_requests_to_a_host_keep_their_distance(web: Web) -> None:
    for host in ("a.test", "b.test"):
        for number in range(4):
            web.site.routes[f"{host}/{number}"] = reply(article())
    urls = [web.site.url(f"{host}/{number}") for host in ("a.test", "b.test") for number in range(4)]
    begun = time.monotonic()
    await web.fetch(*urls, delay=0.05, per_host=3)
    for host in ("a.test", "b.test"):
        times = [request.at for request in web.site.requests if request.host == host]
        assert len(times) == 5  # robots.txt, too
        # What arrives has travelled, so less than the delay may lie between; but none comes before its time.
        assert all(at - begun >= number * 0.05 for number, at in enumerate(times))
    # The hosts did not wait for each other: a request of one goes with a request of the other.
    assert min(later.at - earlier.at for earlier, later in pairwise(web.site.requests)) < 0.05


@pytest.mark.parametrize(
    ("robots", "distance"),
    [(b"Crawl-delay: 0.06", 0.06), (b"Crawl-delay: 3600", 0.08), (b"Crawl-delay: x", 0.0)],
)
async def test_crawl_delay_is_kept_up_to_a_cap(web: Web, robots: bytes, distance: float) -> None:
    web.site.routes["a.test/robots.txt"] = reply(b"User-agent: *\n" + robots + b"\n", kind=TEXT)
    for number in range(3):
        web.site.routes[f"a.test/{number}"] = reply(article())
    await web.fetch(*(web.site.url(f"a.test/{number}") for number in range(3)), max_crawl_delay=0.08)
    first, *others = [request.at for request in web.site.requests]
    assert len(others) == 3
    assert all(at - first >= number * distance for number, at in enumerate(others, 1))


async def test_limits_a_host_and_in_all(web: Web) -> None:
    limit = 2

    async def together(_: Request, writer: asyncio.StreamWriter) -> None:
        """Answer when as many have come as may, and after a moment in which one more could."""
        await until(lambda: web.site.most_at_once >= limit)
        await asyncio.sleep(0.02)
        writer.write(reply(article(), "200 OK", "Connection: close"))

    urls: list[str] = []
    for host in ("a.test", "b.test", "c.test"):
        for number in range(6):
            web.site.routes[f"{host}/{number}"] = together
            urls.append(web.site.url(f"{host}/{number}"))
    await web.fetch(*urls[:6], per_host=2)
    assert web.site.most_at_once == 2
    web.site.most_at_once, limit = 0, 5
    await web.fetch(*urls, per_host=4, concurrency=5)
    assert web.site.most_at_once == 5


async def test_a_flapping_server_is_asked_again(web: Web) -> None:
    answers = iter([reply(b"", "503 Service Unavailable"), reply(b"", "502 Bad Gateway"), reply(article())])
    web.site.routes["a.test/"] = lambda _: next(answers)
    found = await web.capture("a.test/")
    assert found.outcome == "page"
    # What was asked for again leaves no exchange: only the answer that counted is kept.
    assert [exchange.status for exchange in found.exchanges] == [200]
    assert web.site.asked() == ["/"] * 3


async def test_attempts_end(web: Web) -> None:
    web.site.routes["a.test/"] = reply(b"busy", "503 Service Unavailable")
    found = await web.capture("a.test/", attempts=4)
    assert (found.outcome, found.reason) == ("unavailable", "HTTP 503 Service Unavailable")
    assert found.exchanges[-1].body == b"busy"
    assert web.site.asked() == ["/"] * 4


async def test_what_lasts_is_asked_once(web: Web) -> None:
    for status in ("404 Not Found", "403 Forbidden", "501 Not Implemented"):
        web.site.routes["a.test/"] = reply(b"no", status)
        web.site.requests.clear()
        assert (await web.capture("a.test/")).reason == f"HTTP {status}"
        assert web.site.asked() == ["/"]


async def test_retry_after_is_waited_for_by_the_whole_host(web: Web) -> None:
    answers = iter([reply(b"", "429 Too Many Requests", "Retry-After: 1")])
    web.site.routes["a.test/1"] = lambda _: next(answers, reply(article()))
    web.site.routes["a.test/2"] = reply(article())
    found, _ = await web.fetch(web.site.url("a.test/1"), web.site.url("a.test/2"), per_host=1)
    assert {one.outcome for one in found.values()} == {"page"}
    first, *others = [request for request in web.site.requests if request.path != "/robots.txt"]
    assert first.path == "/1"
    assert all(request.at - first.at > 0.95 for request in others)


async def test_too_long_a_retry_after_is_not_waited_for(web: Web) -> None:
    web.site.routes["a.test/"] = reply(b"", "429 Too Many Requests", "Retry-After: 3600")
    found = await web.capture("a.test/")
    assert (found.outcome, found.reason) == ("blocked", "HTTP 429 Too Many Requests")
    assert web.site.asked() == ["/"]


def test_retry_after_in_seconds_and_dates() -> None:
    assert retry_after("120") == 120.0
    assert retry_after(" 0 ") == 0.0
    assert retry_after(None) is None
    assert retry_after("soon") is None
    assert retry_after("-5") is None
    assert retry_after("Mon, 01 Jan 99999999999999999999 00:00:00 GMT") is None
    assert retry_after("Mon, 01 Jan 2024 00:00:00 +99999999999999999999") is None
    later = retry_after(format_datetime(datetime.now(UTC) + timedelta(hours=9), usegmt=True))
    assert later is not None and 8 * 3600 < later <= 9 * 3600
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


async def test_waiting_for_a_turn_takes_no_place_from_others() -> None:
    everywhere = asyncio.Semaphore(1)
    slow, quick = HostGate(10_000.0, 2, everywhere), HostGate(0.0, 2, everywhere)
    async with slow.turn():
        pass

    async def second_turn() -> None:
        async with slow.turn():
            raise AssertionError("too soon")

    waiting = asyncio.create_task(second_turn())
    await asyncio.sleep(0.01)
    async with asyncio.timeout(SECONDS):
        async with quick.turn():
            pass
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert not everywhere.locked()
