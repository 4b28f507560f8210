"""Facts about a page from its markup, or from its text where it has none.

Invariant: a function of the characters; whatever they are, it answers, in a time that grows with their number. Nothing
here decides anything.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_etree: Any = importlib.import_module("lxml.etree")  # has no types

_UNSEEN = ("script", "style", "noscript", "template", "svg", "head", "iframe", "select", "textarea")
_PROSE = 40
"""Characters; shorter paragraphs are labels, bylines and buttons."""
_KEPT_TEXT = 20_000
_LONGEST_TITLE = 300
_LONGEST_HEADING = 80
"""Characters; a longer first line of plain text is its first paragraph."""
_INLINE = re.compile(r"a|abbr|b|cite|code|em|font|i|mark|q|small|span|strong|sub|sup|u")
_BREAK = "\u2029"
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])")
_SENTENCE_MARKS = (".", "!", "?", "…", "。", "！", "？")
_CLOSING = "\"'”’»)]"
_TITLE_MARK = re.compile(r"(?:#+\s+|Title:\s*)")
"""Mark before the title in Markdown and in the texts of reader services."""
_FREE = re.compile(r'"isAccessibleForFree"\s*:\s*(?:"\s*)?(true|false)', re.IGNORECASE)
_REFRESH = re.compile(r"""\s*(\d{1,6}(?:\.\d*)?)\s*[;,\s]\s*(?:url\s*=\s*)?['"]?([^'"]*)""", re.IGNORECASE)


@dataclass(frozen=True)
class Facts:
    """Facts about one page."""

    title: str = ""
    text: str = ""
    """Text that a reader without scripts sees, with collapsed white space; its first 20,000 characters."""
    n_text: int = 0
    """Characters of all of it."""
    n_prose: int = 0
    """Characters in paragraphs that are more than labels."""
    sentences: tuple[str, ...] = ()
    """Sentences of 40 characters and more in `text`: closed by a mark, so that labels and navigation are none."""
    n_scripts: int = 0
    metas: tuple[tuple[str, str], ...] = ()
    """Name (in lower case) and content of `<meta name>` and `<meta property>`."""
    pdf_links: tuple[str, ...] = ()
    """`<link rel=alternate type=application/pdf>`."""
    base: str | None = None
    refresh: tuple[float, str] | None = None
    """Seconds and address of `<meta http-equiv=refresh>`, outside `<noscript>`."""
    asks_password: bool = False
    free: bool | None = None
    """schema.org's isAccessibleForFree, where the page says it of itself."""

    def meta(self, name: str) -> str | None:
        """The first non-empty content of this name."""
        return next((content for key, content in self.metas if key == name and content), None)


def read_facts(source: str) -> Facts:
    """Look through the (beginning of the) characters of an HTML page."""
    parser = _etree.HTMLParser(
        encoding="utf-8", recover=True, no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        tree: Any = _etree.fromstring(source.encode("utf-8", "replace"), parser)
    except (_etree.LxmlError, ValueError):
        return Facts()
    if tree is None:
        return Facts()
    found = _head(tree)
    scripts: list[Any] = list(tree.iter("script"))
    free: bool | None = None
    for script in scripts:
        if "ld+json" in (script.get("type") or "") and (match := _FREE.search(script.text or "")):
            free = match.group(1).lower() == "true"
            break
    asks = any((field.get("type") or "").lower() == "password" for field in tree.iter("input"))
    _etree.strip_elements(tree, *_UNSEEN, with_tail=False)
    blocks = "".join(_pieces(tree)).split(_BREAK)
    text = " ".join(" ".join(tree.itertext()).split())
    paragraphs = (len(" ".join("".join(block.itertext()).split())) for block in tree.iter("p"))
    return Facts(
        text=text[:_KEPT_TEXT],
        n_text=len(text),
        n_prose=sum(length for length in paragraphs if length >= _PROSE),
        sentences=_sentences(blocks),
        n_scripts=len(scripts),
        asks_password=asks,
        free=free,
        **found,
    )


def _pieces(tree: Any) -> Iterator[str]:
    """Yield the text of a tree with a break at each end of a block."""
    for event, element in _etree.iterwalk(tree, events=("start", "end", "comment", "pi")):
        if not isinstance(element.tag, str):
            yield element.tail or ""
            continue
        end = " " if element.tag == "br" else "" if _INLINE.fullmatch(element.tag) else _BREAK
        if event == "start":
            yield end + (element.text or "")
        else:
            yield end + (element.tail or "")


def text_facts(text: str) -> Facts:
    """Return the facts about a page that is plain text or Markdown.

    Its title is a first line that is marked as one, or that is short and stands alone.
    """
    lines = [" ".join(line.split()) for line in text.strip().splitlines()]
    first = lines[0] if lines else ""
    alone = len(first) <= _LONGEST_HEADING and not any(lines[1:2])
    shown = " ".join(filter(None, lines))
    return Facts(
        title=_TITLE_MARK.sub("", first)[:_LONGEST_TITLE] if alone or _TITLE_MARK.match(first) else "",
        text=shown[:_KEPT_TEXT],
        n_text=len(shown),
        n_prose=sum(len(line) for line in lines if len(line) >= _PROSE),
        sentences=_sentences("\n".join(lines).split("\n\n")),
    )


def _sentences(blocks: list[str]) -> tuple[str, ...]:
    kept: list[str] = []
    left = _KEPT_TEXT
    for block in blocks:
        if left <= 0:
            break
        block = " ".join(block.split())[:left]
        left -= len(block)
        parts = _SENTENCE_END.split(block)
        kept += [
            part for part in parts if len(part) >= _PROSE and part.rstrip(_CLOSING).endswith(_SENTENCE_MARKS)
        ]
    return tuple(kept)


def _head(tree: Any) -> dict[str, Any]:
    metas: list[tuple[str, str]] = []
    refresh: tuple[float, str] | None = None
    for element in tree.iter("meta"):
        content = (element.get("content") or "").strip()
        name = (element.get("name") or element.get("property") or "").strip().lower()
        if name:
            metas.append((name, content))
        if (element.get("http-equiv") or "").strip().lower() == "refresh" and refresh is None:
            match = _REFRESH.match(content)
            if match and match.group(2).strip() and not _inside_noscript(element):
                refresh = float(match.group(1)), match.group(2).strip()
    pdf_links = tuple(
        element.get("href")
        for element in tree.iter("link")
        if "alternate" in (element.get("rel") or "").lower().split()
        and (element.get("type") or "").lower() == "application/pdf"
        and element.get("href")
    )
    title = tree.find(".//title")
    return {
        "title": " ".join("".join(title.itertext()).split())[:_LONGEST_TITLE] if title is not None else "",
        "metas": tuple(metas),
        "pdf_links": pdf_links,
        "base": next((e.get("href") for e in tree.iter("base") if e.get("href")), None),
        "refresh": refresh,
    }


def _inside_noscript(element: Any) -> bool:
    return any(parent.tag == "noscript" for parent in element.iterancestors("noscript"))
