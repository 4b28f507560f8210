"""Archives received from others: WARC files, their indexes, and the zip files that they come in."""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import json
import random
import shutil
import zipfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from indexes.archive.captures import IndexEntry, read_captures
from indexes.archive.cdxj import Cdxj, render_line
from indexes.archive.content import content_of
from indexes.archive.model import Capture, Exchange, Headers, Imported, Rendered
from indexes.archive.records import Damage, read_record, read_records
from indexes.archive.wacz import PageLine, open_archives, write_wacz
from indexes.archive.warc import ArchiveWriter, file_name
from indexes.errors import DigestMismatch, ImportRefused
from tests.fuzz.mutation import mutated
from tests.fuzz.target import Target, assert_one_line, scratch, written

_AT = "2026-01-31T12:00:00Z"
_PAGE = b"<html><p>A page with words on it.</p></html>"


def _exchange(url: str, status: int = 200, body: bytes = _PAGE, headers: Headers = ()) -> Exchange:
    return Exchange(
        url=url,
        at=_AT,
        status=status,
        reason="OK",
        headers=(("Content-Type", "text/html"), *headers),
        request_headers=(("User-Agent", "x"),),
        body=body,
        ip="203.0.113.1",
    )


_CAPTURES = (
    Capture(
        url="https://a.example/", fetched=_AT, outcome="page", exchanges=(_exchange("https://a.example/"),)
    ),
    Capture(
        url="http://a.example/old",
        fetched=_AT,
        outcome="page",
        exchanges=(
            _exchange("http://a.example/old", 301, b"", (("Location", "/new"),)),
            _exchange("http://a.example/new"),
        ),
    ),
    Capture(
        url="https://b.example/",
        fetched=_AT,
        outcome="page",
        exchanges=(
            _exchange(
                "https://b.example/",
                body=gzip.compress(_PAGE, mtime=0),
                headers=(("Content-Encoding", "gzip"),),
            ),
        ),
        rendered=Rendered(url="https://b.example/", at=_AT, html=_PAGE, renderer="chromium 1"),
    ),
    Capture(
        url="https://c.example/x.pdf",
        fetched=None,
        outcome="page",
        imported=Imported(
            url="https://c.example/x.pdf", data=b"words", media_type="text/plain", name="x.txt"
        ),
    ),
    Capture(url="https://d.example/", fetched=_AT, outcome="dead", reason="HTTP 404"),
)


def _own(captures: tuple[Capture, ...]) -> bytes:
    folder = scratch() / "own"
    shutil.rmtree(folder, ignore_errors=True)
    with ArchiveWriter(folder) as writer:
        for capture in captures:
            writer.write(capture)
    return (folder / file_name(0)).read_bytes()


