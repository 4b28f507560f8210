"""Archives of other tools: what is a page in them, and what only belongs to one."""

from __future__ import annotations

import gzip
import hashlib
import re
import time
import zlib
from base64 import b32encode, b64encode
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from warcio.statusandheaders import StatusAndHeaders  # pyright: ignore[reportMissingTypeStubs]
from warcio.warcwriter import WARCWriter  # pyright: ignore[reportMissingTypeStubs]

from indexes.archive.captures import read_captures
from indexes.archive.content import content_of
from indexes.archive.model import Capture
from indexes.archive.records import read_records
from indexes.errors import ImportRefused
from indexes.making.importing import import_archives
from indexes.snapshot import Snapshot
from indexes.text.extracting import Job, Reading, read_page
from indexes.verify import verify

HTML = b"<html><body><article><p>The observatory was opened in 1931 on the hill.</p></article></body></html>"
CHUNKED = b"%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (30, HTML[:30], len(HTML) - 30, HTML[30:])


def sha1(data: bytes) -> str:
    """As most crawlers write digests."""
    return "sha1:" + base32(hashlib.sha1(data).digest())


def base32(digest: bytes) -> str:
    return b32encode(digest).decode()


def lower_base32(digest: bytes) -> str:
    return base32(digest).lower()


def unpadded_base32(digest: bytes) -> str:
    return base32(digest).rstrip("=")


def base64(digest: bytes) -> str:
    return b64encode(digest).decode()


def written_otherwise(digest: bytes) -> str:
    return f"{int.from_bytes(digest)}"


def gzip_members(data: bytes) -> list[bytes]:
    """What each member holds."""
    found: list[bytes] = []
    while data:
        member = zlib.decompressobj(wbits=31)
        found.append(member.decompress(data))
        data = member.unused_data
    return found


class Foreign:
    """A WARC file as a crawler would write it."""

    def __init__(self, path: Path, *, packed: bool = True) -> None:
        self.path = path
        self._file = path.open("wb")
        self._writer: Any = WARCWriter(self._file, gzip=packed)

    def add(
        self,
        url: str,
        body: bytes,
        status: str = "200 OK",
        kind: str = "text/html",
        record_type: str = "response",
        at: str = "2024-05-01T10:00:00Z",
        **headers: str,
    ) -> Foreign:
        more = [(name.replace("_", "-"), value) for name, value in headers.items()]
        http: Any = StatusAndHeaders(status, [("Content-Type", kind), *more], protocol="HTTP/1.1")
        head = http.to_ascii_bytes()
        fields = {"WARC-Date": at, "WARC-Payload-Digest": sha1(body), "WARC-Block-Digest": sha1(head + body)}
        record = self._writer.create_warc_record(
            url,
            record_type,
            payload=BytesIO(body),
            length=len(body),
            http_headers=http,
            warc_headers_dict=fields,
        )
        self._writer.write_record(record)
        return self

    def add_revisit(self, url: str, digest: str, at: str) -> Foreign:
        record = self._writer.create_revisit_record(
            url, digest, "http://example.org/a", "2024-05-01T10:00:00Z"
        )
        record.rec_headers.replace_header("WARC-Date", at)
        self._writer.write_record(record)
        return self

    def done(self) -> Path:
        self._file.close()
        return self.path


def captures(path: Path, **options: Any) -> dict[str, Capture]:
    return {stored.capture.url: stored.capture for stored in read_captures([path], pytest.fail, **options)}


@pytest.mark.parametrize("packed", [True, False])
def test_pages_with_the_redirects_that_led_to_them(tmp_path: Path, packed: bool) -> None:
    made = Foreign(tmp_path / "crawl.warc.gz", packed=packed)
    made.add("http://example.org/old", b"", "302 Found", Location="/middle")
    made.add("http://example.org/middle", b"", "301 Moved Permanently", Location="http://example.org/a")
    made.add("http://example.org/a", HTML)
    made.add("http://example.org/style.css", b"p {}", kind="text/css")
    made.add("http://example.org/photo.jpg", b"\xff\xd8\xff", kind="image/jpeg")
    made.add("http://example.org/missing", b"<p>No</p>", "404 Not Found")
    made.add("http://example.org/secret", b"<p>No</p>", "403 Forbidden")
    found = captures(made.done())
    assert sorted(found) == [
        "http://example.org/a",
        "http://example.org/missing",
        "http://example.org/secret",
    ]
    page = found["http://example.org/a"]
    assert [exchange.url for exchange in page.exchanges] == [
        "http://example.org/old",
        "http://example.org/middle",
        "http://example.org/a",
    ]
    assert (page.outcome, page.fetched, page.exchanges[-1].body) == ("page", "2024-05-01T10:00:00Z", HTML)
    assert (found["http://example.org/missing"].outcome, found["http://example.org/missing"].reason) == (
        "dead",
        "HTTP 404",
    )
    assert found["http://example.org/secret"].outcome == "blocked"


