"""Places in a report where text can be inserted.

Invariant: a place is the end of a body paragraph whose last sentence is complete, so that inserted text is a sentence
or paragraph by itself.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from local_judge.documents import Block, Document, Sentence
from local_judge.documents.citation_styles import STYLES
from local_judge.lab.planting.model import Language

_CLOSED = re.compile(r"[.!?。！？][\s\])）】\d,，\[【†L^]*$")
_NUMBERING = re.compile(
    r"^(?:第[一二三四五六七八九十\d]+[章节部分]+\s*|[一二三四五六七八九十]+[、.．]\s*|\d+(?:\.\d+)+\.?\s*|\d+[.)、]\s*|\d+\s+(?=[A-Z])|"
    r"[IVX]+\.\s+|[（(][一二三四五六七八九十\d]+[)）]\s*)+"
)
_SHELL = re.compile(
    r"introduction|conclusion|summary|abstract|overview|references?|bibliography|appendix|contents|sources|report|"
    r"引言|前言|绪论|结论|总结|摘要|概述|概要|参考|附录|目录|结语|来源|报告",
    re.IGNORECASE,
)


class Cut(NamedTuple):
    """Replacement of the span `[start, end)` of a report."""

    start: int
    end: int
    after: str


class Plan(NamedTuple):
    """Planned changes for one flaw."""

    cuts: tuple[Cut, ...]
    """Cuts in the order of the text, without overlap."""
    about: tuple[str, ...]
    """Labels of the report's sentences that are contradicted, dropped, or lose their citations."""
    detail: str


class Place(NamedTuple):
    """The end of a paragraph."""

    block: Block
    end: int
    """Offset in the report's text."""
    topic: str | None
    """Heading of its section without the number; None if no heading names a topic."""


def places(document: Document) -> list[Place]:
    """Return all places, in order."""
    found: list[Place] = []
    for block in document.blocks:
        if block.role == "body" and block.kind == "paragraph" and _CLOSED.search(block.text):
            found.append(Place(block, block.span.end, topic_of(document, block)))
    return found


def topic_of(document: Document, block: Block) -> str | None:
    """Return the nearest heading above a block that names a topic."""
    for index in reversed(block.section):
        title = _NUMBERING.sub("", document.blocks[index].text.strip().strip("*#").strip())
        title = re.split(r"[:：—]| - ", title)[0].strip()
        if 2 <= len(title) <= 60 and not _SHELL.search(title) and not re.search(r"[\[\]*`|?？]", title):
            return title
    return None


def is_shell(heading: Block) -> bool:
    """Check whether a section frames the report: an introduction, a summary, references."""
    return _SHELL.search(heading.text) is not None


def bare(document: Document, sentence: Sentence) -> str | None:
    """Return a sentence without its citation marks; None if the marks are part of its wording."""
    start, end = sentence.span.start, sentence.span.end
    citations = [document.citation(one) for one in sentence.citations]
    if any(STYLES[one.style].wording for one in citations):
        return None
    text, at = "", start
    for left, right in sorted({(one.span.start, one.span.end) for one in citations}):
        text += document.text[at : max(at, left)] if left < end else ""
        at = max(at, right)
    text += document.text[at:end]
    text = re.sub(r"\s+(?=[.,;。，；])", "", " ".join(text.split()))
    return re.sub(r"\s*[\[\]【】()（）]*\s*$", "", text).strip("*- ") or None


def joined(sentence: str, language: Language) -> str:
    """Return a sentence with the space that separates it from the previous one."""
    return f" {sentence}" if language == "en" else sentence
