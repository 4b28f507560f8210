"""Prompt texts from the folders `prompts` beside the code that asks with them.

Invariant: a text is what its file says, without the final newline; it is part of the ledger key through the message it
becomes, and of a run's manifest through its name and bytes.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def prompt_text(package: str, name: str) -> str:
    """The text of `<name>.md` in a package of prompts."""
    return files(package).joinpath(f"{name}.md").read_text(encoding="utf-8").rstrip("\n")
