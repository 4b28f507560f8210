"""Two snapshots compared page by page.

Invariant: reads page records only; equal snapshots have no difference, and every difference is named once, in order of
URL and time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Literal

from indexes.model import SourceStatus
from indexes.records import PageRecord
from indexes.snapshot import Snapshot, latest
from local_judge.base.model import Frozen


class PageDifference(Frozen):
    """One URL whose captures differ."""

    url: str
    kind: Literal["removed", "added", "status", "bytes", "text", "record"]
    """The first of these that differs: there or not; status; bytes; text from the same bytes; the rest."""
    first: SourceStatus | None
    """Status in the first snapshot, of the capture that a look-up gives; None where the URL is not in it."""
    second: SourceStatus | None


class SnapshotDifference(Frozen):
    """Differences between two snapshots."""

    first: str
    """Digest."""
    second: str
    settings: tuple[str, ...]
    """Settings with other values, by name; each with both values."""
    pages: tuple[PageDifference, ...]

    @property
    def equal(self) -> bool:
        """True if both are the same snapshot."""
        return self.first == self.second


def compare(first: Snapshot, second: Snapshot) -> SnapshotDifference:
    """Return the differences between two snapshots."""
    return SnapshotDifference(
        first=first.digest,
        second=second.digest,
        settings=tuple(_settings(first, second)),
        pages=tuple(_pages(first, second)) if first.digest != second.digest else (),
    )


def _settings(first: Snapshot, second: Snapshot) -> Iterator[str]:
    one, two = (snapshot.manifest.settings.model_dump() for snapshot in (first, second))
    for group in sorted(one):
        for name in sorted(one[group].keys() | two[group].keys()):
            before, after = one[group].get(name), two[group].get(name)
            if before != after:
                yield f"{group}.{name}: {before} and {after}"


_Captures = tuple[str, list[PageRecord]]


def _pages(first: Snapshot, second: Snapshot) -> Iterator[PageDifference]:
    """Both go through their URLs in order, so neither is held in memory."""
    ones, twos = _by_url(first), _by_url(second)
    one, two = next(ones, None), next(twos, None)
    while one is not None or two is not None:
        if two is None or (one is not None and one[0] < two[0]):
            assert one is not None
            yield PageDifference(url=one[0], kind="removed", first=_status(one[1]), second=None)
            one = next(ones, None)
        elif one is None or two[0] < one[0]:
            yield PageDifference(url=two[0], kind="added", first=None, second=_status(two[1]))
            two = next(twos, None)
        else:
            kind = _kind(one[1], two[1])
            if kind is not None:
                yield PageDifference(url=one[0], kind=kind, first=_status(one[1]), second=_status(two[1]))
            one, two = next(ones, None), next(twos, None)


def _by_url(snapshot: Snapshot) -> Iterator[_Captures]:
    for url, records in groupby(snapshot.records(), key=lambda record: record.url):
        yield url, list(records)


def _status(records: list[PageRecord]) -> SourceStatus:
    return latest(records).status


def _kind(
    one: list[PageRecord], two: list[PageRecord]
) -> Literal["status", "bytes", "text", "record"] | None:
    # Where texts lie in their file says nothing of the page.
    before, after = ([r.model_copy(update={"offset": 0}) for r in records] for records in (one, two))
    if before == after:
        return None
    if [r.status for r in before] != [r.status for r in after]:
        return "status"
    if [r.raw_digest for r in before] != [r.raw_digest for r in after]:
        return "bytes"
    if [r.text_digest for r in before] != [r.text_digest for r in after]:
        return "text"
    return "record"
