"""Texts of a ledger, addressed by content.

Invariant: a text is stored once, under the SHA-256 of its UTF-8 bytes, and is returned unchanged or not at all.
"""

from __future__ import annotations

import sqlite3
import zlib
from hashlib import sha256

SHORT = 1024
"""Maximum characters of a text that is stored uncompressed, since zlib's set-up time exceeds the gain."""

MAX_TEXT_BYTES = 256 << 20
"""Maximum size of an uncompressed text; a larger one counts as damaged."""


class DamagedText(ValueError):
    """A text is missing, cannot be decompressed, or does not match its digest."""


def insert_text(connection: sqlite3.Connection, digest: bytes, text: str) -> None:
    """Store `text` unless it is stored already."""
    if len(text) <= SHORT:
        connection.execute("INSERT OR IGNORE INTO texts VALUES (?,?)", (digest, text))
    elif connection.execute("SELECT 1 FROM texts WHERE digest=?", (digest,)).fetchone() is None:
        connection.execute("INSERT INTO texts VALUES (?,?)", (digest, zlib.compress(text.encode(), 1)))


def read_text(connection: sqlite3.Connection, digest: bytes) -> str:
    """Return the text stored under `digest`.

    Raises:
        DamagedText: It is missing or damaged.
    """
    row = connection.execute("SELECT body FROM texts WHERE digest=?", (digest,)).fetchone()
    if row is None:
        raise DamagedText(f"text {_name(digest)}: missing")
    return checked_text(digest, row[0])


def checked_text(digest: object, body: object) -> str:
    """Return the text in a row of `texts`.

    Raises:
        DamagedText: It is damaged.
    """
    try:
        content = body.encode() if isinstance(body, str) else _unpacked(body)
        if sha256(content).digest() == digest:
            return content.decode()
    except (zlib.error, UnicodeError, TypeError) as error:
        raise DamagedText(f"text {_name(digest)}: {error}") from None
    raise DamagedText(f"text {_name(digest)}: does not match its digest")


def _unpacked(body: object) -> bytes:
    if not isinstance(body, bytes):
        raise TypeError(f"a {type(body).__name__} in place of a text")
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(body, MAX_TEXT_BYTES)
    if not unpacking.eof:
        raise zlib.error("cut off, or too large")
    return content


def _name(digest: object) -> str:
    return digest.hex()[:12] if isinstance(digest, bytes) else repr(digest)[:40]