@pytest.mark.parametrize("packed", [True, False])
def test_a_record_whose_block_has_another_digest_is_left_out(tmp_path: Path, packed: bool) -> None:
    made = Foreign(tmp_path / "crawl.warc.gz", packed=packed)
    made.add("http://example.org/altered", HTML)
    made.add("http://example.org/a", HTML)
    path = made.done()
    data = gzip_members(path.read_bytes()) if packed else [path.read_bytes()]
    data[0] = data[0].replace(b"1931", b"1932", 1)
    path.write_bytes(b"".join(map(gzip.compress, data) if packed else data))
    said: list[str] = []
    found = [stored.capture.url for stored in read_captures([path], said.append)]
    assert found == ["http://example.org/a"]
    assert said == [
        "crawl.warc.gz: the record at byte 0 is left out (its block has another digest than WARC-Block-Digest)"
    ]


@pytest.mark.parametrize(
    ("algorithm", "written"),
    [
        ("sha1", base32),
        ("SHA-1", lower_base32),
        ("sha1", bytes.hex),
        ("md5", bytes.hex),
        ("sha256", unpadded_base32),
        ("sha256", bytes.hex),
        ("sha512", bytes.hex),
        ("sha256", base64),
        ("sha1", base64),
        ("sha256", written_otherwise),
        ("blake3", bytes.hex),
    ],
)
def test_digests_are_known_in_the_forms_of_other_tools(
    tmp_path: Path, algorithm: str, written: Callable[[bytes], str]
) -> None:
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + HTML
    known = algorithm.lower().replace("-", "")
    value = written(hashlib.new(known, block).digest() if known != "blake3" else b"")
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000000>\r\n"
        "WARC-Date: 2024-05-01T10:00:00Z\r\nWARC-Target-URI: http://example.org/a\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
        f"WARC-Block-Digest: {algorithm}:{value}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    path = tmp_path / "crawl.warc"
    path.write_bytes(head.encode() + block + b"\r\n\r\n")
    assert [record.payload for record in read_records(path)] == [HTML]


def test_a_loop_of_redirects_is_no_page(tmp_path: Path) -> None:
    made = Foreign(tmp_path / "crawl.warc.gz")
    made.add("http://example.org/x", b"", "302 Found", Location="/y")
    made.add("http://example.org/y", b"", "302 Found", Location="/x")
    made.add("http://example.org/a", HTML)
    assert list(captures(made.done())) == ["http://example.org/a"]


def test_transfer_and_content_encodings_are_undone(tmp_path: Path) -> None:
    made = Foreign(tmp_path / "crawl.warc.gz")
    made.add("http://example.org/chunked", CHUNKED, Transfer_Encoding="chunked")
    made.add("http://example.org/gzip", gzip.compress(HTML), Content_Encoding="gzip")
    made.add("http://example.org/br", b"\x0b\x02\x80", Content_Encoding="br")
    found = captures(made.done())
    assert content_of(found["http://example.org/chunked"]).data == HTML
    assert content_of(found["http://example.org/gzip"]).data == HTML
    assert not any(content_of(capture).truncated for capture in found.values())
    assert content_of(found["http://example.org/br"]).refused == "its content encoding 'br' is not read"


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (HTML[:-40], {"Content_Length": str(len(HTML))}),
        (CHUNKED[:-5], {"Transfer_Encoding": "chunked"}),  # without the last chunk
        (CHUNKED[:-45], {"Transfer_Encoding": "chunked"}),  # within the one before
        (gzip.compress(HTML)[:-12], {"Content_Encoding": "gzip"}),
    ],
)
def test_what_was_cut_is_read_and_marked(tmp_path: Path, body: bytes, headers: dict[str, str]) -> None:
    path = Foreign(tmp_path / "crawl.warc.gz").add(GOOD.decode(), body, **headers).done()
    for name in ("first", "merged"):
        import_archives([path], tmp_path / name, warn=pytest.fail)
        snapshot = Snapshot.open(tmp_path / name)
        page = snapshot.page(GOOD.decode())
        assert (page.status, page.truncated) == ("ok", True)
        assert page.text.startswith("The observatory was opened in 1931")
        assert verify(snapshot.path).ok
        [path] = (tmp_path / name / "archive").glob("*.warc.gz")  # our own archive says it too


