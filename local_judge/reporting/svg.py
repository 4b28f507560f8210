"""What all pictures share.

Invariant: a name that is shown is text, whatever it holds: no markup, and no character that XML forbids.
"""

from __future__ import annotations

from xml.sax.saxutils import escape

LONGEST = 40
"""Characters of a name that are shown."""


def svg_text(text: str) -> str:
    """A name as the text of an element, cut to `LONGEST` characters."""
    shown = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return escape("".join(character if character.isprintable() else " " for character in shown))
