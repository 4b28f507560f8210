r"""Division of blocks into parts that may each be an entry of a reference list, with their keys.

Invariant: a key is written in the report, or is the position of an item in an ordered list; a part is a range of its
block. `[1] A`, `1\. A`, `> 1. A`, `### [1] A`, `<li>A`, `\bibitem{a} A`, `| 1 | A |` and `[1] A [2] B` are parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from local_judge.documents.addresses import schemeless
from local_judge.documents.citation_keys import CIRCLED, RAISED_DIGITS, canonical
from local_judge.documents.inline import scan
from local_judge.documents.markdown import Piece, RawBlock

_KEY = re.compile(
    r"(?:[*_]{1,2})?(?:"
    r"\\?[\[［〔【] ?\^?(?P<bracket>\d{1,4}|[@#№]?[^\W\d_][\w.:+/-]{0,40}(?: \d{1,3})?)\^? ?\\?[\]］〕】](?!\()"
    r"|\[\[(?P<linked>\d{1,4})\]\](?=\(https?://\S{1,2000}\)\s+[^\Wa-z][^\n]*[^.!。\s]\s*$)"
    r"|\[\[(?P<twice>\d{1,4})\]\](?!\()|\[\\?\[?(?P<back>\d{1,4})\\?\]?\]\(#[^()\s]{1,80}\)"
    r"|\\bibitem(?:\[[^\[\]\n]{0,80}\])?\{(?P<bib>[^{}\n]{1,80})\}"
    r"|@(?P<at>[\w:.-]{1,60})[:：]\s"
    r"|(?P<word>[^\W\d_]{1,12}\s?\.?\s?#?\d{1,3})\s?(?:[:.]\s|：)"
    r"|(?P<code>[A-Z]{1,4}-?\d{1,3})[*_]{0,2}\s?[:：)]\s"
    r"|(?P<plain>\d{1,3})[*_]{0,2}(?:\\?[.)](?=[^\d])|[、．]|[:：]\s|\s[-–—|]\s|\t|</sup>)"
    r"|(?P<apart>\d{1,3}) (?=[^\Wa-z_]\S*\s[^\n]*(?:https?://|www\.|doi))"
    r"|[(（](?P<round>\d{1,3})[)）](?=[\s\u3040-\u9fff])"
    r"|#(?P<hash>\d{1,3})[:.\s]|※(?P<sign>\d{1,3})[:.：\s]"
    rf"|(?P<raised>[¹²³⁰⁴-⁹]{{1,3}})\s?|(?P<circled>{CIRCLED})\s?"
    r"|\^(?P<caret>\d{1,3})\^"
    r")"
)
_LEAD = re.compile(r"(?:\s|<(?!https?:)/?[a-zA-Z][^<>]{0,200}>)*")
_BULLET = re.compile(r"[-*•–]\s+")
_NOTE = re.compile(r"\[\^(?P<label>[^\[\]\s]{1,40})\]:")
ADDRESS = re.compile(r"https?://|\bwww\.|doi ?:|doi\.org|arxiv ?:", re.IGNORECASE)
_HTML_ITEM = re.compile(r"<(ol|ul|li)\b([^<>]{0,200})>", re.IGNORECASE)
_START = re.compile(r"(?:start|value)\s?=\s?[\"']?(\d{1,4})")
_ROW_KEY = re.compile(r"[A-Za-z]{0,3}\d{1,4}")
_LABEL = re.compile(r"[^\n\[\]:：]{2,60}[:：]\s*(?=[\[【]\d|1[.)]\s)")
_TAGS = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_NO_TITLE = re.compile(r"[\[\].!?。！？\d]|https?:")
_CITED = re.compile(r"[\[【]([A-Za-z][^\[\]【】\n]{0,60})[\]】](?![(:])")
_LEADING = re.compile(r"[*_]{0,2}([A-Za-z][\w+-]{0,20})[*_]{0,2}(?:\s?[:：.)][*_]{0,2}|\s[-–—|])\s")
_HARD = ("  ", "\\")
_LONGEST_TITLE = 80


@dataclass(slots=True)
class Unit:
    """Part of a block that may be one entry."""

    piece: Piece
    start: int
    """Offset in the block."""
    key: str | None
    form: str
    """Form of the key: `bracket`, `plain`, `item`, `row`, `bullet`; empty for a part that begins like prose."""
    note: bool
    """True for a footnote definition, `[^key]: …`."""
    level: int
    heading: bool
    has_address: bool
    """True if the part contains an address, a DOI or an arXiv id."""


@dataclass(slots=True)
class _Cut:
    start: int
    key: str | None
    form: str
    note: bool = False


def divide(blocks: Sequence[RawBlock]) -> list[list[Unit]]:
    """Divide each block into parts; code, and headings without a key, have none."""
    ordinal: int | None = None
    previous: Unit | None = None
    divided: list[list[Unit]] = []
    keys = _named_keys(blocks)
    for block in blocks:
        units: list[Unit] = []
        if block.kind in ("table_row", "table_header"):
            units = [_row(block)]
        elif block.kind != "code" and not _is_only_title(block, keys):
            cuts, ordinal = _cuts(block, ordinal, keys)
            units = _parts(block, cuts)
        if block.kind == "heading" and not (units and units[0].key):
            units = []
        if units and block.marker == "1" and units[0].form == "plain":
            if previous is not None and previous.key is not None and previous.level == block.level:
                units[0].key = str(int(previous.key) + 1)  # in Markdown, "1. 1. 1." is a list of three
            previous = units[0]
        else:
            previous = None
        divided.append(units)
    return divided


def _is_only_title(block: RawBlock, keys: frozenset[str]) -> bool:
    """Check whether a heading has no part: no key, no address and no element."""
    flat = block.piece.flat
    plain = block.kind == "heading" and "<" not in flat and ADDRESS.search(flat) is None
    return plain and key_of(flat.lstrip(), keys)[0] is None


def _named_keys(blocks: Sequence[RawBlock]) -> frozenset[str]:
    """Return the words and letters that begin lines and that several marks name: `A` of `A: Title` and `[A]`."""
    cited: set[str] = set()
    leading: set[str] = set()
    for block in blocks:
        for content in _CITED.findall(block.piece.flat):
            cited.update(re.split(r"\s*[,;&–]\s*|(?<=^[A-Za-z])-(?=[A-Za-z]$)", content))
        for line in block.piece.flat.split("\n"):
            lead = _LEAD.match(line)
            bullet = _BULLET.match(line, lead.end() if lead else 0)
            word = _LEADING.match(line, bullet.end() if bullet else lead.end() if lead else 0)
            leading.update(word.groups() if word else ())
    named = cited & leading
    letters = {word for word in leading if len(word) == 1}
    return frozenset(
        (named if len(named) > 1 else set[str]()) | (letters if len(named & letters) > 1 else set[str]())
    )


def is_title(line: str) -> bool:
    """Check whether a line may be the title of a list, in any language."""
    bare = re.sub(r"\s?[(（]\d{1,3}[)）]$", "", _TAGS.sub("", line).strip(" *_#:：>\t\n"))
    if line.lstrip().startswith("\\begin{"):
        return True
    return len(bare) <= _LONGEST_TITLE and not _NO_TITLE.search(bare)


def is_bare(flat: str) -> bool:
    """Check whether the text of a part is only a title and its address, and not a statement with a link."""
    marks = [mark for mark in scan(flat) if mark.target]
    if not marks:
        return False
    leads = re.search(r"[^\W\d_]{2}", flat[: marks[0].start]) is None
    shown = any(not mark.shown or "://" in mark.shown or _is_host(mark.shown) for mark in marks)
    after = flat[marks[-1].end :].strip()
    # "It grew (https://…)." is a sentence with its source.
    quoted = flat[: marks[-1].start].endswith(("(", "（")) and after in (").", "）。", ")。")
    return (leads or (shown and not quoted)) and len(after.split()) <= 6


def _is_host(shown: str) -> bool:
    return "." in shown[:-1] and " " not in shown.strip()


def _cuts(block: RawBlock, ordinal: int | None, keys: frozenset[str]) -> tuple[list[_Cut], int | None]:
    """Return the places at which parts begin, and the last number of an open list in HTML."""
    cuts: list[_Cut] = []
    position = 0
    has_address = keyed = hard = False
    for number, line in enumerate(block.piece.flat.split("\n")):
        items, ordinal = _items(line, position, ordinal)
        bare = line.lstrip()
        begin = position + len(line) - len(bare)
        key, form, note = key_of(bare, keys)
        if number == 0 and (block.kind == "list_item" or block.marker) and form != "bracket":
            if block.marker.isdigit():
                key, form = canonical(block.marker), "plain"
            form = form or "bullet"
        fresh = number == 0 or form != ""
        if not keyed and block.kind != "list_item":
            fresh = fresh or has_address or (hard and not opens_with_address(bare))
        if items:
            cuts.extend(items)
            keyed = True
        elif fresh and bare:
            inner = list(_within_line(line, position, key, form))
            cuts.extend(inner if inner and key is None else [_Cut(begin, key, form, note), *inner])
            keyed = form != ""
        has_address = addressed(line) or (has_address and not (fresh or items))
        hard = line.endswith(_HARD)
        position += len(line) + 1
    if len(cuts) > 1 and not cuts[0].form and cuts[1].key and is_title(block.piece.flat[: cuts[1].start]):
        del cuts[0]  # a title right above the first entry
    return cuts, ordinal


def _items(line: str, position: int, ordinal: int | None) -> tuple[list[_Cut], int | None]:
    """Return the items of lists in HTML that begin in a line; those of ordered lists are numbered."""
    items: list[_Cut] = []
    for match in _HTML_ITEM.finditer(line):
        given = _START.search(match.group(2))
        tag = match.group(1).lower()
        if tag != "li":
            ordinal = (int(given.group(1)) - 1 if given else 0) if tag == "ol" else None
            continue
        if ordinal is not None:
            ordinal = int(given.group(1)) if given else ordinal + 1
        key = key_of(line[match.end() :])[0] or (str(ordinal) if ordinal is not None else None)
        items.append(_Cut(position + match.start(), key, "item" if key else "bullet"))
    return items, ordinal


def _within_line(line: str, position: int, key: str | None, form: str) -> Iterator[_Cut]:
    """Yield the entries after the first on one line, `[1] A https://… [2] B https://…`; all after a label."""
    if len(ADDRESS.findall(line)) < 2:
        return
    at = 0
    if key is None and (label := _LABEL.match(line)) is not None:
        at = label.end()
        key, form, _ = key_of(line[at:])
        if key is not None:
            yield _Cut(position + at, key, form)
    while key is not None and key.isdigit():
        key = str(int(key) + 1)
        opening = re.compile(rf"\s(?=[\[【]{key}[\]】])" if form == "bracket" else rf"\s(?={key}[.)]\s)")
        match = opening.search(line, at)
        if match is None or ADDRESS.search(line, at, match.start()) is None:
            return
        at = match.end()
        yield _Cut(position + at, key, form)


def _parts(block: RawBlock, cuts: Sequence[_Cut]) -> list[Unit]:
    units: list[Unit] = []
    flat = block.piece.flat
    for index, cut in enumerate(cuts):
        end = cuts[index + 1].start if index + 1 < len(cuts) else len(flat)
        end = cut.start + len(flat[cut.start : end].rstrip())
        if end > cut.start:
            piece = block.piece.cut(cut.start, end)
            heading = block.kind == "heading"
            level = 0 if heading else block.level
            has_address = addressed(piece.flat)
            units.append(Unit(piece, cut.start, cut.key, cut.form, cut.note, level, heading, has_address))
    return units


def addressed(text: str) -> bool:
    """Check whether a part of a list contains an address, a DOI or an arXiv id."""
    return ADDRESS.search(text) is not None or schemeless(text) is not None


def opens_with_address(line: str) -> bool:
    """Check whether a line begins with an address."""
    return ADDRESS.match(line.lstrip("<([")) is not None


def _row(block: RawBlock) -> Unit:
    cell = canonical(block.piece.flat.strip("| ").partition("|")[0].strip(" []*\\"))
    key = cell if _ROW_KEY.fullmatch(cell) else None
    form = "row" if block.kind == "table_row" else ""
    return Unit(block.piece, 0, key, form, False, 0, False, addressed(block.piece.flat))


def key_of(line: str, keys: frozenset[str] = frozenset()) -> tuple[str | None, str, bool]:
    """Return the key at the start of a line, its form, and whether it is a footnote's.

    Args:
        line: Line of a report.
        keys: Words that are keys at the start of a line.
    """
    lead = _LEAD.match(line)
    at = lead.end() if lead is not None else 0
    bullet = _BULLET.match(line, at)
    at = bullet.end() if bullet is not None else at
    note = _NOTE.match(line, at)
    if note is not None:
        return canonical(note["label"]), "bracket", True
    word = _LEADING.match(line, at)
    if word is not None and word[1] in keys:
        return word[1], "plain", False
    match = _KEY.match(line, at)
    key = canonical(match[match.lastgroup or 0].translate(RAISED_DIGITS)) if match is not None else None
    if match is None or key is None or (match["word"] and not key.isdigit()):
        return None, "bullet" if bullet is not None else "", False
    return key, "bracket" if match.lastgroup in ("bracket", "linked", "bib", "at") else "plain", False
