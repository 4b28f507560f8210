r"""Extraction of title, date and main text from HTML.

Invariant: the text has the characters that a reader of the page sees, in order: no mark stands inside a sentence, so
that what is quoted from the page is found in the text. Marks are at the beginnings of lines (`#`, `-`, `1.`), between
the cells of a table (`|`) and around code blocks (```` ``` ````).

trafilatura finds the main text. Its Markdown output keeps headings, lists and tables; emphasis and code within a line
are taken out before, and the backslashes that it puts before signs of Markdown are taken out after.
"""

from __future__ import annotations

import importlib
import logging
import re
from datetime import date
from typing import Any, NamedTuple

import trafilatura

from indexes.text.dates import changed_in_html, published_in_html

# What it says of a page is in the page's reason; on standard error it would only break a progress bar.
logging.getLogger("trafilatura").setLevel(logging.CRITICAL)

OPTIONS: dict[str, str | bool] = {
    "output_format": "markdown",
    "deduplicate": False,
    "include_comments": False,
    "include_images": False,
    "include_links": False,
    "include_tables": True,
}

MAX_DEPTH = 255
"""Elements around an element, at most. The parser drops what is deeper, and real pages have about 30."""

_etree: Any = importlib.import_module("lxml.etree")  # has no types
_TOO_DEEP: Any = _etree.XPath(f"boolean({'/*' * (MAX_DEPTH + 1)})")
_CODE_IN_LINE: Any = _etree.XPath(
    "//code[not(ancestor::pre) and not(descendant::br) and not(contains(., '\n'))]"
)
# What trafilatura leaves out wherever it stands: lists in cells, figures with their captions (and with the tables that
# WordPress puts into them), boxes beside the text.
_CELLS: Any = _etree.XPath("//*[self::td or self::th][.//li or .//dd]")
_BLOCKS = ("ul", "ol", "li", "dl", "dt", "dd")
_CELL_WORDS = 200
"""A cell with more is no part of a table of data but holds the page, whose lists are read as such."""
_CAPTIONS: Any = _etree.XPath("//figcaption | //*[contains(@class, 'wp-caption')]")
_TABLE_CAPTIONS: Any = _etree.XPath("//table/caption")
_BOXES: Any = _etree.XPath("//figure | //article//aside")
_CREDIT_WORDS = 4
"""Words of a caption that names a photographer only."""
_LINKED_SHARE = 0.3
"""Largest share of a box's words that are links; one with more leads to other pages."""
_EMPHASIS = ("b", "strong", "i", "em", "u", "tt", "kbd", "samp", "var", "del", "s", "strike", "mark")
_XML_DECLARATION = re.compile(r"\s*<\?xml[^>]*>")
_WHOLE_PAGE = re.compile(r"<(?:html|body)\b", re.IGNORECASE)
_REFERENCE = re.compile(r"&#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?")
_FENCE = "```"
# An odd number of backslashes before a sign is the page's own, each twice, and the one that was put there.
_ESCAPED = re.compile(r"\\((?:\\\\)*)([*_`~\[\]<|])")
_ESCAPED_OPENING = re.compile(r"([ \t]*(?:[-+] |\d+\. )?\d*)\\(?=[#>+.)-])")


class MarkupText(NamedTuple):
    """Content of an HTML page. Texts keep their white space."""

    title: str
    published: str | None
    changed: str | None
    text: str


class MarkupRefused(ValueError):
    """HTML that cannot be read; the message is fit for a page's reason."""


def read_markup(markup: str, url: str | None, latest: date) -> MarkupText | None:
    """Title, dates and main text of a page; None if it has no elements.

    Args:
        markup: the page, decoded.
        url: where it came from, if it is known.
        latest: see `dates.latest_date`.

    Raises:
        MarkupRefused: the elements are nested deeper than the parser goes.
    """
    # lxml refuses text that declares an encoding, and would trust the declaration over the text.
    if declaration := _XML_DECLARATION.match(markup):
        markup = markup[declaration.end() :]
    if not _WHOLE_PAGE.search(markup):
        markup = f"<html><body>{markup}</body></html>"  # the library takes a lone fragment for something else
    tree: Any = trafilatura.load_html(_REFERENCE.sub(_permit, markup))
    if tree is None:
        return None
    if _TOO_DEEP(tree):
        raise MarkupRefused(f"the HTML has elements nested more than {MAX_DEPTH} deep")
    title: str = tree.findtext(".//title") or ""
    published, changed = published_in_html(tree, url, latest), changed_in_html(tree)
    _keep_boxes(tree)
    for element in _CODE_IN_LINE(tree):
        element.tag = "tt"
    # In one pass: taking them out one by one copies the paragraph each time.
    _etree.strip_tags(tree, *_EMPHASIS)
    options: Any = OPTIONS
    return MarkupText(
        title, published, changed, unescape_markdown(trafilatura.extract(tree, **options) or "")
    )


def _keep_boxes(tree: Any) -> None:
    """Give the elements that trafilatura would leave out names that it reads."""
    for cell in _CELLS(tree):
        if _n_words(cell) <= _CELL_WORDS:
            for element in cell.iter(*_BLOCKS):
                element.tag = "div"
    for element in _BOXES(tree):
        linked = sum(_n_words(link) for link in element.iter("a"))
        if _n_words(element) > _CREDIT_WORDS and linked <= _LINKED_SHARE * _n_words(element):
            element.tag = "div"
    for element in _CAPTIONS(tree):
        if _n_words(element) > _CREDIT_WORDS:
            element.attrib.pop("class", None)
            element.tag = "p" if element.tag == "figcaption" else element.tag
    for element in _TABLE_CAPTIONS(tree):
        element.tag = "p"
        element.getparent().addprevious(element)


def _n_words(element: Any) -> int:
    return len("".join(element.itertext()).split())


def _permit(reference: re.Match[str]) -> str:
    """A character reference; a space for a character that XML does not have, at which trafilatura gives up the page."""
    hexadecimal, decimal = reference.groups()
    digits = (hexadecimal or decimal).lstrip("0") or "0"
    code = int(digits[:8], 16 if hexadecimal else 10)  # no character has more digits
    if code in (0x9, 0xA, 0xD) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code >= 0x10000:
        return reference[0]
    return " "


def unescape_markdown(markdown: str) -> str:
    """`markdown` without the backslashes before signs that would be marks, code blocks as they are."""
    lines = markdown.split("\n")
    fenced = False
    for number, line in enumerate(lines):
        if line.startswith(_FENCE):
            fenced = not fenced
        elif not fenced and "\\" in line:
            line = _ESCAPED_OPENING.sub(r"\1", line, count=1) if _ESCAPED_OPENING.match(line) else line
            lines[number] = _ESCAPED.sub(_own, line)
    return "\n".join(lines)


def _own(match: re.Match[str]) -> str:
    return match[1][: len(match[1]) // 2] + match[2]
