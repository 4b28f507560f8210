"""Errors that a user can fix.

    UserError              one line for the terminal: what is wrong, where, and what to do next
    ├── ConfigError        an invalid config, preset name or option
    ├── InputError         an unusable report, task file or claim file
    └── RunError           an unusable run directory

Invariant: these errors are raised only where the message can name a remedy; every other exception is a bug.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pydantic import ValidationError  # the help of the command line does without it

LONGEST_SHOWN = 60
"""Maximum number of characters of a value quoted in a message."""


class UserError(Exception):
    """Mistake that the user can fix."""


class ConfigError(UserError):
    """Invalid config, preset name or option."""


class InputError(UserError):
    """Report, task file or claim file that cannot be used."""


class RunError(UserError):
    """Run directory that cannot be used."""


@contextmanager
def os_errors(kind: type[UserError], message: str) -> Generator[None]:
    """Raise an OSError of the block as `kind`: the message, then the system's reason in parentheses."""
    try:
        yield
    except OSError as error:
        raise kind(f"{message} ({error.strerror or error})") from None


def first_problem(error: ValidationError, whole: str = "") -> str:
    """Return the first problem that a model reports, as `key.subkey: problem`.

    Args:
        error: raised by a pydantic model.
        whole: name of the value itself, for a problem that belongs to no single key.
    """
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"])) or whole
    if first["type"] == "extra_forbidden":
        return f"unknown key {key!r}"
    if first["type"].startswith("date_"):
        return f"{key} must be YYYY-MM-DD"
    if first["type"] == "tuple_type" and key:
        return f"{key} must be a list"
    problem = first["msg"].removeprefix("Value error, ")
    return f"{key}: {problem}" if key else problem


def brief(value: object) -> str:
    """Quote a wrong value for a message: a container only by its type, since it may be huge or contain itself."""
    if isinstance(value, dict | list | tuple | set):
        return f"a {type(cast('object', value)).__name__}"
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def plain(text: str) -> str:
    """Return untrusted text as one line without control characters, for output without markup."""
    return "".join(character if character.isprintable() else " " for character in text)


def one_line(message: object) -> str:
    """Return a message as the terminal shows it: one line, no control characters, long quoted text shortened.

    This is the last safeguard. Code that quotes a value in a message shortens it with `brief`.
    """
    text = _LONG_WORD.sub(r"\1…", _LONG_QUOTED.sub(r"\1\2…\1", plain(str(message))))
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}…"


_LONGEST_MESSAGE = 1_500
"""Maximum number of characters of a message: room for two long paths and what is wrong with them."""
_LONG_QUOTED = re.compile(r"(?<!\w)(['\"])([^'\"]{200})[^'\"]+\1")
_LONG_WORD = re.compile(r"([^\s/]{256})[^\s/]+")
"""Word longer than any part of a path."""
