"""Prompt texts of building tasks."""

from __future__ import annotations

import hashlib
from functools import partial
from importlib.resources import files

from local_judge.judge.templates import prompt_text
from local_judge.tasks.prompts import template as need_template

template = partial(prompt_text, __name__)
"""The text of `<name>.md`."""


def digest() -> str:
    """SHA-256 of the names and texts of all prompts that a build asks with, the one of `tasks filter` among them."""
    folder = files(__name__)
    texts = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.name.endswith(".md")}
    texts["need.md"] = need_template("need").encode()
    found = hashlib.sha256()
    for name in sorted(texts):
        found.update(name.encode() + b"\0" + texts[name] + b"\0")
    return found.hexdigest()
