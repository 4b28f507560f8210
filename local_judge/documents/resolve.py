"""Resolution of marks into citations.

Invariant: a citation points to an entry only if the entry has its key, its address, or its author and year; if several
entries match, a fixed order decides (`Lookup.numbered`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from local_judge.documents.author_years import AGAIN, labels_of, works_of
from local_judge.documents.citation_styles import CitationStyle
from local_judge.documents.inline import Mark
from local_judge.documents.model import Citation, CitationState, Reference, Span
from local_judge.documents.references import Entry, web_address

_FEWEST_AUTHORS = 5
"""Least number of works named by author and year that make them citations in a report without a list of them."""


@dataclass(frozen=True, slots=True)
class Cited:
    """Mark of a possible citation, with its position in the report."""

    mark: Mark
    style: CitationStyle
    span: Span
    block: int
    heading: bool = False
    """True for a mark in a heading, where a name with a year, `Outlook (2025)`, is one only if an entry has them."""


class Lookup:
    """Index of a report's entries by number, footnote label, address, and author and year.

    Args:
        references: Entries of the text.
        entries: The same entries, with their anchors.
        beside: Sources beside the text.
        marks: Offsets of the marks, in order.
    """

    def __init__(
        self,
        references: Sequence[Reference],
        entries: Sequence[Entry],
        beside: Sequence[Reference],
        marks: Sequence[int],
    ) -> None:
        self._marks = marks
        doubled = Counter((reference.section, reference.key) for reference in references if reference.key)
        again = Counter(section for (section, _), n in doubled.items() if n > 1)
        self._restarted = {section for section, n in again.items() if n > 1}
        self._numbered: dict[str, list[Reference]] = {}
        self._notes: dict[str, list[Reference]] = {}
        self._beside = {reference.key: reference for reference in reversed(beside)}
        self._by_url: dict[str, Reference] = {}
        self._by_author: dict[str, Reference] = {}
        for reference, entry in zip(references, entries, strict=True):
            for name in entry.names:
                (self._notes if entry.note else self._numbered).setdefault(name, []).append(reference)
        for reference in (*references, *beside):
            if reference.url is not None:
                self._by_url.setdefault(reference.url, reference)
            for work in works_of(reference.text):
                self._by_author.setdefault(work, reference)
        for table in (self._numbered, self._notes):
            for key, bearers in table.items():
                table[key] = [bearer for bearer in bearers if bearer.url is not None] or bearers

    def numbered(self, key: str, position: int, *, note: bool) -> Reference | None:
        """Return the entry with a number or label.

        Among several, entries with an address take precedence, then entries of the text, then the first one after the
        citation (chapters with their own lists), then the last one before it. None if the lists of several chapters
        follow each other, and give the number to different addresses: nothing says which is meant.
        """
        first, second = (self._notes, self._numbered) if note else (self._numbered, self._notes)
        candidates = first.get(key) or second.get(key) or []
        if not candidates:
            return self._beside.get(key)
        after = bisect_right(candidates, position, key=lambda reference: reference.span.start)
        chosen = min(after, len(candidates) - 1)
        nearest = candidates[chosen]
        others = candidates[max(0, chosen - 1) : chosen] + candidates[chosen + 1 : chosen + 2]
        if not note and any(
            one.url != nearest.url
            and (one.section != nearest.section or one.section in self._restarted)
            and self._adjoin(one, nearest)
            for one in others
        ):
            return None
        return nearest if nearest.url is not None else self._beside.get(key, nearest)

    def _adjoin(self, one: Reference, other: Reference) -> bool:
        """Check whether no mark is between two entries."""
        first, last = sorted((one.span.start, other.span.start))
        return bisect_right(self._marks, first) == bisect_right(self._marks, last)

    def address(self, url: str) -> Reference | None:
        """Return the first entry with this normalised address."""
        return self._by_url.get(url)

    def author_year(self, key: str) -> Reference | None:
        """Return the first entry with this first author and year."""
        whole, part = labels_of(key)
        return self._by_author.get(whole) or self._by_author.get(part)


def is_clearly_citing(mark: Mark) -> bool:
    """Check whether a mark is a citation in any report, unlike a name with a year."""
    return mark.style is not None and mark.style.lookup != "author"


def resolve(found: Sequence[Cited], lookup: Lookup) -> list[tuple[Citation, int]]:
    """Return the citations among the marks, in reading order, each with its index in `found`."""
    by_author = _cites_by_author(found, lookup)
    citations: list[tuple[Citation, int]] = []
    for index, item in enumerate(found):
        mark, style = item.mark, item.style
        addressed = style.lookup == "address"
        for key in (mark.target,) if addressed else mark.keys:
            url = web_address(key) if addressed else None
            written = key if addressed else None
            if addressed:
                entry = lookup.address(url) if url is not None else None
            elif style.lookup == "author":
                entry = lookup.author_year(key)
                certain = mark.certain and (entry is not None or by_author == "certain" or key == AGAIN)
                phrase = not certain and by_author != "all" and (entry is None or mark.shown != "")
                if phrase or (entry is None and item.heading):
                    continue
            else:
                entry = lookup.numbered(key, item.span.start, note=style.lookup == "note")
            if url is None and entry is not None:
                url, written = entry.url, entry.original_url
            state: CitationState = "resolved" if url else "no_url" if entry else "dangling"
            if state == "dangling" and not style.dangles:
                continue
            citation = Citation(
                id=f"c{len(citations) + 1}",
                style=style.name,
                key=key,
                span=item.span,
                state=state,
                reference=entry.id if entry else None,
                url=url,
                original_url=written if state != "no_url" else None,
            )
            citations.append((citation, index))
    return citations


def _cites_by_author(found: Sequence[Cited], lookup: Lookup) -> str:
    """Return which names with years are citations: `all`, the `certain`, or only certain ones that resolve (empty).

    In a report that cites by number, or that lists no author it names, `Hoffmann et al. (2022)` is a phrase of the
    sentence, unless there are several; `(Berlin, 2019)` is neither. A bracket that names an entry, `(Kim, 2021)`, is a
    citation in any report.
    """
    if any(is_clearly_citing(item.mark) and item.style.lookup != "address" for item in found):
        return ""
    if any(lookup.author_year(key) is not None for item in found for key in item.mark.keys):
        return "all"
    if any(is_clearly_citing(item.mark) for item in found):
        return ""
    named = {key for item in found if item.mark.certain for key in item.mark.keys}
    return "certain" if len(named) >= _FEWEST_AUTHORS else ""
