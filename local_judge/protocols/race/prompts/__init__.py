"""Prompt texts of RACE; each is part of the ledger key through the message it becomes."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def template(name: str) -> str:
    """The text of `<name>.md`, without its final newline."""
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8").rstrip("\n")
