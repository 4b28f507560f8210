"""Texts in a ledger, by content.

Invariant: a text is stored once under the SHA-256 of its UTF-8 bytes, however many calls name it, and reads back as it
was.
"""

from __future__ import annotations

import sqlite3
import zlib

SHORT = 1024
"""Characters up to which a text is stored as it is: setting zlib up takes longer than such a text is worth."""


def insert_text(connection: sqlite3.Connection, digest: bytes, text: str) -> None:
    """Store `text` unless it is there."""
    if len(text) <= SHORT:
        connection.execute("INSERT OR IGNORE INTO texts VALUES (?,?)", (digest, text))
    elif connection.execute("SELECT 1 FROM texts WHERE digest=?", (digest,)).fetchone() is None:
        connection.execute("INSERT INTO texts VALUES (?,?)", (digest, zlib.compress(text.encode(), 1)))


def read_text(connection: sqlite3.Connection, digest: bytes) -> str:
    """The text stored under `digest`, which a row of `requests` names."""
    (body,) = connection.execute("SELECT body FROM texts WHERE digest=?", (digest,)).fetchone()
    return body if isinstance(body, str) else zlib.decompress(body).decode()
