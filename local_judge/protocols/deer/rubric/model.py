"""Rubric, dimension > sub-dimension > criterion > item (DEER, appendix D), and a judge's answers to it.

Invariants: an item's path is unique, and its id says what it measures: `C…` coverage, `Q…` quality. Findings contain
each item of the rubric exactly once, in the rubric's order, with a score, as not applicable, or with its failure; a
score that guidance capped keeps the judge's own score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from local_judge.base.model import Frozen
from local_judge.protocols.base import Decision
from local_judge.protocols.deer.names import OVERALL
from local_judge.rubric.answers import ItemRow, JudgedItem
from local_judge.tasks.model import Guidance

Kind = Literal["coverage", "quality"]

Path = tuple[str, ...]
"""(dimension, sub-dimension, criterion, item), or a beginning of it: ("request_fulfillment", "completeness", "1",
"C1-1")."""


LOWEST, HIGHEST = 1.0, 10.0
"""The scale that every score is put on."""

KINDS: Mapping[str, Kind] = {"C": "coverage", "Q": "quality"}
"""Kinds by the first letter of an item's id."""


def on_scale(score: int, scale: int) -> float:
    """Return a score of a scale from 1 to `scale`, on the scale from 1 to 10.

    Formula: 1 + (score - 1) * 9 / (scale - 1): the ends meet, 3 of 5 becomes 5.5.
    """
    return float(score) if scale == HIGHEST else LOWEST + (score - 1) * (HIGHEST - LOWEST) / (scale - 1)


def kind_of(item: str) -> Kind:
    """Return the kind of the item with this id. Raises ValueError for an id that begins with neither letter."""
    try:
        return KINDS[item[:1]]
    except KeyError:
        raise ValueError(f"item {item!r}: its id begins with neither C nor Q") from None


class Item(Frozen):
    """One question about the report, answered by a whole number or, where it does not apply, by N/A."""

    id: str
    """Published id, such as `C1-1` or `Q2-1`; unique within its criterion."""
    text: str
    """The question, in one or two sentences."""
    not_applicable: str | None = None
    """Condition of the answer N/A, as a clause after "if"; None if N/A is not allowed."""

    @property
    def kind(self) -> Kind:
        """Kind of the item, by the first letter of its id."""
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
    """Subject in one sentence: all that a judge sees of the dimension when it scores whole dimensions."""
    subdimensions: tuple[Subdimension, ...]

    def items(self) -> Iterator[tuple[Path, Item]]:
        """Yield all items with their paths, in order."""
        for part in self.subdimensions:
            for criterion in part.criteria:
                for item in criterion.items:
                    yield (self.id, part.id, criterion.id, item.id), item


class Band(Frozen):
    """Meaning of two neighbouring scores."""

    low: int
    high: int
    meaning: str


class Rubric(Frozen):
    """The whole rubric, in reading order."""

    dimensions: tuple[Dimension, ...]
    """Five dimensions with their own scores, and `information_integrity`, whose items are those of recency."""
    coverage: tuple[Band, ...]
    """Five bands from 9-10 down to 1-2: how much of what is asked for is there."""
    quality: tuple[Band, ...]
    """Five bands from 9-10 down to 1-2: how well it is done."""

    def items(self) -> Iterator[tuple[Path, Item]]:
        """Yield all items with their paths, in order."""
        for dimension in self.dimensions:
            yield from dimension.items()


Mode = Literal["items", "dimensions", "vanilla"]
"""Unit of a score: each item; each dimension as a whole; the report as a whole (DEER's ablation)."""

Status = Literal["scored", "not_applicable", "failed"]


class Grade(JudgedItem):
    """One question and its answer."""

    path: Path
    """Path of the item; of the dimension in the mode `dimensions`; empty in the mode `vanilla`."""
    status: Status
    """Status of the item."""
    score: int | None = None
    """Score from 1 to the scale; None unless `scored`."""
    judged: int | None = None
    """Score by the judge before the cap; equal to `score` if nothing was capped."""

    @property
    def capped(self) -> bool:
        """Unmet guidance lowered the score."""
        return self.judged is not None and self.score is not None and self.score < self.judged


class RubricFindings(Frozen):
    """All answers about one report."""

    mode: Mode = "items"
    """Unit of a question; `vanilla` is the whole report."""
    scale: Literal[5, 10] = 10
    """The highest score; the lowest is 1."""
    guidance: Guidance | None = None
    """Guidance that the judge was shown; None if there was none."""
    guided: tuple[str, ...] = ()
    """Dimensions whose questions were asked with the guidance; none where the report was scored as a whole."""
    grades: tuple[Grade, ...]
    """Grades in the rubric's order."""


def items_of_rubric(rubric: RubricFindings) -> Iterator[ItemRow]:
    """Yield each question with its score, or `not_applicable`."""
    for grade in rubric.grades:
        metric = grade.path[0] if grade.path else OVERALL
        value = grade.status if grade.status == "not_applicable" else grade.score
        details = (f"capped from {grade.judged}",) if grade.capped else ()
        yield grade.row(metric, ".".join(grade.path) or OVERALL, value, "", *details)


def decisions_on_rubric(rubric: RubricFindings) -> Iterator[Decision]:
    """Yield the scores by dimension, and of each item whether it applies at all."""
    for grade in rubric.grades:
        item = ".".join(grade.path)
        if grade.status != "not_applicable":
            metric = grade.path[0] if grade.path else OVERALL
            yield Decision(metric=metric, item=item, value=grade.score, scale="ordinal")
        applies = None if grade.status == "failed" else grade.status
        yield Decision(metric="applicability", item=item, value=applies, scale="nominal")
