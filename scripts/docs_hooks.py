"""Hooks of the documentation site, which fill pages with what the code already says.

A line that contains only a link to a model, such as ``[`Claim`](../local_judge/claims/model.py)``, becomes a table of
its fields. The line `<!-- commands -->` becomes the reference of all commands.
"""

from __future__ import annotations

import re
from typing import Any

from scripts.command_reference import reference
from scripts.field_tables import field_table

FENCE = re.compile(r"^(\s*```\w+) .*$", re.MULTILINE)
MODEL = re.compile(r"^\[`(\w+)`\]\((?:\.\./)+((?:local_judge|serving|indexes)/[\w/]+)\.py\)$", re.MULTILINE)
COMMANDS = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in tables of fields and commands; remove what follows the language of a code block.

    The rest of that line says how tests check the block.
    """
    filled = MODEL.sub(lambda found: field_table(found[2].replace("/", "."), found[1]), markdown)
    if COMMANDS in filled:
        filled = filled.replace(COMMANDS, reference())
    return FENCE.sub(r"\1", filled)
