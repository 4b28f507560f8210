"""Bounds on what one page may cost."""

from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib
from typing import Any

import pytest

from indexes.limits import MAX_GZIP_MEMBERS, Decoder, GzipRefused, gunzip, inflate, is_gzip


def test_members_are_joined_and_padding_dropped() -> None:
    data = gzip.compress(b"one ") + gzip.compress(b"two") + b"\0\0\0"
    assert is_gzip(data)
    assert gunzip(data) == b"one two"
    assert gunzip(gzip.compress(b"")) == b""


def test_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = gzip.compress(b"\0" * 30_000_000, compresslevel=9)  # about 29 kB: a ratio of about 1,030
    tracemalloc.start()
    with pytest.raises(GzipRefused, match=r"gzip of [\d,]+ bytes holds more than"):
        gunzip(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 15_000_000  # 200 times 29 kB, and not the 30 MB inside


def test_absolute_limit() -> None:
    data = gzip.compress(bytes(range(256)) * 8)
    assert len(gunzip(data, limit=2_048)) == 2_048
    with pytest.raises(GzipRefused):
        gunzip(data, limit=2_047)


def test_small_pages_of_blanks_are_no_bombs() -> None:
    assert gunzip(gzip.compress(b" " * 900_000)) == b" " * 900_000


@pytest.mark.parametrize("cut", [5, 12, -1, -9])
def test_cut_stream(cut: int) -> None:
    with pytest.raises(GzipRefused, match="damaged"):
        gunzip(gzip.compress(b"some words that were on a page")[:cut])


def test_damaged_stream() -> None:
    data = bytearray(gzip.compress(b"some words that were on a page" * 50))
    data[-6] ^= 1  # in the CRC
    with pytest.raises(GzipRefused, match="damaged"):
        gunzip(bytes(data))


def test_members_are_counted() -> None:
    """Each empty member of 20 bytes would cost a copy of all that follows it."""
    empty = gzip.compress(b"")
    assert gunzip(empty * MAX_GZIP_MEMBERS) == b""
    with pytest.raises(GzipRefused, match=f"more than {MAX_GZIP_MEMBERS:,} members"):
        gunzip(empty * (MAX_GZIP_MEMBERS + 1))


def test_zlib_is_given_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """zlib copies what it leaves over of its input, so that with all of it at hand the copies grow with its square."""
    taken: list[int] = []

    class Counted:
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        def decompress(self, data: bytes, most: int) -> bytes:
            taken.append(len(data))
            return self._stream.decompress(data, most)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._stream, name)

    make = zlib.decompressobj

    def counted(wbits: int) -> Counted:
        return Counted(make(wbits))

    monkeypatch.setattr("indexes.limits.zlib.decompressobj", counted)
    noise = random.Random(1).randbytes(3_000_000)
    assert gunzip(gzip.compress(noise, 1)) == noise
    assert max(taken) <= 1 << 16
    # What is left over is offered again: at most twice as much as came in.
    assert sum(taken) < 2 * 3_100_000


@pytest.mark.parametrize("cut", [1, 2, 7, 70_000])
@pytest.mark.parametrize("wbits", [31, 15, -15])
def test_pieces_of_any_size_give_the_same(cut: int, wbits: int) -> None:
    text = b"It sold 39,218 cars. " * 20_000
    stream = zlib.compressobj(wbits=wbits)
    packed = stream.compress(text) + stream.flush()
    decoder = Decoder("gzip" if wbits == 31 else "deflate")
    found = b"".join(part for i in range(0, len(packed), cut) for part in decoder.feed(packed[i : i + cut]))
    decoder.finish()
    assert found == text
    assert wbits == 31 or inflate(packed) == text
