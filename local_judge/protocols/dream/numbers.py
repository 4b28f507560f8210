"""Numbers in judges' answers."""

from __future__ import annotations


def no_boolean(value: object) -> object:
    """JSON's `true` is no 1, though Python's is: a check before a number is read."""
    if isinstance(value, bool):
        raise ValueError("true and false are no scores")
    return value
