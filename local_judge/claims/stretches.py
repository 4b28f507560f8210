"""Stretches of a page's text.

Invariant: stretches are shown in page order, and no character twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

GAP = "[…]"
"""Stands between stretches that are not adjacent in the page."""

Stretch = tuple[int, int]
"""Offsets `[start, end)` into a page's text."""


def merged(stretches: Iterable[Stretch], text: str) -> list[Stretch]:
    """Sort stretches in page order; join those that overlap or have nothing but white space between them."""
    found: list[Stretch] = []
    for start, end in sorted(stretches):
        if found and not text[found[-1][1] : start].strip():
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def joined(stretches: Sequence[Stretch], text: str) -> str:
    """The text of merged stretches, with `GAP` between them."""
    return f"\n{GAP}\n".join(text[start:end].strip() for start, end in stretches)
