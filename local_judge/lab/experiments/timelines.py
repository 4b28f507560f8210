"""Timelines: requests on matters that went on over years, with dated pages and the key information that they brought.

Invariants: each piece of key information stands word for word in exactly one page of its timeline, whose day is the day
from which on it is known; what a report says of it before that day is another sentence; every day brings some; all
timelines of a file have the same number of days.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

from pydantic import Field

from local_judge.errors import InputError
from local_judge.lab.experiments.data_files import EntryId, Line, Said, load_entries, once, packaged
from local_judge.lab.experiments.model import PlainPage
from serving.types import Frozen

FILE = packaged("timelines.yaml")
"""20 requests, as many as the paper has, of three days each."""


class KeyItem(Frozen):
    """One piece of key information."""

    question: Line
    """Yes if a report states it."""
    statement: Line
    """One sentence of a page."""
    before: Line | None = None
    """What reports say of the matter as long as it is not known; None: nothing."""


class Timeline(Frozen):
    """One request with what became known over time."""

    id: EntryId
    request: Said
    opening: Line
    """A sentence that opens every report."""
    pages: tuple[PlainPage, ...] = Field(min_length=2)
    items: tuple[KeyItem, ...] = Field(min_length=1)
    reference: Said | None = None
    """A report that RACE compares with; None for a chronicle of all pages."""

    def source(self, item: KeyItem) -> PlainPage:
        """The page that an item is known from."""
        return next(page for page in self.pages if item.statement in page.text)

    def known(self, item: KeyItem, day: date) -> bool:
        """True if an item was known on a day."""
        return _day(self.source(item)) <= day

    @property
    def days(self) -> list[date]:
        """The days on which its pages were published, in order."""
        return sorted({_day(page) for page in self.pages})


def load_timelines(path: Path = FILE) -> tuple[Timeline, ...]:
    """The timelines of a file, in its order; by default those that come with the package.

    Raises:
        InputError: the file is malformed, or its entries do not fit each other.
    """
    timelines = load_entries(path, Timeline)
    once(path, "id", [one.id for one in timelines])
    once(path, "url", [page.url for one in timelines for page in one.pages])
    for one in timelines:
        once(path, f"{one.id}: question", [item.question for item in one.items])
        for page in one.pages:
            if page.published is None:
                raise InputError(f"{path}: {one.id}: {page.url} has no `published`")
        for item in one.items:
            homes = sum(page.text.count(item.statement) for page in one.pages)
            if homes != 1:
                raise InputError(
                    f"{path}: {one.id}: {item.statement!r} stands {homes} times in its pages, not once"
                )
        if len(one.days) < 2:
            raise InputError(f"{path}: {one.id}: needs pages of two days at least")
        if len(one.days) != len(timelines[0].days):
            raise InputError(
                f"{path}: {one.id}: has pages of {len(one.days)} days, {timelines[0].id} of "
                f"{len(timelines[0].days)}; all need the same number"
            )
        if {_day(one.source(item)) for item in one.items} != set(one.days):
            raise InputError(f"{path}: {one.id}: some day brings no key information")
    return timelines


def _day(page: PlainPage) -> date:
    assert page.published is not None
    return page.published
