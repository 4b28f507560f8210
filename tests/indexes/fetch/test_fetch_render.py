"""Pages that scripts write: the way out of the browser, and a browser where there is one."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from indexes.errors import FetchError
from indexes.fetch.crawl import fetch_pages
from indexes.fetch.proxy import open_proxy
from indexes.fetch.render import BROWSERS, find_browser
from serving.processes import process

from ...waiting import SECONDS, Clock, until
from .site import Web, article, entries, reply, settings

BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
EMPTY = b"<html><head><title>App</title></head><body><div id=root></div>"


async def through(port: int, request: bytes) -> bytes:
    """What a proxy answers to a request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    async with asyncio.timeout(SECONDS):
        answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    "request_line",
    [
        "CONNECT 169.254.169.254:443",
        "CONNECT 127.0.0.1:{port}",
        "CONNECT [::1]:{port}",
        "CONNECT 2130706433:{port}",
        "CONNECT other.test:{port}",
        "CONNECT 1.1.1.1:25",
        "CONNECT accounts.google.com:443",
        "CONNECT me:pw@a.test:{port}",
        "GET http://127.0.0.1:{port}/",
        "GET http://0x7f.1:{port}/",
        "GET https://a.test:{port}/",
        "GET ftp://a.test/",
        "GET /",
        "GET",
    ],
)
async def test_the_way_out_is_shut_to_what_is_refused(web: Web, request_line: str) -> None:
    line = request_line.replace("{port}", str(web.site.port))
    async with open_proxy(settings(web.site, ports=(80, 443, web.site.port)), web.names) as port:
        answer = await through(port, f"{line} HTTP/1.1\r\nHost: a.test\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert web.site.requests == []


async def test_the_way_out_is_open_to_what_is_allowed(web: Web) -> None:
    web.site.routes["a.test/x?y=1"] = reply(b"hello", "200 OK", "Connection: close")
    place = f"a.test:{web.site.port}"
    asked = f"GET http://{place}/x?y=1 HTTP/1.1\r\nHost: {place}\r\nProxy-Connection: keep-alive\r\n\r\n"

    async def once(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"CONNECT {place} HTTP/1.1\r\n\r\n".encode())
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 200 Connection established\r\n\r\n"
        writer.write(f"GET /x?y=1 HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        answer = await reader.readuntil(b"hello")
        writer.close()
        return answer

    async with open_proxy(settings(web.site), web.names) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(asked.encode())
        assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200 OK")
        writer.close()
        assert (await once(port)).startswith(b"HTTP/1.1 200 OK")
    assert web.site.asked() == ["/x?y=1"] * 2
    assert web.site.requests[0].headers["connection"] == "close"
    assert "proxy-connection" not in web.site.requests[0].headers


async def test_the_way_out_is_shut_past_its_bytes(web: Web) -> None:
    web.site.routes["a.test/"] = reply(b"x" * 1_000_000)
    async with open_proxy(settings(web.site, render_bytes=100_000), web.names) as port:
        answer = await through(
            port,
            f"GET http://a.test:{web.site.port}/ HTTP/1.1\r\nHost: a.test:{web.site.port}\r\n\r\n".encode(),
        )
    assert len(answer) < 100_000 + 65_536


async def test_a_browser_that_is_not_there_is_said_at_once(web: Web, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="no browser at /nowhere/chromium"):
        await web.fetch(web.site.url("a.test/"), render=Path("/nowhere/chromium"))
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(FetchError, match="does not tell its version"):
        await web.fetch(web.site.url("a.test/"), render=broken)
    mute = tmp_path / "mute"
    mute.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Fake 1.0 || echo cannot run >&2\n')
    mute.chmod(0o755)
    with pytest.raises(FetchError, match=r"shows no page .*cannot run"):
        await web.fetch(web.site.url("a.test/"), render=mute)
    assert web.site.requests == []


async def test_a_browser_gets_an_empty_home_and_leaves_nothing(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in that tells what it was given."""
    monkeypatch.setenv("SECRET_TOKEN", "x")
    stand_in = tmp_path / "stand-in"
    stand_in.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && { echo Fake 1.0; exit; }\n'
        'echo junk > "$HOME/left-behind"\necho "<html><pre>$(env)|$(pwd)|$*</pre>"\n'
    )
    stand_in.chmod(0o755)
    web.site.routes["a.test/"] = reply(EMPTY + b"<script>go()</script>")
    found = await web.capture("a.test/", render=stand_in)
    assert found.rendered is not None
    assert found.rendered.renderer == "Fake 1.0"
    said = found.rendered.html.decode()
    assert "SECRET_TOKEN" not in said
    home = said.partition("HOME=")[2].splitlines()[0]
    assert entries(Path(home)) == []
    for flag in (
        "--proxy-server=http://127.0.0.1:",
        "--proxy-bypass-list=<-loopback>",
        f"--user-data-dir={home}",
    ):
        assert flag in said
    assert "--no-sandbox" not in said
    assert said.rstrip().endswith(f"-- {web.site.url('a.test/')}</pre>")


async def test_pages_with_text_are_not_shown(web: Web, tmp_path: Path) -> None:
    stand_in = tmp_path / "stand-in"
    stand_in.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Fake 1.0 || echo "<p>shown</p>"\n')
    stand_in.chmod(0o755)
    web.site.routes["a.test/"] = reply(article(head="<script>go()</script>"))
    found = await web.capture("a.test/", render=stand_in)
    assert (found.rendered, found.reason) == (None, "")


async def test_a_browser_that_hangs_is_ended(
    web: Web, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in, hangs = tmp_path / "stand-in", tmp_path / "hangs"
    stand_in.write_text(
        '#!/bin/sh\ncase "$*" in --version) echo Fake 1.0;; *data:*) echo "<p>ready";; '
        f"*) sleep 600 & echo $! > {hangs}.new; mv {hangs}.new {hangs}; sleep 600;; esac\n"
    )
    stand_in.chmod(0o755)
    web.site.routes["a.test/"] = reply(EMPTY + b"<script>go()</script>")
    start, n_started = asyncio.create_subprocess_exec, 0

    async def counted(*command: Any, **options: Any) -> asyncio.subprocess.Process:
        nonlocal n_started
        started = await start(*command, **options)
        n_started += 1
        return started

    monkeypatch.setattr(asyncio, "create_subprocess_exec", counted)
    capture = asyncio.create_task(web.capture("a.test/", render=stand_in, render_seconds=600.0))
    await until(lambda: n_started == 3 and hangs.exists())
    clock.advance(600)
    found = await capture
    assert (found.outcome, found.rendered) == ("page", None)
    assert found.reason == (
        "its scripts write the page, and could not be run (the browser was not done after 600 s)"
    )
    child = int(hangs.read_text())
    await until(lambda: process(child) is None)


def test_a_browser_is_found_by_name() -> None:
    if BROWSER is None:
        with pytest.raises(FetchError, match="no browser at chromium, "):
            find_browser("auto")
    else:
        assert find_browser("auto") == BROWSER


@needs_browser
async def test_chromium_writes_the_page_and_reaches_nothing_else(web: Web) -> None:
    """One real page: its script writes it, from its own host, and every way inside is shut."""
    inside = f"127.0.0.1:{web.site.port}"
    web.site.routes["a.test/"] = reply(
        EMPTY
        + f"""<script src="/app.js"></script><img src="http://{inside}/secret"><img src="http://[::1]:1/secret">
        <script src="http://other.test:{web.site.port}/secret.js"></script>
        <script>fetch("http://2130706433:{web.site.port}/secret");new WebSocket("ws://{inside}/secret")</script>
        """.encode()
    )
    web.site.routes["a.test/app.js"] = reply(
        b"document.getElementById('root').innerHTML = '<p>' + 'Written by a script. '.repeat(20) + '</p>'",
        kind="text/javascript",
    )
    found: list[bytes] = []
    # As root, Chromium does not start with its sandbox; its pages here are this test's own.
    chosen = settings(
        web.site, render="auto", render_sandbox=os.geteuid() != 0, ports=(80, 443, web.site.port)
    )
    await fetch_pages(
        [web.site.url("a.test/")],
        chosen,
        store=lambda capture: found.append(capture.rendered.html if capture.rendered else b""),
        resolver=web.names,
    )
    assert b"Written by a script. Written" in found[0]
    assert {request.host for request in web.site.requests} == {"a.test"}
    assert not any("secret" in request.path for request in web.site.requests)
    assert set(web.names.looked_up) <= {"a.test", "other.test"}