@pytest.mark.parametrize("headers", [{}, {"Transfer_Encoding": "chunked"}, {"Content_Encoding": "gzip"}])
def test_a_plain_body_under_a_header_of_an_encoding_is_whole(tmp_path: Path, headers: dict[str, str]) -> None:
    made = Foreign(tmp_path / "crawl.warc.gz").add(GOOD.decode(), HTML, Content_Length="7", **headers)
    content = content_of(captures(made.done())[GOOD.decode()])
    assert (content.data, content.truncated) == (HTML, False)


def test_a_record_that_says_that_it_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.gz"
    path.write_bytes(gzip.compress(raw_record(more=b"WARC-Truncated: length\r\n")))
    assert content_of(captures(path)[GOOD.decode()]).truncated


def test_a_wall_with_status_200_is_no_page(tmp_path: Path) -> None:
    """The address before the redirect and the header fields count, as when the page is fetched."""
    walls = {
        "just": "<title>Just a moment...</title><p>Enable JavaScript and cookies to continue",
        "app": "<noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div>",
        "gone": "<title>Page not found | Example</title><p>Sorry.</p>",
        "google": "<title>Before you continue to Google</title><form action='https://consent.google.com/save'>",
        "form": "<title>Sign in</title><input type=password>",
    }
    made = Foreign(tmp_path / "crawl.warc.gz")
    made.add("http://example.org/form", b"", "302 Found", Location="http://example.org/login")
    for name, page in walls.items():
        place = "login" if name == "form" else name
        made.add(f"http://example.org/{place}", f"<html><body>{page}</body></html>".encode())
    made.add("http://example.org/challenged", HTML, cf_mitigated="challenge")
    made.add("http://example.org/whole", HTML)
    import_archives([made.done()], tmp_path / "snap", warn=pytest.fail)
    snapshot = Snapshot.open(tmp_path / "snap")
    found = {page.url.rpartition("/")[2]: (page.status, page.reason) for page in snapshot.pages()}
    assert found.pop("whole") == ("ok", "")
    assert found == {
        "just": ("blocked", "a bot check"),
        "app": ("blocked", "a page that asks for JavaScript"),
        "gone": ("blocked", "a soft 404"),
        "google": ("blocked", "a consent form"),
        "login": ("blocked", "a log-in form"),
        "challenged": ("blocked", "a Cloudflare challenge"),
    }


def test_the_charset_that_the_server_says_is_believed_if_it_fits(tmp_path: Path) -> None:
    words = "Обсерватория была открыта в 1931 году на холме над рекой."
    page = f"<html><body><article><p>{words}</p></article></body></html>"
    made = Foreign(tmp_path / "crawl.warc.gz")
    made.add("http://example.org/said", page.encode("koi8-r"), kind="text/html; charset=KOI8-R")
    made.add("http://example.org/wrong", page.encode(), kind="text/html; charset=koi8-r")
    import_archives([made.done()], tmp_path / "snap", warn=pytest.fail, workers=1)
    snapshot = Snapshot.open(tmp_path / "snap")
    assert snapshot.page("http://example.org/said").text == words
    assert snapshot.page("http://example.org/wrong").text == words


def test_a_revisit_has_the_content_that_it_names(tmp_path: Path) -> None:
    made = Foreign(tmp_path / "crawl.warc.gz")
    made.add("http://example.org/a", HTML, WARC_Unused="x")
    first = made.done()
    [stored] = read_captures([first], pytest.fail)
    digest = next(r.fields["warc-payload-digest"] for r in read_records(first) if r.kind == "response")
    again = Foreign(tmp_path / "second.warc.gz").add_revisit(
        "http://example.org/a", digest, "2025-01-01T00:00:00Z"
    )
    second = again.add_revisit("http://example.org/lost", "sha1:AAAA", "2025-01-01T00:00:00Z").done()
    said: list[str] = []
    found = list(read_captures([first, second], said.append))
    assert said == ["second.warc.gz: left out: revisits of pages that are in none of these files: 1"]
    assert [(s.capture.url, s.capture.fetched) for s in found] == [
        ("http://example.org/a", "2024-05-01T10:00:00Z"),
        ("http://example.org/a", "2025-01-01T00:00:00Z"),
    ]
    assert content_of(found[1].capture).data == content_of(stored.capture).data == HTML


