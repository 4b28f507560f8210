"""Place of a ledger: a SQLite file or a PostgreSQL database.

Invariant: a place contains no password, so that no message, log, manifest or copied command line contains one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from typing import Annotated, Literal, cast, get_args
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from pydantic import BeforeValidator, InstanceOf, PlainSerializer

from local_judge.base.errors import ConfigError
from local_judge.base.files import read_utf8

SslMode = Literal["disable", "prefer", "require", "verify-full"]

_SCHEMES = ("postgresql", "postgres")


@dataclass(frozen=True)
class PostgresUrl:
    """Database of a PostgreSQL server."""

    host: str
    """Name or address of the server, or the folder of its Unix socket."""
    database: str
    port: int = 5432
    user: str | None = None
    """User; None for `PGUSER`, or the user of this process."""
    ssl: SslMode = "prefer"

    @classmethod
    def parse(cls, text: str) -> PostgresUrl:
        """Return the database that a URL names: `postgresql://[USER@]HOST[:PORT]/DATABASE[?sslmode=MODE]`.

        The folder of a Unix socket is a host in which `/` is written `%2F`, or the option `host`.

        Raises:
            ConfigError: A part is missing or unknown, or there is a password. The message does not contain it.
        """
        try:
            parts = urlsplit(text)
            port = parts.port or 5432
            options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        except ValueError:
            raise _invalid("its port or its options are invalid") from None
        if parts.password is not None or "password" in options:
            raise _invalid("give the password in PGPASSWORD or ~/.pgpass, not in the URL")
        # The attribute `hostname` is in lower case, which would change a folder.
        named = re.sub(r":[0-9]*$", "", parts.netloc.rpartition("@")[2])
        host = options.pop("host", None) or unquote(named).strip("[]")
        host = host if host.startswith("/") else host.lower()
        ssl = options.pop("sslmode", "prefer")
        database = unquote(parts.path.removeprefix("/"))
        if options or parts.fragment:
            raise _invalid("unknown option; `host` and `sslmode` are known")
        if ssl not in get_args(SslMode):
            raise _invalid(f"sslmode must be one of {', '.join(get_args(SslMode))}")
        if not host or not database or re.search(r"[/\0]", database) or "\0" in host:
            raise _invalid("it must be postgresql://USER@HOST/DATABASE")
        user = None if parts.username is None else unquote(parts.username)
        return cls(host, database, port, user, cast("SslMode", ssl))

    def __str__(self) -> str:
        user = "" if self.user is None else f"{quote(self.user, safe='')}@"
        host = f"[{self.host}]" if ":" in self.host else quote(self.host, safe="")
        port = "" if self.port == 5432 else f":{self.port}"
        ssl = "" if self.ssl == "prefer" else f"?sslmode={self.ssl}"
        return f"postgresql://{user}{host}{port}/{quote(self.database, safe='')}{ssl}"

    @property
    def name(self) -> str:
        """Short name for messages."""
        return str(self)

    @property
    def socket_file(self) -> str | None:
        """File of the server's Unix socket; None for a network address."""
        return f"{self.host}/.s.PGSQL.{self.port}" if self.host.startswith("/") else None

    @property
    def reached(self) -> str | None:
        """URL of the only address to which a connection is made; None for a Unix socket."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return None if self.socket_file else f"postgresql://{host}:{self.port}"

    def exists(self) -> bool:
        """Return True: whether the database has a ledger is known only when it is opened."""
        return True

    def login(self) -> tuple[str, str | None]:
        """Return user and password as libpq finds them: the environment, then the password file."""
        user = self.user or os.environ.get("PGUSER") or getuser()
        return user, os.environ.get("PGPASSWORD") or next(self._in_password_file(user), None)

    def _in_password_file(self, user: str) -> Iterator[str]:
        """Yield the passwords for this database in `PGPASSFILE` or `~/.pgpass`, if only its owner can read it."""
        path = Path(os.environ.get("PGPASSFILE") or Path.home() / ".pgpass")
        try:
            if path.stat().st_mode & 0o077:
                return
            lines = read_utf8(path).splitlines()
        except (OSError, UnicodeError):
            return
        host = "localhost" if self.socket_file else self.host
        place = (host, str(self.port), self.database, user)
        for line in lines:
            fields = [re.sub(r"\\(.)", r"\1", one) for one in re.findall(r"((?:[^:\\]|\\.)*)(?::|$)", line)]
            matches = [given in ("*", own) for given, own in zip(fields[:4], place, strict=False)]
            if not line.startswith("#") and len(fields) >= 5 and all(matches):
                yield fields[4]


def _invalid(problem: str) -> ConfigError:
    # Any part can contain a password: `USER:PASSWORD/DATABASE` lacks only a host.
    return ConfigError(f"ledger postgresql://...: {problem}")


LedgerPlace = Path | PostgresUrl
"""File, or database."""


def is_url(text: str) -> bool:
    """Check whether a text is a URL, or looks like one, and is no path."""
    return re.match(r"[A-Za-z][\w+.-]*:/", text) is not None


def ledger_place(given: str | os.PathLike[str] | PostgresUrl) -> LedgerPlace:
    """Return the place that a text names: a PostgreSQL URL, or else a path.

    Raises:
        ConfigError: The URL is invalid, or not of PostgreSQL. The message does not contain a password.
    """
    if isinstance(given, str) and is_url(given):
        scheme = given.partition(":")[0]
        if scheme.lower() in _SCHEMES and given[len(scheme) :].startswith("://"):
            return PostgresUrl.parse(given)
        raise ConfigError(
            f"ledger {scheme[:30]}:...: unknown URL; give a file or postgresql://USER@HOST/DATABASE"
        )
    return given if isinstance(given, PostgresUrl) else Path(given)


def _validated(given: object) -> object:
    """Return the place of a value in a file, for pydantic."""
    try:
        return ledger_place(given) if isinstance(given, str) else given
    except ConfigError as error:
        raise ValueError(str(error)) from None


LedgerField = Annotated[
    Path | InstanceOf[PostgresUrl], BeforeValidator(_validated), PlainSerializer(str, return_type=str)
]
"""Type of a pydantic model's field."""
