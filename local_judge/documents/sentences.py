"""Sentence segmentation of one block.

Invariant: the sentences of a block are in order, do not overlap, and omit nothing but white space; a citation after a
full stop belongs to the sentence before it.

`sentencex` finds the boundaries in a stand-in text: citation markers and emphasis are removed, and links, addresses and
code become one word each, so that nothing in them looks like the end of a sentence. Each boundary is then mapped back
to the source. `sentence_ends` joins sentences that the library splits
after an abbreviation or an ordinal.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import cast

import sentencex  # pyright: ignore[reportMissingTypeStubs]

from local_judge.documents.inline import Mark
from local_judge.documents.markdown import Piece
from local_judge.documents.sentence_ends import CLOSERS, continues

_TERMINATORS = ".!?。！？…؟।"
_HARD_BREAK = re.compile(r"(?:(?<! ) {2,}|\\)\n|<br\s?/?>\n?", re.IGNORECASE)
_LONGEST_LIKELY = 500
_WINDOW = 4000
_UNQUOTED = str.maketrans(dict.fromkeys('"“”„«»‘’()[]{}（）「」『』《》〈〉【】', " "))
_EMPHASIS = re.compile(r"\*{1,3}|__|~~")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN = re.compile(r"[A-Za-zÀ-ÿ]{2,}")
_CONTENT = re.compile(r"\w")
_DIGIT_AFTER_HAN_STOP = re.compile(r"(?<=[。！？])[\d０-９]|(?<=[。！？][”’」』）])[\d０-９]")
"""Digit that the segmenter would take, with the full stop before it, for a decimal."""
_UNIT_BEFORE_STOP = re.compile(r"(?<=[^\W\d_]/|[²³€$£%>]/)[^\W\d_](?=\s?\. )")
"""Letter of a unit, `m³/s.`, that the segmenter would take for an initial."""
_NOTE = re.compile(r"\^\[[^\[\]\n]{1,600}\]|(?<=[.!?])\[[^\[\]\n]{1,40}\](?![(:])")
"""Note in the text, `^[Kim, 2024]` or `.[a]`, which belongs to the sentence before it."""
_WORD_START = re.compile(r"\s*(?=\S)")

_LINK_TEXT = re.compile(r"\[[^\[\]\n]{1,100}\]$")


def split_sentences(flat: str, marks: Sequence[Mark], language: str) -> list[tuple[int, int]]:
    """Return the sentences of a block as ranges of its text.

    Args:
        flat: Text of a `Piece`.
        marks: Marks in the text, in order.
        language: ISO 639-1 code of the document, or `und`.
    """
    ranges: list[tuple[int, int]] = []
    first = 0
    for start, end in _hard_lines(flat, marks):
        while first < len(marks) and marks[first].start < start:
            first += 1
        last = first
        while last < len(marks) and marks[last].start < end:
            last += 1
        ranges.extend(_split(flat, start, end, marks[first:last], language))
        first = last
    return ranges


def _hard_lines(flat: str, marks: Sequence[Mark]) -> Iterator[tuple[int, int]]:
    """Yield the ranges between hard line breaks, except for breaks in code."""
    code = [(mark.start, mark.end) for mark in marks if mark.kind == "code"]
    starts = [start for start, _ in code]
    position = 0
    for match in _HARD_BREAK.finditer(flat):
        inside = bisect_right(starts, match.start()) - 1
        if inside >= 0 and match.start() < code[inside][1]:
            continue
        yield position, match.start()
        position = match.end()
    yield position, len(flat)


# A compiled module without type information; the parts that it returns, joined, are the text.
_segment = cast("Callable[[str, str], list[str]]", getattr(sentencex, "segment"))  # noqa: B009


def _split(
    flat: str, start: int, end: int, marks: Sequence[Mark], language: str
) -> Iterator[tuple[int, int]]:
    """Yield the sentences of one range; a part without a word joins the sentence after it."""
    waiting = checked = start
    worded = False
    for cut in [*_cuts(flat, start, _stand_in(flat, start, end, marks), marks, language), end]:
        worded = worded or _CONTENT.search(flat, checked, cut) is not None
        checked = cut
        if cut < end and not worded:
            continue
        stretch = flat[waiting:cut]
        left = waiting + len(stretch) - len(stretch.lstrip())
        right = waiting + len(stretch.rstrip())
        if left < right:
            yield left, right
        waiting, worded = cut, False


def _cuts(flat: str, start: int, stand_in: Piece, marks: Sequence[Mark], language: str) -> Iterator[int]:
    """Yield the offsets in `flat` at which a sentence starts."""
    text = stand_in.flat
    opening = {mark.end: mark.start for mark in marks if mark.kind == "tag" and flat[mark.start + 1] != "/"}
    floor = start
    for boundary in _boundaries(_segmenter_language(text, language), text):
        first = _WORD_START.match(text, boundary)
        note = _NOTE.match(text, first.end()) if first is not None else None
        first = _WORD_START.match(text, note.end()) if note is not None else first
        if first is None or continues(
            text[max(0, boundary - 40) : boundary], text[first.end() : first.end() + 40], language
        ):
            continue
        cut = _with_opening_marks(flat, floor, stand_in.source(first.end()), opening)
        if cut > floor:
            yield cut
            floor = cut


def _boundaries(code: str, text: str) -> list[int]:
    """Return the offsets at which the segmenter starts a sentence.

    It never ends a sentence inside brackets or quotation marks. An unclosed one would hide the rest of the block, so
    that a part of unlikely length is segmented again without them.
    """
    found: list[int] = []
    before = 0
    for boundary in [*_windowed(code, text), len(text)]:
        if boundary - before > _LONGEST_LIKELY:
            found.extend(
                before + inner for inner in _windowed(code, text[before:boundary].translate(_UNQUOTED))
            )
        if boundary < len(text):
            found.append(boundary)
        before = boundary
    return found


def _windowed(code: str, text: str) -> Iterator[int]:
    """Yield the segmenter's boundaries window by window, since its time is quadratic in the length of the text."""
    position = 0
    text = _UNIT_BEFORE_STOP.sub("0", _DIGIT_AFTER_HAN_STOP.sub("一", text))
    while position < len(text):
        parts = _segment(code, text[position : position + _WINDOW])
        whole = position + _WINDOW >= len(text)
        at = position
        for part in parts[:-1]:
            at += len(part)
            yield at
        # The last sentence of a window may continue, so that the next window starts with it; a sentence that fills
        # a window ends only at a boundary of the next window.
        position = len(text) if whole else at if at > position else position + _WINDOW


