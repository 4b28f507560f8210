"""Parser of reports.

Invariant: the same text gives the same document, and every block of any text is in it with a role.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from indexes.text.language import detect_language
from local_judge.documents.author_years import AGAIN
from local_judge.documents.inline import Mark, scan
from local_judge.documents.markdown import RawBlock, heading_path, parse_blocks, squeezed
from local_judge.documents.model import (
    BESIDE,
    Block,
    BlockRole,
    Citation,
    Document,
    Reference,
    Sentence,
    Source,
    Span,
    UnreadableReport,
)
from local_judge.documents.preamble import find_chatter, find_navigation, hidden_ranges, refusal_notes, unwrap
from local_judge.documents.references import Entry, find_references, web_address
from local_judge.documents.resolve import Cited, Lookup, is_clearly_citing, resolve
from local_judge.documents.sentences import split_sentences

MAX_CHARACTERS = 2_000_000
"""Maximum length of a report in characters. Long reports have 60 thousand; longer input would take many seconds."""
MAX_CITATIONS = 100_000
"""Maximum number of citations. Long reports have a few thousand, but a range such as `[1-100]` names many sources
in few characters."""
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_MARK = re.compile(r"[\[(（][^\[\]()（）\n]{0,80}\d[^\[\]()（）\n]{0,80}[\])）]")
"""Text that may be a mark which is not read."""
_WORD = re.compile(r"[\w\U000e0020-\U000e007e]")
"""Letters and digits, also those of tags, which no one sees and a judge reads."""


def parse_report(text: str | bytes, sources: Sequence[Source] = ()) -> Document:
    """Parse a report.

    Args:
        text: Markdown or plain text; bytes are UTF-8, with or without a byte order mark.
        sources: Sources that accompany the text, for marks whose entry the text lacks or gives without an address.

    Raises:
        UnreadableReport: The text is empty, white space, binary, not UTF-8, longer than `MAX_CHARACTERS`, or has more
            than `MAX_CITATIONS`.
    """
    report = _readable(text)
    wrapper = unwrap(report)
    start, end = wrapper.start, wrapper.end
    hidden = [(0, start), *hidden_ranges(report, start, end), (end, len(report))]
    shown = [block for (_, start), (end, _) in pairwise(hidden) for block in parse_blocks(report, start, end)]
    beside = _beside(sources, len(report), shown)
    found = find_references(
        shown, frozenset(reference.key for reference in beside if reference.key is not None)
    )
    cited = [
        index in found.listed or any(is_clearly_citing(mark) for mark in marks)
        for index, marks in enumerate(found.marks)
    ]
    chatter = find_chatter(found.blocks, cited)
    aside = chatter | find_navigation(found.blocks, found.listed, found.marks)
    read: list[tuple[RawBlock, BlockRole, Sequence[Mark]]] = [
        (block, "preamble", ()) for start, end in hidden for block in parse_blocks(report, start, end)
    ]
    for index, block in enumerate(found.blocks):
        role = "references" if index in found.listed else "preamble" if index in aside else "body"
        read.append((block, role, found.marks[index]))
    read.sort(key=lambda item: item[0].piece.origins[0])
    blocks, roles, marks = zip(*read, strict=True) if read else ((), (), ())
    language = detect_language(_prose(blocks, roles) or report)
    references = _references(report, found.entries)
    beside = [r.model_copy(update={"id": f"r{len(references) + n}"}) for n, r in enumerate(beside, 1)]
    cites = _cites(report, blocks, roles, marks)
    lookup = Lookup(references, found.entries, beside, [item.span.start for item in cites])
    citations, places = _citations(cites, lookup)
    sentences = _sentences(blocks, roles, marks, language, places)
    named = {citation.reference for citation in citations}
    references = [
        r.model_copy(update={"state": "cited"}) if r.id in named else r for r in (*references, *beside)
    ]
    document = Document(
        id=document_id(report, sources),
        text=report,
        language=language,
        blocks=_blocks(blocks, roles),
        sentences=tuple(sentences),
        citations=tuple(citations),
        references=tuple(references),
    )
    notes = _notes(document, _prose(blocks, roles), wrapped=wrapper.found, chatter=bool(chatter))
    return document.model_copy(update={"notes": notes})


def document_id(text: str, sources: Sequence[Source] = ()) -> str:
    """Return the id of the document that a report, decoded, and its sources give."""
    parts = (text, *(source.model_dump_json() for source in sources))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _readable(text: str | bytes) -> str:
    if isinstance(text, bytes):
        if b"\x00" in text:
            raise UnreadableReport(
                "the report is binary data: it contains a NUL byte; give Markdown or plain text in UTF-8"
            )
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UnreadableReport(
                f"the report is not UTF-8: byte 0x{error.object[error.start]:02x} at offset {error.start} "
                f"({error.reason})"
            ) from None
    text = text.lstrip("\ufeff")
    if not text.strip():
        raise UnreadableReport("the report contains only white space" if text else "the report is empty")
    if len(text) > MAX_CHARACTERS:
        raise UnreadableReport(
            f"the report is too large: {len(text)} characters, at most {MAX_CHARACTERS} are read"
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UnreadableReport(
            f"the report contains a lone surrogate at character {error.start}: it is not valid Unicode"
        ) from None
    controls = len(_CONTROL.findall(text[:100_000]))
    if "\x00" in text or (controls > 10 and controls * 100 > min(len(text), 100_000)):
        raise UnreadableReport(
            "the report is binary data: it contains control characters; give Markdown or plain text"
        )
    return text


def _prose(blocks: Sequence[RawBlock], roles: Sequence[BlockRole]) -> str:
    return "\n".join(block.piece.flat for block, role in zip(blocks, roles, strict=True) if role == "body")


def _blocks(blocks: Sequence[RawBlock], roles: Sequence[BlockRole]) -> tuple[Block, ...]:
    return tuple(
        Block(
            index=index,
            kind=block.kind,
            role=role,
            span=block.piece.span(0, len(block.piece.flat)),
            text=block.piece.flat,
            level=block.level,
            section=path,
        )
        for index, (block, role, path) in enumerate(zip(blocks, roles, heading_path(blocks), strict=True))
    )


def _references(report: str, entries: Sequence[Entry]) -> list[Reference]:
    return [
        Reference(
            id=f"r{number}",
            key=entry.key,
            text=squeezed(report[entry.span.start : entry.span.end]),
            span=entry.span,
            section=entry.section,
            url=entry.url,
            original_url=entry.original_url,
        )
        for number, entry in enumerate(entries, 1)
    ]


def _counts_from_zero(blocks: Sequence[RawBlock], count: int) -> bool:
    """Check whether marks name the first source `0`, and none names the last one by its position from 1."""
    marks = [
        mark for block in blocks if block.kind != "code" for mark in scan(block.piece.flat, frozenset("0"))
    ]
    keys = {key for mark in marks for key in mark.keys}
    return str(count) not in keys and any(mark.keys == ("0",) and mark.certain for mark in marks)


def _beside(sources: Sequence[Source], end: int, blocks: Sequence[RawBlock]) -> list[Reference]:
    """Return the references of the sources beside the text, whose ids follow those of the text."""
    keyed = not sources or any(source.key is not None for source in sources)
    first = 0 if not keyed and _counts_from_zero(blocks, len(sources)) else 1
    return [
        Reference(
            id=f"r{number}",
            key=source.key if keyed else str(number - 1 + first),
            text=squeezed(f"{source.title or ''} {source.address}"),
            span=Span(start=end, end=end),
            section=BESIDE,
            url=web_address(source.address),
            original_url=source.address,
        )
        for number, source in enumerate(sources, 1)
    ]


def _cites(
    report: str, blocks: Sequence[RawBlock], roles: Sequence[BlockRole], marks: Sequence[Sequence[Mark]]
) -> list[Cited]:
    """Return the marks of the body, in order; `ibid.` as the last key of the mark before it, if none is unread."""
    cites = [
        Cited(mark, mark.style, block.piece.span(mark.start, mark.end), index, block.kind == "heading")
        for index, block in enumerate(blocks)
        if roles[index] == "body"
        for mark in marks[index]
        if mark.style is not None
    ]
    for index, item in enumerate(cites[1:], 1):
        before = cites[index - 1]
        if item.mark.keys == (AGAIN,) and not _MARK.search(report, before.span.end, item.span.start):
            mark = replace(before.mark, start=item.mark.start, end=item.mark.end, keys=before.mark.keys[-1:])
            cites[index] = replace(item, mark=mark, style=before.style)
    return cites


def _citations(
    found: Sequence[Cited], lookup: Lookup
) -> tuple[list[Citation], dict[int, list[tuple[int, str]]]]:
    """Return all citations of the body, and for each block their offsets and ids."""
    count = sum(len(item.mark.keys) or 1 for item in found)
    if count > MAX_CITATIONS:
        raise UnreadableReport(f"the report has {count} citations, at most {MAX_CITATIONS} are read")
    citations: list[Citation] = []
    places: dict[int, list[tuple[int, str]]] = {}
    for citation, index in resolve(found, lookup):
        citations.append(citation)
        places.setdefault(found[index].block, []).append((found[index].mark.start, citation.id))
    return citations, places


def _sentences(
    blocks: Sequence[RawBlock],
    roles: Sequence[BlockRole],
    marks: Sequence[Sequence[Mark]],
    language: str,
    places: dict[int, list[tuple[int, str]]],
) -> list[Sentence]:
    sentences: list[Sentence] = []
    for index, block in enumerate(blocks):
        if roles[index] != "body" or block.kind in ("heading", "code"):
            continue
        flat = block.piece.flat
        if block.kind in ("table_row", "table_header"):
            ranges = [(0, len(flat))]
        else:
            ranges = split_sentences(flat, marks[index], language)
        ranges = [(start, end) for start, end in ranges if _has_words(flat, start, end, marks[index])]
        starts = [start for start, _ in ranges]
        cited: dict[int, list[str]] = {}
        for offset, citation in places.get(index, ()):
            cited.setdefault(max(0, bisect_right(starts, offset) - 1), []).append(citation)
        for number, (start, end) in enumerate(ranges):
            sentences.append(
                Sentence(
                    label=f"L{index + 1}.S{number + 1}",
                    block=index,
                    text=squeezed(flat[start:end]),
                    span=block.piece.span(start, end),
                    citations=tuple(cited.get(number, ())),
                )
            )
    return sentences


def _has_words(flat: str, start: int, end: int, marks: Sequence[Mark]) -> bool:
    """Check whether a range has a letter or digit outside images, tags, comments and displayed formulas."""
    at = start
    for index in range(bisect_left(marks, start, key=lambda mark: mark.start), len(marks)):
        mark = marks[index]
        if mark.start >= end or _WORD.search(flat, at, mark.start):
            break
        displayed = mark.kind == "code" and flat.startswith(("$$", "\\["), mark.start)
        if displayed or mark.kind in ("image", "tag"):
            at = mark.end
    return _WORD.search(flat, at, end) is not None


def _notes(document: Document, body: str, *, wrapped: bool, chatter: bool) -> tuple[str, ...]:
    keys = [(entry.section, entry.key) for entry in document.references if entry.key is not None]
    resolved = any(citation.state == "resolved" for citation in document.citations)
    checks = {
        "chat_wrapper": wrapped,
        "agent_chatter": chatter,
        "no_citations": not document.citations,
        "no_references": not document.references,
        "references_only": bool(document.references) and not document.sentences,
        "no_sentences": not document.sentences,
        "duplicate_keys": len(keys) != len(set(keys)),
        "unknown_language": document.language == "und",
    }
    notes = tuple(name for name, holds in checks.items() if holds)
    return notes if resolved else notes + refusal_notes(body)
