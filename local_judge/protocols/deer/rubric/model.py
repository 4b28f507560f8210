"""The rubric as data: dimension > sub-dimension > criterion > item (DEER, section 4 and appendix C).

Invariant: an item's path is unique, and its id says what it measures: `C…` coverage, `Q…` quality.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from serving.types import Frozen

Kind = Literal["coverage", "quality"]

Path = tuple[str, ...]
"""(dimension, sub-dimension, criterion, item), or a beginning of it: ("request_fulfillment", "completeness", "1",
"C1-1")."""


LOWEST, HIGHEST = 1.0, 10.0
"""The scale that every score is put on."""

KINDS: Mapping[str, Kind] = {"C": "coverage", "Q": "quality"}
"""By the first letter of an item's id."""


def on_scale(score: int, scale: int) -> float:
    """A score of a scale from 1 to `scale`, on the scale from 1 to 10.

    Formula: 1 + (score - 1) * 9 / (scale - 1): the ends meet, 3 of 5 becomes 5.5.
    """
    return float(score) if scale == HIGHEST else LOWEST + (score - 1) * (HIGHEST - LOWEST) / (scale - 1)


def kind_of(item: str) -> Kind:
    """What an item of this id measures. Raises ValueError for an id that begins with neither letter."""
    try:
        return KINDS[item[:1]]
    except KeyError:
        raise ValueError(f"item {item!r}: its id begins with neither C nor Q") from None


class Item(Frozen):
    """One question about the report, answered by a whole number or, where it does not apply, by N/A."""

    id: str
    """As published, such as `C1-1` or `Q2-1`; unique within its criterion."""
    text: str
    """What is asked, in one or two sentences."""
    not_applicable: str | None = None
    """When the answer is N/A, as a clause after "if"; None where N/A is not admitted."""

    @property
    def kind(self) -> Kind:
        """By the first letter of the id."""
        return kind_of(self.id)


class Criterion(Frozen):
    """Items that are scored together: the mean of its coverage mean and its quality mean."""

    id: str
    """A number, as published."""
    title: str
    items: tuple[Item, ...]


class Subdimension(Frozen):
    """The mean of its criteria."""

    id: str
    label: str
    criteria: tuple[Criterion, ...]


class Dimension(Frozen):
    """The mean of its sub-dimensions."""

    id: str
    label: str
    description: str
    """What it is about, in one sentence: all that a judge sees of it where it scores whole dimensions."""
    subdimensions: tuple[Subdimension, ...]

    def items(self) -> Iterator[tuple[Path, Item]]:
        """All items with their paths, in order."""
        for part in self.subdimensions:
            for criterion in part.criteria:
                for item in criterion.items:
                    yield (self.id, part.id, criterion.id, item.id), item


class Band(Frozen):
    """What two neighbouring scores mean."""

    low: int
    high: int
    meaning: str


class Rubric(Frozen):
    """The whole rubric, in reading order."""

    dimensions: tuple[Dimension, ...]
    """Five that are scores of their own, and `information_integrity`, of which only recency is judged."""
    coverage: tuple[Band, ...]
    """Five bands from 9-10 down to 1-2: how much of what is asked for is there."""
    quality: tuple[Band, ...]
    """Five bands from 9-10 down to 1-2: how well it is done."""

    def items(self) -> Iterator[tuple[Path, Item]]:
        """All items with their paths, in order."""
        for dimension in self.dimensions:
            yield from dimension.items()
