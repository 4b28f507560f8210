"""Criteria files: one row a task, in the form that DeepResearch Bench publishes, with what is known of a draft.

Invariants: the weights of the dimensions sum to 1, and so do those of each dimension's criteria; the four dimensions
have a weight and at least one criterion each; keys that the published files carry by accident are passed over.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local_judge.errors import InputError
from local_judge.rows import is_text, read_jsonl, row_id
from local_judge.tasks.joining import Keyed, Rows
from local_judge.tasks.model import Criteria, Criterion, Dimension, GuidanceStatus, Task
from serving.types import EngineIdentity

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


class CriteriaRow(_Published):
    """One line of a criteria file."""

    id: str | int
    prompt: str
    dimension_weight: dict[str, float]
    criterions: dict[str, tuple[CriterionRow, ...]]
    """By dimension, in the order in which the judge is shown them."""
    status: GuidanceStatus = "given"
    judge: EngineIdentity | None = None
    """Who drafted it."""
    replies: tuple[str, ...] = ()
    """Ledger keys of the judge's replies."""
    weight_samples: tuple[dict[str, float], ...] = ()
    """The answers that `dimension_weight` is the mean of."""

    def criteria(self) -> Criteria:
        """As a task holds them."""
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


def read_rows(path: Path) -> list[tuple[str, CriteriaRow]]:
    """The rows of a criteria file with their places.

    Raises:
        InputError: the file cannot be read, a row is malformed, or an id stands twice.
    """
    rows: list[tuple[str, CriteriaRow]] = []
    seen: set[str] = set()
    for place, data in read_jsonl(path):
        if not is_text(json.dumps(data, ensure_ascii=False)):
            raise InputError(f"{place}: holds half a character (a lone surrogate), which cannot be written")
        row_id(data, place)
        try:
            row = CriteriaRow.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the whole"
            raise InputError(f"{place}: {where}: {first['msg']}") from None
        check_weights(row, place)
        if str(row.id) in seen:
            raise InputError(f"{place}: task id {str(row.id)!r} stands twice")
        seen.add(str(row.id))
        rows.append((place, row))
    return rows


def load_criteria(path: Path) -> Rows[CriteriaRow]:
    """The rows of a criteria file, to be looked up by task.

    Raises:
        InputError: see `read_rows`; or there is none.
    """
    rows = [Keyed(place, str(row.id), row.prompt, row) for place, row in read_rows(path)]
    if not rows:
        raise InputError(f"{path}: no criteria in it")
    return Rows(rows)


def with_criteria(task: Task, rows: Rows[CriteriaRow]) -> Task | None:
    """The task with the criteria that `rows` hold for it; None where they hold none.

    Raises:
        InputError: two rows have the task's request, or see `Rows.of`.
    """
    found = rows.of(task)
    if found is None:
        return None
    if len(found.rows) > 1:
        raise InputError(f"{found.rows[1].place}: has the same prompt as {found.rows[0].place}; keep one")
    criteria = found.rows[0].value.criteria().model_copy(update={"joined": found.by})
    return task.model_copy(update={"criteria": criteria})


def check_weights(row: CriteriaRow, place: str) -> None:
    """Refuse a row without the four dimensions, or whose weights do not sum to 1. Raises InputError."""
    for key, given in (("dimension_weight", row.dimension_weight), ("criterions", row.criterions)):
        if sorted(given) != sorted(DIMENSIONS):
            raise InputError(f"{place}: {key} must name {', '.join(DIMENSIONS)}; it names {', '.join(given)}")
    _sum_to_one(list(row.dimension_weight.values()), f"{place}: dimension_weight")
    for dimension, criteria in row.criterions.items():
        _sum_to_one([criterion.weight for criterion in criteria], f"{place}: criterions.{dimension}")


def _sum_to_one(weights: Sequence[float], where: str) -> None:
    if any(weight < 0 for weight in weights) or abs(math.fsum(weights) - 1) > TOLERANCE:
        raise InputError(f"{where}: the weights must be 0 or more and sum to 1, not {math.fsum(weights):g}")
