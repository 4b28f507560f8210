"""Affairs that went on over years: pages of three days, and the key information that each of them brought.

Invariants: each piece of key information stands word for word in exactly one page of its affair, whose day is the day
from which on it is known; what a report says of it before that day is another sentence; every day brings some.
"""

from __future__ import annotations

from datetime import date

from pydantic import Field

from local_judge.experiments.data_files import DataError, load_entries, once
from local_judge.experiments.model import PlainPage
from serving.types import Frozen

FILE = "affairs.yaml"
N_DAYS = 3


class KeyItem(Frozen):
    """One piece of key information."""

    question: str = Field(min_length=1)
    """Yes if a report states it."""
    statement: str = Field(min_length=1)
    before: str | None = None
    """What reports say of the matter as long as it is not known; None: nothing."""


class Affair(Frozen):
    """One affair."""

    id: str = Field(min_length=1)
    request: str = Field(min_length=1)
    opening: str = Field(min_length=1)
    """A sentence that opens every report."""
    pages: tuple[PlainPage, ...]
    items: tuple[KeyItem, ...]

    def source(self, item: KeyItem) -> PlainPage:
        """The page that an item is known from."""
        return next(page for page in self.pages if item.statement in page.text)

    def day(self, item: KeyItem) -> date:
        """Since when an item is known."""
        return _day(self.source(item))


def load_affairs() -> tuple[Affair, ...]:
    """The affairs that come with the package.

    Raises:
        DataError: they do not fit each other.
    """
    affairs = load_entries(FILE, Affair)
    once(FILE, "id", [affair.id for affair in affairs])
    once(FILE, "url", [page.url for affair in affairs for page in affair.pages])
    once(FILE, "question", [item.question for affair in affairs for item in affair.items])
    for affair in affairs:
        days = [page.published for page in affair.pages]
        if None in days or len(days) != N_DAYS or days != sorted(set(days), key=str):
            raise DataError(f"{FILE}: {affair.id}: needs {N_DAYS} pages of different days, in order")
        for item in affair.items:
            homes = sum(page.text.count(item.statement) for page in affair.pages)
            if homes != 1:
                raise DataError(
                    f"{FILE}: {affair.id}: {item.statement!r} stands {homes} times in its pages, not once"
                )
        if {affair.day(item) for item in affair.items} != set(days):
            raise DataError(f"{FILE}: {affair.id}: some day brings no key information")
    return affairs


def _day(page: PlainPage) -> date:
    if page.published is None:
        raise DataError(f"{FILE}: {page.url} has no day")
    return page.published
