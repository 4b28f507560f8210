"""Sentences of one block.

Invariant: the sentences of a block are in order, do not overlap, and leave out nothing but white space;
a citation that stands after a full stop belongs to the sentence that it closes.

`sentencex` finds the boundaries in a stand-in text: citation markers and emphasis are taken out, and
links, addresses and code become one word each, so that nothing in them can look like the end of a
sentence. Each boundary is then carried back to the source. Where the library splits after an
abbreviation, `_ABBREVIATIONS` joins the two again.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import sentencex  # pyright: ignore[reportMissingTypeStubs]

from indexes.resources import word_list
from local_judge.documents.inline import Mark

_TERMINATORS = ".!?。！？…؟।"
_CLOSERS = "\"'”’)）]」』】*_"
_HARD_BREAK = re.compile(r"(?:(?<! ) {2,}|\\)\n|<br\s?/?>\n?", re.IGNORECASE)
_LONGEST_LIKELY = 500
_WINDOW = 4000
_UNQUOTED = str.maketrans(dict.fromkeys('"“”„«»‘’()[]{}（）「」『』《》〈〉【】', " "))
_EMPHASIS = re.compile(r"\*{1,3}|__|~~")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN = re.compile(r"[A-Za-zÀ-ÿ]{2,}")
_CONTENT = re.compile(r"\w")
_DIGIT_AFTER_HAN_STOP = re.compile(r"(?<=[。！？])[\d０-９]|(?<=[。！？][”’」』）])[\d０-９]")
"""The segmenter takes any full stop before a digit for a decimal point."""
_WORD_START = re.compile(r"\s*(?=\S)")

_ABBREVIATIONS = word_list("local_judge.documents", "abbreviations")
_NUMBERED = word_list("local_judge.documents", "abbreviations_before_numbers")
_STATES = word_list("local_judge.documents", "abbreviations_of_states")
_AFTER_STATE = re.compile(
    r"(?:[a-z0-9$€£%]|(?:Government|Congress|Senate|House|President|Supreme|Department|Treasury|Federal|Fed|Census|"
    r"Bureau|Army|Navy|Air|Food|FDA|EPA|SEC|GDP|GAAP|Bank|Securities|Dollar|Court|District|Security|Secretary|"
    r"General|Environmental|Geological|Patent|Postal|Customs|Energy|National|Centers|Pharmacopeia)\b)"
)
_SMALL = re.compile(r"[a-zß-öø-ÿ](?![A-Z])")
"""No sentence starts small, but for names such as `iPhone`."""
_CARRY_ON_HAN = "等的，、；：。"
_LAST_WORD = re.compile(r"(?:^|[\s(（\[“\"'‘/—–-])([^\W\d_][\w.]{0,11})\.\s*$")


@dataclass(frozen=True, slots=True)
class _StandIn:
    """A text for the segmenter with the way back."""

    text: str
    starts: list[int]
    origins: list[int]

    def origin(self, index: int) -> int:
        run = bisect_right(self.starts, index) - 1
        return self.origins[run] + index - self.starts[run]


def split_sentences(flat: str, marks: Sequence[Mark], language: str) -> list[tuple[int, int]]:
    """The sentences of a block's text as ranges of it.

    Args:
        flat: The text of a `Piece`.
        marks: Its marks, in order.
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
    """The stretches between hard line breaks; a break inside code does not count."""
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


# A compiled module without type information; it divides a text into parts that make it up.
_segment = cast("Callable[[str, str], list[str]]", getattr(sentencex, "segment"))  # noqa: B009


def _split(
    flat: str, start: int, end: int, marks: Sequence[Mark], language: str
) -> Iterator[tuple[int, int]]:
    """The sentences of one stretch; what holds no word joins the sentence after it."""
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


def _cuts(flat: str, start: int, stand_in: _StandIn, marks: Sequence[Mark], language: str) -> Iterator[int]:
    """Where a new sentence starts, in `flat`."""
    text = stand_in.text
    opening = {mark.end: mark.start for mark in marks if mark.kind == "tag" and flat[mark.start + 1] != "/"}
    floor = start
    for boundary in _boundaries(_segmenter_language(text, language), text):
        first = _WORD_START.match(text, boundary)
        if first is None or _continues(
            text[max(0, boundary - 24) : boundary], text[first.end() : first.end() + 40]
        ):
            continue
        cut = _with_opening_marks(flat, floor, stand_in.origin(first.end()), opening)
        if cut > floor:
            yield cut
            floor = cut


