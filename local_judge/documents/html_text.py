"""Text of the elements of a page: what a reader sees of it, as characters of Markdown.

Invariant: what the page hides is no text of it, and no character becomes markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_UNSEEN = frozenset([
    "button", "datalist", "dialog", "head", "img", "input", "link", "meta", "nav", "select", "textarea", "title",
])  # fmt: skip
_UNSEEN_CLASSES = frozenset(("mw-editsection", "navbox", "noprint", "sr-only", "visually-hidden"))
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
SPACE = re.compile(r"[ \t\r\n\f\xa0]+")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def nodes(element: Any) -> Iterator[Any]:
    """Yield the texts and elements in an element, in order."""
    if element.text:
        yield element.text
    for child in element:
        if isinstance(child.tag, str):
            yield child
        if child.tail:
            yield child.tail


def is_unseen(element: Any) -> bool:
    """Check whether a reader of the page does not see an element."""
    return (
        element.tag in _UNSEEN
        or element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or _HIDDEN.search(element.get("style", "")) is not None
        or "user"
        in (element.get("data-message-author-role"), element.get("data-turn"))  # the request, in a chat
        or not _UNSEEN_CLASSES.isdisjoint(element.get("class", "").split())
    )


def escaped(text: str) -> str:
    """Return a text in which Markdown sees no tags and no code."""
    return _TAG.sub("&lt;", SPACE.sub(" ", text)).replace("`", "\\`")


def tex(math: Any) -> str:
    """Return a formula in TeX, if the page has it beside the drawn one."""
    tex = math.xpath("string(.//*[local-name()='annotation'][contains(@encoding, 'tex')])")
    return (tex or math.get("alttext") or math.text_content()).replace("$", "")


def whole(text: str | None, other: int) -> int:
    """Return the number that an attribute has; `other` without one."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 6 else other
