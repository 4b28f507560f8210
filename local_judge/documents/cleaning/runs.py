"""Marks that stand together, and whether a link among them is words of the report or a source's name.

Invariant: a link's text goes only where the sentence cannot need it: in brackets that hold nothing but citations, or
between the end of a sentence and the end of the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from local_judge.documents.cleaning.marks import Cut
from local_judge.documents.cleaning.model import Lines, blanks_after, blanks_before

CUES = (
    r"(?:(?:see(?: also)?|cf\.?|e\.g\.,?|also|via|sources?|references?|refs?\.?|citations?(?: in (?:the )?text)?|links?"
    r"|data sources?|adapted from|retrieved from|available at"
    r"|参见|详见|见|参考(?:资料|文献|来源|链接)?|(?:资料|数据|信息|引用)?(?:来源|來源)|来自|引用|引自|出处|链接)"
    r"(?:[*_]{0,3}[:：][*_]{0,3})?)"
)
"""Words that only introduce a source."""
BRACKETS = {"(": ")", "（": "）", "[": "]", "［": "］", "【": "】", "〔": "〕", "{": "}"}
WIDE_ENDS = "。！？"
ENDS = ".!?…" + WIDE_ENDS
"""What ends a sentence."""
_ABBREVIATION = re.compile(
    r"(?<!\w)(?:[A-Z]|vs|e\.g|i\.e|cf|ca|al|incl|no|Nos?|St|Dr|Mr|Mrs|Ms|Prof|Gen|Sen|Rep|Gov|Capt|Inc|Corp|Ltd|Co)\.$"
)
"""A full stop that ends no sentence: the name after it is needed."""
_JOINT = re.compile(
    rf"[^\S\r\n]*(?:[,，、;；/&+–—-]|and|和|与|及|以及)?[^\S\r\n]*(?:[*_]{{0,3}}{CUES}[^\S\r\n]*)?",
    re.IGNORECASE,
)
_LONGEST_JOINT = 40
_CUE = re.compile(rf"(?<![^\W_])[*_]{{0,3}}{CUES}[^\S\r\n]*$", re.IGNORECASE)
_LOCATOR = re.compile(
    r"[,，:]?[^\S\r\n]?(?:pp?\.[^\S\r\n]?\d{1,5}(?:[-–]\d{1,5})?|第[^\S\r\n]?\d{1,5}[^\S\r\n]?[页頁章节])"
)
_LONGEST_CUE = 60
_DEEPEST = 12
"""Brackets around brackets."""
_END = re.compile(r"[^\S\r\n]*[.。]?[^\S\r\n]*(?:$|[\r\n])")


@dataclass(frozen=True, slots=True)
class Run:
    """Marks to take away as one, with what stands around them for their sake: `text[start:end]`."""

    cuts: tuple[Cut, ...]
    start: int
    end: int


class Runs:
    """Groups the marks of one text."""

    def __init__(self, text: str, cuts: Sequence[Cut], lines: Lines) -> None:
        self._text = text
        self._cuts = cuts
        self._lines = lines

    def grouped(self) -> Iterator[Run | Cut]:
        """In order: runs to take away, and single links whose words stay."""
        pending: list[Run] = []
        for item in self._chains():
            if pending and not (isinstance(item, Run) and self._touch(pending[-1], item)):
                yield self._as_one(pending)
                pending = []
            if isinstance(item, Run):
                pending.append(item)
            else:
                yield item
        if pending:
            yield self._as_one(pending)

    def _chains(self) -> Iterator[Run | Cut]:
        first = 0
        floor = 0
        while first < len(self._cuts):
            last = first
            while last + 1 < len(self._cuts) and self._joined(self._cuts[last], self._cuts[last + 1]):
                last += 1
            limit = self._cuts[last + 1].start if last + 1 < len(self._cuts) else len(self._text)
            for item in self._decided(self._cuts[first : last + 1], floor, limit):
                yield item
                floor = item.end
            first = last + 1

    def _touch(self, run: Run, following: Run) -> bool:
        """Whether nothing but a separator stands between two runs: `([Reuters](…))[3]; ([AP](…))[4]`."""
        if run.cuts[0].exact or following.cuts[0].exact or following.start - run.end > _LONGEST_JOINT:
            return False
        return _JOINT.fullmatch(self._text, run.end, following.start) is not None

    def _as_one(self, runs: Sequence[Run]) -> Run:
        return Run(tuple(cut for run in runs for cut in run.cuts), runs[0].start, runs[-1].end)

    def _joined(self, cut: Cut, following: Cut) -> bool:
        if cut.exact or following.exact or following.start - cut.end > _LONGEST_JOINT:
            return False
        return _JOINT.fullmatch(self._text, cut.end, following.start) is not None

    def _decided(self, cuts: Sequence[Cut], floor: int, limit: int) -> Iterator[Run | Cut]:
        """One chain of marks: as a run, or cut apart at the links that stay."""
        if all(cut.kind != "link" for cut in cuts):
            yield self._widened(cuts, floor, limit)
            return
        whole = self._widened(cuts, floor, limit)
        bracketed = self._text[whole.start] in BRACKETS and whole.start < cuts[0].start
        if bracketed or (not cuts[0].exact and self._is_trailing(whole, floor)):
            yield Run(_as_marks(cuts), whole.start, whole.end)
        else:
            yield from self._apart(cuts, floor, limit)

    def _apart(self, cuts: Sequence[Cut], floor: int, limit: int) -> Iterator[Run | Cut]:
        pending: list[Cut] = []
        for index, cut in enumerate(cuts):
            if cut.kind != "link":
                pending.append(cut)
                continue
            if pending:
                yield self._widened(pending, floor, cut.start)
                floor, pending = pending[-1].end, []
            yield cut
            floor = cut.end
            if index + 1 == len(cuts):
                return
        yield self._widened(pending, floor, limit)

    def _is_trailing(self, run: Run, floor: int) -> bool:
        """Whether a run stands between the end of a sentence and the end of the line."""
        if self._lines.opens(run.start) or _END.match(self._text, run.end) is None:
            return False
        before = blanks_before(self._text, run.start, floor)
        if before == run.start and self._text[before - 1] not in WIDE_ENDS:
            return False
        while before > floor and self._text[before - 1] in "\"'”’)）*_」』":
            before -= 1
        if before == floor or self._text[before - 1] not in ENDS:
            return False
        return _ABBREVIATION.search(self._text, max(floor, before - _LONGEST_CUE), before) is None

    def _widened(self, cuts: Sequence[Cut], floor: int, limit: int) -> Run:
        """The marks with brackets, emphasis and introducing words that hold nothing else."""
        start, end = cuts[0].start, cuts[-1].end
        if cuts[0].exact:
            return Run(tuple(cuts), start, end)
        for _ in range(_DEEPEST):
            wider = self._bracketed(start, end, floor, limit) or self._emphasised(start, end, floor, limit)
            if wider is None:
                break
            start, end = wider
        return Run(tuple(cuts), start, end)

    def _bracketed(self, start: int, end: int, floor: int, limit: int) -> tuple[int, int] | None:
        text = self._text
        left = blanks_before(self._text, start, floor)
        right = blanks_after(self._text, end, limit)
        closing = BRACKETS.get(text[left - 1]) if left > floor else None
        if closing is None:
            cue = _CUE.search(text, max(floor, left - _LONGEST_CUE), start)
            left = blanks_before(self._text, cue.start(), floor) if cue is not None else left
            closing = BRACKETS.get(text[left - 1]) if left > floor else None
        if closing is None:
            return None
        if right < limit and text[right] != closing:
            locator = _LOCATOR.match(text, end, limit)
            right = blanks_after(self._text, locator.end(), limit) if locator is not None else right
        return (left - 1, right + 1) if right < limit and text[right] == closing else None

    def _emphasised(self, start: int, end: int, floor: int, limit: int) -> tuple[int, int] | None:
        text = self._text
        for opening, closing in (("<sup>", "</sup>"), ("<small>", "</small>")):
            if start - len(opening) >= floor and text.startswith(opening, start - len(opening)):
                if text.startswith(closing, end) and end + len(closing) <= limit:
                    return start - len(opening), end + len(closing)
                return None
        mark = text[start - 1] if start > floor else ""
        if not mark or mark not in "*_^" or end >= limit or text[end] != mark:
            return None
        # "**a**[1]**b**": those of two other words.
        outer, inner = text[start - 2 : start - 1], text[end + 1 : end + 2]
        if mark != "^" and (_is_word(outer) or _is_word(inner)):
            return None
        if mark != "^" and outer == mark and start - 3 >= floor and _is_word(text[start - 3]):
            return None
        return start - 1, end + 1


def _as_marks(cuts: Sequence[Cut]) -> tuple[Cut, ...]:
    return tuple(replace(cut, kind="marker", kept="") if cut.kind == "link" else cut for cut in cuts)


def _is_word(character: str) -> bool:
    return character.isalnum()
