"""The rubric as data: dimension > sub-dimension > criterion > item (DEER, section 4 and appendix C).

Invariant: an item's path is unique, and its id says what it measures: `C…` coverage, `Q…` quality.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from local_judge.documents.model import Frozen

Kind = Literal["coverage", "quality"]

Path = tuple[str, ...]
"""(dimension, sub-dimension, criterion, item), or a beginning of it: ("request_fulfillment", "completeness", "1",
"C1-1")."""


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
        return "coverage" if self.id.startswith("C") else "quality"


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
