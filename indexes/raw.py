"""The store of pages as they were fetched.

Invariant: a file is named by the SHA-256 of the bytes it holds, and the same bytes always make the same file
(gzip without name and time). This module alone knows how raw bytes lie on disk.
"""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path

from indexes.errors import DigestMismatch
from indexes.limits import GzipRefused, gunzip
from indexes.manifest import RAW, sha256

# What is stored was bounded when it came in, and a page of blanks packs better than pages from outside may.
_ANY_RATIO = 2_000
_DIGEST = re.compile(r"[0-9a-f]{64}")


def raw_path(digest: str) -> str:
    """Where the bytes with this digest lie in a snapshot. Raises ValueError if it is no digest."""
    if not _DIGEST.fullmatch(digest):
        raise ValueError(f"{digest!r} is not a SHA-256")
    return f"{RAW}/{digest[:2]}/{digest}.gz"


def pack(data: bytes) -> bytes:
    """The stored form of raw bytes."""
    return gzip.compress(data, compresslevel=6, mtime=0)


def write_raw(snapshot: Path, digest: str, packed: bytes) -> None:
    """Store what `pack` gave. Writing the same page twice changes nothing."""
    path = snapshot / raw_path(digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed)


def unpack(path: Path) -> bytes:
    """The raw bytes in a stored file.

    Raises:
        DigestMismatch: the file is missing, is not gzip, or holds other bytes than its name says.
    """
    try:
        data = gunzip(path.read_bytes(), ratio=_ANY_RATIO)
    except (OSError, EOFError, zlib.error, GzipRefused) as error:
        raise DigestMismatch(f"{path} cannot be read ({error}); run `snapshot verify`") from None
    if sha256(data) != path.name.removesuffix(".gz"):
        raise DigestMismatch(f"{path} does not hold the bytes that its name says; run `snapshot verify`")
    return data


def read_raw(snapshot: Path, digest: str) -> bytes:
    """The bytes with this digest. Raises DigestMismatch as `unpack` does."""
    return unpack(snapshot / raw_path(digest))
