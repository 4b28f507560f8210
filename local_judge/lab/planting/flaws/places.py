"""Where in a report something can be put in.

Invariant: a place is the end of a paragraph of the body whose last sentence is closed, so that what is put in there is
a sentence, or a paragraph, of its own.
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


class Place(NamedTuple):
    """The end of a paragraph."""

    block: Block
    end: int
    """Offset in the report's text."""
    topic: str | None
    """Heading of its section, without its number; None where there is none that says anything."""


def places(document: Document) -> list[Place]:
    """All places, in order."""
    found: list[Place] = []
    for block in document.blocks:
        if block.role == "body" and block.kind == "paragraph" and _CLOSED.search(block.text):
            found.append(Place(block, block.span.end, topic_of(document, block)))
    return found


def topic_of(document: Document, block: Block) -> str | None:
    """The nearest heading above a block that names a matter."""
    for index in reversed(block.section):
        title = _NUMBERING.sub("", document.blocks[index].text.strip().strip("*#").strip())
        title = re.split(r"[:：—]| - ", title)[0].strip()
        if 2 <= len(title) <= 60 and not _SHELL.search(title) and not re.search(r"[\[\]*`|?？]", title):
            return title
    return None


def is_shell(heading: Block) -> bool:
    """Whether a section frames the report (an introduction, a summary, references) and is no part of its matter."""
    return _SHELL.search(heading.text) is not None


def bare(document: Document, sentence: Sentence) -> str | None:
    """A sentence without its citation marks; None where these are a part of its wording."""
    start, end = sentence.span.start, sentence.span.end
    spans = {(one.span.start, one.span.end, one.style) for one in map(document.citation, sentence.citations)}
    if any(STYLES[style].wording for _, _, style in spans):
        return None
    text, at = "", start
    for left, right, _ in sorted(spans):
        text += document.text[at : max(at, left)] if left < end else ""
        at = max(at, right)
    text += document.text[at:end]
    text = re.sub(r"\s+(?=[.,;。，；])", "", " ".join(text.split()))
    return re.sub(r"\s*[\[\]【】()（）]*\s*$", "", text).strip("*- ") or None


def joined(sentence: str, language: Language) -> str:
    """A sentence as it follows another."""
    return f" {sentence}" if language == "en" else sentence
