"""Errors that a user can fix.

    UserError              one line for the terminal: what is wrong, where, and what to do next
    ├── ConfigError        an invalid config, preset name or option
    │   └── SettingError   an invalid setting of a protocol
    ├── InputError         an unusable report, task file or claim file
    └── RunError           an unusable run directory
    JudgeError             a judge or its ledger cannot be used

Invariant: these errors are raised only where the message can name a remedy; every other exception is a bug.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from local_judge.base.problems import LONGEST_SHOWN, brief, first_problem, listed, not_json, plain, problem_of

__all__ = [
    "LONGEST_SHOWN",
    "NO_FILE",
    "ConfigError",
    "InputError",
    "JudgeError",
    "RunError",
    "SettingError",
    "UserError",
    "brief",
    "first_problem",
    "listed",
    "not_json",
    "one_line",
    "os_errors",
    "plain",
    "problem_of",
    "reason_of",
]


class UserError(Exception):
    """Mistake that the user can fix."""


class ConfigError(UserError):
    """Invalid config, preset name or option."""


class JudgeError(Exception):
    """Base of the errors of judges and their ledgers."""


class SettingError(ConfigError):
    """Invalid setting of a protocol.

    Args:
        problem: the path of the setting, and what is wrong with it.
        steps: that path.
    """

    def __init__(self, problem: str, steps: Sequence[str] = ()) -> None:
        super().__init__(f"settings.{problem}")
        self.problem, self.steps = problem, tuple(steps)


class InputError(UserError):
    """Report, task file or claim file that cannot be used."""


class RunError(UserError):
    """Run directory that cannot be used."""


def optional_module(name: str, what: str, extra: str) -> Any:
    """Import a module of an extra of this package.

    Args:
        name: dotted name of the module.
        what: name of what needs it, in the singular, for the message.
        extra: name of the extra.

    Raises:
        UserError: it is not installed; the message contains the pip command.
    """
    try:
        return import_module(name)
    except ImportError:
        raise UserError(f"{what} needs the extra `{extra}`: pip install 'local-judge[{extra}]'") from None


@contextmanager
def os_errors(kind: type[UserError], message: str) -> Generator[None]:
    """Raise an OSError of the block as `kind`: the message, then the system's reason in parentheses.

    `FILE: cannot be read` becomes `FILE: no such file` if there is none.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, FileNotFoundError) and message.endswith(_UNREAD):
            raise kind(message.removesuffix(_UNREAD) + NO_FILE) from None
        raise kind(f"{message} ({reason_of(error)})") from None


NO_FILE = "no such file"
_UNREAD = "cannot be read"


def reason_of(error: OSError) -> str:
    """Return the system's reason in a few words."""
    return NO_FILE if isinstance(error, FileNotFoundError) else error.strerror or str(error)


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
