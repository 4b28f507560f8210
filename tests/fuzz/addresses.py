"""Addresses, and what comes with a page: robots.txt, content encodings, marks in its markup."""

from __future__ import annotations

import gzip
import zlib
from typing import Literal

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from protego import Protego

from indexes.archive.cdxj import sort_key
from indexes.archive.content import undone
from indexes.fetch.encoding import Unpacker, content_coding
from indexes.fetch.faults import Refused, TooMuch
from indexes.fetch.landing import full_texts
from indexes.fetch.target import target
from indexes.limits import Coding, GzipRefused
from indexes.text.decode import decode
from indexes.text.facts import read_facts
from indexes.urls import UrlError, identifier_url, normalise_url
from tests.fuzz.mutation import mutated, one_of_texts
from tests.fuzz.target import Target, assert_one_line, text_of

_URLS = one_of_texts(
    "https://www.Example.com:443/a/../b//c/?utm_source=x&b=2&a=%7e#!/route",
    "http://user:pw@host.example/x",
    "http://[2001:db8::1]:8080/p?q=1#frag",
    "www.exämple.de./straße?ü=ß",
    "https://doi.org/10.1234/ABC.d(5)",
    "https://dx.doi.org/10.48550/arXiv.2101.00001v2",
    "https://arxiv.org/pdf/2101.00001.pdf",
    "doi:10.1000/xyz#1?2",
    "arXiv: hep-th/9901001",
    "http://0x7f.1/",
    "http://a.example/%2e%2E/%zz%",
    "//a.example/x",
)
_URL_TOKENS = tuple(
    token.encode()
    for token in (
        *(
            "http://",
            "https:",
            "www.",
            "//",
            "/",
            "../",
            "./",
            "?",
            "&",
            "=",
            "#",
            "#!",
            ":~:",
            "%",
            "%2F",
            "%00",
            "@",
        ),
        *(
            ":",
            "[",
            "]",
            ".",
            "。",
            "．",
            "ß",
            "İ",
            "\u200d",
            "xn--",
            "doi:10.1/",
            "10.",
            ";",
            "+",
            " ",
            "\\",
            "|",
            ":80",
        ),
    )
)


def check_url(data: bytes) -> None:
    """One spelling that stays as it is, for what is kept and for what is asked."""
    text = text_of(data)
    try:
        found = normalise_url(text)
    except UrlError as error:
        assert_one_line(error, 2000)
    else:
        assert found.isascii() and found.startswith("https://") and found.isprintable() and " " not in found
        assert normalise_url(found) == found
        sort_key(found).encode()
    try:
        named = identifier_url(text)
        assert named is None or normalise_url(named) == named
    except UrlError as error:
        assert_one_line(error, 2000)
    for base in (None, "https://a.example/dir/page?x=1"):
        try:
            asked = target(text, base)
        except Refused as error:
            assert_one_line(error, 2000)
        else:
            assert asked.url.isascii() and target(asked.url) == asked


_ROBOTS = one_of_texts(
    "User-agent: *\nDisallow: /private\nAllow: /private/x$\nCrawl-delay: 2\nSitemap: https://a.example/s.xml\n",
    "User-agent: local-judge\nDisallow: /*.pdf$\nRequest-rate: 1/10s 0800-1200\nVisit-time: 0600-0845\n",
    "user-agent:*\r\ndisallow:/a*b*c\r\n# a comment\n",
)
_ROBOTS_TOKENS = (
    b"User-agent: *\n",
    b"Disallow: /",
    b"Allow:",
    b"*",
    b"$",
    b"*a",
    b"\n",
    b"#",
    b":",
    b"Crawl-delay: ",
    b"nan",
)
_ASKED = "https://a.example/" + "a" * 60 + "/x.pdf?q=" + "ab" * 20


def check_robots(data: bytes) -> None:
    """Whatever robots.txt holds, it says yes or no."""
    rules = Protego.parse(data.decode("utf-8", "replace"))
    for product in ("local-judge", "*"):
        assert rules.can_fetch(_ASKED, product) in (True, False)
        delay = rules.crawl_delay(product)
        assert delay is None or max(0.0, min(delay, 60.0)) >= 0.0


_TEXT = b"<html><p>A page.</p></html>" * 40


@st.composite
def _packed(draw: DrawFn) -> bytes:
    """A coding's letter, then a body in it."""
    coding = draw(st.sampled_from("gdri"))
    body = _TEXT[: draw(st.integers(0, len(_TEXT)))]
    packed = {
        "g": gzip.compress(body, mtime=0),
        "d": zlib.compress(body),
        "r": zlib.compress(body)[2:-4],
        "i": body,
    }
    return coding.encode() + packed[coding] * draw(st.sampled_from((1, 1, 2, 5)))


