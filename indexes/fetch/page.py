"""One cited address: from the first request to its capture.

Invariant: whatever servers do, an address ends as one `Capture` with an outcome and, unless it is simply the page, a
reason in words; its exchanges are whole, in order, and end with the one whose answer was kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from urllib.parse import urljoin, urlsplit

from indexes.archive.content import content_type
from indexes.archive.model import Capture, Exchange, Headers, Outcome, Rendered, header
from indexes.fetch.client import HEAD_BYTES, Answer, media_type, stamp, utc_now
from indexes.fetch.encoding import unpack_body
from indexes.fetch.faults import FetchFault, Refused, one_line
from indexes.fetch.landing import FullText, full_texts
from indexes.fetch.politeness import Asker
from indexes.fetch.robots import REDIRECTS, Robots
from indexes.fetch.settings import FetchSettings
from indexes.fetch.shared import SharedAnswers
from indexes.fetch.target import Target, target
from indexes.model import status_without_page
from indexes.text.decode import Kind, decode, sniff
from indexes.text.facts import Facts, read_facts
from indexes.text.walls import SCRIPTS, Arrival, arrival, recognise

Previous = Callable[[str], Exchange | None]
"""The whole exchange (status 200, with its body) that an earlier snapshot keeps for an address exactly as it was sent;
None where it keeps none. Its ETag and Last-Modified make the request conditional, its body answers a 304."""

_PAGES = frozenset({200, 202, 203})
_NO_CONTENT = frozenset({204, 205})
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_FEW = 200
"""Characters; a page of scripts shows a title and 'please enable JavaScript'."""


class Renderer(Protocol):
    """Runs the scripts of a page."""

    async def render(self, page: Target) -> Rendered:
        """The document after its scripts have run. Raises FetchFault if there is none."""
        ...


class _Ended(Exception):
    """There is no page; says how it ended."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome: Outcome = outcome


@dataclass(frozen=True)
class _Arrived:
    """Result of redirects that ended in a page."""

    target: Target
    headers: Headers
    """Headers of the response with the body: of an earlier one after a 304."""
    kind: Kind
    source: str
    """The beginning of the page as characters."""
    facts: Facts
    """Empty for what is not HTML."""


