"""Criteria files: one row per task, in the form that DeepResearch Bench publishes, with the origin of drafts.

Invariants: the weights of the dimensions sum to 1, and so do those of each dimension's criteria; each of the four
dimensions has a weight and at least one criterion; stray keys of the published files are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local_judge.base.errors import InputError, first_problem
from local_judge.base.rows import is_text, row_id
from local_judge.tasks.kinds import Kind
from local_judge.tasks.model import Criteria, Criterion, Dimension, GuidanceStatus
from local_judge.tasks.review import DraftRow, as_yaml, part_of, with_part

DIMENSIONS = ("comprehensiveness", "insight", "instruction_following", "readability")
"""Dimensions of the benchmark, in the order of the published files."""

TOLERANCE = 1e-6
"""Maximum distance of a sum of weights from 1, as in the published code."""


class _Published(BaseModel):
    """Model that ignores unknown keys: 33 of the 2,517 published criteria have one."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class CriterionRow(_Published):
    """One criterion in its published form."""

    criterion: str = Field(min_length=1)
    """Text of the criterion."""
    explanation: str = ""
    """Explanation for the judge."""
    weight: float = Field(ge=0)
    """Weight in its dimension; they sum to 1."""


class Weighed(_Published):
    """Weights of the dimensions, and criteria with their weights."""

    dimension_weight: dict[str, float]
    """Weight of each dimension."""
    criterions: dict[str, tuple[CriterionRow, ...]]
    """Criteria by dimension, in the order in which the judge is shown them."""


class CriteriaRow(DraftRow[Criteria], Weighed):
    """One line of a criteria file."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)
    what: ClassVar[str] = "set of criteria"

    id: str | int
    """Id of the task."""
    prompt: str
    """Request of the task."""
    weight_samples: tuple[dict[str, float], ...] = ()
    """Answers whose mean is `dimension_weight`."""
    before: Weighed | None = None
    """Weights and criteria of the draft, if a reviewer changed them."""

    @property
    def key(self) -> str:
        """Id of the task."""
        return str(self.id)

    @property
    def request(self) -> str:
        """Request of the task."""
        return self.prompt

    @classmethod
    def parse(cls, data: dict[str, Any], place: str) -> Self:
        """Return a row of a file. Raises InputError: it is not a row, or weights do not sum to 1; names `place`."""
        row_id(data, place)
        try:
            # Validated before it is written as JSON: data from YAML may contain itself.
            row = cls.model_validate(data)
        except ValidationError as error:
            raise InputError(f"{place}: {first_problem(error, 'the criteria', cls)}") from None
        if not is_text(json.dumps(row.model_dump(mode="json"), ensure_ascii=False)):
            raise InputError(f"{place}: contains a lone surrogate, which cannot be written as UTF-8")
        check_weights(row, place)
        return row

    @property
    def editable(self) -> str:
        """Weights and criteria as YAML."""
        return as_yaml(part_of(self, Weighed).model_dump(mode="json"))

    def edited(self, text: str) -> CriteriaRow:
        """Return the row with weights and criteria from YAML or JSON. Raises InputError: see `with_part`."""
        return with_part(self, Weighed, text)

    def as_content(self, status: GuidanceStatus) -> Criteria:
        """Return the criteria of a task."""
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
            status=status,
        )


CRITERIA_KIND = Kind(
    "criteria",
    "criteria",
    CriteriaRow,
    clash="has the same prompt as",
)


def check_weights(row: CriteriaRow, place: str) -> None:
    """Check that a row has the four dimensions and that its weights sum to 1. Raises InputError."""
    for key, given in (("dimension_weight", row.dimension_weight), ("criterions", row.criterions)):
        if sorted(given) != sorted(DIMENSIONS):
            raise InputError(f"{place}: {key} must name {', '.join(DIMENSIONS)}; it names {', '.join(given)}")
    _sum_to_one(list(row.dimension_weight.values()), f"{place}: dimension_weight")
    for dimension, criteria in row.criterions.items():
        _sum_to_one([criterion.weight for criterion in criteria], f"{place}: criterions.{dimension}")


def _sum_to_one(weights: Sequence[float], where: str) -> None:
    if any(weight < 0 for weight in weights) or abs(sum(weights) - 1) > TOLERANCE:
        raise InputError(f"{where}: the weights must be 0 or more and sum to 1, not {sum(weights):g}")
