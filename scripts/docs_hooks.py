"""Hooks of the documentation site."""

from __future__ import annotations

import re
from typing import Any

FENCE = re.compile(r"^(\s*```\w+) .*$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Remove what follows the language of a code block, which says how tests check the block."""
    return FENCE.sub(r"\1", markdown)