_CODINGS: dict[str, Coding] = {"g": "gzip", "d": "deflate", "r": "deflate"}
_LIMIT, _RATIO = 200_000, 200


def _unpacked(coding: Coding | Literal["identity"], pieces: list[bytes]) -> bytes | None:
    unpacker = Unpacker(coding, keep=_LIMIT, limit=_LIMIT, ratio=_RATIO)
    try:
        for piece in pieces:
            unpacker.feed(piece)
        unpacker.finish()
    except TooMuch as error:
        assert_one_line(error, 2000)
        return None
    assert len(unpacker.head) == unpacker.n_out <= _LIMIT
    return unpacker.head


def check_encoding(data: bytes) -> None:
    """A body gives the same bytes however it was cut on its way, or is refused."""
    coding: Coding | Literal["identity"] = _CODINGS.get(chr(data[0]) if data else "i", "identity")
    body = data[1:]
    whole = _unpacked(coding, [body])
    assert _unpacked(coding, [body[i : i + 7] for i in range(0, len(body), 7)]) == whole
    try:
        kept, _ = undone(body, coding)
    except GzipRefused as error:
        assert_one_line(error, 2000)
    else:
        assert whole is None or not body or kept == whole
    try:
        content_coding((("Content-Encoding", text_of(data[:80])), ("x", "y")))
    except TooMuch as error:
        assert_one_line(error, 2000)


_PAGES = one_of_texts(
    "<html><head><title>T</title><meta name=citation_pdf_url content='/x.pdf'><base href=/b>"
    "<meta http-equiv=refresh content='0; url=/next'><link rel=alternate type=application/pdf href=y.pdf></head>"
    '<body><script type="application/ld+json">{"isAccessibleForFree": false}</script><p>Words of it.</p></body></html>',
    "\ufeff<p>中文",
    '<?xml version="1.0" encoding="gbk"?><p charset="big5">x',
)
_MARKS = (
    b"<p>",
    b"</p>",
    b"<meta ",
    b"charset=gbk ",
    b"<!--",
    b"<![CDATA[",
    b"&#0;",
    b"&#x110000;",
    b"<svg>",
    b"<noscript>",
)


def check_markup(data: bytes) -> None:
    """Whatever the bytes are, something is said of them."""
    markup = read_facts(decode(data))
    assert len(markup.text) <= markup.n_text
    full_texts(["https://doi.org/10.1/x", "https://arxiv.org/abs/2101.00001"], markup)


TARGETS = (
    Target(
        "url",
        mutated(_URLS, _URL_TOKENS),
        check_url,
        shapes={
            "segments": lambda n: b"https://a.example/" + b"a/" * n,
            "dots": lambda n: b"https://a.example/" + b"../" * n,
            "escapes": lambda n: b"https://a.example/" + b"%7e" * n,
            "parameters": lambda n: b"https://a.example/?" + b"a=1&" * n,
            "labels": lambda n: b"https://" + b"a." * n + b"example/",
            "prefixes": lambda n: b"https://" + b"www." * n + b"a.example/",
            "colons": lambda n: b"https://a" + b":" * n,
        },
    ),
    Target(
        "robots",
        mutated(_ROBOTS, _ROBOTS_TOKENS),
        check_robots,
        shapes={
            "rules": lambda n: b"User-agent: *\n" + b"".join(b"Disallow: /a%d\n" % i for i in range(n)),
            "agents": lambda n: b"".join(b"User-agent: a%d\nDisallow: /\n" % i for i in range(n)),
        },
    ),
    Target(
        "encoding",
        mutated(
            _packed(),
            (gzip.compress(b"", mtime=0), gzip.compress(b"\0" * 50_000, mtime=0), b"\x1f\x8b\x08", b"x\x9c"),
        ),
        check_encoding,
        shapes={
            "members": lambda n: b"g" + gzip.compress(b"", mtime=0) * n,
            "zeros": lambda n: b"g" + gzip.compress(b"a", mtime=0) + b"\0" * n,
        },
    ),
    Target(
        "markup",
        mutated(_PAGES, _MARKS),
        check_markup,
        shapes={
            "paragraphs": lambda n: b"<p>a paragraph" * n,
            "nested": lambda n: b"<div>" * n,
            "metas": lambda n: b"<meta name=a content=b>" * n,
        },
    ),
)
