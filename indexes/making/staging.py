"""A snapshot in the making, beside the place where it will stand.

Invariant: a directory with the final name exists only when it is whole: all is written in a hidden directory beside it,
which is renamed at the end. One process at a time makes a snapshot; a directory left by one that was killed is begun
again, unless it can be resumed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from indexes.errors import ImportRefused, NotASnapshot, SnapshotExists, SnapshotMissing
from indexes.manifest import Manifest, database_of, load_manifest, part_of
from indexes.verify import verify


@contextmanager
def stage(out: Path, *, resumable: Callable[[Path], bool] | None = None) -> Generator[Path]:
    """A directory to make a snapshot in.

    Args:
        out: where it will stand.
        resumable: whether a directory that is there already can be gone on with; it then is kept on failure too.

    Raises:
        SnapshotExists: `out` is there and is no snapshot.
        ImportRefused: another process is making it; the place cannot be written.
    """
    check_target(out)
    part = part_of(out)
    if resumable is None and database_of(out).exists():
        raise ImportRefused(
            f"a fetch into {out} was begun and is not whole; go on with it, or remove {database_of(out)} and {part}"
        )
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(out):
            if part.exists() and not (resumable is not None and resumable(part)):
                shutil.rmtree(part)
            part.mkdir(exist_ok=True)
            try:
                yield part
            finally:
                if part.exists() and not (resumable is not None and resumable(part)):
                    shutil.rmtree(part, ignore_errors=True)
    except sqlite3.Error as error:
        raise ImportRefused(
            f"{part}: what is noted while the snapshot is made cannot be written ({error}); is the disk full? "
            f"Nothing was changed at {out}"
        ) from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise ImportRefused(
                f"{part}: no room left on the disk ({error.strerror}); nothing was changed at {out}"
            ) from None
        raise ImportRefused(f"{error.filename or part}: {error.strerror or error}") from None


def publish(part: Path, out: Path, manifest: Manifest) -> None:
    """Put what was made at its place; the same snapshot that is there already stays.

    Raises:
        SnapshotExists: another snapshot is there, or the same one, damaged.
    """
    existing = check_target(out)
    if existing is None:
        part.rename(out)
        folder = os.open(out.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return
    if existing.digest != manifest.digest:
        raise SnapshotExists(
            f"{out} holds snapshot {existing.digest[:12]} and these pages make {manifest.digest[:12]}; "
            f"choose another directory or remove it"
        )
    if not verify(out).ok:
        raise SnapshotExists(f"{out} holds this snapshot, but damaged; run `snapshot verify` or remove it")
    shutil.rmtree(part)


def check_target(out: Path) -> Manifest | None:
    """The manifest of the snapshot that stands at `out`; None where there is nothing. Raises SnapshotExists."""
    if not out.exists():
        return None
    try:
        return load_manifest(out)
    except (NotASnapshot, SnapshotMissing):
        if out.is_dir() and not any(out.iterdir()):
            return None
    raise SnapshotExists(f"{out} exists and is not a snapshot; choose another directory")


@contextmanager
def hold_lock(out: Path) -> Generator[None]:
    """Keep other processes from making or changing the snapshot at `out`. Raises ImportRefused if one does."""
    path = out.parent / f".{out.name}.lock"
    # Neither through a link that was there nor waiting for the other end of a pipe.
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = os.fstat(file).st_ino == path.stat().st_ino  # and not a file that its owner removed
        except OSError:
            held = False
        if not held:
            raise ImportRefused(f"another process is making {out}; wait for it or choose another directory")
        try:
            yield
        finally:
            path.unlink()
    finally:
        os.close(file)
