"""Citation marks in the body of a report.

Invariant: a mark is a citation found by the parser; names that the sentence needs (`Kim (2023) found`) are not.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from local_judge.documents.addresses import HOST
from local_judge.documents.citation_styles import STYLES
from local_judge.documents.cleaning.model import RemovalKind
from local_judge.documents.inline import scan
from local_judge.documents.model import Block, Document

_NUMBERS = re.compile(
    # Possessive: otherwise digits without separators can be split in exponentially many ways.
    r"[\s\[\](){}（）【】^*_\\,，、;；†‡–-]*+(?:\d{1,4}+[\s\[\](){}（）【】^*_\\,，、;；†‡–-]*+){1,20}+"
)
_NAMELESS = re.compile(
    r"[\s\[(（]*(?:https?://\S+|www\.\S+|sources?|links?|citations?|ref(?:erence)?s?\.?|来源|來源|链接|連結|原文"
    r"|出处|引用|参考|🔗|↗)?[\s\])）]*",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://[^\s,\"]+")
_FARTHEST_ANCHOR = 2000
_LONGEST_LABEL = 100
_LABEL = re.compile(r"\[([^\[\]\n]*[^\W\d_]{2}[^\[\]\n]*)\]$")
_SITE = re.compile(
    r"[*_]{0,2}(?:https?://)?(?:www\.)?([\w-]+(?:\.[\w-]+)+)(?:/\S*)?(?:\s?(\+)\s?\d+)?[*_]{0,2}"
)
_HOST = re.compile(HOST)
_NEXT = re.compile(r"[*_)\]】）]{0,3}\s?(?:[.,;:!?。，；：！？\[(（|<]|$|\n)")
_NEEDS_OBJECT = re.compile(
    r"(?:\b(?:from|by|to|of|at|on|in|via|with|and|or|the|an?|per|for|as|like|is|are|was|were|see|visit|use[ds]?|using|called"
    r"|named|von|bei|auf|der|die|das|und|de|par|sur|et|le|la|en|por|del?)|(?:^|\n)[-*>\s]*)[\s*_\"“„(]*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Cut:
    """Range of a citation."""

    start: int
    end: int
    kind: RemovalKind
    kept: str = ""
    """Words of a link that stay."""
    exact: bool = False
    """True if the text around it must not change: a tag, or a field of comma-separated values."""


def find_marks(document: Document) -> list[Cut]:
    """Return the marks of all citations in the body, in order and without overlap."""
    cuts: list[Cut] = []
    for cut in sorted(_cited(document), key=lambda cut: (cut.start, -cut.end)):
        if not cuts or cut.start >= cuts[-1].end:
            cuts.append(cut)
    return cuts


def _cited(document: Document) -> Iterator[Cut]:
    text = document.text
    starts = [block.span.start for block in document.blocks]
    done = -1
    for citation in document.citations:
        start, end = citation.span.start, citation.span.end
        if start < done:  # `[1, 3]` is two citations
            continue
        label = _LABEL.search(text, max(done, start - _LONGEST_LABEL), start)
        done = end
        block = document.blocks[bisect_right(starts, start) - 1]
        match STYLES[citation.style].cleaned:
            case "words_stay":
                yield from _link(text, start, end, block, citation.url)
            case "address":
                yield from _address(text, start, end)
            case "unless_narrative":
                if text[start] in "(（[":
                    yield Cut(start, end, "marker")
            case "whole" if label is not None and text[start] == "[":  # [words][1]
                chip = _is_chip(text, label.start(), end, label[1], citation.url)
                yield Cut(label.start(), end, "marker" if chip else "link", "" if chip else label[1])
            case "whole":
                yield Cut(start, end, "marker")


def _link(text: str, start: int, end: int, block: Block, url: str | None) -> Iterator[Cut]:
    if text[start] == "<":
        yield from _anchor(text, start, end, block, url)
        return
    for mark in scan(text[start:end])[:1]:
        if mark.style is not None:
            yield (
                Cut(start, end, "marker")
                if _is_nameless(mark.shown) or _is_chip(text, start, end, mark.shown, url)
                else Cut(start, end, "link", _words(mark.shown))
            )


def _words(shown: str) -> str:
    """Return a link's text without the marks in it: `[A study [1]](…)`."""
    parts: list[str] = []
    position = 0
    for mark in scan(shown):
        if mark.style is not None and not mark.style.wording:
            parts.append(shown[position : mark.start].rstrip())
            position = mark.end
    return "".join(parts) + shown[position:]


def _anchor(text: str, start: int, end: int, block: Block, url: str | None) -> Iterator[Cut]:
    """Yield the marks of a link in HTML, of which the citation is only the opening tag, unless it links a number."""
    if text.endswith("</a>", start, end):
        yield Cut(start, end, "marker")
        return
    close = text.find("</a>", end, min(end + _FARTHEST_ANCHOR, block.span.end))
    if close < 0:
        yield Cut(start, end, "link", exact=True)
    elif _is_nameless(text[end:close]) or _is_chip(text, start, close + 4, text[end:close], url):
        yield Cut(start, close + 4, "marker")
    else:
        yield Cut(start, end, "link", exact=True)
        yield Cut(close, close + 4, "link", exact=True)


def _is_chip(text: str, start: int, end: int, shown: str, url: str | None) -> bool:
    """Check whether a link shows the site of its page, `[town.example](https://town.example/page)`, and no more.

    It is no object of the sentence: it ends a clause, after no word that needs one.
    """
    site, name = urlsplit(url or ""), _SITE.fullmatch(shown)
    if name is None:
        return False
    host, written = f".{site.hostname}", f".{name[1].lower()}"
    numbered = text.endswith("]", start, end) and _HOST.fullmatch(written, 1) is not None
    same = written.endswith(host.removeprefix(".www")) or host.endswith(written)
    return (
        (numbered or (same and site.path not in ("", "/")))
        and _NEXT.match(text, end) is not None
        and (name[2] is not None or _NEEDS_OBJECT.search(text, max(0, start - _LONGEST_LABEL), start) is None)
    )


def _is_nameless(shown: str) -> bool:
    """Check whether a link's text is a number, an address or "source", and not words of the report."""
    return _NUMBERS.fullmatch(shown) is not None or _NAMELESS.fullmatch(shown) is not None


def _address(text: str, start: int, end: int) -> Iterator[Cut]:
    """Yield a bare address; in a line of comma-separated values each address, without the fields between."""
    if text[start - 1 : start] != ",":
        yield Cut(start, end, "bare_url")
        return
    for match in _ADDRESS.finditer(text, start, end):
        yield Cut(match.start(), match.end(), "bare_url", exact=True)
