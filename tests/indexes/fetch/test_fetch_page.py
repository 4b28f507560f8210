"""One address: redirects, landing pages, conditional requests, and every outcome with its reason."""

from __future__ import annotations

import gzip

import pytest

from indexes.archive.model import Exchange

from .site import PROSE, Request, Web, article, redirect, reply

PDF = b"%PDF-1.4\n%" + bytes(range(128, 160)) + b"\n" + PROSE.encode() * 20


async def test_a_page_is_kept_as_it_was_sent(web: Web) -> None:
    packed = gzip.compress(article(), mtime=0)
    web.site.routes["a.test/x"] = reply(
        packed,
        "200 OK",
        "Content-Encoding: gzip",
        "X-Two: 1",
        "x-two: caf\udce9",
        kind="text/html; charset=utf-8",
    )
    found = await web.capture("a.test/x?b=2&a=1#part")
    assert (found.outcome, found.reason) == ("dead", "HTTP 404 Not Found")  # the query is part of the place
    web.site.routes["a.test/x?b=2&a=1"] = web.site.routes["a.test/x"]
    found = await web.capture("a.test/x?b=2&a=1#part")
    assert (found.outcome, found.reason) == ("page", "")
    assert found.url.endswith("/x?b=2&a=1#part")
    (exchange,) = found.exchanges
    assert exchange.url == web.site.url("a.test/x?b=2&a=1")
    assert exchange.body == packed
    assert exchange.headers == (
        ("Content-Length", str(len(packed))),
        ("Content-Type", "text/html; charset=utf-8"),
        ("Content-Encoding", "gzip"),
        ("X-Two", "1"),
        ("x-two", "caf\u00e9"),
    )
    assert (exchange.status, exchange.reason, exchange.ip) == (200, "OK", "127.0.0.1")
    assert dict(exchange.request_headers)["Host"] == f"a.test:{web.site.port}"
    assert found.fetched == exchange.at
    assert len(exchange.at) == len("2026-01-31T12:00:00Z") and exchange.at.endswith("Z")


async def test_chunked_bodies_are_joined(web: Web) -> None:
    body = article()
    chunked = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:100], body[100:]))
    web.site.routes["a.test/"] = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n"
        + chunked
        + b"0\r\n\r\n"
    )
    (exchange,) = (await web.capture("a.test/")).exchanges
    assert exchange.body == body
    assert exchange.headers == (("Content-Type", "text/html"),)


async def test_every_hop_is_recorded(web: Web) -> None:
    web.site.routes["a.test/"] = redirect("/two", "301 Moved Permanently")
    web.site.routes["a.test/two"] = redirect(web.site.url("b.test/three"), "307 Temporary Redirect")
    web.site.routes["b.test/three"] = redirect("?four", "303 See Other")
    web.site.routes["b.test/three?four"] = reply(article())
    found = await web.capture("a.test/")
    assert [(one.status, one.url) for one in found.exchanges] == [
        (301, web.site.url("a.test/")),
        (307, web.site.url("a.test/two")),
        (303, web.site.url("b.test/three")),
        (200, web.site.url("b.test/three?four")),
    ]
    assert found.final_url == web.site.url("b.test/three?four")


@pytest.mark.parametrize(
    ("answer", "outcome", "reason"),
    [
        (reply(b"", "204 No Content", kind=""), "empty", "HTTP 204 No Content"),
        (reply(b""), "empty", "the answer has no content"),
        (reply(b" \n\n "), "empty", "the answer has no content"),
        (reply(b"gone", "410 Gone"), "dead", "HTTP 410 Gone"),
        (
            reply(b"law", "451 Unavailable For Legal Reasons"),
            "blocked",
            "HTTP 451 Unavailable For Legal Reasons",
        ),
        (reply(b"", "304 Not Modified"), "unavailable", "HTTP 304 without having been asked on a condition"),
        (reply(b"x", "302 Found"), "unavailable", "HTTP 302 without a Location"),
        (reply(b"part", "206 Partial Content"), "unavailable", "HTTP 206 Partial Content"),
        (reply(b"?", "404 \x1b[31mred \udcff"), "dead", "HTTP 404 [31mred"),
        (reply(PDF, kind="application/octet-stream"), "page", ""),
        (reply(b"# A heading\n\nText.", kind="text/markdown"), "page", ""),
        (reply(b'{"a": 1}', kind="application/json"), "page", ""),
        (reply(article(), kind="image-less"), "page", ""),
        (reply(article(), kind=""), "page", ""),
        (reply(article().decode().encode("utf-16"), kind="text/html; charset=ascii"), "page", ""),
        (reply("<html><p>\u6e56".encode("gb18030") * 90, kind="text/html; charset=utf-8"), "page", ""),
        (reply(b"<div>" * 50_000 + article()), "page", ""),
    ],
)
async def test_outcomes(web: Web, answer: bytes, outcome: str, reason: str) -> None:
    web.site.routes["a.test/"] = answer
    found = await web.capture("a.test/")
    assert (found.outcome, found.reason) == (outcome, reason)
    assert len(found.exchanges) == 1
    found.exchanges[0].reason.encode("utf-8")