def test_a_list_says_which_are_pages(tmp_path: Path) -> None:
    made = Foreign(tmp_path / "crawl.warc.gz")
    made.add("http://example.org/old", b"", "302 Found", Location="/a")
    made.add("http://example.org/a", HTML)
    made.add("http://example.org/frame", HTML)
    assert list(captures(made.done(), only=["http://example.org/old"])) == ["http://example.org/a"]


def test_a_crawl_becomes_a_snapshot(tmp_path: Path) -> None:
    made = Foreign(tmp_path / "crawl.warc.gz")
    made.add("http://example.org/old", b"", "302 Found", Location="/a")
    made.add("http://example.org/a", HTML)
    made.add("http://example.org/a", HTML.replace(b"1931", b"1932"), at="2025-05-01T10:00:00Z")
    import_archives([made.done()], tmp_path / "snap", warn=pytest.fail, workers=0)
    snapshot = Snapshot.open(tmp_path / "snap")
    page = snapshot.page("http://example.org/old")
    assert (page.url, page.fetched, page.http_status) == (
        "https://example.org/a",
        "2025-05-01T10:00:00Z",
        200,
    )
    assert "1932" in page.text
    assert len(snapshot) == 2


@pytest.mark.parametrize(
    ("url", "at", "said"),
    [
        ("http://user:pw@example.org/", "2024-05-01T10:00:00Z", "an address with credentials"),
        ("http://[/", "2024-05-01T10:00:00Z", "not a web address"),
        ("http://example.org:99999/", "2024-05-01T10:00:00Z", "Port out of range"),
        ("http://example.org/x", "garbage", "is no ISO 8601 time"),
        ("http://example.org/x", "0001-01-01T00:00:00+14:00", "is no time"),
    ],
)
def test_one_odd_record_is_named_and_the_rest_is_kept(tmp_path: Path, url: str, at: str, said: str) -> None:
    made = Foreign(tmp_path / "crawl.warc.gz").add(url, HTML, at=at).add("http://example.org/a", HTML)
    warned: list[str] = []
    import_archives([made.done()], tmp_path / "snap", warn=warned.append, workers=0)
    assert Snapshot.open(tmp_path / "snap").manifest.statuses == {"ok": 1}
    assert [said in one for one in warned] == [True]


@pytest.mark.parametrize(
    ("at", "fetched"),
    [
        ("2024", "2024-01-01T00:00:00Z"),
        ("2024-05", "2024-05-01T00:00:00Z"),
        ("2024-05-01T23:00:00.5-05:00", "2024-05-02T04:00:00Z"),
    ],
)
def test_times_are_in_utc_to_the_second(tmp_path: Path, at: str, fetched: str) -> None:
    made = Foreign(tmp_path / "crawl.warc.gz").add("http://example.org/a", HTML, at=at)
    assert captures(made.done())["http://example.org/a"].fetched == fetched


def test_a_gzip_member_in_a_gzip_member_is_no_record(tmp_path: Path) -> None:
    inner = Foreign(tmp_path / "inner.warc.gz").add("http://example.org/a", HTML).done().read_bytes()
    (tmp_path / "outer.warc.gz").write_bytes(gzip.compress(inner))
    warned: list[str] = []
    assert list(read_captures([tmp_path / "outer.warc.gz"], warned.append)) == []
    assert warned == ["outer.warc.gz: damaged from byte 0 on (no WARC record)"]


def test_a_head_without_an_end_costs_no_time(tmp_path: Path) -> None:
    for name, data in (
        ("a.warc", b"WARC/1.0\r\n" + b"x" * 60_000_000),
        ("b.warc.gz", gzip.compress(b"\0" * 40_000_000)),
    ):
        (tmp_path / name).write_bytes(data)
        warned: list[str] = []
        begun = time.process_time()
        assert list(read_captures([tmp_path / name], warned.append)) == []
        assert warned == [f"{name}: damaged from byte 0 on (no WARC record)"]
        assert time.process_time() - begun < 20  # the square of the length would take minutes