def _boundaries(code: str, text: str) -> list[int]:
    """The offsets at which the segmenter starts a new sentence.

    It never ends a sentence inside brackets or quotation marks. One that is never closed would hide the
    rest of the block, so a part of unlikely length is divided once more without them.
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
    """The segmenter's boundaries, asked for window by window: its time grows with the square of the text."""
    position = 0
    text = _DIGIT_AFTER_HAN_STOP.sub("一", text)
    while position < len(text):
        parts = _segment(code, text[position : position + _WINDOW])
        whole = position + _WINDOW >= len(text)
        at = position
        for part in parts[:-1]:
            at += len(part)
            yield at
        # The last sentence of a window may go on in the next one, which starts with it; one that fills
        # a window is cut off from what follows only where the next window says so.
        position = len(text) if whole else at if at > position else position + _WINDOW


def _with_opening_marks(flat: str, floor: int, cut: int, opening: dict[int, int]) -> int:
    """Moves a cut in front of the emphasis or tag that opens there."""
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
    # No white space in between, as in Chinese: an odd number of markers before says that this one closes.
    return cut if flat.count("**", floor, at) % 2 else at


def _segmenter_language(text: str, language: str) -> str:
    """Chinese and Japanese rules for text that is mostly Han, whatever the document is in."""
    han = len(_HAN.findall(text))
    if 4 * han > len(text):
        return language if language in ("zh", "ja") else "zh"
    if language in ("zh", "ja", "und") and _LATIN.search(text):
        return "en"
    return language if language != "und" else "en"


def _continues(before: str, following: str) -> bool:
    """Whether a boundary that the segmenter found stands within a sentence."""
    end = before.rstrip()[-1:]
    if (end == "." or end.isalnum()) and _SMALL.match(following):
        return True
    if end in _CLOSERS and following[0] in _CARRY_ON_HAN:
        return True
    match = _LAST_WORD.search(before[-24:])
    if match is None:
        return False
    word = match.group(1).lower()
    if word not in _ABBREVIATIONS:
        return False
    if word in _NUMBERED:
        return following[:1].isdigit() or (following[:1] in "(S" and following[1:2].isdigit())
    if word in _STATES:
        return _AFTER_STATE.match(following) is not None
    return True


def _stand_in(flat: str, start: int, end: int, marks: Sequence[Mark]) -> _StandIn:
    parts: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    length = 0

    def put(text: str, origin: int) -> None:
        nonlocal length
        if text:
            parts.append(text)
            starts.append(length)
            origins.append(origin)
            length += len(text)

    def put_plain(left: int, right: int) -> None:
        at = left
        for match in _EMPHASIS.finditer(flat, left, right):
            put(flat[at : match.start()].replace("\n", " "), at)
            at = match.end()
        put(flat[at:right].replace("\n", " "), at)

    position = start
    for left, right, word in _replacements(flat, start, end, marks):
        put_plain(position, left)
        put(word, left)
        position = right
    put_plain(position, end)
    if not parts:
        put(" ", start)
    return _StandIn("".join(parts), starts, origins)


def _replacements(flat: str, start: int, end: int, marks: Sequence[Mark]) -> Iterator[tuple[int, int, str]]:
    """What stands for each mark: nothing, or a word of the same length."""
    index = 0
    while index < len(marks):
        stop = index + 1
        if marks[index].style is not None:
            while stop < len(marks) and _adjoins(flat, marks[stop - 1], marks[stop]):
                stop += 1
        yield from _replaced_run(flat, start, end, marks[index:stop])
        index = stop


def _adjoins(flat: str, left: Mark, right: Mark) -> bool:
    between = flat[left.end : right.start]
    return right.style is not None and len(between) <= 4 and not between.strip(" ,;、，()（）·|\n")


def _replaced_run(flat: str, start: int, end: int, run: Sequence[Mark]) -> Iterator[tuple[int, int, str]]:
    left, right = run[0].start, run[-1].end
    wrapped = (
        flat[left - 1 : left] in ("(", "（", "[")
        and flat[right : right + 1] in (")", "）", "]")
        and left > start
    )
    if wrapped:
        left, right = left - 1, right + 1
    before = flat[max(start, left - 8) : left].rstrip(" \n" + _CLOSERS)
    after = flat[right : min(end, right + 40)]
    styles = [mark.style for mark in run if mark.style is not None]
    hard = any(not style.wording for style in styles)
    soft = any(style.wording for style in styles)
    closes = bool(before) and before[-1] in _TERMINATORS
    next_char = after.lstrip(" *_")[:1]
    if closes and soft and (wrapped or hard or next_char in ("", "\n") or next_char.isupper()):
        yield left, right, ""
        return
    if hard and not soft and (closes or left == start) and after[:1] == " " and next_char.islower():
        yield left, right, "X" * (right - left)
        return
    for mark in run:
        if mark.kind == "tag" or (mark.style is not None and not mark.style.wording):
            yield mark.start, mark.end, ""
        else:
            small = mark.shown[:1].islower() or (
                mark.target != "" and flat[mark.start].islower() and not closes
            )
            yield mark.start, mark.end, ("x" if small else "X") * (mark.end - mark.start)