@pytest.mark.parametrize(
    ("refresh", "followed"),
    [
        ("0;url=/new", True),
        ("0; URL='/new'", True),
        ("3,/new", True),
        ("5; url=http://a.test:{port}/new", True),
        ("6; url=/new", False),
        ("300", False),
        ("0; url=/", False),  # it reloads itself
        ("0; url=javascript:void(0)", None),
    ],
)
async def test_a_short_refresh_is_a_redirect(web: Web, refresh: str, followed: bool | None) -> None:
    content = refresh.replace("{port}", str(web.site.port))
    web.site.routes["a.test/"] = reply(article(head=f'<meta http-equiv="Refresh" content="{content}">'))
    web.site.routes["a.test/new"] = reply(article("moved " * 50))
    found = await web.capture("a.test/")
    if followed is None:
        assert found.outcome == "blocked"
        assert found.reason.startswith("redirected to ") and "'javascript:void(0)'" in found.reason
    else:
        assert (found.outcome, found.reason) == ("page", "")
        assert web.site.asked() == (["/", "/new"] if followed else ["/"])


async def test_refreshes_count_as_redirects(web: Web) -> None:
    for number in range(9):
        head = f'<meta http-equiv=refresh content="0;url=/{number + 1}">'
        web.site.routes[f"a.test/{number}"] = reply(article(head=head))
    found = await web.capture("a.test/0", max_redirects=3)
    assert (found.outcome, found.reason) == ("unavailable", "more than 3 redirects")


async def test_refreshes_for_readers_without_scripts_are_not_followed(web: Web) -> None:
    head = '<noscript><meta http-equiv=refresh content="0;url=/enable-scripts"></noscript>'
    web.site.routes["a.test/"] = reply(article(head=head))
    await web.capture("a.test/")
    assert web.site.asked() == ["/"]


class TestFullText:
    async def test_a_doi_leads_to_the_paper(self, web: Web) -> None:
        web.site.routes["doi.org/10.1/x"] = redirect(web.site.url("a.test/paper"))
        head = '<meta name="citation_pdf_url" content="/paper.pdf">'
        web.site.routes["a.test/paper"] = reply(article("Abstract. " * 30, head))
        web.site.routes["a.test/paper.pdf"] = redirect(web.site.url("b.test/store/1"))
        web.site.routes["b.test/store/1"] = reply(PDF, kind="application/pdf")
        found = await web.capture("doi.org/10.1/x")
        assert [(one.status, one.url.partition(":")[2].partition("/")[2]) for one in found.exchanges] == [
            (302, f"/doi.org:{web.site.port}/10.1/x"),
            (200, f"/a.test:{web.site.port}/paper"),
            (302, f"/a.test:{web.site.port}/paper.pdf"),
            (200, f"/b.test:{web.site.port}/store/1"),
        ]
        assert found.exchanges[-1].body == PDF
        assert found.reason == (
            f"the full text was stored (PDF, {web.site.url('b.test/store/1')}), "
            f"linked on {web.site.url('a.test/paper')}"
        )

    async def test_an_arxiv_abstract_leads_to_its_pdf(self, web: Web) -> None:
        web.site.routes["arxiv.org/abs/2401.00001v2"] = reply(article("Abstract. " * 30))
        web.site.routes["arxiv.org/pdf/2401.00001v2"] = reply(PDF, kind="application/pdf")
        found = await web.capture("arxiv.org/abs/2401.00001v2")
        assert found.final_url == web.site.url("arxiv.org/pdf/2401.00001v2")
        assert found.outcome == "page"

    @pytest.mark.parametrize(
        ("there", "why"),
        [
            (reply(b"pay", "402 Payment Required"), "HTTP 402 Payment Required"),
            (reply(article("Log in to read. " * 9)), "it is html, not pdf"),
            (redirect("/paper"), "it leads back to the landing page"),
            (redirect("http://127.0.0.1/x.pdf"), "address refused: 127.0.0.1 (loopback)"),
        ],
    )
    async def test_the_landing_page_stays_where_the_paper_is_not_open(
        self, web: Web, there: bytes, why: str
    ) -> None:
        head = '<meta name="citation_title" content="T"><meta name="citation_pdf_url" content="/paper.pdf">'
        web.site.routes["a.test/paper"] = reply(article("Abstract. " * 30, head))
        web.site.routes["a.test/paper.pdf"] = there
        found = await web.capture("a.test/paper")
        assert found.outcome == "page"
        assert found.final_url == web.site.url("a.test/paper")
        assert found.reason == (
            f"the landing page was stored; its full text could not be had (/paper.pdf: {why})"
        )

    async def test_a_full_text_in_html(self, web: Web) -> None:
        head = '<meta name="citation_fulltext_html_url" content="/full">'
        web.site.routes["a.test/paper"] = reply(article("Abstract. " * 30, head))
        web.site.routes["a.test/full"] = reply(article("Body. " * 3_000, head))
        found = await web.capture("a.test/paper")
        assert found.final_url == web.site.url("a.test/full")
        assert "was stored (HTML, " in found.reason

    async def test_a_page_that_holds_the_paper_is_the_paper(self, web: Web) -> None:
        head = '<meta name="citation_pdf_url" content="/paper.pdf">'
        web.site.routes["a.test/paper"] = reply(article("A whole paper. " * 2_100, head))
        assert (await web.capture("a.test/paper")).reason == ""
        assert web.site.asked() == ["/paper"]

    async def test_any_page_may_link_a_pdf_and_stays_itself(self, web: Web) -> None:
        head = '<link rel="alternate" type="application/pdf" href="/print.pdf">'
        web.site.routes["a.test/news"] = reply(article(head=head))
        web.site.routes["a.test/print.pdf"] = reply(PDF)
        assert (await web.capture("a.test/news")).final_url == web.site.url("a.test/news")
        web.site.routes["doi.org/10.1/y"] = redirect(web.site.url("a.test/news"))
        assert (await web.capture("doi.org/10.1/y")).final_url == web.site.url("a.test/print.pdf")