def test_what_holds_no_page_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.warc.gz"
    empty.write_bytes(b"")
    said: list[str] = []
    with pytest.raises(ImportRefused, match="no page in it"):
        import_archives([empty], tmp_path / "snap", warn=said.append)
    cut = tmp_path / "cut.warc.gz"
    cut.write_bytes(
        Foreign(tmp_path / "whole.warc.gz").add("http://example.org/a", HTML).done().read_bytes()[:-9]
    )
    with pytest.raises(ImportRefused, match="no page in it"):
        import_archives([cut], tmp_path / "snap", warn=said.append)
    assert said == ["cut.warc.gz: damaged from byte 0 on (a record is cut off)"]
    with pytest.raises(ImportRefused, match="no file at"):
        import_archives([tmp_path / "none.warc"], tmp_path / "snap", warn=pytest.fail)
    assert not (tmp_path / "snap").exists()


GOOD = b"http://example.org/good"
PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + HTML


def raw_record(
    block: bytes = PAGE,
    url: bytes = GOOD,
    *,
    kind: bytes = b"response",
    length: bytes | None = None,
    more: bytes = b"",
    media_type: bytes = b"application/http; msgtype=response",
) -> bytes:
    """A record as no writer would make it."""
    fields = {
        b"WARC-Type": kind,
        b"WARC-Target-URI": url,
        b"WARC-Date": b"2024-05-01T10:00:00Z",
        b"Content-Type": media_type,
        b"Content-Length": b"%d" % len(block) if length is None else length,
    }
    head = b"".join(b"%s: %s\r\n" % field for field in fields.items())
    return b"WARC/1.1\r\n" + head + more + b"\r\n" + block + b"\r\n\r\n"


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (raw_record(length=b"5000"), "a record is cut off"),
        (raw_record(length=b"5"), "a record is longer than it says"),
        (raw_record(length=b"-5"), "a record without its length"),
        (raw_record(length=b"9" * 30), "a record without its length"),
        (raw_record(more=b"WARC-Type: request\r\n"), "warc-type stands twice"),
        (raw_record(more=b"X: " + b"a" * 2_000_000 + b"\r\n"), "no WARC record"),
        (raw_record(url=b"http://["), r"not a web .*"),
        (raw_record(url=GOOD + b"a" * 70_000), r"an address of more than 65,536 characters.*"),
        (
            raw_record(PAGE.replace(b"\r\n\r\n", b"\r\na:b" * 5_000 + b"\r\n\r\n")),
            "a head of more than 5,000 lines",
        ),
        # Each of 60,000 bytes, read as Latin-1, is written as the two bytes of UTF-8, percent-encoded: 360,000 a line.
        (
            raw_record(PAGE.replace(b"\r\n\r\n", (b"\r\nX: " + b"\xe9" * 60_000) * 2 + b"\r\n\r\n")),
            r"a head of more than 524,288 bytes.*",
        ),
        (
            raw_record(b"HTTP/1.1 302 Found\r\nLocation: http://example.org/good\r\n\r\n", length=b"900"),
            "a .*",
        ),
    ],
)
def test_a_bad_record_is_named_and_the_others_are_read(tmp_path: Path, record: bytes, why: str) -> None:
    path = tmp_path / "odd.warc.gz"
    path.write_bytes(gzip.compress(record) + gzip.compress(raw_record()))
    said: list[str] = []
    found = [stored.capture.url for stored in read_captures([path], said.append)]
    assert found == [GOOD.decode()]
    [line] = said  # though the file is read twice
    assert re.fullmatch(rf"odd\.warc\.gz: the record at byte 0 is left out \({why}\)", line)


@pytest.mark.parametrize(
    "outcome",
    [
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"url": ' + b"9" * 5_000 + b"}",
        b"\xff\0",
        b"7",
        b"{}",
    ],
)
def test_a_hostile_outcome_costs_its_own_capture(tmp_path: Path, outcome: bytes) -> None:
    """Files that say that this package wrote them are parsed further, and may be as hostile."""
    info = b"software: frozen-web-snapshot\r\n"
    said_of = b'{"url": "http://example.org/good", "fetched": null, "outcome": "page", "reason": ""}'
    records = [
        raw_record(info, b"", kind=b"warcinfo", media_type=b"application/warc-fields"),
        raw_record(),
        raw_record(outcome, b"urn:outcome:x", kind=b"metadata", media_type=b"application/json"),
        raw_record(),
        raw_record(said_of, b"urn:outcome:" + GOOD, kind=b"metadata", media_type=b"application/json"),
    ]
    path = tmp_path / "own.warc.gz"
    path.write_bytes(b"".join(map(gzip.compress, records)))
    said: list[str] = []
    assert [stored.capture.url for stored in read_captures([path], said.append)] == [GOOD.decode()]
    [line] = said
    assert re.match(r"own\.warc\.gz: the capture at byte \d+ is left out \(", line)
    assert len(line) < 300


