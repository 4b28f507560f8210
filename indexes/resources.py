"""Lists of words, hosts and titles that come with a package as text files.

Invariant: one entry a line; lines that open with `#` say what the list is.
"""

from __future__ import annotations

from importlib.resources import files


def word_list(package: str, name: str) -> frozenset[str]:
    """The entries of `word_lists/<name>.txt` of a package."""
    text = files(package).joinpath("word_lists", f"{name}.txt").read_text(encoding="utf-8")
    return frozenset(line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))
