"""Dimensions of quality: one row a task, the four general ones and those made for the task, with weighted criteria.

Invariants: a row has the four general dimensions once each, one to three specific ones, and one to ten criteria of
each, no two with one text; weights are finite, 0 or more, and not all 0; a file keeps them as they were written, and a
task has them divided by their sum, once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from local_judge.errors import InputError
from local_judge.tasks.model import Criterion, DimensionKind, QualityDimension, QualityDimensions
from local_judge.tasks.review import OwnRow, as_yaml, part_of, with_part

GENERAL: Mapping[str, tuple[str, str]] = {
    "coverage": ("Coverage", "how much of what the request needs the report treats, and how fully"),
    "insight": ("Insight", "whether the report explains, weighs, connects and concludes, beyond listing"),
    "instruction_following": (
        "Instruction following",
        "whether the report does what the request asks for, in the scope and form that it sets",
    ),
    "clarity": ("Clarity", "whether the report can be followed: its order, its language, its layout"),
}
"""The general dimensions by id: name and definition, in our words."""

LEAST_SPECIFIC, MOST_SPECIFIC = 1, 3
MOST_CRITERIA = 10

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Weight = Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)]


def key_of(name: str) -> str:
    """A dimension's id: its name in lower case, with one `_` for whatever is neither letter nor digit."""
    return re.sub(r"[\W_]+", "_", name.casefold()).strip("_")


class _Given(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CriterionEntry(_Given):
    """One criterion as it is written down."""

    criterion: Text
    explanation: str = ""
    weight: Weight


class DimensionEntry(_Given):
    """One dimension as it is written down."""

    name: Text
    definition: str = ""
    kind: DimensionKind
    weight: Weight
    criteria: Annotated[tuple[CriterionEntry, ...], Field(min_length=1, max_length=MOST_CRITERIA)]

    @property
    def id(self) -> str:
        """That of the task's dimension."""
        return key_of(self.name)

    @model_validator(mode="after")
    def _criteria_differ(self) -> Self:
        texts = [" ".join(one.criterion.split()).casefold() for one in self.criteria]
        for number, text in enumerate(texts):
            if text in texts[:number]:
                raise ValueError(
                    f"dimension {self.name!r}: two criteria say {self.criteria[number].criterion!r}"
                )
        if not sum(one.weight for one in self.criteria):
            raise ValueError(f"dimension {self.name!r}: the weights of its criteria are all 0")
        return self


class Dimensions(_Given):
    """All dimensions of a task."""

    dimensions: tuple[DimensionEntry, ...]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        ids = [one.id for one in self.dimensions]
        for number, name in enumerate(ids):
            if not name or name in ids[:number]:
                what = "has no letter or digit" if not name else "occurs twice"
                raise ValueError(f"the name of dimension {self.dimensions[number].name!r} {what}")
        general = [one.id for one in self.dimensions if one.kind == "general"]
        if sorted(general) != sorted(GENERAL):
            raise ValueError(
                f"the general dimensions must be {', '.join(GENERAL)}; they are {', '.join(general) or 'none'}"
            )
        n_specific = len(ids) - len(general)
        if not LEAST_SPECIFIC <= n_specific <= MOST_SPECIFIC:
            raise ValueError(
                f"{n_specific} specific dimensions; there must be {LEAST_SPECIFIC} to {MOST_SPECIFIC}"
            )
        if not sum(one.weight for one in self.dimensions):
            raise ValueError("the weights of the dimensions are all 0")
        return self


class DimensionsRow(OwnRow, Dimensions):
    """One line of a dimensions file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    what: ClassVar[str] = "set of dimensions"

    before: Dimensions | None = None
    """As drafted, where a reviewer changed them."""

    @classmethod
    def parse(cls, data: dict[str, Any], place: str) -> Self:
        """A row from data. Raises InputError, which says `place`: it is none."""
        try:
            return super().parse(data, place)
        except InputError as error:
            raise InputError(str(error).replace(": Value error, ", ": ", 1)) from None
        except (TypeError, ValueError) as error:
            raise InputError(f"{place}: {' '.join(str(error).split())}") from None

    @property
    def editable(self) -> str:
        """Dimensions and criteria as YAML."""
        return as_yaml(part_of(self, Dimensions).model_dump(mode="json"))

    def edited(self, text: str) -> DimensionsRow:
        """The row with dimensions from YAML, or JSON. Raises InputError: see `with_part`."""
        row = with_part(self, Dimensions, text)
        before = part_of(self, Dimensions)
        if part_of(row, Dimensions) == before:
            return self
        return row.model_copy(update={"before": self.before or before})

    @property
    def content(self) -> QualityDimensions | None:
        """As a task holds them, the general ones first; None for a rejected draft."""
        if self.status == "rejected":
            return None
        return settled(self.dimensions).model_copy(update={"status": self.status, "reviewer": self.reviewer})


def settled(entries: Sequence[DimensionEntry]) -> QualityDimensions:
    """Dimensions with weights that sum to 1: each divided by the sum of all. The general ones come first."""
    by_id = {entry.id: entry for entry in entries}
    ordered = [by_id[name] for name in GENERAL] + [entry for entry in entries if entry.kind == "specific"]
    weights = _shares(entry.weight for entry in ordered)
    return QualityDimensions(
        dimensions=tuple(_dimension(entry, weight) for entry, weight in zip(ordered, weights, strict=True))
    )


def _dimension(entry: DimensionEntry, weight: float) -> QualityDimension:
    weights = _shares(one.weight for one in entry.criteria)
    return QualityDimension(
        id=entry.id,
        name=" ".join(entry.name.split()),
        definition=" ".join(entry.definition.split()),
        kind=entry.kind,
        weight=weight,
        criteria=tuple(
            Criterion(
                id=f"{entry.id}.{number}",
                criterion=one.criterion,
                explanation=one.explanation,
                weight=share,
            )
            for number, (one, share) in enumerate(zip(entry.criteria, weights, strict=True), 1)
        ),
    )


def _shares(weights: Iterable[float]) -> list[float]:
    given = list(weights)
    largest = max(given)  # divided by it first: the sum of finite numbers need not be finite
    scaled = [weight / largest for weight in given]
    total = math.fsum(scaled)
    return [weight / total for weight in scaled]
