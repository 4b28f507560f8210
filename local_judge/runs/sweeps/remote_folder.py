"""Folder at a URL that fsspec opens, such as `s3://bucket/folder`, and a process that uploads a growing ledger to it.

    python -m local_judge.runs.sweeps.remote_folder URL LEDGER NAME

Invariants: a file in the folder is complete or absent. Credentials come from the environment or from fsspec's
configuration. The process that evaluates reports connects only to the judge's server (`runs.offline`); meanwhile, the
other process makes the uploads, and ends with it.
"""

from __future__ import annotations

import select
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

from indexes.confining import child_command
from local_judge.base.errors import ConfigError, JudgeError, UserError, one_line, optional_module
from local_judge.ledger.file import connect_to_read, ledger_errors

UPLOAD_SECONDS = 5.0
"""Time between two uploads of a ledger that grows."""
UPLOAD_SHARE = 0.1
"""Maximum share of the time in which a ledger is uploaded: large ones are uploaded less often."""
PATIENCE_SECONDS = 120.0
"""Time for which the last upload of a ledger is tried again."""

_ATOMIC = {"s3", "s3a"}
"""Protocols with atomic writes. With others, a file is written under another name and moved."""


class RemoteFolder:
    """Folder at a URL.

    Args:
        url: the URL.

    Raises:
        ConfigError: the URL is empty, invalid, or contains a password.
        UserError: the URL is invalid, or a package that it needs is not installed.
    """

    def __init__(self, url: str) -> None:
        fsspec = optional_module("fsspec", "--storage", "ray")
        if not url.strip():
            raise ConfigError("--storage: the URL is empty")
        for part in url.split("::"):  # URLs of fsspec may be chained
            try:
                password = urlsplit(part).password
            except ValueError:
                raise ConfigError("--storage: not a URL") from None
            if password is not None:
                raise ConfigError("--storage: give the password in fsspec's configuration, not in the URL")
        self.url = url
        with self._errors("cannot be opened"):
            self._files, self._root = fsspec.core.url_to_fs(
                url, use_listings_cache=False, skip_instance_cache=True
            )
            protocol = self._files.protocol
            self._atomic = not _ATOMIC.isdisjoint([protocol] if isinstance(protocol, str) else protocol)

    def put(self, path: Path, name: str) -> None:
        """Write a file.

        Raises:
            UserError: it cannot be written.
        """
        target = f"{self._root}/{name}"
        with self._errors(f"{name}: cannot be written"):
            if self._atomic:
                self._files.put_file(str(path), target)
                return
            self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
            beside = f"{target}.{uuid4().hex}.partial"
            self._files.put_file(str(path), beside)
            self._files.mv(beside, target)
            if self._files.info(target)["size"] != path.stat().st_size:
                raise OSError("this file system does not replace a file by moving another one")

    def put_ledger(self, ledger: sqlite3.Connection, copy: Path, name: str) -> None:
        """Write a consistent copy of a ledger, which other connections may be writing; `copy` is overwritten.

        Raises:
            UserError: it cannot be written.
            LedgerError: the copy cannot be made.
        """
        copy.unlink(missing_ok=True)
        with ledger_errors(copy), closing(sqlite3.connect(copy)) as target:
            ledger.backup(target)
        self.put(copy, name)

    def get(self, name: str, path: Path) -> Path:
        """Copy a file of the folder to `path`, which is returned.

        Raises:
            UserError: it cannot be read.
        """
        with self._errors(f"{name}: cannot be read"):
            self._files.get_file(f"{self._root}/{name}", str(path))
        return path

    def has(self, name: str) -> bool:
        """Check whether there is a file of this name.

        Raises:
            UserError: the folder cannot be read.
        """
        with self._errors(f"{name}: cannot be read"):
            try:
                self._files.info(f"{self._root}/{name}")  # `exists` is false also where access is denied
            except FileNotFoundError:
                return False
        return True

    def names(self, below: str) -> list[str]:
        """Return the names of all files below a folder, sorted; none if it is missing.

        Raises:
            UserError: the folder cannot be read.
        """
        with self._errors("cannot be read"):
            return sorted(
                path.removeprefix(f"{self._root}/") for path in self._files.find(f"{self._root}/{below}")
            )

    @contextmanager
    def uploaded(self, path: Path, name: str, copy: Path) -> Generator[None]:
        """Upload a ledger from time to time while the block changes it, and when the block ends.

        Raises:
            UserError: the last upload failed for `PATIENCE_SECONDS`.
        """
        command, environment = child_command("local_judge.runs.sweeps.remote_folder")
        process = subprocess.Popen(
            [*command, self.url, str(path), name], env=environment, stdin=subprocess.PIPE
        )
        with closing(connect_to_read(path)) as ledger:
            before = _changes(ledger)
            try:
                yield
            finally:
                process.communicate(_END)
                if _changes(ledger) != before:
                    _patiently(lambda: self.put_ledger(ledger, copy, name))

    @contextmanager
    def _errors(self, problem: str) -> Generator[None]:
        """Raise any error of the file system as a UserError: each one of fsspec has its own."""
        try:
            yield
        except Exception as error:
            raise UserError(f"storage {self.url}: {problem} ({one_line(error)})") from None


def _changes(ledger: sqlite3.Connection) -> int:
    """Return a number that is another one after another connection has committed to the ledger."""
    return ledger.execute("PRAGMA data_version").fetchone()[0]


def _patiently(upload: Callable[[], None]) -> None:
    """Upload, again and again for `PATIENCE_SECONDS` if the storage fails."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return upload()
        except UserError:
            if time.monotonic() > end:
                raise
            time.sleep(UPLOAD_SECONDS)


_END = b"end"


def main(url: str, path: Path, name: str) -> None:
    """Upload a ledger whenever it has changed, until standard input ends or says so.

    Without the word, the process that writes the ledger was killed: its last replies are uploaded too.
    """
    folder, copy = RemoteFolder(url), path.with_name(f".{name.rpartition('/')[2]}.copy")
    with closing(connect_to_read(path)) as ledger:
        known, pause, told = _changes(ledger), UPLOAD_SECONDS, False
        while not told:
            told = bool(select.select([sys.stdin], [], [], pause)[0])
            if told and sys.stdin.buffer.read():
                return
            begun, found = time.monotonic(), _changes(ledger)
            if found != known:
                with suppress(UserError, JudgeError):  # it is tried again
                    folder.put_ledger(ledger, copy, name)
                    known = found
            pause = max(UPLOAD_SECONDS, (time.monotonic() - begun) / UPLOAD_SHARE)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
