"""Small tables of words, written as text.

Invariant: an entry stands in a table once; a pair is `a:b`.
"""

from __future__ import annotations


def words(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(text.split())


def pairs(text: str) -> dict[str, str]:
    """`a:b c:d` as a mapping."""
    return dict(pair.split(":") for pair in text.split())
