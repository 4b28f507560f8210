"""Bounds on what one page may cost."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest

from indexes.limits import GzipRefused, gunzip, is_gzip


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