def _foreign_record(kind: str, url: str, block: bytes, content_type: str, **more: str) -> bytes:
    fields = {
        "WARC-Type": kind,
        "WARC-Record-ID": "<urn:uuid:00000000-0000-4000-8000-000000000001>",
        "WARC-Date": _AT,
        "WARC-Target-URI": url,
        "Content-Type": content_type,
        **more,
        "Content-Length": str(len(block)),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"WARC/1.0\r\n{head}\r\n".encode() + block + b"\r\n\r\n"


_HTTP = "application/http; msgtype=response"
_FOREIGN = (
    _foreign_record("warcinfo", "", b"software: other\r\n", "application/warc-fields"),
    _foreign_record(
        "response", "https://a.example/", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + _PAGE, _HTTP
    ),
    _foreign_record("response", "https://a.example/r", b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", _HTTP),
    _foreign_record(
        "response",
        "https://a.example/c",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        _HTTP,
        **{"WARC-Payload-Digest": "sha1:ABC"},
    ),
    _foreign_record(
        "revisit",
        "https://a.example/v",
        b"HTTP/1.1 200 OK\r\n\r\n",
        _HTTP,
        **{"WARC-Payload-Digest": "sha1:ABC"},
    ),
    _foreign_record("resource", "https://a.example/t.txt", b"words", "text/plain"),
    _foreign_record("metadata", "urn:outcome:https://a.example/", b'{"url": "x"}', "application/json"),
)


@functools.cache
def _whole_files() -> tuple[bytes, ...]:
    """Our own archives and those of another tool, packed and plain."""
    own = _own(_CAPTURES)
    return (
        own,
        gzip.decompress(own),
        b"".join(_FOREIGN),
        b"".join(gzip.compress(one, mtime=0) for one in _FOREIGN),
    )


@st.composite
def _warc(draw: DrawFn) -> bytes:
    if draw(st.booleans()):
        return draw(st.sampled_from(_whole_files()))
    records = draw(st.lists(st.sampled_from(_FOREIGN), min_size=1, max_size=4))
    packed = draw(st.booleans())
    return b"".join(gzip.compress(record, mtime=0) if packed else record for record in records)


_WARC_TOKENS = (
    *(
        b"WARC/1.1\r\n",
        b"WARC-Type: response\r\n",
        b"WARC-Type: revisit\r\n",
        b"Content-Length: 9999999999\r\n",
    ),
    *(
        b"Content-Length: -1\r\n",
        b"Content-Length: \xc2\xb2\r\n",
        b"\r\n\r\n",
        b"\n\n",
        b"HTTP/1.1 200 OK\r\n",
    ),
    *(
        b"Location: //[\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"fffffffff\r\n",
        b"Content-Encoding: gzip, br\r\n",
    ),
    *(
        b"WARC-Date: 0000\r\n",
        b"WARC-Target-URI: http://[/\r\n",
        b"WARC-Target-URI: <https://a.example/>\r\n",
    ),
    *(gzip.compress(b"", mtime=0), _FOREIGN[1], gzip.compress(_FOREIGN[2], mtime=0)),
)


def check_warc(data: bytes) -> None:
    """Whole records, then one line that says where the reading stopped."""
    path = written("a.warc.gz", data)
    try:
        for record in read_records(path):
            assert 0 <= record.offset < record.offset + record.length <= len(data)
            again = read_record(path, record.offset)
            assert again.kind == record.kind or again != record
    except Damage as damage:
        assert_one_line(damage)
    warnings: list[str] = []
    for stored in read_captures([path], warnings.append):
        Capture.model_validate(stored.capture.model_dump())
        content_of(stored.capture)
        for entry in stored.entries:
            render_line(entry).encode()
    for warning in warnings:
        assert_one_line(ValueError(warning))


_TEXTS = ("", "a", "é 中", "a\r\nb", "\u2028", "\ud800", "\x00", "x" * 300, "%zz", 'text/html; charset="x"')


def _random_capture(data: bytes) -> Capture:
    source = random.Random(data)

    def text() -> str:
        return source.choice(_TEXTS)

    def body() -> bytes:
        return source.choice((b"", _PAGE, data[:200], b"\0" * 50, b"WARC/1.1\r\n\r\n"))

    url = f"https://{source.choice('abc')}.example/{source.choice(('', 'x?y=1', '%7e', 'A//b'))}"
    exchanges = tuple(
        Exchange(
            url=url,
            at=_AT,
            status=status,
            reason=text().encode("utf-8", "replace").decode(),
            headers=tuple(
                (f"X-{i}", text().encode("utf-8", "replace").decode()) for i in range(source.randrange(3))
            ),
            body=b"" if status == 304 else body(),
        )
        for status in source.sample((200, 204, 301, 304, 404, 999), source.randrange(3))
    )
    imported = Imported(url=url, data=body(), media_type="text/plain", name="x.txt")
    return Capture(
        url=url,
        fetched=source.choice((None, _AT)),
        outcome=source.choice(("page", "dead", "empty")),
        reason=text().encode("utf-8", "replace").decode(),
        exchanges=exchanges,
        imported=source.choice((None, imported)),
        rendered=source.choice((None, Rendered(url=url, at=_AT, html=body(), renderer="r"))),
    )


def check_written(data: bytes) -> None:
    """What is written reads back: bytes as they were, header texts in ASCII on one line."""
    capture = _random_capture(data)
    warnings: list[str] = []
    found = [
        stored.capture for stored in read_captures([written("b.warc.gz", _own((capture,)))], warnings.append)
    ]
    assert not warnings and len(found) == 1
    again = found[0]
    assert (again.url, again.fetched, again.outcome) == (capture.url, capture.fetched, capture.outcome)
    assert again.reason == capture.reason
    assert again.rendered == capture.rendered and again.imported == capture.imported
    assert [(one.url, one.at, one.status, one.body) for one in again.exchanges] == [
        (one.url, one.at, one.status, one.body) for one in capture.exchanges
    ]
    assert [[name for name, _ in one.headers] for one in again.exchanges] == [
        [name for name, _ in one.headers] for one in capture.exchanges
    ]


_ENTRIES = tuple(
    IndexEntry(url, at, 200, "text/html", "sha256:00", "data-00000.warc.gz", 10, 20)
    for url in (
        "https://a.example/",
        "https://a.example/x?b=2&a=1",
        "http://www.b.example:8080/",
        "urn:rendered:https://c.example/",
    )
    for at in (_AT, "2026-02-01T00:00:00Z")
)


def _index(lines: list[IndexEntry]) -> bytes:
    return "".join(sorted({render_line(entry) for entry in lines})).encode()


def check_cdxj(data: bytes) -> None:
    """Every line can be looked up, or is refused in one line."""
    index = Cdxj(written("index.cdxj", data))
    urls = [entry.url for entry in _ENTRIES]
    if data == _index(list(_ENTRIES)):
        for entry in _ENTRIES:
            assert entry in list(index.find(entry.url)) and list(index.find(entry.url, entry.at)) == [entry]
    for url in urls:
        try:
            for found in index.find(url):
                assert found.url == url and json.dumps(found.offset)
        except DigestMismatch as error:
            assert_one_line(error)


def _zip(files: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(zipfile.ZipInfo(name), data)
    return held.getvalue()


@functools.cache
def _wacz() -> bytes:
    folder = scratch() / "wacz"
    folder.mkdir(exist_ok=True)
    warc = folder / file_name(0)
    warc.write_bytes(_own(_CAPTURES))
    index = folder / "index.cdxj"
    index.write_bytes(_index(list(_ENTRIES)))
    out = folder / "a.wacz"
    out.unlink(missing_ok=True)
    digest = hashlib.sha256(warc.read_bytes()).hexdigest()
    pages = [PageLine("https://a.example/", _AT, "T", "words")]
    write_wacz(out, {warc: digest}, index, pages, title="t", created=_AT)
    return out.read_bytes()


@st.composite
def _zips(draw: DrawFn) -> bytes:
    if draw(st.booleans()):
        return _wacz()
    warc = draw(_warc())
    package = draw(
        st.sampled_from(
            (b"{}", b'{"resources": [{"path": "archive/a.warc", "hash": "sha256:0"}]}', b"[" * 2000, b"\xff")
        )
    )
    pages = draw(
        st.sampled_from((b'{"url": "https://a.example/"}\n', b'{"url": 1}\nx\n', b"[" * 2000, b"\xff\n"))
    )
    return _zip({"archive/a.warc": warc, "datapackage.json": package, "pages/pages.jsonl": pages})


def check_wacz(data: bytes) -> None:
    """An archive whose files can be read, or a refusal in one line."""
    path: Path = written("a.wacz", data)
    warnings: list[str] = []
    try:
        with open_archives(path, warnings.append) as archive:
            for stored in read_captures(archive.warcs, warnings.append, only=archive.pages):
                assert stored.capture.url
    except ImportRefused as error:
        assert_one_line(error)
    for warning in warnings:
        assert_one_line(ValueError(warning))


def _indexes() -> SearchStrategy[bytes]:
    return st.lists(st.sampled_from(_ENTRIES), min_size=0, max_size=8).map(_index)


TARGETS = (
    Target(
        "warc",
        mutated(_warc(), _WARC_TOKENS),
        check_warc,
        shapes={
            "records": lambda n: _FOREIGN[1] * n,
            "members": lambda n: gzip.compress(_FOREIGN[1], mtime=0) * n,
            "redirects": lambda n: b"".join(
                _foreign_record(
                    "response",
                    f"https://a.example/{i}",
                    b"HTTP/1.1 302 F\r\nLocation: /%d\r\n\r\n" % (i + 1),
                    _HTTP,
                )
                for i in range(n)
            ),
            "headers": lambda n: _foreign_record(
                "response", "https://a.example/", b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * n + b"\r\nx", _HTTP
            ),
            "chunks": lambda n: _foreign_record(
                "response",
                "https://a.example/",
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n"
                + b"1\r\na\r\n" * n
                + b"0\r\n\r\n",
                _HTTP,
            ),
            "revisits": lambda n: _FOREIGN[3] + _FOREIGN[4] * n,
            "own": lambda n: _own(_CAPTURES * (n // 5)),
        },
        unit=20,
        examples=100,
    ),
    Target("warc-written", st.binary(max_size=400), check_written, examples=80),
    Target(
        "cdxj",
        mutated(_indexes(), (b"example,a)/ 20260131120000 {}\n", b" ", b"{", b"}", b"\n", b'"offset": "9"')),
        check_cdxj,
        shapes={"lines": lambda n: _index([_ENTRIES[0]._replace(offset=i) for i in range(n)])},
    ),
    Target(
        "wacz",
        mutated(_zips(), (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"\xff\xff\xff\xff", b"archive/")),
        check_wacz,
        shapes={
            "files": lambda n: _zip({f"archive/{i}.warc": _FOREIGN[1] for i in range(n)}),
            "pages": lambda n: _zip(
                {"archive/a.warc": _FOREIGN[1], "pages/pages.jsonl": b'{"url": "https://a.example/"}\n' * n}
            ),
        },
        examples=80,
        unit=20,
    ),
)
