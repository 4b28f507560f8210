"""Planted claims that nobody planted: pages with a true and an altered claim each, and what a judge said of them."""

from __future__ import annotations

from collections.abc import Callable

from local_judge.lab.qualification.model import Cost, Item, PartRecord

PAGES = 8

Says = Callable[[int, bool], float | None]
"""P(true) of the true or the altered claim of a page; None for no answer."""


def items(says: Says, method: str = "calibrated", pages: int = PAGES) -> list[Item]:
    """Two items a page; a yes from 0.5 on."""
    found: list[Item] = []
    for page in range(pages):
        for true in (True, False):
            p = says(page, true)
            found.append(
                Item(
                    id=f"p{page}-{'true' if true else 'false'}:{method}",
                    unit=f"page{page}",
                    facets={
                        "method": method,
                        "kind": "true" if true else "number",
                        "language": "en",
                        "length": "short",
                    },
                    truth=float(true),
                    said=p,
                    called=None if p is None else p >= 0.5,
                    cut=None if p is None else 0.5,
                    failure="timeout" if p is None else None,
                )
            )
    return found


def asked(says: Says, *, computed: int = 1600, seconds: float = 8.0, pages: int = PAGES) -> PartRecord:
    """A verification, its questions by `scored` alone."""
    cost = Cost(calls=2 * pages, prompt_tokens=computed, seconds=seconds)
    own = [*items(says, "raw", pages), *items(says, "calibrated", pages)]
    return PartRecord(part="verification", items=tuple(own), cost=cost, costs={"scored": cost})


def right(page: int, true: bool) -> float:
    """Always."""
    return 0.9 if true else 0.1


def credulous(page: int, true: bool) -> float:
    """Believes everything, and tells nothing apart."""
    return 0.9


def silent(page: int, true: bool) -> None:
    """Answers nothing."""


def early(page: int, true: bool) -> float:
    """Sure and right on the first half of the pages, wavering and wrong on the others."""
    return right(page, true) if page < PAGES / 2 else (0.4 if true else 0.6)


def late(page: int, true: bool) -> float:
    """The other way round."""
    return early(PAGES - 1 - page, true)
