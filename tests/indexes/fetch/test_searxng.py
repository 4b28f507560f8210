"""A SearXNG server that answers well, badly, or not at all."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio

from indexes.errors import FetchError
from indexes.fetch.searxng import MAX_ANSWER, NotAnswered, Searxng
from indexes.websearch import MOST_RESULTS, WebResult, WebSearch

from .site import Request, Route, Web, redirect, reply, settings

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def found(*results: Any, **more: Any) -> bytes:
    """An answer in SearXNG's format."""
    said: dict[str, Any] = {
        "query": "",
        "results": results,
        "answers": [],
        "unresponsive_engines": [],
        **more,
    }
    return reply(json.dumps(said).encode(), kind="application/json")


@pytest_asyncio.fixture
async def server(web: Web) -> AsyncIterator[Searxng]:
    one = Searxng(
        web.site.url("search.test/x/"),
        settings(web.site),
        resolver=web.names,
        now=lambda: NOON,
        language="de",
    )
    yield one
    await one.aclose()


def answer(web: Web, route: Route) -> None:
    """Let the server answer every query so."""
    web.site.routes = _Any(route)


class _Any(dict[str, Route]):
    def __init__(self, route: Route) -> None:
        super().__init__()
        self._route = route

    def get(self, key: str, default: Any = None) -> Any:
        return self._route if key.startswith("search.test/x/search?") else default


async def test_urls_ranks_and_engines_are_kept(web: Web, server: Searxng) -> None:
    asked: list[dict[str, list[str]]] = []

    def answering(request: Request) -> bytes:
        asked.append(parse_qs(urlsplit(request.path).query))
        results = [
            {"url": "https://a.test/1", "title": "A", "engine": "bing", "engines": ["bing", "qwant"]},
            {"url": "magnet:?xt=1", "engines": ["btdigg"]},
            {"url": "http://b.test/2", "engine": "bing"},
        ]
        return found(*results, unresponsive_engines=[["google", "CAPTCHA"], ["\u202ebrave", "time\nout"]])

    answer(web, answering)
    assert await server.search("heat pump & lake") == WebSearch(
        query="heat pump & lake",
        at="2026-01-31T12:00:00Z",
        language="de",
        results=(
            WebResult(rank=1, url="https://a.test/1", engines=("bing", "qwant")),
            WebResult(rank=3, url="http://b.test/2"),
        ),
        failures=("google: CAPTCHA", "brave: time out"),
    )
    assert asked == [{"q": ["heat pump & lake"], "format": ["json"], "language": ["de"]}]


async def test_a_query_selects_no_engine_language_or_redirect(web: Web, server: Searxng) -> None:
    asked: list[str] = []

    def answering(request: Request) -> bytes:
        asked.extend(parse_qs(urlsplit(request.path).query)["q"])
        return found()

    answer(web, answering)
    searched = await server.search("!!g !images :de <3 is 3<4? a:b")
    assert asked == ["g images de 3 is 3<4? a:b"]
    assert searched.query == "!!g !images :de <3 is 3<4? a:b"
    assert (await server.search("!! :")).results == ()
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("route", "problem"),
    [
        (
            reply(b"", "403 Forbidden"),
            r"answered 403; add `json` to `formats` under `search` in .*settings\.yml",
        ),
        (redirect("https://other.test/search?q=1"), r"redirects to https://other\.test/search\?q=1; give"),
        (reply(b"", "404 Not Found"), r"/x/search answered 404"),
    ],
)
async def test_a_server_that_answers_no_query_is_named_with_the_remedy(
    web: Web, server: Searxng, route: Route, problem: str
) -> None:
    answer(web, route)
    with pytest.raises(FetchError, match=problem) as refused:
        await server.search("ice")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("route", "reason"),
    [
        (reply(b"", "500 Internal Server Error"), "HTTP 500 Internal Server Error"),
        (reply(b"", "429 Too Many Requests"), r"answered 429: too many requests; raise --delay or"),
        (reply(b"<html>Results</html>"), r"does not return SearXNG's JSON"),
        (reply(b"[" * 1_000_000), r"does not return SearXNG's JSON"),
        (reply(b'{"results": {"url": "https://a.test"}}'), r"does not return SearXNG's JSON"),
        (reply(b'{"results": ' + b"9" * 10_000 + b"}"), r"does not return SearXNG's JSON"),
        (found(unresponsive_engines=[["google", "CAPTCHA"]]), "google: CAPTCHA"),
        (reply(b"", length=MAX_ANSWER + 1), "too large: 2,000,001 bytes, more than 2,000,000"),
    ],
)
async def test_one_query_may_have_no_answer(web: Web, server: Searxng, route: Route, reason: str) -> None:
    answer(web, route)
    with pytest.raises(NotAnswered, match=reason):
        await server.search("ice")


async def test_of_an_answer_only_usable_results_within_bounds_are_kept(web: Web, server: Searxng) -> None:
    odd: list[Any] = [
        None,
        [],
        {"url": None},
        {"url": ["https://a.test"]},
        {"url": "https://a.test/\ud800"},
        {"url": "https://a.test/\n"},
        {"url": "https://a.test/" + "x" * 8_000},
        {"url": "https://a.test/ok", "engines": {"a": 1}},
    ]
    many = [{"url": f"https://b.test/{n}", "engines": ["e" * 150] * 52} for n in range(200)]
    answer(web, found(*odd, *many, unresponsive_engines=[1, [2], "x"]))
    results = (await server.search("ice")).results
    assert [(one.rank, one.url) for one in results[:2]] == [(8, "https://a.test/ok"), (9, "https://b.test/0")]
    assert len(results) == MOST_RESULTS
    assert len(results[1].engines) == 50 and len(results[1].engines[0]) == 100


async def test_without_a_server_one_line_says_so(web: Web) -> None:
    for url, problem in (
        ("ftp://a.test", "the search server: neither .*https"),
        ("http://user:secret@a.test", "the search server: .*credentials"),
    ):
        with pytest.raises(FetchError, match=problem) as refused:
            Searxng(url, settings(web.site))
        assert "secret" not in str(refused.value)
    nobody = Searxng("http://nobody.example", settings(web.site), resolver=web.names)
    with pytest.raises(FetchError, match=r"http://nobody\.example: nobody\.example: .*host"):
        await nobody.search("ice")
    await nobody.aclose()
