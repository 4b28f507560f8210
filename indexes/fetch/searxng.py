"""Queries sent to a SearXNG server.

Invariant: a server, whatever it answers, costs no more than the bounds below, and only URLs, ranks and engine names are
taken from it. Redirects are not followed. Queries are data: words by which SearXNG selects engines, languages, time
limits or redirects (`!images`, `:de`, `<3`, `!!g`) are sent without these characters.

https://docs.searxng.org/dev/search_api.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeGuard, cast
from urllib.parse import urlencode

from indexes.errors import FetchError
from indexes.fetch.client import Answer, Client, stamp, utc_now
from indexes.fetch.faults import FetchFault, NoSuchHost, Refused, one_line
from indexes.fetch.politeness import Asker
from indexes.fetch.resolver import Resolver, SystemResolver
from indexes.fetch.robots import REDIRECTS
from indexes.fetch.settings import FetchSettings
from indexes.fetch.target import Target, target
from indexes.urls import shown_url
from indexes.websearch import MOST_RESULTS, WebResult, WebSearch

MAX_ANSWER = 2_000_000
"""Bytes of one answer; a page of results has about 100,000."""
_SYNTAX = re.compile(r"(?<!\S)[!:<?]+")
_LONGEST_NAME = 100
_MOST_NAMES = 50


class NotAnswered(Exception):
    """Query that has no answer; others may have one."""


class Searxng:
    """A SearXNG server. Use it inside one event loop, and close it.

    Args:
        server: base address, such as `http://127.0.0.1:8888`. It may be private: the user names it.
        settings: delays and limits.
        engines: engines to ask, by name; empty for the server's own choice.
        language: language to ask for, such as `de`; empty for the server's own choice.
        resolver: looks names up; by default the operating system.
        now: the clock of the searches' times.

    Raises:
        FetchError: the address is not an http or https address.
    """

    def __init__(
        self,
        server: str,
        settings: FetchSettings,
        *,
        engines: Sequence[str] = (),
        language: str = "",
        resolver: Resolver | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._base = server.strip().rstrip("/").removesuffix("/search")
        self.engines, self.language = tuple(engines), language
        try:
            host = target(self._base)
        except Refused as refused:
            raise FetchError(f"the search server: {refused.reason}") from None
        self._shown, self._now = shown_url(self._base), now
        limits = {"max_bytes": MAX_ANSWER, "max_decoded_bytes": MAX_ANSWER}
        settings = settings.model_copy(update={**limits, "allow_hosts": (f"{host.host}:{host.port}",)})
        self._client = Client(settings, resolver or SystemResolver(), now)
        self._asker = Asker(self._client, settings)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def search(self, query: str) -> WebSearch:
        """Send one query.

        A query of search syntax alone is not sent, and has no results.

        Raises:
            NotAnswered: this query has no answer.
            FetchError: the server answers no query as it is set up now.
        """
        sent = " ".join(_SYNTAX.sub("", query).split())
        if not sent:
            return self._record_search(query)
        try:
            answer = await self._asker.ask(self._target(sent))
        except (Refused, NoSuchHost) as fault:
            raise FetchError(f"{self._shown}: {fault.reason}") from None
        except FetchFault as fault:
            raise NotAnswered(fault.reason) from None
        self._check(answer)
        found = _results(answer.head)
        if found is None:
            raise NotAnswered(f"{self._shown} does not return SearXNG's JSON; is it a SearXNG server?")
        results, unresponsive = found
        if unresponsive and not results:
            raise NotAnswered(", ".join(unresponsive))
        return self._record_search(query, results, unresponsive, answer.exchange.at)

    def _record_search(
        self,
        query: str,
        results: tuple[WebResult, ...] = (),
        failures: tuple[str, ...] = (),
        at: str | None = None,
    ) -> WebSearch:
        """Return the record of a query to this server; by default of one without results, now."""
        return WebSearch(
            query=query,
            at=at or stamp(self._now()),
            asked_engines=self.engines,
            language=self.language,
            results=results,
            failures=failures,
        )

    def _target(self, query: str) -> Target:
        fields = {"q": query, "format": "json"}
        if self.engines:
            fields["engines"] = ",".join(self.engines)
        if self.language:
            fields["language"] = self.language
        return target(f"{self._base}/search?{urlencode(fields)}")

    def _check(self, answer: Answer) -> None:
        """Raise for an answer without results."""
        status = answer.exchange.status
        if status == 200:
            return
        if status == 403:
            raise FetchError(
                f"{self._shown} answered 403; add `json` to `formats` under `search` in the server's settings.yml"
            )
        if status == 429:
            raise NotAnswered(
                f"{self._shown} answered 429: too many requests; raise --delay or, on a server of your own, set "
                f"`limiter: false` under `server` in its settings.yml"
            )
        if status in REDIRECTS:
            place = shown_url(one_line(answer.header("location") or "another address"))
            raise FetchError(f"{self._shown} redirects to {place}; give the address of the SearXNG server")
        if status == 404:
            raise FetchError(f"{self._shown}/search answered 404; give the address of the SearXNG server")
        raise NotAnswered(f"HTTP {status} {answer.exchange.reason}".strip())


def _results(body: bytes) -> tuple[tuple[WebResult, ...], tuple[str, ...]] | None:
    """Return the results and the engines without an answer; None for anything but SearXNG's JSON."""
    try:
        data: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not isinstance(cast("dict[str, Any]", data).get("results"), list):
        return None
    answer = cast("dict[str, Any]", data)
    results: list[WebResult] = []
    for rank, one in enumerate(cast("list[object]", answer["results"]), start=1):
        result = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
        if len(results) < MOST_RESULTS and _is_web(url := result.get("url")):
            results.append(WebResult(rank=rank, url=url, engines=_names(result.get("engines"))))
    pairs: Any = answer.get("unresponsive_engines")
    listed = cast("list[Any]", pairs) if isinstance(pairs, list) else []
    unresponsive = tuple(": ".join(_names(pair)) for pair in listed[:_MOST_NAMES])
    return tuple(results), tuple(filter(None, unresponsive))


def _is_web(url: object) -> TypeGuard[str]:
    """Check for an http or https address that can be written as UTF-8; the fetcher decides on everything else."""
    if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")):
        return False
    return len(url) <= 8_000 and url.isprintable()


def _names(names: object) -> tuple[str, ...]:
    """Return the texts of a list, each on one line."""
    if not isinstance(names, list):
        return ()
    some = cast("list[object]", names)[:_MOST_NAMES]
    return tuple(one_line(name, _LONGEST_NAME) for name in some if isinstance(name, str))
