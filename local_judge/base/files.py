"""Files that others may have written: bounded reading and atomic writing, for all packages.

Invariant: only regular files are read, so that no pipe, device or socket makes a command wait, and nothing is read
beyond a limit. A refusal is an OSError whose reason fits into the line that the caller reports: `FILE: cannot be read
(REASON)`. A file is written completely or keeps its old content.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.resources import files
from io import BufferedReader
from pathlib import Path
from typing import IO

MOST_TEXT = 1 << 30
"""Maximum number of bytes of a file that is read whole, such as JSONL."""
MOST_JSON = 256 << 20
"""Maximum number of bytes of one JSON document, and of one line of JSONL."""
MOST_YAML = 1_000_000
"""Maximum number of bytes of a YAML file, which the parser reads at about 400 kB/s."""
MOST_FILE = 1 << 38
"""Maximum number of bytes of a file that is read piece by piece."""

PARTIAL = ".partial"
"""Suffix of a file that is being written; the number of the writing process comes before it."""


def open_file(path: Path, most: int = MOST_FILE, *, inside: Path | None = None) -> BufferedReader:
    """Open a regular file for reading, without waiting.

    Args:
        path: the file, or a link to it.
        most: maximum size in bytes.
        inside: folder that the file must be in after links are resolved.

    Raises:
        OSError: it cannot be opened, is not a regular file, is larger than `most`, or is outside `inside`.
    """
    if inside is not None and not _is_inside(path, inside):
        raise OSError(errno.ELOOP, f"a link that leads out of {inside}", str(path))
    _check(path.stat(), path, most)  # a device may act when it is opened
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb")
    try:
        _check(os.fstat(file.fileno()), path, most)
    except BaseException:
        file.close()
        raise
    return file


def _is_inside(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except RuntimeError:  # links in a circle
        return False


def _check(found: os.stat_result, path: Path, most: int) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if found.st_size > most:
        raise _too_large(path, most)


def _too_large(path: Path, most: int) -> OSError:
    return OSError(errno.EINVAL, f"more than {most:,} bytes", str(path))


def read_file(path: Path, most: int = MOST_TEXT, *, inside: Path | None = None) -> bytes:
    """Read a regular file; arguments and errors as `open_file`."""
    with open_file(path, most, inside=inside) as file:
        content = file.read(most + 1)  # the size of a file in /proc is 0, and a file may grow
    if len(content or b"") > most:
        raise _too_large(path, most)
    return content or b""  # None if the system has nothing to read yet


def read_utf8(path: Path, most: int = MOST_TEXT) -> str:
    """Read a UTF-8 text file, with or without a byte order mark; every line ends with a line feed.

    Raises:
        OSError: as `open_file`.
        UnicodeDecodeError: it is not UTF-8.
    """
    return read_file(path, most).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def each_line(file: IO[bytes], path: Path, most: int = MOST_JSON) -> Iterator[bytes]:
    """Yield the lines of an open file with their ends.

    Args:
        file: the file, which may be decompressed while it is read.
        path: its path, for the error.
        most: maximum number of bytes of a line.

    Raises:
        OSError: a line is longer.
    """
    while line := file.readline(most + 1):
        if len(line) > most:
            raise OSError(errno.EINVAL, f"a line of more than {most:,} bytes", str(path))
        yield line


def partial_of(path: Path) -> Path:
    """Return the path under which this process writes a file before it replaces `path`."""
    return path.with_name(f".{path.name}.{os.getpid()}{PARTIAL}")


@contextmanager
def replacing(path: Path) -> Generator[IO[bytes]]:
    """Open a new file that replaces `path` when the block ends, and is removed if the block raises.

    Files that killed processes left of earlier attempts at the same path are removed.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = partial_of(path)
    remove_partials(path.parent, path.name)
    beside.unlink(missing_ok=True)
    try:
        with beside.open("xb") as file:  # never through an existing link
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def remove_partials(folder: Path, name: str = "") -> None:
    """Remove the incomplete files of processes that were killed: those of one file, or without `name` all below."""
    start = f".{name}." if name else "."
    for entry in folder.iterdir() if name else folder.rglob(f".*{PARTIAL}"):
        if entry.name.startswith(start) and entry.name.endswith(PARTIAL):
            process = entry.name.removesuffix(PARTIAL).rpartition(".")[2]
            if process.isdecimal() and not _runs(int(process)):
                entry.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # another user's process, and alive
    return True


def word_list(package: str, name: str) -> frozenset[str]:
    """The entries of `word_lists/<name>.txt` of a package: one a line; lines that open with `#` describe the list."""
    text = files(package).joinpath("word_lists", f"{name}.txt").read_text(encoding="utf-8")
    return frozenset(line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))
