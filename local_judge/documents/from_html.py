"""Conversion of HTML into the Markdown that `parse_report` reads.

Invariants: the words are those that a reader of the page sees, in order; what the page hides or draws (scripts, menus,
`display: none`) is left out; a link within the page that cites becomes a footnote, `[^1]`, and its target the note;
other links keep their address, and none is opened. Too deep or too large input is refused, never cut.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

from indexes.limits import MAX_MARKUP
from indexes.text.markup import MAX_DEPTH
from local_judge.documents.html_notes import (
    BLOCKS,
    HEADINGS,
    WIDE,
    Notes,
    address_of,
    flat,
    host_of,
    is_short,
    is_web,
)
from local_judge.documents.html_text import SPACE, escaped, is_unseen, nodes, tex, whole
from local_judge.documents.model import UnreadableReport

# Neither has types.
_etree: Any = importlib.import_module("lxml.etree")
_html: Any = importlib.import_module("lxml.html")

MAX_ELEMENTS = 100_000
"""Maximum number of elements; a long article of an encyclopedia has 20 thousand."""

_DROPPED = ("audio", "canvas", "iframe", "noscript", "object", "script", "style", "svg", "template", "video")
_RAISED = re.compile(r"vertical-align\s*:\s*super", re.IGNORECASE)
_RAISED_CLASS = re.compile(r"\.([\w-]{1,60})\{[^{}]{0,1000}vertical-align\s*:\s*super", re.IGNORECASE)
_TOO_DEEP: Any = _etree.XPath(f"boolean({'/*' * (MAX_DEPTH + 1)})")

_BREAKS = re.compile(r" *\n *(?:\n *)+")
_OPENING = re.compile(r"#{1,6}\s|>|[-+*]\s|```|~~~|\||[-=]{3,}\s*$")
"""Beginnings of lines that Markdown would read as structure. Numbers stay: they may number a list of sources."""
_LINE = re.compile(r"\n(?=[^\n])")
_NOTE = r"\[\^?[^\[\]\s]+\](?!\()"
_NOTES = re.compile(rf"\s*{_NOTE}(?:[\s,;]*{_NOTE})*\s*")
_BRACKETED = re.compile(rf"[\[(]\s*({_NOTE}(?:[\s,;–—-]*{_NOTE})*)\s*[\])]")
_RANGE = re.compile(r"\[(\^?)(\d{1,4})\]\s?[–—-]\s?\[\1(\d{1,4})\]")
_BACKLINKS = re.compile(r"^[\s^↑⇑]+|[\s↑⇑↩\ufe0e]+$")
_LONGEST_RANGE = 100
_DEEPEST_LIST = 8
_MAIN_SHARE = 0.5
"""Share of the words of a page that its main part has; with less, the whole page is read."""


def markdown_of_html(markup: str) -> str:
    """Return a page as Markdown.

    Args:
        markup: The page, decoded.

    Raises:
        UnreadableReport: The page is too large or nested too deeply, or has no text.
    """
    if len(markup) > MAX_MARKUP:
        raise UnreadableReport(f"the HTML has {len(markup):,} characters, at most {MAX_MARKUP:,} are read")
    parser = _html.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    try:
        tree = _html.document_fromstring(markup.encode("utf-8", "replace"), parser=parser)
    except (_etree.ParserError, _etree.XMLSyntaxError):
        raise UnreadableReport("the HTML has no elements") from None
    if _TOO_DEEP(tree):
        raise UnreadableReport(f"the HTML has elements nested more than {MAX_DEPTH} deep")
    if (n := sum(1 for _ in tree.iter())) > MAX_ELEMENTS:
        raise UnreadableReport(f"the HTML has {n:,} elements, at most {MAX_ELEMENTS:,} are read")
    text = _Page(tree).markdown()
    if not text:
        raise UnreadableReport(
            "the HTML has no text of its own; save the page from a browser, which draws it"
        )
    return text


class _Page:
    """One page.

    Args:
        tree: Its elements; those that show no text are removed.
    """

    def __init__(self, tree: Any) -> None:
        rules = " ".join(style.text or "" for style in tree.iter("style"))
        self._raised = frozenset(_RAISED_CLASS.findall(rules))  # by Google Docs
        _etree.strip_elements(tree, *_DROPPED, with_tail=False)
        self._elements = list(tree.iter())  # alive, so that an element is always the same object
        address = tree.xpath("string(//link[@rel='canonical']/@href | //meta[@property='og:url']/@content)")
        self._notes = Notes(self._elements, address)
        self._site = host_of(self._notes.address)
        self._with_blocks: set[Any] = set()
        for element in self._elements:
            if element.tag in BLOCKS:
                for outer in element.iterancestors():
                    if outer in self._with_blocks:
                        break
                    self._with_blocks.add(outer)
        self._written: set[Any] = set()
        self._root = self._main(tree)

    def markdown(self) -> str:
        blocks = list(self._blocks(self._root, 0))
        for note in self._notes.shown:  # at the end of the page, outside its main part
            blocks += self._note(note)
        return "\n\n".join(blocks)

    def _main(self, tree: Any) -> Any:
        """Return the main part of the page, if it is marked and has most of the words."""
        body = tree.find("body")
        whole = tree if body is None else body
        enough = _MAIN_SHARE * len(whole.text_content())
        articles = tree.xpath("//article")
        for part in (*tree.xpath("//main | //*[@role='main']"), *(articles if len(articles) == 1 else ())):
            if len(part.text_content()) >= enough:
                return part
        return whole

    def _note(self, element: Any) -> Iterator[str]:
        if element in self._written:
            return
        self._written.add(element)
        text = _BACKLINKS.sub("", self._line(element, note=element))
        key = self._notes.shown[element]
        yield f"[{key}]: {text}" if key.startswith("^") else text

    # Blocks

    def _blocks(self, element: Any, depth: int) -> Iterator[str]:
        """Yield the blocks in an element."""
        line: list[str] = []
        for node in nodes(element):
            if isinstance(node, str):
                line.append(escaped(node))
            elif node.tag in BLOCKS or node in self._with_blocks:
                yield from self._paragraphs("".join(line))
                line = []
                if not is_unseen(node):
                    yield from self._block(node, depth)
            else:
                line.append(self._inline(node))
        yield from self._paragraphs("".join(line))

    def _block(self, element: Any, depth: int) -> Iterator[str]:
        if element in self._notes.shown:
            yield from self._note(element)
        elif element.tag in HEADINGS:
            if line := self._line(element):
                yield "#" * int(element.tag[1]) + " " + line
        elif element.tag == "pre":
            text = next(element.iter("code"), element).text_content().strip("\n")
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
            yield f"{fence}\n{text}\n{fence}"
        elif element.tag in ("ul", "ol") and depth < _DEEPEST_LIST:
            yield from self._list(element, depth + 1)
        elif element.tag == "blockquote" and depth < _DEEPEST_LIST:
            lines = "\n\n".join(self._blocks(element, depth + 1)).split("\n")
            yield "\n".join(f"> {line}".rstrip() for line in lines)
        elif element.tag == "table" and not self._is_layout(element):
            yield from self._table(element)
        else:
            yield from self._blocks(element, depth)

    def _list(self, element: Any, depth: int) -> Iterator[str]:
        items: list[str] = []
        number = whole(element.get("start"), 1)
        for item in element:
            if item in self._notes.shown:
                yield from self._note(item)
            elif item.tag != "li":
                items += self._blocks(item, depth)
            elif not is_unseen(item) and not self._is_contents(item):
                number = whole(item.get("value"), number)
                marker = f"{number}. " if element.tag == "ol" else "- "
                number += 1
                text = "\n\n".join(self._blocks(item, depth))
                if text:
                    items.append(marker + _LINE.sub("\n" + " " * len(marker), text))
        if items:
            yield "\n".join(items)

    def _is_contents(self, item: Any) -> bool:
        """Check whether an item is a line of a table of contents: nothing but a link within the page."""
        link = next(item.iter("a"), None)
        return (
            link is not None
            and link not in self._notes.cited
            and bool(self._notes.fragment(link.get("href", "")))
            and flat(item.text_content()) == flat(link.text_content()) != ""
        )

    def _is_layout(self, table: Any) -> bool:
        """Check whether cells hold more than a line each."""
        return any(
            inner.tag in WIDE or inner.tag in ("pre", "blockquote")
            for cell in table.iter("td", "th")
            for inner in cell.iterdescendants()
        )

    def _table(self, table: Any) -> Iterator[str]:
        rows: list[list[str]] = []
        for row in table.iter("tr"):
            if row in self._notes.shown:
                yield from self._note(row)
            elif any(
                cells := [self._line(cell).replace("|", "\\|") for cell in row if cell.tag in ("td", "th")]
            ):
                rows.append(cells)
        for caption in table.iter("caption"):
            yield from self._paragraphs(self._line(caption))
        if rows:
            lines = [f"| {' | '.join(row)} |" for row in rows]
            yield "\n".join((lines[0], "|" + " --- |" * max(map(len, rows)), *lines[1:]))

    def _paragraphs(self, text: str) -> Iterator[str]:
        for part in _BREAKS.split(self._joined(text)):
            lines = [flat(line) for line in part.split("\n")]
            if any(lines):
                yield "  \n".join("\\" * bool(_OPENING.match(line)) + line for line in lines if line)

    # Lines

    def _line(self, element: Any, note: Any = None) -> str:
        """Return an element as one line, whatever blocks it has."""
        return flat(self._joined(self._inlines(element, note)))

    def _joined(self, text: str) -> str:
        """Return a text with the brackets around marks removed, and ranges of marks written out."""

        def between(match: re.Match[str]) -> str:
            low, high = int(match[2]), int(match[3])
            if not 0 <= high - low <= _LONGEST_RANGE:
                return match[0]
            return "".join(f"[{match[1]}{key}]" for key in range(low, high + 1))

        return _RANGE.sub(between, _BRACKETED.sub(r"\1", text)) if "[" in text else text

    def _inlines(self, element: Any, note: Any = None) -> str:
        parts: list[str] = []
        for node in nodes(element):
            if isinstance(node, str):
                parts.append(escaped(node))
            elif node.tag in BLOCKS:
                parts += [" ", "" if is_unseen(node) else self._inlines(node, note), " "]
            else:
                parts.append(self._inline(node, note))
        return "".join(parts)

    def _inline(self, element: Any, note: Any = None) -> str:
        """Return an element as a part of a line.

        Args:
            element: The element.
            note: Note that it belongs to, in which marks are no citations.
        """
        if element.tag == "br":
            return "\n"
        if element.tag == "math":
            return f" ${flat(tex(element))}$ "
        if is_unseen(element):  # what shows a formula may be a picture of it
            return "".join(self._inline(math, note) for math in element.iter("math"))
        if element in self._notes.cited and note is None:
            return self._mark(element)
        if element.tag == "a":
            return self._link(element, note)
        keys = element.get("data-cites", "").split()
        if keys and not element.text_content().strip():  # pandoc, without a list of sources
            return "".join(f"[^{key}]" for key in keys)
        text = self._inlines(element, note)
        if self._is_raised(element) and text.strip() and not _NOTES.fullmatch(text):
            return f"<sup>{text.strip()}</sup>"
        if element.tag in ("code", "kbd", "samp", "tt") and text.strip() and "`" not in text:
            return f"`{text.strip()}`"
        return text

    def _is_raised(self, element: Any) -> bool:
        return (
            element.tag == "sup"
            or _RAISED.search(element.get("style", "")) is not None
            or not self._raised.isdisjoint(element.get("class", "").split())
        )

    def _mark(self, element: Any) -> str:
        marks, text = self._notes.mark(element), flat(escaped(element.text_content()))
        return marks if is_short(text) else f"{text}{marks}"

    def _link(self, element: Any, note: Any) -> str:
        href = address_of(element)
        text = self._inlines(element, note)
        if self._notes.fragment(href):
            if note is None:
                return text
            other = next((other for other in self._notes.cited.get(element, ()) if other is not note), None)
            return text + self._address_of(other) if other is not None else ""
        if not is_web(href) or host_of(href) == self._site or not text.strip():
            return text
        if flat(text).startswith(("http://", "https://", "www.")):
            return f"<{href}>" if not re.search(r"[\s<>]", href) else text
        if text.count("[") != text.count("]"):
            text = re.sub(r"[\[\]]", "", text)
        return f"[{flat(text)}](<{re.sub(r'[<>]', '', SPACE.sub('%20', href))}>)"

    def _address_of(self, note: Any) -> str:
        """Return the first address of another note, for a note such as `Kim 2024, p. 3` that refers to it."""
        return next((f" <{href}>" for link in note.iter("a") if is_web(href := address_of(link))), "")
