"""Facts about a page from its markup.

Invariant: a function of the bytes; whatever they are, it answers, in a time that grows with their number. Nothing
here decides anything.
"""

from __future__ import annotations

import codecs
import importlib
import re
from dataclasses import dataclass
from typing import Any

_etree: Any = importlib.import_module("lxml.etree")  # has no types

_UNSEEN = ("script", "style", "noscript", "template", "svg", "head", "iframe", "select", "textarea")
_PROSE = 40
"""Characters; shorter paragraphs are labels, bylines and buttons."""
_KEPT_TEXT = 20_000
_FREE = re.compile(r'"isAccessibleForFree"\s*:\s*(?:"\s*)?(true|false)', re.IGNORECASE)
_REFRESH = re.compile(r"""\s*(\d{1,6}(?:\.\d*)?)\s*[;,\s]\s*(?:url\s*=\s*)?['"]?([^'"]*)""", re.IGNORECASE)
_DECLARED = re.compile(rb"""charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_CHARSETS = frozenset(
    {"gb2312", "gbk", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr", "koi8-r"}
    | {"windows-1250", "windows-1251", "windows-1252", "iso-8859-1", "iso-8859-2", "iso-8859-15"}
)


@dataclass(frozen=True)
class Markup:
    """Facts found in the markup."""

    title: str = ""
    text: str = ""
    """Text that a reader without scripts sees, with collapsed white space; its first 20,000 characters."""
    n_text: int = 0
    """Characters of all of it."""
    n_prose: int = 0
    """Characters in paragraphs that are more than labels."""
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


def read_markup(data: bytes) -> Markup:
    """Look through the (beginning of the) bytes of an HTML page."""
    parser = _etree.HTMLParser(
        encoding="utf-8", recover=True, no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        tree: Any = _etree.fromstring(_text(data).encode("utf-8", "replace"), parser)
    except (_etree.LxmlError, ValueError):
        return Markup()
    if tree is None:
        return Markup()
    found = _head(tree)
    scripts: list[Any] = list(tree.iter("script"))
    free: bool | None = None
    for script in scripts:
        if "ld+json" in (script.get("type") or "") and (said := _FREE.search(script.text or "")):
            free = said.group(1).lower() == "true"
            break
    asks = any((field.get("type") or "").lower() == "password" for field in tree.iter("input"))
    _etree.strip_elements(tree, *_UNSEEN, with_tail=False)
    text = " ".join(" ".join(tree.itertext()).split())
    paragraphs = (len(" ".join("".join(block.itertext()).split())) for block in tree.iter("p"))
    return Markup(
        text=text[:_KEPT_TEXT],
        n_text=len(text),
        n_prose=sum(length for length in paragraphs if length >= _PROSE),
        n_scripts=len(scripts),
        asks_password=asks,
        free=free,
        **found,
    )


def _head(tree: Any) -> dict[str, Any]:
    metas: list[tuple[str, str]] = []
    refresh: tuple[float, str] | None = None
    for element in tree.iter("meta"):
        content = (element.get("content") or "").strip()
        name = (element.get("name") or element.get("property") or "").strip().lower()
        if name:
            metas.append((name, content))
        if (element.get("http-equiv") or "").strip().lower() == "refresh" and refresh is None:
            said = _REFRESH.match(content)
            if said and said.group(2).strip() and not _inside_noscript(element):
                refresh = float(said.group(1)), said.group(2).strip()
    pdf_links = tuple(
        element.get("href")
        for element in tree.iter("link")
        if "alternate" in (element.get("rel") or "").lower().split()
        and (element.get("type") or "").lower() == "application/pdf"
        and element.get("href")
    )
    title = tree.find(".//title")
    return {
        "title": " ".join("".join(title.itertext()).split())[:300] if title is not None else "",
        "metas": tuple(metas),
        "pdf_links": pdf_links,
        "base": next((e.get("href") for e in tree.iter("base") if e.get("href")), None),
        "refresh": refresh,
    }


def _inside_noscript(element: Any) -> bool:
    return any(parent.tag == "noscript" for parent in element.iterancestors("noscript"))


def _text(data: bytes) -> str:
    """Characters good enough to look for marks in: the declared charset where it is a common one, else UTF-8."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    declared = _DECLARED.search(data[:4096])
    name = declared.group(1).decode("ascii").lower() if declared else ""
    if name in _CHARSETS:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return data.decode(name, "replace")
    return data.decode("utf-8", "replace")
