"""Criteria files: one row a task, in the form that DeepResearch Bench publishes, with what is known of a draft.

Invariants: the weights of the dimensions sum to 1, and so do those of each dimension's criteria; the four dimensions
have a weight and at least one criterion each; keys that the published files carry by accident are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local_judge.errors import InputError
from local_judge.rows import is_text, row_id
from local_judge.tasks.kinds import Kind
from local_judge.tasks.model import Criteria, Criterion, Dimension
from local_judge.tasks.review import DraftRow, as_yaml, part_of, with_part

DIMENSIONS = ("comprehensiveness", "insight", "instruction_following", "readability")
"""Those of the benchmark, in the order of the published files."""

TOLERANCE = 1e-6
"""How far a sum of weights may be from 1: what the published code admits of its own."""


class _Published(BaseModel):
    """Unknown keys are passed over: 33 of the 2,517 published criteria have one."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class CriterionRow(_Published):
    """One criterion as it is published."""

    criterion: str = Field(min_length=1)
    explanation: str = ""
    weight: float = Field(ge=0)


class Weighed(_Published):
    """Criteria with their weights and those of the dimensions."""

    dimension_weight: dict[str, float]
    criterions: dict[str, tuple[CriterionRow, ...]]
    """By dimension, in the order in which the judge is shown them."""


class CriteriaRow(DraftRow, Weighed):
    """One line of a criteria file."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)
    what: ClassVar[str] = "set of criteria"

    id: str | int
    prompt: str
    weight_samples: tuple[dict[str, float], ...] = ()
    """The answers that `dimension_weight` is the mean of."""
    before: Weighed | None = None
    """As drafted, where a reviewer changed it."""

    @property
    def key(self) -> str:
        """The task's id."""
        return str(self.id)

    @property
    def request(self) -> str:
        """The task's request."""
        return self.prompt

    @classmethod
    def parse(cls, data: dict[str, Any], place: str) -> Self:
        """A row of a file. Raises InputError, which says `place`: it is none, or its weights do not sum to 1."""
        row_id(data, place)
        try:
            # First of all, and it is bounded: what YAML's aliases unfold to, or hold of themselves, is none of a row.
            row = cls.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the whole"
            raise InputError(f"{place}: {where}: {first['msg']}") from None
        if not is_text(json.dumps(row.model_dump(mode="json"), ensure_ascii=False)):
            raise InputError(f"{place}: holds half a character (a lone surrogate), which cannot be written")
        check_weights(row, place)
        return row

    @property
    def editable(self) -> str:
        """Weights and criteria as YAML."""
        return as_yaml(part_of(self, Weighed).model_dump(mode="json"))

    def edited(self, text: str) -> CriteriaRow:
        """The row with weights and criteria from YAML, or JSON. Raises InputError: see `with_part`."""
        row = with_part(self, Weighed, text)
        before = part_of(self, Weighed)
        if part_of(row, Weighed) == before:
            return self
        return row.model_copy(update={"before": self.before or before})

    @property
    def content(self) -> Criteria | None:
        """As a task holds them; None for a rejected draft."""
        return None if self.status == "rejected" else self.criteria()

    def criteria(self) -> Criteria:
        """As a task holds them. Raises InputError: they were rejected."""
        if self.status == "rejected":
            raise InputError(f"task {self.key!r}: its criteria were rejected by {self.reviewer}")
        return Criteria(
            dimensions=tuple(
                Dimension(
                    id=dimension,
                    weight=self.dimension_weight[dimension],
                    criteria=tuple(
                        Criterion(
                            id=f"{dimension}.{number}",
                            criterion=row.criterion,
                            explanation=row.explanation,
                            weight=row.weight,
                        )
                        for number, row in enumerate(rows, 1)
                    ),
                )
                for dimension, rows in self.criterions.items()
            ),
            status=self.status,
        )


CRITERIA_KIND = Kind(
    "criteria",
    "criteria",
    CriteriaRow,
    clash="has the same prompt as",
)


def check_weights(row: CriteriaRow, place: str) -> None:
    """Refuse a row without the four dimensions, or whose weights do not sum to 1. Raises InputError."""
    for key, given in (("dimension_weight", row.dimension_weight), ("criterions", row.criterions)):
        if sorted(given) != sorted(DIMENSIONS):
            raise InputError(f"{place}: {key} must name {', '.join(DIMENSIONS)}; it names {', '.join(given)}")
    _sum_to_one(list(row.dimension_weight.values()), f"{place}: dimension_weight")
    for dimension, criteria in row.criterions.items():
        _sum_to_one([criterion.weight for criterion in criteria], f"{place}: criterions.{dimension}")


def _sum_to_one(weights: Sequence[float], where: str) -> None:
    if any(weight < 0 for weight in weights) or abs(sum(weights) - 1) > TOLERANCE:
        raise InputError(f"{where}: the weights must be 0 or more and sum to 1, not {sum(weights):g}")
