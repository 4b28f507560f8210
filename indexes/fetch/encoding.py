"""Content-Encoding undone within bounds.

Invariant: no more is held than was asked to be kept and one step of the decoder; a body that would pass a bound is
refused as soon as it does, whatever its headers claim.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from indexes.archive.model import Headers
from indexes.fetch.faults import TooMuch
from indexes.limits import RATIO_FLOOR

if TYPE_CHECKING:
    from zlib import _Decompress as Decoder  # pyright: ignore[reportPrivateUsage]

_STEP = 1 << 16
_GZIP, _ZLIB, _RAW = 31, 15, -15  # zlib's names for the three wrappings: its window bits


def content_coding(headers: Headers) -> str:
    """The one coding of a body: `gzip`, `deflate`, or `identity`.

    Raises:
        TooMuch: another coding, or several one over another; neither was offered.
    """
    named = [
        coding.strip().lower()
        for name, text in headers
        if name.lower() == "content-encoding"
        for coding in text.split(",")
    ]
    codings = [coding for coding in named if coding not in ("", "identity", "none", "utf-8")]
    if not codings:
        return "identity"
    if len(codings) == 1 and codings[0].removeprefix("x-") in ("gzip", "deflate"):
        return codings[0].removeprefix("x-")
    raise TooMuch(f"packed as {', '.join(codings)!r}, which was not offered")


def _opens_zlib(data: bytes) -> bool:
    """Whether zlib's two bytes stand in front (RFC 1950); half of the servers that say deflate leave them away."""
    return data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0


class Unpacker:
    """Undoes one coding piece by piece, counts what comes out, and keeps its beginning.

    Args:
        coding: as `content_coding` gives it.
        keep: bytes of the beginning to keep.
        limit: bytes that may come out.
        ratio: of bytes out over bytes in, once more than `limits.RATIO_FLOOR` came out.
    """

    def __init__(self, coding: str, *, keep: int, limit: int, ratio: int) -> None:
        self._coding = coding
        self._keep, self._limit, self._ratio = keep, limit, ratio
        self._decoder = zlib.decompressobj(_GZIP) if coding == "gzip" else None
        self._opening = b""
        self._kept: list[bytes] = []
        self._n_in = 0
        self.n_out = 0

    @property
    def head(self) -> bytes:
        """The beginning of what came out, at most `keep` bytes."""
        return b"".join(self._kept)[: self._keep]

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the body.

        Raises:
            TooMuch: a bound is passed, or the bytes are not what the coding says.
        """
        self._n_in += len(piece)
        if self._coding == "identity":
            self._count(piece)
            return
        if self._decoder is None:
            self._opening += piece
            if len(self._opening) < 2:
                return
            piece = self._opening
            self._decoder = zlib.decompressobj(_ZLIB if _opens_zlib(piece) else _RAW)
        while piece:
            if self._decoder.eof:
                # Another gzip member, or zero bytes that some servers pad with; nothing else may follow.
                piece = piece.lstrip(b"\0")
                if not piece or self._coding != "gzip":
                    return
                self._decoder = zlib.decompressobj(_GZIP)
            piece = self._decode(self._decoder, piece)

    def finish(self) -> None:
        """Say that the body ends here. Raises TooMuch if it may not."""
        if self._n_in and self._coding != "identity" and not (self._decoder and self._decoder.eof):
            raise TooMuch("damaged gzip or deflate: it ends too soon")

    def _decode(self, decoder: Decoder, piece: bytes) -> bytes:
        """Decode `piece` to its end or to the end of a member; what follows that."""
        while not decoder.eof:
            try:
                out = decoder.decompress(piece, _STEP)
            except zlib.error as error:
                raise TooMuch(f"damaged gzip or deflate: {error}") from None
            self._count(out)
            piece = decoder.unconsumed_tail
            if not piece and len(out) < _STEP:
                break
        return decoder.unused_data

    def _count(self, out: bytes) -> None:
        if self.n_out < self._keep:
            self._kept.append(out[: self._keep - self.n_out])
        self.n_out += len(out)
        if self.n_out > self._limit:
            raise TooMuch(f"too large: more than {self._limit:,} bytes once unpacked")
        if self._coding != "identity" and self.n_out > max(RATIO_FLOOR, self._ratio * self._n_in):
            raise TooMuch(f"too large: packed more than {self._ratio} to 1")


def unpack_body(headers: Headers, body: bytes, *, limit: int, ratio: int, keep: int | None = None) -> bytes:
    """A body with its Content-Encoding undone; its beginning, where `keep` says so.

    Raises:
        TooMuch: an unknown coding, damage, or a bound passed.
    """
    unpacker = Unpacker(
        content_coding(headers), keep=limit if keep is None else keep, limit=limit, ratio=ratio
    )
    unpacker.feed(body)
    unpacker.finish()
    return unpacker.head
