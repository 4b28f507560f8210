"""A web site of a few pages that are always the same, with a SearXNG server, that counts what it is asked for."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit
from zlib import crc32

N_PAGES = 24

SEARCH_FAULTS = ("500", "503", "429", "reset", "garbage", "large")
"""Failures of a search: a status, no answer, an answer that is no JSON or exceeds the client's bound."""


def _never(_: str) -> None:
    return None


class WebSite:
    """`with WebSite() as site` serves /0 to /23 at `site.host`; every sixth page is not there."""

    def __init__(self) -> None:
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.respond(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), name="web site")
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.sent: list[str] = []
        """Paths of pages in the order in which they were sent whole."""
        self.searched: list[str] = []
        """Queries in the order in which they were answered."""
        self.fails: Callable[[str], str | None] = _never
        """Failure of the next answer to a query: an HTTP status, or one of `SEARCH_FAULTS`."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def urls(self) -> str:
        """The list of all addresses."""
        return "".join(f"http://{self.host}/{number}\n" for number in range(N_PAGES))

    def reset(self) -> None:
        """Forget all requests, and answer all queries from now on."""
        self.sent.clear()
        self.searched.clear()
        self.fails = _never

    def counts(self) -> Counter[str]:
        """How often each page was sent."""
        return Counter(self.sent)

    def respond(self, request: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        if request.path.startswith("/search?"):
            self._search(request)
            return
        number = request.path.removeprefix("/")
        known = number.isdecimal() and int(number) < N_PAGES and int(number) % 6 != 5
        text = f"The lake froze late in year {number}. " * 12
        body = f"<html><title>Ice {number}</title><p>{text}".encode() if known else b"not here"
        time.sleep(0.01)
        try:
            request.send_response(200 if known else 404)
            request.send_header("Content-Type", "text/html")
            request.send_header("Content-Length", str(len(body)))
            request.end_headers()
            request.wfile.write(body)
        except ConnectionError:
            return
        if number.isdecimal():
            self.sent.append(request.path)

    def _search(self, request: BaseHTTPRequestHandler) -> None:
        """Answer a query with two pages that depend on it, or fail."""
        query = parse_qs(urlsplit(request.path).query)["q"][0]
        fault = self.fails(query)
        if fault == "reset":
            request.close_connection = True
            return
        first = crc32(query.encode()) % N_PAGES
        results = [
            {"url": f"http://{self.host}/{page % N_PAGES}", "engines": ["bing"]}
            for page in (first, first + 1)
        ]
        body = {"garbage": b"<html>busy", "large": b" " * 3_000_000}.get(
            fault or "", json.dumps({"query": query, "results": results}).encode()
        )
        try:
            request.send_response(int(fault) if fault is not None and fault.isdecimal() else 200)
            request.send_header("Content-Type", "application/json")
            request.send_header("Content-Length", str(len(body)))
            request.end_headers()
            request.wfile.write(body)
        except ConnectionError:
            return
        if fault is None:
            self.searched.append(query)
