"""What a cleaning took away.

Invariant: removals do not overlap, come in the order of the text, and applied to the original they give the
cleaned text exactly: nothing is changed that they do not name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from local_judge.documents.model import Span
from serving.types import Frozen

RemovalKind = Literal["marker", "link", "bare_url", "reference_section", "footnote", "chatter"]
"""`marker` is a mark with no words of the report in it: `[1]`, `(Kim, 2024)`, `([Reuters](https://…))`. `link` is a
link whose text stays. `footnote` is the definition of one, outside a list of references. `chatter` is what stands
before the report or around it."""


class Removal(Frozen):
    """One stretch of the original that was taken away or replaced."""

    span: Span
    """In the original, with the white space, brackets and separators that went along."""
    kind: RemovalKind
    text: str
    """The original's text at `span`."""
    replacement: str = ""


class Cleaned(Frozen):
    """A report without its citations."""

    text: str
    removed: tuple[Removal, ...]


def applied(text: str, removed: Sequence[Removal]) -> str:
    """`text` with the removals applied."""
    parts: list[str] = []
    position = 0
    for removal in removed:
        parts += text[position : removal.span.start], removal.replacement
        position = removal.span.end
    return "".join(parts) + text[position:]