def _with_opening_marks(flat: str, floor: int, cut: int, opening: dict[int, int]) -> int:
    """Move a cut in front of the emphasis or tag that opens there."""
    at = cut
    while at > floor:
        if at in opening:
            at = opening[at]
        elif flat[at - 1] in "*_~":
            at -= 1
        else:
            break
    if at == cut or at <= floor:
        return max(at, floor)
    if flat[at - 1].isspace():
        return at
    # Without white space in between, as in Chinese: after an odd number of markers this one closes.
    return cut if flat.count("**", floor, at) % 2 else at


def _segmenter_language(text: str, language: str) -> str:
    """Choose Chinese or Japanese rules for text that is mostly Han, whatever the document's language."""
    han = len(_HAN.findall(text))
    if 4 * han > len(text):
        return language if language in ("zh", "ja") else "zh"
    if language in ("zh", "ja", "und") and _LATIN.search(text):
        return "en"
    return language if language != "und" else "en"


def _stand_in(flat: str, start: int, end: int, marks: Sequence[Mark]) -> Piece:
    """Return the text for the segmenter, whose `source` is an offset in `flat`."""
    parts = [part for part in _parts(flat, start, end, marks) if part[0]] or [(" ", start)]
    texts, origins = zip(*parts, strict=True)
    starts = accumulate((len(text) for text in texts[:-1]), initial=0)
    return Piece("".join(texts).replace("\n", " "), tuple(starts), tuple(origins))


def _parts(flat: str, start: int, end: int, marks: Sequence[Mark]) -> Iterator[tuple[str, int]]:
    """Yield the texts that make up the stand-in, with their offsets in `flat`."""
    at = start
    for left, right, word in [*_replacements(flat, start, end, marks), (end, end, "")]:
        for match in _EMPHASIS.finditer(flat, at, left):
            yield flat[at : match.start()], at
            at = match.end()
        yield flat[at:left], at
        yield word, left
        at = right


def _replacements(flat: str, start: int, end: int, marks: Sequence[Mark]) -> Iterator[tuple[int, int, str]]:
    """Yield the replacement of each mark: nothing, or a word of the same length."""
    index = 0
    while index < len(marks):
        stop = index + 1
        if marks[index].style is not None:
            while stop < len(marks) and _adjoins(flat, marks[stop - 1], marks[stop]):
                stop += 1
        yield from _replaced_run(flat, start, end, marks[index:stop])
        index = stop


def _adjoins(flat: str, left: Mark, right: Mark) -> bool:
    between = flat[left.end : _linked_start(flat, right)]
    return right.style is not None and len(between) <= 4 and not between.strip(" ,;、，()（）·|\n")


def _linked_start(flat: str, mark: Mark) -> int:
    """Return the start of a mark together with the text of its link, `[town.example][1]`."""
    text = _LINK_TEXT.search(flat, max(0, mark.start - 102), mark.start)
    return text.start() if text is not None else mark.start


def _replaced_run(flat: str, start: int, end: int, run: Sequence[Mark]) -> Iterator[tuple[int, int, str]]:
    left, right = run[0].start, run[-1].end
    outer = (_linked_start(flat, run[0]) if run[0].style is not None else left) - 1
    wrapped = (
        outer >= start and flat[outer] in ("(", "（", "[") and flat[right : right + 1] in (")", "）", "]")
    )
    if wrapped:
        left, right = outer, right + 1
    before = flat[max(start, left - 8) : left].rstrip(" \n" + CLOSERS)
    after = flat[right : min(end, right + 40)]
    styles = [mark.style for mark in run if mark.style is not None]
    hard = any(not style.wording for style in styles)
    soft = any(style.wording for style in styles)
    closes = bool(before) and before[-1] in _TERMINATORS
    next_char = after.lstrip(" *_")[:1]
    apart = hard or next_char in ("", "\n") or next_char.isupper()
    if closes and ((wrapped and (soft or hard)) or (soft and apart)):
        yield left, right, ""
        return
    if hard and not soft and (closes or left == start) and after[:1] == " " and next_char.islower():
        yield left, right, "X" * (right - left)
        return
    for mark in run:
        if mark.kind == "tag" or (mark.style is not None and not mark.style.wording):
            # The segmenter does not end sentences at a stop after a bracket and a blank, `(https://…) .`.
            blank = flat[mark.start - 2 : mark.start] in (") ", "） ") and after[:1] in f"{_TERMINATORS},;:"
            yield mark.start - blank, mark.end, ""
        else:
            small = mark.shown[:1].islower() or (
                mark.target != "" and flat[mark.start].islower() and not closes
            )
            yield mark.start, mark.end, ("x" if small else "X") * (mark.end - mark.start)
