"""How much one page may cost.

Invariant: no input, however hostile, makes an import hold more than these bounds in memory or wait longer.
What exceeds them keeps a status and a reason; nothing is cut silently.
"""

from __future__ import annotations

import zlib

MAX_PAGE_BYTES = 50_000_000
"""Bytes of one page, as stored in the folder and after decompression."""
MAX_MARKUP = 20_000_000
"""Characters of one HTML page; a tree of more does not fit an ordinary machine."""
MAX_GZIP_RATIO = 200
"""Decompressed over compressed bytes. Markup packs 3 to 30 times; gzip's own ceiling is about 1,030."""
RATIO_FLOOR = 1_000_000
"""The ratio is not looked at below this many bytes: a small page of blanks is no bomb."""
MAX_PDF_PAGES = 5_000
PAGE_MEMORY = 4 << 30
"""Address space of a process that reads pages, bytes."""
HTML_SECONDS = 60
PDF_SECONDS = 120
"""Guards against a page that never ends, far above what real ones take: no ordinary result depends on them."""

_STEP = 1 << 16


class GzipRefused(ValueError):
    """A gzip stream that is a bomb, is cut, or is no gzip; the message is fit for a page's reason."""


def is_gzip(data: bytes) -> bool:
    """Whether these bytes open like a gzip member."""
    return data[:3] == b"\x1f\x8b\x08"


def gunzip(data: bytes, *, limit: int = MAX_PAGE_BYTES, ratio: int = MAX_GZIP_RATIO) -> bytes:
    """Decompress all members of a gzip stream, giving up as soon as a bound is passed.

    Raises:
        GzipRefused: the result would pass `limit` bytes or `ratio` times the input; the stream is damaged.
    """
    ceiling = min(limit, max(RATIO_FLOOR, ratio * len(data)))
    parts: list[bytes] = []
    total = 0
    rest = data
    while rest:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            try:
                part = member.decompress(rest, _STEP)
            except zlib.error as error:
                raise GzipRefused(f"damaged gzip: {error}") from None
            rest = member.unconsumed_tail
            total += len(part)
            if total > ceiling:
                raise GzipRefused(f"gzip of {len(data):,} bytes holds more than {ceiling:,} bytes")
            parts.append(part)
            if not part and not rest and not member.eof:
                raise GzipRefused("damaged gzip: it ends too soon")
        # Some servers pad with zero bytes after the last member.
        rest = member.unused_data.lstrip(b"\0")
    return b"".join(parts)


def inflate(data: bytes, *, limit: int = MAX_PAGE_BYTES, ratio: int = MAX_GZIP_RATIO) -> bytes:
    """Undo the `deflate` content encoding of HTTP, with its zlib head or, as some servers send it, without.

    Raises:
        GzipRefused: as `gunzip` does.
    """
    ceiling = min(limit, max(RATIO_FLOOR, ratio * len(data)))
    for wbits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        stream = zlib.decompressobj(wbits=wbits)
        try:
            found = stream.decompress(data, ceiling + 1)
        except zlib.error:
            continue
        if len(found) > ceiling:
            raise GzipRefused(f"deflate of {len(data):,} bytes holds more than {ceiling:,} bytes")
        if not stream.eof:
            raise GzipRefused("damaged deflate: it ends too soon")
        return found
    raise GzipRefused("damaged deflate")
