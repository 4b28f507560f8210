"""Citations that an HTML page makes by links within itself, and the notes that they lead to.

Invariant: a link is a citation only if it leads forwards to a short block without a heading, list or table, and looks
like a mark (`1`, `[a]`, `Kim 2024`, or raised) or leads to an address. Links to sections, tables and back are none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, count
from typing import Any
from urllib.parse import parse_qs, unquote, urldefrag, urlsplit

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
BLOCKS = frozenset([
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "html", "li", "main", "ol", "p", "pre",
    "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul", *HEADINGS,
])  # fmt: skip
WIDE = frozenset(
    ("article", "body", "figure", "form", "html", "main", "ol", "table", "tbody", "ul", *HEADINGS)
)
"""Blocks that are not a note, nor in one."""

_SHORT = re.compile(r"\W*(\w{1,4})\W*")
_YEAR = re.compile(r"(?:19|20)\d\d")
_LONGEST_NOTE = 2_000


class Notes:
    """Notes of a page, and the elements that cite them.

    Args:
        elements: All elements of the page, in order.
        address: Address of the page; if empty, that of most links to places in it.
    """

    def __init__(self, elements: Sequence[Any], address: str) -> None:
        self._order = {element: index for index, element in enumerate(elements)}
        self.shown: dict[Any, str] = {}
        """Marks of the notes by their blocks: `^1`, or `1` for a note that begins with `[1]`, as its neighbours may."""
        self._taken: set[str] = set()
        self.cited: dict[Any, list[Any]] = {}
        """Notes that an element cites."""
        self._fit: dict[Any, bool] = {}
        self._linked: dict[Any, bool] = {}
        named: dict[str, Any] = {}
        for element in elements:
            for name in (element.get("id"), element.get("name") if element.tag == "a" else None):
                if name:
                    named.setdefault(name, element)
        bases = Counter(
            base
            for element in elements
            if element.tag == "a"
            for base, place in [_places(element.get("href", ""))]
            if base and place in named
        )
        self.address = address or max(bases, key=lambda base: bases[base], default="")
        for element in elements:
            names = [f"ref-{key}" for key in element.get("data-cites", "").split()]  # pandoc
            if element.tag == "a" and (name := self.fragment(element.get("href", ""))):
                names = [name]
            found: list[Any] = []
            for name in names:
                note = self._note_at(named.get(name), element)
                if note is not None:
                    found.append(note)
                    if note not in self.shown:
                        self._add(note, element.text_content(), name)
            if found and not any(outer in self.cited for outer in element.iterancestors()):
                self.cited[element] = found

    def fragment(self, href: str) -> str:
        """Return the name of a place within this page; browsers save such links with the address of the page."""
        address, place = _places(href)
        return place if not address or address == self.address else ""

    def mark(self, element: Any) -> str:
        """Return the marks of an element that cites, as Markdown."""
        return "".join(f"[{self.shown[note]}]" for note in self.cited[element])

    def _note_at(self, target: Any, mark: Any) -> Any:
        """Return the block at the target of a link, if the link cites it; else None."""
        while target is not None and target.tag not in BLOCKS:
            target = target.getparent()
        if target is not None and target.tag in ("td", "th"):
            target = target.getparent()
        if target is None or self._order[target] < self._order[mark]:
            return None
        if target not in self._fit:
            self._fit[target] = (
                target.tag not in WIDE
                and not any(inner.tag in WIDE for inner in target.iterdescendants())
                and sum(map(len, target.itertext())) <= _LONGEST_NOTE
            )
        if not self._fit[target]:
            return None
        text = mark.text_content()
        cites = (
            is_short(text)
            or _YEAR.search(text)
            or any(outer.tag == "sup" for outer in (mark, *mark.iterancestors()))
            or self._has_web_link(target)
        )
        return target if cites else None

    def _has_web_link(self, target: Any) -> bool:
        if target not in self._linked:
            self._linked[target] = any(is_web(link.get("href", "")) for link in target.iter("a"))
        return self._linked[target]

    def _add(self, note: Any, mark: str, name: str) -> None:
        """Choose a key for a note: the number that its marks show, else the name of the place, else a number."""
        shown = _SHORT.fullmatch(mark)
        names = (shown[1] if shown else "", re.sub(r"[^\w.-]+", "-", name)[:39])
        numbers = (f"n{number}" for number in count(len(self.shown)))
        key = next(key for key in chain(names, numbers) if key and key not in self._taken)
        self._taken.add(key)
        leads_back = any(self.fragment(link.get("href", "")) for link in note.iter("a"))
        is_numbered = flat(note.text_content()).startswith(f"[{key}]") and not leads_back
        self.shown[note] = key if is_numbered else f"^{key}"


def _places(href: str) -> tuple[str, str]:
    """Return the address of a link and the name of the place in its page."""
    try:
        address, fragment = urldefrag(href)
    except ValueError:  # no address at all
        return "", ""
    return address, unquote(fragment)


def is_short(text: str) -> bool:
    """Check whether the text of a link is a mark, such as `[1]` or `a`."""
    return _SHORT.fullmatch(text) is not None


def flat(text: str) -> str:
    """Return a text with single spaces."""
    return " ".join(text.split())


def address_of(link: Any) -> str:
    """Return the address that a link has; Google Docs puts one of its own around it."""
    href: str = link.get("href", "").strip()
    href = f"https:{href}" if href.startswith("//") else href
    if href.startswith("https://www.google.com/url?"):
        return parse_qs(urldefrag(href)[0].partition("?")[2]).get("q", [href])[0]
    return href


def is_web(href: str) -> bool:
    """Check whether the target of a link is an address of the web."""
    return href.startswith(("http://", "https://"))


def host_of(address: str) -> str | None:
    """Return the host of an address; None without one."""
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
