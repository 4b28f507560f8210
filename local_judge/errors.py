"""Errors of the evaluator that a user can mend.

    UserError              one line for the terminal: names the value, the place and the remedy
    ├── ConfigError        a config, a preset name or an option that is wrong
    ├── InputError         a report, a task file or a claim file that cannot be used
    └── RunError           a run directory that cannot be used

Invariant: whoever raises one of these has a remedy to name; everything else that is raised is a defect of ours.
"""

from __future__ import annotations

from typing import cast

LONGEST_SHOWN = 60
"""Characters of a value in a message."""


def brief(value: object) -> str:
    """A wrong value as a message shows it: a container by its kind alone, since it may hold itself many times over."""
    if isinstance(value, dict | list | tuple | set):
        return f"a {type(cast('object', value)).__name__}"
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def plain(text: str) -> str:
    """Untrusted text as one line without control characters, for where no markup is read."""
    return "".join(character if character.isprintable() else " " for character in text)


class UserError(Exception):
    """A mistake that the user can mend."""


class ConfigError(UserError):
    """A config, a preset name or an option that is wrong."""


class InputError(UserError):
    """A report, a task file or a claim file that cannot be used."""


class RunError(UserError):
    """A run directory that cannot be used."""
