"""Presentation checks that code decides from the parsed report alone.

Invariant: code decides only what it is sure of, and lists every place that fails a check. The judge decides the rest.

    p3   every entry of the lists of references and every footnote is cited
    p4   every citation has an entry; a link or URL in the text is its own entry
    p5   one list, whose numbers rise, or whose entries are in alphabetical order or in the order of first citation
    p9   unmet if lines of cells make no table or a row has more cells than its table's head; otherwise for the judge
    p10  the entries' numbers have no gaps, each has one source, and no URL has two of them; for the judge if the text
         cites by number and no entry has one
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from local_judge.documents.model import Block, Document, Reference, Span
from local_judge.protocols.checklist import Location, Status

_BAR = re.compile(r"(?<!\\)\|")
_ROW = re.compile(r"\s*\|.*\|\s*")


class Decided(NamedTuple):
    """Decision of code on one check."""

    status: Status
    rationale: str
    places: tuple[Location, ...] = ()


def decide(document: Document) -> dict[str, Decided]:
    """Decide the checks that code is sure of, by id."""
    rules: dict[str, Callable[[Document], Decided | None]] = {
        "p3": _all_cited,
        "p4": _all_resolved,
        "p5": _one_list,
        "p9": _markup,
        "p10": _numbering,
    }
    found = {name: rule(document) for name, rule in rules.items()}
    return {name: decided for name, decided in found.items() if decided is not None}


def _all_cited(document: Document) -> Decided:
    references = document.references
    if not references:
        return Decided("not_applicable", "The report lists no references.")
    uncited = [reference for reference in references if reference.state == "uncited"]
    return _decide(
        f"{len(references) - len(uncited)} of {len(references)} entries are cited.",
        (_location(document, one.span, f"{_name(one)} is not cited") for one in uncited),
    )


def _all_resolved(document: Document) -> Decided:
    citations = document.citations
    if not citations:
        return Decided("not_applicable", "The report cites nothing.")
    dangling = [citation for citation in citations if citation.state == "dangling"]
    return _decide(
        f"{len(citations) - len(dangling)} of {len(citations)} citations have an entry or an address.",
        (_location(document, one.span, f"no entry {one.key}") for one in dangling),
    )


def _one_list(document: Document) -> Decided | None:
    """Check that there is one ordered list; None if its order is unusual, or if there are only footnotes."""
    lists: dict[int, list[Reference]] = {}
    for reference in document.references:
        lists.setdefault(reference.section, []).append(reference)
    notes = lists.pop(-1, [])
    if not lists:
        return None if notes else Decided("unmet", "The report has no list of references.")
    if len(lists) > 1:
        places = (_location(document, own[0].span, "a list of references begins") for own in lists.values())
        return _decide(f"The report has {len(lists)} lists of references.", places)
    (entries,) = lists.values()
    numbers = [_number(entry) for entry in entries]
    if any(number is not None for number in numbers):
        known = [number for number in numbers if number is not None]
        odd = [entry for entry, number in zip(entries, numbers, strict=True) if number is None]
        falls = [
            entry
            for entry, number, before in zip(entries[1:], numbers[1:], numbers, strict=False)
            if number is not None and before is not None and number < before
        ]
        return _decide(
            f"One list of {len(entries)} entries, {len(known)} of them numbered.",
            [
                *(_location(document, one.span, "has no number among numbered entries") for one in odd),
                *(
                    _location(document, one.span, f"{_name(one)} stands after a higher number")
                    for one in falls
                ),
            ],
        )
    order = _order(entries, document)
    return None if order is None else Decided("met", f"One list of {len(entries)} entries, {order}.")


def _order(entries: Sequence[Reference], document: Document) -> str | None:
    """Return the order of a list without numbers, in words; None if it is neither of the two."""
    texts = [re.sub(r"^\W+", "", entry.text).casefold() for entry in entries]
    if texts == sorted(texts):
        return "in the order of the alphabet"
    first = {one.reference: position for position, one in reversed(list(enumerate(document.citations)))}
    positions = [first.get(entry.id, len(document.citations)) for entry in entries]
    return "in the order of their first citation" if positions == sorted(positions) else None


def _markup(document: Document) -> Decided | None:
    """Return the faults of tables; None if there are none, since the other formatting is for the judge."""
    blocks = [block for block in document.blocks if block.role != "preamble"]
    broken = [
        *_cells_lost(document, blocks),
        *(
            _location(document, block.span, "lines of cells that make no table")
            for block in blocks
            if block.kind in ("paragraph", "list_item") and _like_a_table(block.text)
        ),
    ]
    return _decide("Tables are faulty.", broken) if broken else None


def _cells_lost(document: Document, blocks: Iterable[Block]) -> Iterator[Location]:
    """Yield rows with more cells than their table's head: a renderer drops the surplus cells."""
    width = 0
    for block in blocks:
        if block.kind == "table_header":
            width = _cells(block.text)
        elif block.kind == "table_row" and _cells(block.text) > width:
            yield _location(document, block.span, f"cells: {_cells(block.text)}, in the head: {width}")


def _cells(row: str) -> int:
    cells = _BAR.split(row.strip().removeprefix("|"))
    return len(cells) - (len(cells) > 1 and not cells[-1].strip())


def _like_a_table(text: str) -> bool:
    lines = text.split("\n")
    rows = [bool(_ROW.fullmatch(line)) and _cells(line) > 1 for line in lines]
    return any(one and other for one, other in pairwise(rows))


def _numbering(document: Document) -> Decided | None:
    """Check the numbers of entries; None if the text cites by number and no entry has one."""
    numbered = [(number, entry) for entry in document.references if (number := _number(entry)) is not None]
    if not numbered:
        cited = any(citation.style == "number" for citation in document.citations)
        return None if cited else Decided("not_applicable", "The sources are not numbered.")
    places = [*_doubles(document, numbered)]
    numbers = sorted({number for number, _ in numbered})
    by_number = dict(reversed(numbered))
    for number, before in zip(numbers, [0, *numbers], strict=False):
        if number > before + 1:
            missing = f"{before + 1}" if number == before + 2 else f"{before + 1} to {number - 1}"
            places.append(_location(document, by_number[number].span, f"no entry {missing} before {number}"))
    return _decide(f"{len(numbered)} entries have numbers from {numbers[0]} to {numbers[-1]}.", places)


def _doubles(document: Document, numbered: Iterable[tuple[int, Reference]]) -> Iterator[Location]:
    """Yield numbers of two sources, and URLs with two numbers."""
    of_number: dict[int, Reference] = {}
    of_url: dict[str, int] = {}
    for number, entry in numbered:
        first = of_number.get(number, entry)
        if (entry.url or entry.text) != (first.url or first.text):
            yield _location(document, entry.span, f"[{number}] stands for two sources")
        of_number.setdefault(number, entry)
        if entry.url is not None and of_url.setdefault(entry.url, number) != number:
            yield _location(document, entry.span, f"[{of_url[entry.url]}] and [{number}] are one source")


def _number(entry: Reference) -> int | None:
    key = entry.key
    return int(key) if key is not None and entry.section >= 0 and key.isascii() and key.isdecimal() else None


def _name(entry: Reference) -> str:
    return f"[{entry.key}]" if entry.key else entry.text[:60]


def _decide(rationale: str, places: Iterable[Location]) -> Decided:
    found = tuple(places)
    return Decided("unmet" if found else "met", rationale, found)


def _location(document: Document, span: Span, what: str) -> Location:
    index = bisect_right([block.span.start for block in document.blocks], span.start) - 1
    return Location(label=f"L{max(index, 0) + 1}", span=span, what=what)
