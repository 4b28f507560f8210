"""Connections to a PostgreSQL server, and its errors in one line."""

from __future__ import annotations

import re
import socket
import ssl
import struct
import time
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from local_judge.base.errors import optional_module
from local_judge.judge.errors import LedgerUnreachable
from local_judge.judge.ledger_place import PostgresUrl
from local_judge.ledger.errors import LedgerBusy, LedgerError, LedgerMissing
from local_judge.ledger.file import BUSY_SECONDS, damaged

if TYPE_CHECKING:
    from pg8000.native import Connection, Context

CONNECT_SECONDS = 30.0
"""Seconds to wait for a connection, and for a server that is starting or has as many connections as it takes."""

_ANSWER_SECONDS = 900.0
"""Seconds to wait for the next bytes of an answer; a compaction takes minutes."""

_SOCKET_OPTIONS = {
    "TCP_NODELAY": 1,
    "TCP_KEEPIDLE": 30,
    "TCP_KEEPINTVL": 10,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 60_000,
}
"""Options with which the kernel gives up a connection about a minute after its other end is gone."""

_PREPARED_PARAMETERS = 16
"""Maximum number of parameters of a statement that the server keeps parsed."""

_UNEXPECTED = (AttributeError, IndexError, KeyError, TypeError, ValueError, struct.error)
"""Errors of the driver for an answer that it does not expect."""

_NUMERIC = 1700
"""Type of a sum, by its number in `pg_type`."""


