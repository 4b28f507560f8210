"""Zip archives from others: bundles, WACZ files and results of shards.

Invariants: names, number, kinds, sizes, compression and overlap of the entries are checked before anything is
unpacked; an entry is unpacked to no more than its size; no archive that is written here exceeds these limits.
"""

from __future__ import annotations

import re
import stat
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO

from indexes.limits import MAX_GZIP_RATIO, RATIO_FLOOR
from local_judge.base.files import open_file

MOST_ENTRIES = 200_000
MOST_BYTES = 8 << 30
"""Maximum number of bytes of all entries together, unpacked."""
STEP = 1 << 20
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""Errors of `zipfile` for a file that is no archive, or a damaged one."""

_INSIDE = re.compile(r"(?:(?!\.\.?(?:/|$))[^/\\]+/)*(?!\.\.?$)[^/\\]+")
"""Relative path without `.`, `..` and empty parts."""


class ZipRefused(Exception):
    """An archive that exceeds a limit; the message does not name the archive."""


def checked_entries(
    packed: zipfile.ZipFile,
    size: int,
    refused: Callable[[zipfile.ZipInfo], str | None],
    *,
    most_bytes: int | None = MOST_BYTES,
) -> dict[str, zipfile.ZipInfo]:
    """Return the entries of an archive by name, after checking all of them.

    Args:
        packed: the archive.
        size: number of bytes of its file.
        refused: returns what else is wrong with an entry.
        most_bytes: maximum number of bytes unpacked; None if the caller bounds what it unpacks, and ratios with it.

    Raises:
        ZipRefused: an entry, or all of them, exceed a limit.
    """
    entries = packed.infolist()
    if len(entries) > MOST_ENTRIES:
        raise ZipRefused(f"more than {MOST_ENTRIES:,} files in it")
    found = {entry.filename: entry for entry in entries}
    if len(found) < len(entries):
        raise ZipRefused("a name stands twice in it; get the file again")
    for entry in entries:
        if problem := refused(entry) or _problem(entry, most_bytes is not None):
            raise ZipRefused(f"{entry.filename[:80]!r} {problem}")
    if sum(entry.compress_size for entry in entries) > size:
        raise ZipRefused("files in it overlap; not unpacked")
    total = sum(entry.file_size for entry in entries)
    if most_bytes is not None and total > most_bytes:
        raise ZipRefused(f"{total:,} bytes unpacked, more than {most_bytes:,}; not unpacked")
    return found


def _problem(entry: zipfile.ZipInfo, sized: bool) -> str | None:
    if not _INSIDE.fullmatch(entry.filename.removesuffix("/")):
        return "is not a name inside the archive"
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR) or entry.flag_bits & 1:
        return "is a link, a device or encrypted; get the file again"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return (
            "is compressed in a way that is not read; pack it again"  # others unpack a kilobyte to a gigabyte
        )
    if sized and entry.file_size > max(RATIO_FLOOR, MAX_GZIP_RATIO * entry.compress_size):
        return f"is packed more than {MAX_GZIP_RATIO} times; not unpacked"
    return None


def unpack_entry(packed: zipfile.ZipFile, name: str, target: Path) -> str:
    """Unpack an entry of a checked archive to a new file; return what is wrong with it, or an empty text."""
    left = packed.getinfo(name).file_size
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with packed.open(name) as source, target.open("wb") as file:
            while piece := source.read(STEP):
                left -= len(piece)
                if left < 0:
                    return "longer than the archive says"
                file.write(piece)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        return f"cannot be unpacked ({str(error)[:100]})"
    return "shorter than the archive says" if left else ""


def packing_of(file: IO[bytes]) -> int:
    """Return how to pack a file, which is read from its start: stored, if it would be refused as a bomb otherwise."""
    packer, size, packed = zlib.compressobj(), 0, 0
    if file.seek(0, 2) <= RATIO_FLOOR:
        return zipfile.ZIP_DEFLATED
    file.seek(0)
    while piece := file.read(STEP):
        size += len(piece)
        packed += len(packer.compress(piece))
    is_bomb = size > MAX_GZIP_RATIO * (packed + len(packer.flush()))
    return zipfile.ZIP_STORED if is_bomb else zipfile.ZIP_DEFLATED


def pack_file(packed: zipfile.ZipFile, path: Path, name: str) -> None:
    """Add a file to an archive. Raises OSError: it cannot be read."""
    with open_file(path) as file:
        packing = packing_of(file)
    packed.write(path, name, packing)
