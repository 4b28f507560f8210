"""Content-Encoding within bounds."""

from __future__ import annotations

import gzip
import zlib

import pytest

from indexes.fetch.encoding import Unpacker, content_coding, unpack_body
from indexes.fetch.faults import TooMuch

TEXT = b"The lake froze late that year. " * 400
RAW = zlib.compressobj(wbits=-15)
DEFLATED = RAW.compress(TEXT) + RAW.flush()


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(TEXT, mtime=0)),
        ("x-gzip", gzip.compress(TEXT, mtime=0)),
        ("gzip", TEXT),  # the header is wrong
        ("GZIP", gzip.compress(TEXT[:100], mtime=0) + gzip.compress(TEXT[100:], mtime=0)),  # two members
        ("gzip", gzip.compress(TEXT, mtime=0) + b"\0" * 9),  # padded
        ("deflate", zlib.compress(TEXT)),
        ("deflate", DEFLATED),  # without zlib's wrapping
        ("identity", TEXT),
        ("", TEXT),
    ],
)
@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_bodies_are_unpacked_however_they_arrive(coding: str, body: bytes, step: int) -> None:
    unpacker = Unpacker(content_coding((("Content-Encoding", coding),)), keep=100, limit=1_000_000, ratio=200)
    for start in range(0, len(body), step):
        unpacker.feed(body[start : start + step])
    unpacker.finish()
    assert unpacker.head == TEXT[:100]
    assert unpacker.n_out == len(TEXT)


def test_a_whole_body_is_unpacked_at_once() -> None:
    headers = (("content-encoding", "gzip"),)
    assert unpack_body(headers, gzip.compress(TEXT), limit=1_000_000, ratio=200) == TEXT
    assert unpack_body(headers, b"", limit=1_000_000, ratio=200) == b""


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ((("Content-Encoding", "br"),), "packed as 'br'"),
        ((("Content-Encoding", "gzip, gzip"),), "packed as 'gzip, gzip'"),
        ((("Content-Encoding", "gzip"), ("Content-Encoding", "gzip")), "packed as 'gzip, gzip'"),
    ],
)
def test_what_was_not_offered_is_refused(headers: tuple[tuple[str, str], ...], why: str) -> None:
    with pytest.raises(TooMuch, match=why):
        content_coding(headers)


@pytest.mark.parametrize(
    ("body", "limit", "why"),
    [
        # 30 MB of zeros pack to about 30 kB, 1,000 to 1.
        (gzip.compress(bytes(30_000_000), mtime=0), 50_000_000, "packed more than 200 to 1"),
        (gzip.compress(bytes(900_000), mtime=0), 800_000, "more than 800,000 bytes once unpacked"),
        (gzip.compress(TEXT, mtime=0)[:-9], 1_000_000, "ends too soon"),
        (b"\x1f\x8b\x08" + b"garbage" * 9, 1_000_000, "damaged"),
    ],
)
def test_bombs_and_damage_are_refused(body: bytes, limit: int, why: str) -> None:
    with pytest.raises(TooMuch, match=why):
        unpack_body((("Content-Encoding", "gzip"),), body, limit=limit, ratio=200)


def test_a_small_page_may_pack_well() -> None:
    # 900 kB of blanks is 900 to 1, and no bomb.
    body = gzip.compress(b" " * 900_000)
    assert len(unpack_body((("Content-Encoding", "gzip"),), body, limit=1_000_000, ratio=200)) == 900_000
