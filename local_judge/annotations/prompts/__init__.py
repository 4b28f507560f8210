"""Prompt texts of the measures against annotations."""

from __future__ import annotations

from functools import partial

from local_judge.judge.templates import prompt_text

template = partial(prompt_text, __name__)
"""The text of `<name>.md`."""
