"""Hooks of the documentation site, which fill pages with what the code already says.

A line that contains only a link to a model, such as ``[`Claim`](../local_judge/claims/model.py)``, becomes a table of
its fields. The line `<!-- commands -->` becomes the reference of all commands, and `<!-- rubric items -->` a table of
DEER's items for each dimension.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from local_judge.protocols.deer.rubric.load import label_of, load_rubric
from scripts.command_reference import reference
from scripts.field_tables import field_table

FENCE = re.compile(r"^(\s*```\w+) .*$", re.MULTILINE)
MODEL = re.compile(r"^\[`(\w+)`\]\((?:\.\./)+((?:local_judge|serving|indexes)/[\w/]+)\.py\)$", re.MULTILINE)
COMMANDS = "<!-- commands -->"
ITEMS = "<!-- rubric items -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in tables of the code; remove what follows the language of a code block.

    The rest of that line says how tests check the block.
    """
    filled = MODEL.sub(lambda found: field_table(found[2].replace("/", "."), found[1]), markdown)
    if COMMANDS in filled:
        filled = filled.replace(COMMANDS, reference())
    if ITEMS in filled:
        filled = filled.replace(ITEMS, "\n".join(_rubric()))
    return FENCE.sub(r"\1", filled)


def _rubric() -> Iterator[str]:
    for dimension, items in groupby(load_rubric().items(), key=lambda row: row[0][0]):
        yield f"\n### {label_of(dimension)}\n\n| item | text |\n|---|---|"
        for path, item in items:
            yield f"| `{'.'.join(path[1:])}` | {item.text} |"
