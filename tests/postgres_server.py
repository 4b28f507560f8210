"""PostgreSQL server of the system's packages, in a temporary folder, on a port of this machine."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from serving.launch import free_ports
from serving.processes import process
from tests.waiting import wait_until

PASSWORD = "pässword:@/1"
"""Password of the user `judge`."""


def programs() -> Path | None:
    """Return the folder of `initdb` and `postgres`; None where they are not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if found:
        return found[-1].parent
    other = shutil.which("initdb")
    return None if other is None else Path(other).resolve().parent


def _problem() -> str | None:
    """Return why no server can be started here."""
    if importlib.util.find_spec("pg8000") is None:
        return "the extra `postgresql` is not installed"
    return "PostgreSQL is not installed (Debian: postgresql)" if programs() is None else None


needs_postgres = pytest.mark.skipif(_problem() is not None, reason=str(_problem()))


class PostgresServer:
    """Server with the user `judge`, who logs in with a password, and new databases on request."""

    def __init__(self, folder: Path, bin_folder: Path) -> None:
        self._data, self._bin = folder / "data", bin_folder
        # postgres refuses to run as root.
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(folder, "nobody")
        password = folder / "password"
        password.write_text(PASSWORD)
        if self._user:
            shutil.chown(password, "nobody")
        command = ["initdb", "-D", str(self._data), "-U", "judge", "--encoding=UTF8", "--locale=C"]
        self._call([*command, "--auth=scram-sha-256", f"--pwfile={password}", "--no-sync"])
        self._held = contextlib.ExitStack()
        [self.port] = free_ports("127.0.0.1", 1, self._held)  # kept while the server is down
        self._process: subprocess.Popen[bytes] | None = None
        self._made = 0
        self.start()

    def url(self, database: str) -> str:
        """Return the URL of a database."""
        return f"postgresql://judge@127.0.0.1:{self.port}/{database}"

    def new(self) -> str:
        """Create a database, and return its URL."""
        self._made += 1
        name = f"ledger{self._made}"
        self.run_sql("postgres", f"CREATE DATABASE {name}")
        return self.url(name)

    def run_sql(self, database: str, sql: str) -> list[list[object]]:
        """Run a statement as the owner."""
        from pg8000.native import Connection

        with Connection(
            "judge", host="127.0.0.1", port=self.port, database=database, password=PASSWORD
        ) as connection:
            return connection.run(sql) or []

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = [
            "-p",
            str(self.port),
            "-h",
            "127.0.0.1",
            "-k",
            str(self._data.parent),
            "-c",
            "max_connections=40",
        ]
        self._process = subprocess.Popen(
            [str(self._bin / "postgres"), "-D", str(self._data), *options],
            user=self._user,
            group=None if self._user is None else pwd.getpwnam(self._user).pw_gid,
            extra_groups=None if self._user is None else [],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._data.parent,
            start_new_session=True,
        )
        until = time.monotonic() + 120
        while True:
            try:
                self.run_sql("postgres", "SELECT 1")
                return
            except Exception:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
                time.sleep(0.1)

    def kill(self) -> None:
        """Kill the server and all its processes with SIGKILL."""
        assert self._process is not None
        first = self._process.pid
        others = map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())
        killed = [one for one in map(process, [first, *others]) if one is not None]
        for one in killed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, signal.SIGKILL)
        self._process.wait()
        wait_until(lambda: not any(one.lives for one in killed))  # until then their memory is in use
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def stop(self) -> None:
        """Stop the server."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(300)
        self._held.close()

    def _call(self, command: list[str]) -> None:
        subprocess.run(
            [str(self._bin / command[0]), *command[1:]],
            user=self._user,
            group=None if self._user is None else pwd.getpwnam(self._user).pw_gid,
            extra_groups=None if self._user is None else [],
            check=True,
            capture_output=True,
            cwd=self._data.parent,
        )


@contextlib.contextmanager
def running() -> Generator[PostgresServer]:
    """Run a server while the block runs."""
    bin_folder = programs()
    assert bin_folder is not None
    # Not under pytest's folder, which only this user can enter.
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        server = PostgresServer(Path(folder), bin_folder)
        try:
            yield server
        finally:
            server.stop()
