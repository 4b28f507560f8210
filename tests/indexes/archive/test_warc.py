"""Captures written, read back, cut, resumed."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator  # pyright: ignore[reportMissingTypeStubs]

from indexes.archive import warc
from indexes.archive.captures import Stored, read_captures
from indexes.archive.model import Capture, Exchange, Imported, Rendered
from indexes.archive.records import Damage, read_record, read_records
from indexes.archive.warc import ArchiveWriter, Position

_iterator: Any = ArchiveIterator
AT = "2026-01-31T12:00:00Z"
REDIRECT = Exchange(
    url="http://example.org/old",
    at=AT,
    status=301,
    reason="Moved Permanently",
    headers=(("Location", "/new"),),
)
PAGE = Exchange(
    url="http://example.org/new?q=1",
    at="2026-01-31T12:00:01Z",
    status=200,
    reason="OK",
    request_headers=(("Host", "example.org"), ("User-Agent", "test")),
    headers=(("Content-Type", "text/html; charset=utf-8"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")),
    body=b"<p>Gr\xc3\xbc\xc3\x9fe</p>\r\n\r\nWARC/1.1\r\n",
    ip="192.0.2.1",
)
CAPTURES = (
    Capture(url="http://example.org/old", fetched=AT, outcome="page", exchanges=(REDIRECT, PAGE)),
    Capture(
        url="http://example.org/app",
        fetched=AT,
        outcome="page",
        exchanges=(PAGE.model_copy(update={"url": "http://example.org/app"}),),
        rendered=Rendered(url="http://example.org/app", at=AT, html=b"<p>run</p>", renderer="Chromium 1"),
    ),
    Capture(
        url="http://example.org/file",
        fetched=None,
        outcome="page",
        imported=Imported(
            url="http://example.org/file",
            data=b"# T",
            media_type="text/markdown",
            name="page.md",
            title="A title",
        ),
    ),
    Capture(url="http://example.org/gone", fetched=AT, outcome="dead", reason="no such host: „x“"),
    Capture(
        url="http://example.org/same",
        fetched=AT,
        outcome="page",
        exchanges=(PAGE, Exchange(url=PAGE.url, at=AT, status=304, reason="Not Modified")),
    ),
)


def write(folder: Path, captures: tuple[Capture, ...] = CAPTURES) -> Path:
    with ArchiveWriter(folder) as archive:
        for capture in captures:
            archive.write(capture)
    return folder / "data-00000.warc.gz"


def read(path: Path) -> list[Stored]:
    return list(read_captures([path], pytest.fail))


def test_what_was_written_reads_back(tmp_path: Path) -> None:
    found = read(write(tmp_path))
    assert [stored.capture for stored in found] == list(CAPTURES)


def test_the_record_of_the_page_is_named(tmp_path: Path) -> None:
    found = read(write(tmp_path))
    named = [None if stored.content is None else stored.content.url for stored in found]
    # The last answer, the document after scripts, the file, nothing, and what was not modified since.
    assert named == [
        "http://example.org/new?q=1",
        "urn:rendered:http://example.org/app",
        "http://example.org/file",
        None,
        "http://example.org/new?q=1",
    ]
    for stored in found:
        for entry in stored.entries:
            record = read_record(tmp_path / entry.file, entry.offset)
            assert (record.url, record.payload_digest, record.length) == (
                entry.url,
                entry.digest,
                entry.length,
            )


def test_the_same_captures_are_the_same_bytes_and_ids_are_unique(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one"), write(tmp_path / "two")
    assert one.read_bytes() == two.read_bytes()
    ids = [record.id for record in read_records(one)]
    assert len(ids) == len(set(ids)) == 1 + 2 * 2 + 1 + 2 + 1 + 1 + 1 + 1 + 1 + 2 * 2 + 1


def test_another_reader_finds_valid_records_with_right_digests(tmp_path: Path) -> None:
    with write(tmp_path).open("rb") as file:
        reader = _iterator(file, check_digests="raise")
        kinds: list[str] = []
        for record in reader:
            kinds.append(record.rec_type)
            record.content_stream().read()
    assert kinds.count("response") == 4
    assert kinds.count("revisit") == kinds.count("conversion") == kinds.count("resource") == 1
    assert kinds.count("metadata") == 5


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("X-Evil", "a\r\nSet-Cookie: b", "a  Set-Cookie: b"),
        ("X-Latin", "ü", "%C3%BC"),
        ("X-Nul", "a\0b", "a b"),
    ],
)
def test_no_header_ends_its_line(tmp_path: Path, name: str, value: str, kept: str) -> None:
    exchange = PAGE.model_copy(update={"headers": ((name, value),)})
    capture = CAPTURES[0].model_copy(update={"exchanges": (exchange,)})
    [found] = read(write(tmp_path, (capture,)))
    assert found.capture.exchanges[0].headers == ((name, kept),)
    assert found.capture.exchanges[0].body == PAGE.body


def test_a_cut_file_keeps_what_was_whole(tmp_path: Path) -> None:
    path = write(tmp_path)
    data = path.read_bytes()
    ends = [0] + [record.offset + record.length for record in read_records(path)]
    whole = [record.offset + record.length for record in read_records(path) if record.kind == "metadata"]
    for cut in range(0, len(data), 97):
        path.write_bytes(data[:cut])
        said: list[str] = []
        found = list(read_captures([path], said.append))
        assert len(found) == sum(end <= cut for end in whole)
        assert bool(said) == (cut not in ends)
        if said:
            last = max(end for end in ends if end <= cut)
            assert said == [f"{path.name}: damaged from byte {last:,} on (a record is cut off)"]


def test_a_changed_byte_is_found(tmp_path: Path) -> None:
    path = write(tmp_path)
    data = bytearray(path.read_bytes())
    third = list(read_records(path))[3]
    data[third.offset + third.length // 2] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(Damage, match=f"damaged from byte {third.offset:,} on"):
        list(read_records(path))


@pytest.mark.parametrize(
    "data", [b"hello world\n" * 50, gzip.compress(b"\0" * 5000, mtime=0), b"WARC/1.1\r\n\r\n"]
)
def test_what_is_no_archive(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.warc.gz"
    path.write_bytes(data)
    with pytest.raises(Damage, match=r"x\.warc\.gz: damaged from byte 0 on"):
        list(read_records(path))


def test_resuming_cuts_off_what_was_not_finished(tmp_path: Path) -> None:
    with ArchiveWriter(tmp_path) as archive:
        archive.write(CAPTURES[0], durable=True)
        position = archive.position
        archive.write(CAPTURES[1])
    with ArchiveWriter(tmp_path, resume=position) as archive:
        assert archive.position == position
        archive.write(CAPTURES[2])
    found = read(tmp_path / "data-00000.warc.gz")
    assert [stored.capture for stored in found] == [CAPTURES[0], CAPTURES[2]]


def test_files_are_followed_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc, "FILE_BYTES", 1000)
    with ArchiveWriter(tmp_path) as archive:
        places: list[Position] = []
        for capture in CAPTURES:
            archive.write(capture)
            places.append(archive.position)
    files = sorted(tmp_path.iterdir())
    assert len(files) > 2
    found = list(read_captures(files, pytest.fail))
    assert [stored.capture for stored in found] == list(CAPTURES)
    with ArchiveWriter(tmp_path, resume=places[1]):
        pass
    found = list(read_captures(sorted(tmp_path.iterdir()), pytest.fail))
    assert [stored.capture for stored in found] == list(CAPTURES[:2])


def test_a_plain_file_reads_like_a_packed_one(tmp_path: Path) -> None:
    packed = write(tmp_path)
    plain = tmp_path / "plain.warc"
    plain.write_bytes(gzip.decompress(packed.read_bytes()))
    assert [stored.capture for stored in read(plain)] == list(CAPTURES)
    records = list(read_records(plain))
    assert read_record(plain, records[5].offset) == records[5]


def test_a_record_over_the_limit_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexes.archive.records.MAX_PAGE_BYTES", 20)
    kinds = [(record.kind, record.too_large, len(record.payload)) for record in read_records(write(tmp_path))]
    assert ("response", True, 0) in kinds
    assert ("resource", False, 3) in kinds
