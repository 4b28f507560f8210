"""Groups of adjacent marks, in which links may be sources' names instead of words of the report.

Invariant: a link's text is removed only if the sentence cannot need it: in brackets that contain only citations, or
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
"""Characters that end a sentence."""
_ABBREVIATION = re.compile(
    r"(?<!\w)(?:[A-Z]|vs|e\.g|i\.e|cf|ca|al|incl|no|Nos?|St|Dr|Mr|Mrs|Ms|Prof|Gen|Sen|Rep|Gov|Capt|Inc|Corp|Ltd|Co)\.$"
)
"""Abbreviation whose full stop ends no sentence, so that the name after it is needed."""
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
"""Maximum depth of nested brackets."""
_END = re.compile(r"[^\S\r\n]*[.。]?[^\S\r\n]*(?:$|[\r\n])")


@dataclass(frozen=True, slots=True)
class Run:
    """Marks to remove together, with the text around them that only belongs to them: `text[start:end]`."""

    cuts: tuple[Cut, ...]
    start: int
    end: int

    @property
    def exact(self) -> bool:
        """True if the text around the run must not change."""
        return self.cuts[0].exact


class Runs:
    """Grouping of the marks of one text."""

    def __init__(self, text: str, cuts: Sequence[Cut], lines: Lines) -> None:
        self._text = text
        self._cuts = cuts
        self._lines = lines

    def grouped(self) -> Iterator[Run | Cut]:
        """Yield, in order, runs to remove and single links whose words stay."""
        pending: list[Run] = []
        for item in self._chains():
            if pending and not (isinstance(item, Run) and self._adjoin(pending[-1], item)):
                yield self._as_one(pending)
                pending = []
            if isinstance(item, Run):
                pending.append(item)
            else:
                yield item
        if pending:
            yield self._as_one(pending)

    def _chains(self) -> Iterator[Run | Cut]:
        cuts = self._cuts
        first = floor = 0
        while first < len(cuts):
            last = first
            while last + 1 < len(cuts) and self._adjoin(cuts[last], cuts[last + 1]):
                last += 1
            limit = cuts[last + 1].start if last + 1 < len(cuts) else len(self._text)
            for item in self._decided(cuts[first : last + 1], floor, limit):
                yield item
                floor = item.end
            first = last + 1

    def _as_one(self, runs: Sequence[Run]) -> Run:
        return Run(tuple(cut for run in runs for cut in run.cuts), runs[0].start, runs[-1].end)

    def _adjoin(self, one: Run | Cut, other: Run | Cut) -> bool:
        """Check whether only a separator is between two marks or runs: `([Reuters](…))[3]; ([AP](…))[4]`."""
        if one.exact or other.exact or other.start - one.end > _LONGEST_JOINT:
            return False
        return _JOINT.fullmatch(self._text, one.end, other.start) is not None

    def _decided(self, cuts: Sequence[Cut], floor: int, limit: int) -> Iterator[Run | Cut]:
        """Yield a chain of marks as one run, or split at the links that stay."""
        whole = self._widened(cuts, floor, limit)
        if all(cut.kind != "link" for cut in cuts):
            yield whole
            return
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
        """Check whether a run is between the end of a sentence and the end of the line."""
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
        """Extend marks by the brackets, emphasis and introducing words that contain nothing else."""
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
        # "**a**[1]**b**": the emphasis belongs to the words on both sides.
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