class TestAgain:
    """A second fetch, with an earlier snapshot at hand."""

    HEADERS = (
        ("Content-Type", "text/html"),
        ("ETag", '"v1"'),
        ("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT"),
    )

    def earlier(self, url: str, body: bytes) -> Exchange:
        return Exchange(url=url, at="2026-01-31T12:00:00Z", status=200, headers=self.HEADERS, body=body)

    async def test_what_did_not_change_is_not_sent_again(self, web: Web) -> None:
        url = web.site.url("a.test/x")
        web.site.routes["a.test/"] = redirect("/x")
        web.site.routes["a.test/x"] = reply(b"", "304 Not Modified", 'ETag: "v1"', kind="", length=0)
        known = {url: self.earlier(url, article())}
        found = await web.capture("a.test/", previous=known.get)
        assert (found.outcome, found.reason) == ("page", "")
        assert [one.status for one in found.exchanges] == [302, 304]
        first, second = [request for request in web.site.requests if request.path != "/robots.txt"]
        assert "if-none-match" not in first.headers
        assert second.headers["if-none-match"] == '"v1"'
        assert second.headers["if-modified-since"] == "Wed, 21 Oct 2015 07:28:00 GMT"

    async def test_what_changed_is_sent(self, web: Web) -> None:
        url = web.site.url("a.test/x")
        web.site.routes["a.test/x"] = reply(article("new " * 90))
        found = await web.capture("a.test/x", previous={url: self.earlier(url, article())}.get)
        assert found.exchanges[-1].body == article("new " * 90)

    async def test_a_landing_page_that_did_not_change_still_leads_on(self, web: Web) -> None:
        url = web.site.url("a.test/paper")
        head = '<meta name="citation_pdf_url" content="/paper.pdf">'
        web.site.routes["a.test/paper"] = reply(b"", "304 Not Modified", kind="", length=0)
        web.site.routes["a.test/paper.pdf"] = reply(PDF, kind="application/pdf")
        known = {url: self.earlier(url, article("Abstract. " * 30, head))}
        found = await web.capture("a.test/paper", previous=known.get)
        assert [one.status for one in found.exchanges] == [304, 200]
        assert found.exchanges[-1].body == PDF

    async def test_an_earlier_refusal_asks_on_no_condition(self, web: Web) -> None:
        url = web.site.url("a.test/x")
        web.site.routes["a.test/x"] = reply(article())
        earlier = self.earlier(url, b"no").model_copy(update={"status": 403})
        await web.capture("a.test/x", previous={url: earlier}.get)
        assert "if-none-match" not in web.site.requests[-1].headers


async def test_an_answer_that_several_addresses_lead_to_is_asked_for_once(web: Web) -> None:
    for number in range(5):
        web.site.routes[f"a.test/{number}"] = redirect("/home")
    web.site.routes["a.test/home"] = lambda _: reply(article())
    urls = [web.site.url(f"a.test/{number}") for number in range(5)] + [web.site.url("a.test/home")]
    found, _ = await web.fetch(*urls)
    assert {one.outcome for one in found.values()} == {"page"}
    assert web.site.asked().count("/home") == 1
    web.site.requests.clear()
    await web.fetch(*urls, shared_bytes=0)
    assert web.site.asked().count("/home") == 6


async def test_scripts_that_write_the_page_are_named(web: Web) -> None:
    web.site.routes["a.test/"] = reply(b"<html><body><div id=root></div><script>go()</script></body></html>")
    found = await web.capture("a.test/")
    assert (found.outcome, found.reason) == ("page", "its scripts write the page, and they were not run")


async def test_a_server_may_say_anything(web: Web) -> None:
    """Whatever stands in a header field, the capture can be written as UTF-8."""

    def strange(_: Request) -> bytes:
        return reply(article(), "200 OK", "X-Bytes: \udcff\udc80", "ETag: \udce9\udca0\udc81")

    web.site.routes["a.test/"] = strange
    found = await web.capture("a.test/")
    assert ("X-Bytes", "\xff\x80") in found.exchanges[0].headers
    assert ("ETag", "\u9801") in found.exchanges[0].headers
    found.model_dump_json(exclude={"exchanges": {"__all__": {"body"}}}).encode("utf-8")