class Session:
    """Connection to a PostgreSQL server, which is made by the first statement, and again after `close`."""

    def __init__(self, url: PostgresUrl, read_only: bool) -> None:
        self._url = url
        self._read_only = read_only
        self._driver = optional_module("pg8000.native", "a ledger in PostgreSQL", "postgresql")
        self._connection: Connection | None = None
        self._prepared: dict[str, tuple[Any, ...]] = {}
        self._gave_up = float("-inf")
        """Time at which no connection was made in `CONNECT_SECONDS`."""

    @property
    def is_open(self) -> bool:
        """True if there is a connection, as far as is known."""
        return self._connection is not None

    def run(self, sql: str, values: list[Any]) -> Context:
        """Run a statement with `?` for the values.

        Raises:
            LedgerUnreachable: The server cannot be reached, or the connection was lost.
            LedgerError: Any other error of the server, in one line.
        """
        if self._connection is None:
            self._connection = self._connected()
        try:
            return self._send(self._connection, sql, values)
        except self._driver.DatabaseError as error:
            raise self._error(_fields(error)) from None
        except (KeyboardInterrupt, SystemExit):  # the answer is still to come
            self.close()
            raise
        except (self._driver.InterfaceError, OSError, EOFError, *_UNEXPECTED) as error:
            raise self.unreachable(f"the connection was lost: {_line(error)}") from None

    def close(self) -> None:
        """Close the connection, if there is one."""
        connection, self._connection = self._connection, None
        self._prepared.clear()
        if connection is not None:
            with suppress(Exception):  # the server may have closed it
                connection.close()

    def _send(self, connection: Connection, sql: str, values: list[Any]) -> Context:
        numbers = count(1)
        numbered = re.sub(r"\?", lambda _: f"${next(numbers)}", sql)
        if not values:
            return connection.execute_simple(sql)
        if len(values) > _PREPARED_PARAMETERS or sql.startswith("DECLARE"):
            return connection.execute_unnamed(numbered, values)
        if sql not in self._prepared:
            self._prepared[sql] = connection.prepare_statement(numbered, ())
        name, columns, functions = self._prepared[sql]
        sent = self._driver.make_params(connection.py_types, values)
        return connection.execute_named(name, sent, columns, functions, numbered)

    def _connected(self) -> Connection:
        """Return a new connection; a server that is starting or full is asked again for `CONNECT_SECONDS`.

        Raises:
            LedgerUnreachable: There is none.
            LedgerMissing: The server refuses the user or the database.
        """
        begun = time.monotonic()
        # After one statement has waited in vain, those behind it do not.
        until = begun if begun < self._gave_up + CONNECT_SECONDS else begun + CONNECT_SECONDS
        while True:
            try:
                return self._attempt()
            except self._driver.DatabaseError as error:
                fields = _fields(error)
                if fields.get("C") not in ("57P03", "53300"):  # cannot_connect_now, too_many_connections
                    raise self._refused(fields) from None
                problem = str(fields.get("M"))
            except PermissionError as error:  # the offline guard or the system refuses it for good
                raise self.unreachable(_line(error)) from None
            except (self._driver.InterfaceError, OSError, EOFError) as error:
                problem = _line(error.__cause__ or error)
            except _UNEXPECTED:  # without a password for SCRAM, or another program answers
                raise self._refused({"M": "no password, or an answer that is not PostgreSQL's"}) from None
            if time.monotonic() > until:
                self._gave_up = time.monotonic()
                raise self.unreachable(problem)
            time.sleep(0.2)

    def _attempt(self) -> Connection:
        user, password = self._url.login()
        settings = {
            "search_path": "local_judge",
            "client_encoding": "UTF8",
            "synchronous_commit": "on",
            "standard_conforming_strings": "on",
            "lock_timeout": f"{BUSY_SECONDS:.0f}s",
            "idle_in_transaction_session_timeout": f"{2 * BUSY_SECONDS:.0f}s",
            "default_transaction_read_only": "on" if self._read_only else "off",
        }
        connection = self._driver.Connection(
            user,
            host=self._url.host,
            database=self._url.database,
            port=self._url.port,
            password=password,
            sock=self._socket(),
            ssl_context=self._ssl_context(),
            application_name="local-judge",
            startup_params=settings,
        )
        connection.register_in_adapter(_NUMERIC, int)
        return connection

    def _socket(self) -> socket.socket:
        if self._url.socket_file:
            found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                found.connect(self._url.socket_file)
            except BaseException:
                found.close()
                raise
        else:
            found = socket.create_connection((self._url.host, self._url.port), CONNECT_SECONDS)
            found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _SOCKET_OPTIONS.items():
                if hasattr(socket, name):  # not on every system
                    found.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        found.settimeout(_ANSWER_SECONDS)
        return found

    def _ssl_context(self) -> ssl.SSLContext | bool | None:
        """Return the driver's argument: False for no encryption, None for encryption if the server has it."""
        if self._url.socket_file or self._url.ssl == "disable":
            return False
        if self._url.ssl == "verify-full":
            return ssl.create_default_context()
        return True if self._url.ssl == "require" else None

    def unreachable(self, problem: str) -> LedgerUnreachable:
        """Return the error for a server without a connection."""
        return LedgerUnreachable(
            f"ledger {self._url}: cannot be reached ({problem}); check that the server runs, then run the same command "
            "again"
        )

    def _refused(self, fields: dict[str, str]) -> LedgerMissing:
        return LedgerMissing(
            f"ledger {self._url}: the server refused the connection ({_line(fields.get('M', ''))}); check user "
            "(PGUSER), password (PGPASSWORD or ~/.pgpass) and database"
        )

    def _error(self, fields: dict[str, str]) -> LedgerError:
        """Return the error for a message of the server, by its SQLSTATE."""
        code, text = fields.get("C", ""), _line(fields.get("M", ""))
        if code in ("55P03", "40P01"):  # lock_not_available, deadlock_detected
            return LedgerBusy(
                f"ledger {self._url}: another process held it for {BUSY_SECONDS:g} s; wait for it or use another ledger"
            )
        if code.startswith(("57P", "08")) or code in ("25P03", "53300"):  # closed, or too many connections
            return self.unreachable(text)
        if code.startswith(("42501", "25006", "28", "3D")):  # rights, read-only server, login, database
            return LedgerMissing(
                f"ledger {self._url}: cannot be opened or written ({text}); check the rights"
            )
        if code == "53100":
            return LedgerError(
                f"ledger {self._url}: the server's disk is full; free space and run the same command again"
            )
        if code in ("42P01", "42703"):  # undefined_table, undefined_column
            return damaged(self._url, text)
        return LedgerError(f"ledger {self._url}: {text}")


def _fields(error: Exception) -> dict[str, str]:
    """Return the fields of a server's message, by their letters: `C` for the SQLSTATE, `M` for the text."""
    found: Any = error.args[0] if error.args else None
    return cast("dict[str, str]", found) if isinstance(found, dict) else {"M": str(found)}


def _line(problem: object) -> str:
    return " ".join(str(problem).split())[:200]
