"""Limits on the cost of one page.

Invariant: no input, however hostile, makes an import hold more than these bounds in memory or wait longer.
What exceeds them keeps a status and a reason; nothing is cut silently.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from zlib import _Decompress as ZlibStream  # pyright: ignore[reportPrivateUsage]

Coding = Literal["gzip", "deflate"]

MAX_PAGE_BYTES = 50_000_000
"""Bytes of one page, as stored in the folder and after decompression."""
MAX_MARKUP = 20_000_000
"""Characters of one HTML page; a tree of more does not fit an ordinary machine."""
MAX_GZIP_RATIO = 200
"""Decompressed over compressed bytes. Markup packs 3 to 30 times; gzip's own ceiling is about 1,030."""
MAX_GZIP_EXPANSION = 1_030
"""Decompressed over compressed bytes that gzip can reach: no reference within an archive gives more than that."""
RATIO_FLOOR = 1_000_000
"""The ratio is not looked at below this many bytes: a small page of blanks is no bomb."""
MAX_GZIP_MEMBERS = 10_000
"""Members of one gzip stream. Blocks of 64 kB, as bgzip writes them, make 800 of the largest page."""
MAX_PDF_PAGES = 5_000
PAGE_MEMORY = 4 << 30
"""Address space of a process that reads pages, bytes."""
HTML_SECONDS = 60
PDF_SECONDS = 120
"""Guards against a page that never ends, far above what real ones take: no ordinary result depends on them."""

_STEP = 1 << 16
_MAGIC = b"\x1f\x8b\x08"
_GZIP, _ZLIB, _RAW = 31, 15, -15
"""zlib's names for the three wrappings: its window bits."""


class GzipRefused(ValueError):
    """A gzip stream that is a bomb, is cut, or is no gzip; the message is fit for a page's reason."""


class GzipCut(GzipRefused):
    """A stream that ends too soon.

    Args:
        data: what came out before its end.
    """

    def __init__(self, coding: Coding, data: bytes = b"") -> None:
        super().__init__(f"damaged {coding}: it ends too soon")
        self.data = data


def is_gzip(data: bytes) -> bool:
    """Check whether these bytes start like a gzip member."""
    return data[:3] == _MAGIC


def gunzip(data: bytes, *, limit: int = MAX_PAGE_BYTES, ratio: int = MAX_GZIP_RATIO) -> bytes:
    """Decompress all members of a gzip stream, giving up as soon as a bound is passed.

    Raises:
        GzipCut: the stream ends too soon.
        GzipRefused: the result would pass `limit` bytes or `ratio` times the input; the stream is damaged, or has more
            than `MAX_GZIP_MEMBERS` members.
    """
    return _unpack("gzip", data, limit, ratio)


def inflate(data: bytes, *, limit: int = MAX_PAGE_BYTES, ratio: int = MAX_GZIP_RATIO) -> bytes:
    """Undo the `deflate` content encoding of HTTP, with its zlib head or, as some servers send it, without.

    Raises:
        GzipRefused: as `gunzip` does.
    """
    return _unpack("deflate", data, limit, ratio)


def _unpack(coding: Coding, data: bytes, limit: int, ratio: int) -> bytes:
    ceiling = min(limit, max(RATIO_FLOOR, ratio * len(data)))
    decoder = Decoder(coding)
    parts: list[bytes] = []
    total = 0
    for part in decoder.feed(data):
        total += len(part)
        if total > ceiling:
            raise GzipRefused(f"{coding} of {len(data):,} bytes holds more than {ceiling:,} bytes")
        parts.append(part)
    try:
        decoder.finish()
    except GzipCut:
        raise GzipCut(coding, b"".join(parts)) from None
    return b"".join(parts)


class Decoder:
    """Undoes gzip, with any permitted number of members, or deflate, piece by piece.

    Bytes that are called gzip and do not begin so come out as they are: some servers send the header with a plain body.

    Time is linear in the bytes that come in and out: zlib copies what it leaves over of its input, so it is never
    given more than `_STEP` bytes at once.
    """

    def __init__(self, coding: Coding) -> None:
        self._coding: Coding = coding
        self._stream: ZlibStream | None = None
        self._n_members = 0
        self._opening = b""
        """The first bytes of a stream, kept until the next ones say how it is wrapped."""
        self._plain = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decoded content of the next bytes in pieces of at most `_STEP` bytes; the caller counts them.

        Raises:
            GzipRefused: the bytes are damaged, or hold too many members.
        """
        view = memoryview(data)
        for begin in range(0, len(view), _STEP):
            yield from self._decode(view[begin : begin + _STEP])

    def finish(self) -> None:
        """Say that the stream ends here. Raises GzipCut if it may not."""
        if self._opening or (self._stream is not None and not self._stream.eof):
            raise GzipCut(self._coding)

    def _decode(self, piece: bytes | memoryview) -> Iterator[bytes]:
        more = False
        while piece or more:
            if self._plain:
                yield bytes(piece)
                return
            if self._stream is None or self._stream.eof:
                piece = self._begin_stream(bytes(piece))
                if self._plain:
                    continue
                if not piece or self._stream is None:
                    return
            try:
                part = self._stream.decompress(piece, _STEP)
            except zlib.error as error:
                raise GzipRefused(f"damaged {self._coding}: {error}") from None
            piece = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            more = (
                len(part) == _STEP and not self._stream.eof
            )  # some may be inside when all the input is taken
            if part:
                yield part

    def _begin_stream(self, piece: bytes) -> bytes:
        """Open the stream, or its next member, at `piece`; what is to be decoded of it."""
        if self._stream is None:
            piece = self._opening + piece
            begun = _MAGIC.startswith(piece) if self._coding == "gzip" else len(piece) < 2
            self._opening = piece if begun and piece != _MAGIC else b""
            if self._opening:
                return b""
            if self._coding == "gzip" and not is_gzip(piece):
                self._plain = True
                return piece
            if self._coding == "deflate":
                self._stream = zlib.decompressobj(_ZLIB if _opens_zlib(piece) else _RAW)
                return piece
        else:
            # Zero bytes that some servers pad with; behind deflate nothing counts.
            piece = piece.lstrip(b"\0") if self._coding == "gzip" else b""
            if not piece:
                return b""
        self._n_members += 1
        if self._n_members > MAX_GZIP_MEMBERS:
            raise GzipRefused(f"gzip of more than {MAX_GZIP_MEMBERS:,} members")
        self._stream = zlib.decompressobj(_GZIP)
        return piece


def _opens_zlib(data: bytes) -> bool:
    """Check for zlib's two-byte header (RFC 1950), which half of the servers that declare deflate omit."""
    return data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
