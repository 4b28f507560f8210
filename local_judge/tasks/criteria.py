"""Criteria files: one row a task, in the form that DeepResearch Bench publishes, with what is known of a draft.

Invariants: the weights of the dimensions sum to 1, and so do those of each dimension's criteria; the four dimensions
have a weight and at least one criterion each; keys that the published files carry by accident are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local_judge.errors import InputError
from local_judge.rows import is_text, read_jsonl, row_id
from local_judge.tasks.joining import Keyed, Rows
from local_judge.tasks.model import Criteria, Criterion, Dimension, Task
from local_judge.tasks.review import DraftRow
from local_judge.tasks.rowfile import RowFile
from serving.strict_yaml import load_yaml

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

    @property
    def editable(self) -> str:
        """Weights and criteria as YAML."""
        return yaml.safe_dump(self._weighed(), allow_unicode=True, sort_keys=False, width=100)

    def edited(self, text: str) -> CriteriaRow:
        """The row with weights and criteria from YAML, or JSON.

        Raises:
            InputError: it is neither, or a criteria file with this row could not be read: a weight that is none, say,
            or weights that do not sum to 1.
        """
        place = f"task {self.key!r}"
        try:
            data: object = load_yaml(text)
        except ValueError as error:
            raise InputError(f"{place}: no YAML: {' '.join(str(error).split())}") from None
        wanted = set(Weighed.model_fields)
        if not isinstance(data, dict) or set(cast("dict[object, object]", data)) != wanted:
            raise InputError(f"{place}: expected the keys {' and '.join(sorted(wanted))} and no others")
        given = cast("dict[str, Any]", data)
        row = _row({**self.model_dump(mode="json"), **given}, place)
        if row._weighed() == self._weighed():
            return self
        before = self.before or Weighed.model_validate(self._weighed())
        return row.model_copy(update={"before": before})

    def _weighed(self) -> dict[str, Any]:
        return self.model_dump(mode="json", include=set(Weighed.model_fields))

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


def read_rows(path: Path) -> list[tuple[str, CriteriaRow]]:
    """The rows of a criteria file with their places.

    Raises:
        InputError: the file cannot be read, a row is malformed, or an id stands twice.
    """
    rows: list[tuple[str, CriteriaRow]] = []
    seen: set[str] = set()
    for place, data in read_jsonl(path):
        row_id(data, place)
        row = _row(data, place)
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
    """The task with the criteria that `rows` hold for it, as it is if they were rejected; None where they hold none.

    Raises:
        InputError: two rows have the task's request, or see `Rows.of`.
    """
    found = rows.of(task)
    if found is None:
        return None
    if len(found.rows) > 1:
        raise InputError(f"{found.rows[1].place}: has the same prompt as {found.rows[0].place}; keep one")
    row = found.rows[0].value
    if row.status == "rejected":
        return task
    return task.model_copy(update={"criteria": row.criteria().model_copy(update={"joined": found.by})})


def criteria_file(path: Path) -> RowFile[CriteriaRow]:
    """A criteria file that several commands may write at the same time."""
    return RowFile(path, read_rows)


def _row(data: dict[str, Any], place: str) -> CriteriaRow:
    try:
        # First of all, and it is bounded: what YAML's aliases unfold to, or hold of themselves, is none of a row.
        row = CriteriaRow.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise InputError(f"{place}: {where}: {first['msg']}") from None
    if not is_text(json.dumps(row.model_dump(mode="json"), ensure_ascii=False)):
        raise InputError(f"{place}: holds half a character (a lone surrogate), which cannot be written")
    check_weights(row, place)
    return row


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