def test_a_body_that_cannot_be_read_again_costs_its_revisit(tmp_path: Path) -> None:
    path = tmp_path / "odd.warc.gz"
    digest = b"WARC-Payload-Digest: sha1:x\r\n"
    revisit = raw_record(url=b"http://example.org/again", kind=b"revisit", more=digest)
    # In one member with another record, so that its place alone does not name it.
    body = raw_record(url=b"http://example.org/first") + raw_record(more=digest)
    path.write_bytes(gzip.compress(revisit) + gzip.compress(body))
    said: list[str] = []
    found = [stored.capture.url for stored in read_captures([path], said.append)]
    assert found == ["http://example.org/first", GOOD.decode()]
    assert said == [
        "odd.warc.gz: the record at byte 0 is left out (a record that it needs shares a gzip member of odd.warc.gz "
        "with others)"
    ]


def test_http_heads_that_are_not_ascii(tmp_path: Path) -> None:
    head = "HTTP/1.1 200 Où\r\nContent-Type: text/html\r\nX-Ville: Orléans\r\n\r\n".encode()
    path = tmp_path / "odd.warc.gz"
    path.write_bytes(gzip.compress(raw_record(head + HTML)))
    [exchange] = captures(path)[GOOD.decode()].exchanges
    assert exchange.body == HTML


def test_one_body_of_many_revisits_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read of a body does not depend on its addresses and times; the dates that these give do."""
    read: list[str | None] = []

    def noted(job: Job) -> Reading:
        read.append(job.url)
        return read_page(job)

    monkeypatch.setattr("indexes.text.extracting.read_page", noted)
    body = HTML.replace(b"<body>", b'<body><time datetime="2021-06-01">')
    made = Foreign(tmp_path / "crawl.warc.gz").add("http://example.org/a", body, at="2024-05-01T10:00:00Z")
    for url, at in (
        ("http://example.org/b", "2020-01-01T00:00:00Z"),
        ("http://example.org/2019/11/05/c", "2024-05-03T10:00:00Z"),
        ("http://example.org/2019/11/06/d", "2024-05-03T10:00:00Z"),
        ("http://example.org/2024/12/01/e", "2024-05-03T10:00:00Z"),
    ):
        made.add_revisit(url, sha1(body), at)
    import_archives([made.done()], tmp_path / "snap", warn=pytest.fail, workers=0)
    assert len(read) == 2  # once for addresses with a date, and once for those without
    found = {page.original_url[19:]: page for page in Snapshot.open(tmp_path / "snap").pages()}
    assert {name: page.published for name, page in found.items()} == {
        "a": "2021-06-01",
        "b": None,  # it was fetched before the day that the page says
        "2019/11/05/c": "2019-11-05",
        "2019/11/06/d": "2019-11-06",
        "2024/12/01/e": None,
    }
    assert {page.text for page in found.values()} == {"The observatory was opened in 1931 on the hill."}


def test_revisits_give_no_more_than_gzip_could(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record of 300 bytes would otherwise have 50 MB written and read again."""
    monkeypatch.setattr("indexes.archive.captures._MOST_GROUP", 0)
    body, page = b"a" * 1_000_000, b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
    digest = b"WARC-Payload-Digest: sha1:x\r\n"
    members = [raw_record(page + body, more=digest)]
    members += [
        raw_record(page, b"http://example.org/%d" % n, kind=b"revisit", more=digest) for n in range(30)
    ]
    path = tmp_path / "odd.warc.gz"
    path.write_bytes(b"".join(map(gzip.compress, members)))
    said: list[str] = []
    found = list(read_captures([path], said.append))
    kept = 1_030 * path.stat().st_size // len(body)
    assert 0 < kept < 30
    assert len(found) == 1 + kept
    assert len(said) == 30 - kept
    assert all("repeated too often for the size of the files" in line for line in said)


def test_many_small_records_in_one_member_take_time_by_their_size(tmp_path: Path) -> None:
    """15,000 of them took 8 s, and four times as many 16 times as long."""
    one = b"WARC/1.1\r\nWARC-Type: x\r\nWARC-Record-ID: a\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
    path = tmp_path / "small.warc.gz"
    path.write_bytes(gzip.compress(one * 30_000))
    begun = time.process_time()
    assert sum(1 for _ in read_records(path)) == 30_000
    assert time.process_time() - begun < 15
