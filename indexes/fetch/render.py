"""Pages that their scripts write, shown by an installed Chromium.

Invariant: the browser has an empty profile and an empty environment, looks up no name and reaches nothing but through
`proxy`; it and all that it wrote are gone when the page is, or when its time is over.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path

from indexes.archive.model import Rendered
from indexes.errors import FetchError
from indexes.fetch.client import stamp
from indexes.fetch.faults import Broken, FetchFault, TimedOut, TooMuch, one_line
from indexes.fetch.proxy import open_proxy
from indexes.fetch.resolver import Resolver
from indexes.fetch.settings import FetchSettings
from indexes.fetch.target import Target

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    "--headless=new",
    "--dump-dom",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-domain-reliability",
    # The last two connect to the search engine at the start.
    "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,AutofillServerCommunication,"
    "PreconnectToSearch,AimEnabled",
    "--deny-permission-prompts",
    "--mute-audio",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--password-store=basic",
    "--use-mock-keychain",
    # Neither WebRTC's datagrams nor a look-up of its own go past the proxy; nor is the loopback address exempt.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--proxy-bypass-list=<-loopback>",
)
_LOAD_ERROR = re.compile(r"net::[A-Z_]+")
_VERSION_SECONDS = 20.0


def find_browser(render: Path | str) -> str:
    """The executable to run.

    Raises:
        FetchError: there is none.
    """
    names = BROWSERS if render == "auto" else (str(render),)
    for name in names:
        if found := shutil.which(name):
            return found
    raise FetchError(f"no browser at {', '.join(names)}; install Chromium or fetch without --render")


class ChromiumRenderer:
    """Shows one page at a time; a browser takes as much as a page's scripts want."""

    def __init__(
        self,
        browser: str,
        version: str,
        settings: FetchSettings,
        resolver: Resolver,
        now: Callable[[], datetime],
    ) -> None:
        self._browser, self._version = browser, version
        self._settings, self._resolver, self._now = settings, resolver, now
        self._alone = asyncio.Lock()

    async def render(self, page: Target) -> Rendered:
        """See `page.Renderer.render`."""
        async with self._alone:
            at = stamp(self._now())
            # Its last children may still write there when they are killed.
            with tempfile.TemporaryDirectory(prefix="render-", ignore_cleanup_errors=True) as profile:
                async with open_proxy(self._settings, self._resolver) as port:
                    html = await self._document(page, profile, port)
        return Rendered(url=page.url, at=at, html=html, renderer=self._version)

    async def _document(self, page: Target, profile: str, port: int) -> bytes:
        seconds, limit = self._settings.render_seconds, self._settings.render_bytes
        command = [
            self._browser,
            *_FLAGS,
            *(() if self._settings.render_sandbox else ("--no-sandbox",)),
            f"--user-data-dir={profile}",
            f"--proxy-server=http://127.0.0.1:{port}",
            f"--user-agent={self._settings.user_agent}",
            # Timers run ahead of the clock, so that a page that waits for them is done sooner.
            f"--virtual-time-budget={int(seconds * 1000 / 3)}",
            "--",
            page.url,
        ]
        try:
            async with asyncio.timeout(seconds):
                html, _, errors = await _run(command, profile, limit)
        except TimeoutError:
            raise TimedOut(f"the browser was not done after {seconds:g} s") from None
        if len(html) > limit:
            raise TooMuch(f"its document has more than {limit:,} bytes")
        if not html.strip():
            why = _LOAD_ERROR.search(errors)
            raise Broken(f"the browser could not load the page ({why.group() if why else one_line(errors)})")
        return html


async def _run(command: list[str], profile: str, limit: int) -> tuple[bytes, int, str]:
    """Standard output (more than `limit` bytes where it is longer), exit code, and its last complaint."""
    environment = {"HOME": profile, "TMPDIR": profile, "PATH": os.defpath, "LANG": "C.UTF-8"}
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=profile,
        env=environment,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    complaints = asyncio.ensure_future(_tail(process.stderr))
    try:
        pieces: list[bytes] = []
        size = 0
        while size <= limit and (piece := await process.stdout.read(1 << 16)):
            pieces.append(piece)
            size += len(piece)
        if size > limit:
            return b"".join(pieces), 0, ""
        return b"".join(pieces), await process.wait(), await complaints
    finally:
        complaints.cancel()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _tail(stream: asyncio.StreamReader) -> str:
    """The last line or so of a stream, read to its end."""
    last = b""
    while piece := await stream.read(1 << 16):
        last = (last + piece)[-2_000:]
    lines = [line for line in last.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1] if lines else ""


@asynccontextmanager
async def open_renderer(
    settings: FetchSettings, resolver: Resolver, now: Callable[[], datetime]
) -> AsyncGenerator[ChromiumRenderer | None]:
    """The renderer that the settings ask for; None where they ask for none.

    Raises:
        FetchError: the browser is not there or does not start.
    """
    if settings.render is None:
        yield None
        return
    browser = find_browser(settings.render)
    with tempfile.TemporaryDirectory(prefix="render-", ignore_cleanup_errors=True) as profile:
        try:
            async with asyncio.timeout(_VERSION_SECONDS):
                output, code, _ = await _run([browser, "--version"], profile, 10_000)
        except (OSError, TimeoutError) as error:
            raise FetchError(f"{browser} does not start ({error}); fetch without --render") from None
    version = one_line(output.decode("utf-8", "replace"))
    if code != 0 or not version:
        raise FetchError(f"{browser} does not tell its version; is it a Chromium?")
    renderer = ChromiumRenderer(browser, version, settings, resolver, now)
    await _try_out(renderer, browser)
    yield renderer


async def _try_out(renderer: ChromiumRenderer, browser: str) -> None:
    """Show an empty page, so that a browser that cannot work here is found before thousands of pages are fetched."""
    blank = Target("data:text/html,<p>ready</p>", "http", "", 80, None)
    try:
        await renderer.render(blank)
    except FetchFault as fault:
        raise FetchError(
            f"{browser} shows no page ({fault}); run as another user than root, see --no-render-sandbox, or leave "
            f"--render away"
        ) from None