class PageFetcher:
    """Fetches cited addresses. One for a run, inside one event loop.

    Args:
        asker: sends requests politely.
        robots: says which may be sent.
        settings: the bounds.
        previous: exchanges of an earlier snapshot.
        renderer: runs scripts; None leaves pages as they are sent.
        now: the clock of captures without any exchange.
    """

    def __init__(
        self,
        asker: Asker,
        robots: Robots,
        settings: FetchSettings,
        previous: Previous,
        renderer: Renderer | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._asker, self._robots, self._settings = asker, robots, settings
        self._previous, self._renderer, self._now = previous, renderer, now
        self._shared = SharedAnswers(settings.shared_bytes)

    async def fetch(self, url: str) -> Capture:
        """The capture of one address as it was cited."""
        trail: list[Exchange] = []
        outcome: Outcome = "page"
        reason, rendered = "", None
        try:
            arrived = await self._arrive(url, None, trail)
            reason, rendered = await self._settle(arrived, trail)
        except FetchFault as fault:
            outcome, reason = fault.outcome, fault.reason
            if trail and not isinstance(fault, _Lost):
                reason = one_line(f"{reason} (led there from {trail[-1].url})")
        except _Ended as end:
            outcome, reason = end.outcome, one_line(str(end))
        return Capture(
            url=url,
            fetched=trail[-1].at if trail else stamp(self._now()),
            outcome=outcome,
            reason=reason,
            exchanges=tuple(trail),
            rendered=rendered,
        )

    async def _settle(self, arrived: _Arrived, trail: list[Exchange]) -> tuple[str, Rendered | None]:
        """Look for the full text, refuse walls, run scripts. Adds to `trail` what was kept."""
        if arrived.kind != "html":
            return "", None
        why_not = ""
        for linked in full_texts([exchange.url for exchange in trail], arrived.facts):
            try:
                return await self._full_text(linked, arrived, trail), None
            except (FetchFault, _Ended) as fault:
                why_not = why_not or f"{linked.url}: {fault}"
        few = arrived.facts.n_text <= _FEW and arrived.facts.n_scripts > 0
        came = arrival(arrived.target.url, trail[0].url, arrived.headers)
        _refuse_wall(came, arrived.source, arrived.facts, unless=SCRIPTS if few and self._renderer else "")
        if why_not:
            return one_line(f"the landing page was stored; its full text could not be had ({why_not})"), None
        if not few:
            return "", None
        if self._renderer is None:
            return "its scripts write the page, and they were not run", None
        try:
            async with self._asker.gate(arrived.target.host).turn():
                rendered = await self._renderer.render(arrived.target)
        except FetchFault as fault:
            return one_line(f"its scripts write the page, and could not be run ({fault})"), None
        source = rendered.html[:HEAD_BYTES].decode("utf-8", "replace")
        came = arrival(arrived.target.url, trail[0].url, ())
        _refuse_wall(came, source, await asyncio.to_thread(read_facts, source))
        return "the document was stored as it is after its scripts have run", rendered

    async def _full_text(self, linked: FullText, landing: _Arrived, trail: list[Exchange]) -> str:
        """Fetch what a landing page links; the reason that says so. Raises if it is not a full text."""
        there: list[Exchange] = []
        found = await self._arrive(linked.url, landing, there)
        if any(exchange.url == landing.target.url for exchange in there):
            raise _Ended("unavailable", "it leads back to the landing page")
        if found.kind != linked.kind:
            raise _Ended("unsupported_type", f"it is {found.kind}, not {linked.kind}")
        if linked.kind == "html":
            came = arrival(found.target.url, there[0].url, found.headers)
            _refuse_wall(came, found.source, found.facts)
            if found.facts.n_text <= landing.facts.n_text:
                raise _Ended("empty", "it holds no more text than the landing page")
        trail.extend(there)
        kind = "PDF" if linked.kind == "pdf" else "HTML"
        return one_line(
            f"the full text was stored ({kind}, {found.target.url}), linked on {landing.target.url}", 1_000
        )

    async def _arrive(self, url: str, page: _Arrived | None, trail: list[Exchange]) -> _Arrived:
        """Follow redirects from an address, or from a link of a page, to a page. Adds each hop to `trail`."""
        longest = self._settings.max_url
        base = None if page is None else _base(page)
        asked = target(url, base, longest=longest)
        seen: set[str] = set()
        for _ in range(self._settings.max_redirects + 1):
            if asked.url in seen:
                raise _Ended("unavailable", f"redirect loop at {asked.url}")
            seen.add(asked.url)
            answer, headers = await self._hop(asked, trail)
            if answer.exchange.status in REDIRECTS:
                location = answer.header("location")
                if location is None:
                    raise _Ended("unavailable", f"HTTP {answer.exchange.status} without a Location")
                asked = self._next(location, asked.url)
                continue
            arrived = await self._look(asked, answer, headers)
            refresh = arrived.facts.refresh
            if refresh is None or refresh[0] > self._settings.max_refresh_seconds:
                return arrived
            following = self._next(refresh[1], _base(arrived))
            if following.url == asked.url:  # it only reloads itself
                return arrived
            asked = following
        raise _Ended("unavailable", f"more than {self._settings.max_redirects} redirects")

    def _next(self, location: str, base: str) -> Target:
        try:
            return target(location, base, longest=self._settings.max_url)
        except Refused as refused:
            raise _Lost(f"redirected to {refused.reason}") from None

    async def _hop(self, asked: Target, trail: list[Exchange]) -> tuple[Answer, Headers]:
        """The answer of one hop, and the header fields that its body came with: earlier ones after a 304."""
        await self._robots.check(asked)
        earlier = self._previous(asked.url)
        conditions: list[tuple[str, str]] = []
        if earlier is not None and earlier.status == 200:
            for field, condition in (("etag", "If-None-Match"), ("last-modified", "If-Modified-Since")):
                if value := header(earlier.headers, field):
                    conditions.append((condition, value))
        answer = await self._shared.get(asked.url, lambda: self._asker.ask(asked, tuple(conditions)))
        trail.append(answer.exchange)
        if answer.exchange.status != 304:
            return answer, answer.exchange.headers
        if earlier is None or not conditions:
            raise _Ended("unavailable", "HTTP 304 without having been asked on a condition")
        limit, ratio = self._settings.max_decoded_bytes, self._settings.max_ratio
        head = await asyncio.to_thread(
            unpack_body, earlier.headers, earlier.body, limit=limit, ratio=ratio, keep=HEAD_BYTES
        )
        return Answer(answer.exchange, head), earlier.headers

    async def _look(self, asked: Target, answer: Answer, headers: Headers) -> _Arrived:
        """Return the page of the last hop. Raises _Ended if it is not a page."""
        if answer.exchange.status not in _PAGES | {304}:
            await self._refuse_status(asked, answer)
        if not answer.head.strip():
            raise _Ended("empty", "the answer has no content")
        name = "page.html" if media_type(headers) in _HTML else urlsplit(asked.url).path.rpartition("/")[2]
        charset = content_type(headers)[1]
        kind, described, source = await asyncio.to_thread(sniff, answer.head, name, charset)
        if kind == "unsupported":
            raise _Ended("unsupported_type", f"wrong type: {described}")
        facts = await asyncio.to_thread(read_facts, source) if kind == "html" else Facts()
        return _Arrived(asked, headers, kind, source, facts)

    async def _refuse_status(self, asked: Target, answer: Answer) -> None:
        status, words = answer.exchange.status, answer.exchange.reason
        reason = f"HTTP {status} {words}".strip()
        if status in _NO_CONTENT:
            raise _Ended("empty", reason)
        headers = answer.exchange.headers
        source = await asyncio.to_thread(decode, answer.head, content_type(headers)[1])
        facts = await asyncio.to_thread(read_facts, source)
        wall = recognise(arrival(asked.url, asked.url, headers), source, facts)
        if wall is not None:
            raise _Ended("blocked", f"{reason}: {wall}")
        raise _Ended(status_without_page(status), reason)


class _Lost(Refused):
    """A redirect to an address that is none to be asked."""


def _base(page: _Arrived) -> str:
    """Return the base URL of the links of a page."""
    try:
        return urljoin(page.target.url, page.facts.base) if page.facts.base else page.target.url
    except ValueError:  # a base that is no address
        return page.target.url


def _refuse_wall(came: Arrival, source: str, facts: Facts, unless: str = "") -> None:
    """Raise _Ended for a wall, `unless` it is of this kind."""
    wall = recognise(came, source, facts)
    if wall is not None and wall != unless:
        raise _Ended("blocked", wall)
