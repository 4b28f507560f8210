"""Content-Encoding undone within bounds.

Invariant: no more is held than was asked to be kept and one step of the decoder; a body that would pass a bound is
refused as soon as it does, whatever its headers claim.
"""

from __future__ import annotations

from typing import Literal

from indexes.archive.model import Headers
from indexes.fetch.faults import TooMuch
from indexes.limits import RATIO_FLOOR, Coding, Decoder, GzipRefused


def content_coding(headers: Headers) -> Coding | Literal["identity"]:
    """The one coding of a body.

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
    if len(codings) == 1:
        match codings[0].removeprefix("x-"):
            case "gzip" | "deflate" as coding:
                return coding
            case _:
                pass
    raise TooMuch(f"packed as {', '.join(codings)!r}, which was not offered")


class Unpacker:
    """Undoes one coding piece by piece, counts what comes out, and keeps its beginning.

    Args:
        coding: as `content_coding` gives it.
        keep: bytes of the beginning to keep.
        limit: bytes that may come out.
        ratio: of bytes out over bytes in, once more than `limits.RATIO_FLOOR` came out.
    """

    def __init__(self, coding: Coding | Literal["identity"], *, keep: int, limit: int, ratio: int) -> None:
        self._keep, self._limit, self._ratio = keep, limit, ratio
        self._decoder = None if coding == "identity" else Decoder(coding)
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
        if self._decoder is None:
            self._count(piece)
            return
        try:
            for part in self._decoder.feed(piece):
                self._count(part)
        except GzipRefused as error:
            raise TooMuch(str(error)) from None

    def finish(self) -> None:
        """Say that the body ends here. Raises TooMuch if it may not."""
        try:
            if self._decoder is not None:
                self._decoder.finish()
        except GzipRefused as error:
            raise TooMuch(str(error)) from None

    def _count(self, out: bytes) -> None:
        if self.n_out < self._keep:
            self._kept.append(out[: self._keep - self.n_out])
        self.n_out += len(out)
        if self.n_out > self._limit:
            raise TooMuch(f"too large: more than {self._limit:,} bytes once unpacked")
        if self._decoder is not None and self.n_out > max(RATIO_FLOOR, self._ratio * self._n_in):
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
