"""Servers that send too much, too slowly, or something else than HTTP."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import ssl
import threading
import time
from pathlib import Path

import pytest

from indexes.fetch.addresses import Address
from indexes.fetch.encoding import Unpacker

from ...waiting import Clock
from .site import PROSE, Request, Route, Web, article, redirect, reply

FOREVER = 1e6
"""Seconds that do not pass in a test."""


async def drip(writer: asyncio.StreamWriter, piece: bytes, pause: float) -> None:
    """Send for as long as somebody listens."""
    while not writer.is_closing():
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(pause)


async def slow_headers(_: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    await drip(writer, b"X-A: b\r\n", 0.05)


async def slow_body(_: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nContent-Type: text/html\r\n\r\n")
    await drip(writer, b"<p>", 0.05)


async def silent(_: Request, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(FOREVER)


async def stalled(_: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n<html>")
    await writer.drain()
    await asyncio.sleep(FOREVER)


@pytest.mark.parametrize(
    ("server", "limits", "reason"),
    [
        (slow_headers, {"total_seconds": 1_000.0}, "timed out: a.test was not done after 1000 s"),
        (slow_body, {"total_seconds": 1_000.0}, "timed out: a.test was not done after 1000 s"),
        (silent, {"stall_seconds": 1_000.0}, "timed out: nothing came from a.test for 1000 s"),
        (stalled, {"stall_seconds": 1_000.0}, "timed out: nothing came from a.test for 1000 s"),
    ],
)
async def test_slow_servers_are_left(
    web: Web, clock: Clock, server: Route, limits: dict[str, float], reason: str
) -> None:
    web.site.routes["a.test/"] = server
    others = dict.fromkeys(("connect_seconds", "total_seconds", "stall_seconds"), FOREVER)
    capture = asyncio.create_task(web.capture("a.test/", **{**others, **limits}))
    while not capture.done():
        if web.site.open:
            clock.advance(10)
        await asyncio.sleep(0.001)
    found = await capture
    assert (found.outcome, found.reason) == ("unavailable", reason)
    assert web.site.asked() == ["/", "/"], "asked twice, because a pause may pass, and not a third time"
    assert found.exchanges == ()


async def endless(_: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    await drip(writer, PROSE.encode() * 100, 0)


async def endless_header(_: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    await drip(writer, b"a" * 1_000, 0)


# 10 fields of 3 + 900 characters and 90 of 4 + 900, 4 more each for colon, blank and line end: 90,790; Content-Length
# takes 21 and Content-Type 25.
MANY_FIELDS = reply(article(), "200 OK", *(f"X-{number}: {'a' * 900}" for number in range(100)))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (endless, "too large: more than 100,000 bytes"),
        (reply(b"x", length=100_001), "too large: 100,001 bytes, more than 100,000"),
        (endless_header, "too large: its header fields"),
        (MANY_FIELDS, "too large: 90,836 bytes of header fields"),
        (
            # 5 MB of zeros, which pack to 5 kB.
            reply(gzip.compress(bytes(5_000_000), mtime=0), "200 OK", "Content-Encoding: gzip"),
            "too large: packed more than 200 to 1",
        ),
        (
            reply(gzip.compress(article(PROSE * 3_000), mtime=0), "200 OK", "Content-Encoding: gzip"),
            "too large: more than 200,000 bytes once unpacked",
        ),
        (reply(article(), "200 OK", "Content-Encoding: br"), "packed as 'br', which was not offered"),
        (
            reply(gzip.compress(article(), mtime=0)[:-10], "200 OK", "Content-Encoding: gzip"),
            "damaged gzip: it ends too soon",
        ),
        (reply(b"\x89PNG\r\n\x1a\n", kind="image/png"), "wrong type: image/png"),
        (reply(b"PK\x03\x04" + bytes(900), kind="text/html"), "wrong type: application/zip"),
        (reply(bytes(range(256)) * 9, kind="text/plain"), "wrong type: application/octet-stream"),
    ],
)
async def test_what_passes_a_bound_is_no_page(web: Web, answer: Route, reason: str) -> None:
    web.site.routes["a.test/"] = answer
    more = {"max_decoded_bytes": 200_000} if "once unpacked" in reason else {}
    found = await web.capture("a.test/", max_bytes=100_000, **more)
    assert (found.outcome, found.reason) == ("unsupported_type", reason)
    assert web.site.asked() == ["/"], "what is too large once is too large again"


async def test_bodies_are_unpacked_off_the_loop(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """One piece of a body may hold as much as a body may; other hosts do not wait for it."""
    threads: list[bool] = []
    feed = Unpacker.feed

    def noted(self: Unpacker, piece: bytes) -> None:
        threads.append(threading.current_thread() is threading.main_thread())
        feed(self, piece)

    monkeypatch.setattr(Unpacker, "feed", noted)
    web.site.routes["a.test/"] = reply(gzip.compress(article()), "200 OK", "Content-Encoding: gzip")
    assert (await web.capture("a.test/")).outcome == "page"
    assert threads
    assert not any(threads)


async def cut(_: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(reply(article(), length=50_000))


async def garbled(_: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzzz\r\nnot a size\r\n")


async def not_http(_: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.test ESMTP ready\r\n\r\n")


async def hang_up(_: Request, writer: asyncio.StreamWriter) -> None:
    writer.close()


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (cut, "a.test: the answer is cut short or garbled"),
        (garbled, "a.test does not answer in HTTP (Invalid character in chunk size)"),
        (not_http, "a.test does not answer in HTTP"),
        (hang_up, "a.test closed the connection before it answered"),
    ],
)
async def test_broken_answers_are_asked_for_again(web: Web, server: Route, reason: str) -> None:
    web.site.routes["a.test/"] = server
    found = await web.capture("a.test/")
    assert found.outcome == "unavailable"
    assert found.reason.startswith(reason)
    assert web.site.asked() == ["/"] * 3


async def test_more_than_was_announced_is_not_trusted(web: Web) -> None:
    async def longer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(reply(article() + b"<p>smuggled</p>", length=len(article())))

    web.site.routes["a.test/"] = longer
    found = await web.capture("a.test/")
    reason = "a.test does not answer in HTTP (Bad status line: Expected HTTP/, RTSP/ or ICE/)"
    assert (found.outcome, found.reason) == ("unavailable", reason)


async def test_redirects_end(web: Web) -> None:
    def onward(request: Request) -> bytes:
        return redirect(f"/{int(request.path[1:]) + 1}")

    for number in range(30):
        web.site.routes[f"a.test/{number}"] = onward
    found = await web.capture("a.test/0", max_redirects=5)
    assert (found.outcome, found.reason) == ("unavailable", "more than 5 redirects")
    assert web.site.asked() == ["/0", "/1", "/2", "/3", "/4", "/5"]
    assert [exchange.status for exchange in found.exchanges] == [302] * 6


async def test_a_loop_is_called_one(web: Web) -> None:
    web.site.routes["a.test/"] = redirect("/x#fragment")
    web.site.routes["a.test/x"] = redirect(web.site.url("a.test/"))
    found = await web.capture("a.test/")
    assert (found.outcome, found.reason) == ("unavailable", f"redirect loop at {web.site.url('a.test/')}")
    assert web.site.asked() == ["/", "/x"]


async def test_a_cited_address_of_10000_characters(web: Web) -> None:
    found = await web.capture(web.site.url("a.test/" + "a" * 10_000))
    assert (found.outcome, web.site.requests) == ("blocked", [])
    assert found.reason.endswith("characters, more than 8,000")


async def test_no_such_host_and_no_server(web: Web) -> None:
    gone = await web.capture("http://gone.example/")
    assert (gone.outcome, gone.reason) == ("dead", "gone.example: no such host")
    web.names.known["empty.test"] = []
    empty = await web.capture("http://empty.test/")
    assert (empty.outcome, empty.reason) == ("dead", "empty.test: no address")
    # Port 1 of the loopback address: nobody listens there.
    closed = await web.capture("http://a.test:1/", allow_hosts=("a.test",))
    assert closed.outcome == "unavailable"
    assert closed.reason.startswith("a.test: no connection (")


async def test_a_name_that_is_never_answered_for(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(host: str) -> list[Address]:
        await asyncio.sleep(5)
        return []

    monkeypatch.setattr(web.names, "resolve", never)
    found = await web.capture("a.test/", connect_seconds=0.1)
    assert (found.outcome, found.reason) == ("unavailable", "timed out: a.test took no connection in 0.1 s")


async def test_a_certificate_of_nobody(web: Web, tmp_path: Path) -> None:
    """A self-signed certificate for the right name: no page, and not asked for again."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=a.test", "-addext", "subjectAltName=DNS:a.test"]
    files = ["-keyout", str(key), "-out", str(certificate), "-days", "2"]
    process = await asyncio.create_subprocess_exec(
        *command, *names, *files, stderr=asyncio.subprocess.DEVNULL
    )
    assert await process.wait() == 0
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        found = await web.capture(f"https://a.test:{port}/", allow_hosts=("a.test",))
    assert (found.outcome, found.reason) == ("unavailable", "a.test: its certificate is not valid")
    assert web.names.looked_up == ["a.test"]


@pytest.mark.parametrize(
    "body",
    [
        b'<script type="application/ld+json">{"isAccessibleForFree":' + b" " * 500_000 + b"</script>",
        b"<script>" + b"_pxAppId " * 100_000,
        b"<p>" * 100_000,
        b"<p><table><tr><td>" * 60 + b"x" * 1_000_000,
        b"<meta http-equiv=refresh content='0" + b" " * 500_000 + b"'>",
        b"<title>" + b"just a moment " * 50_000,
        b"reference" + b" " * 500_000,
        b"<input type=password " * 50_000,
    ],
)
async def test_no_markup_takes_long_to_look_through(web: Web, body: bytes) -> None:
    web.site.routes["a.test/"] = reply(b"<html>" + body)
    started = time.process_time()
    assert (await web.capture("a.test/")).outcome in ("page", "blocked")
    assert time.process_time() - started < 20
