"""Dimensions of quality: one row per task, the four general dimensions and those made for the task, with criteria.

    FILE.jsonl    one row per task, as `local-judge tasks draft dimensions` writes
    FILE.json     results of DeepResearchEval, ours or its own: `query_results` by task id
    FOLDER        its cache, `point_quality/outputs/cache`: JSON files with keys `dimensions_ID`, `weights_ID_K` and
                  `criteria_ID_DIMENSION`; a single file of it may be given too

Invariants: a row has each of the four general dimensions, one to three specific ones, and one to ten criteria of each,
with different texts; weights are finite, not negative, and not all 0; a file keeps them as written, and a task has them
divided by their sum, once. Published rows are checked like our own; a cached failure (no dimensions, a missing weight,
placeholder criteria) is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from local_judge.base.errors import InputError
from local_judge.base.rows import object_of, parse_object, read_text, row_of
from local_judge.tasks.kinds import Kind
from local_judge.tasks.model import (
    Criterion,
    DimensionKind,
    GuidanceStatus,
    QualityDimension,
    QualityDimensions,
)
from local_judge.tasks.review import OwnRow, as_yaml, part_of, with_part
from local_judge.tasks.rowfile import Keyed

GENERAL: Mapping[str, tuple[str, str]] = {
    "coverage": ("Coverage", "how much of what the request needs the report treats, and how fully"),
    "insight": ("Insight", "whether the report explains, weighs, connects and concludes, beyond listing"),
    "instruction_following": (
        "Instruction following",
        "whether the report does what the request asks for, in the scope and form that it sets",
    ),
    "clarity": ("Clarity", "whether the report can be followed: its order, its language, its layout"),
}
"""General dimensions by id: name and definition, in our words."""

LEAST_SPECIFIC, MOST_SPECIFIC = 1, 3
MOST_CRITERIA = 10

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Weight = Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)]


def key_of(name: str) -> str:
    """Return a dimension's id: its name in lower case, with one `_` for each run of other characters."""
    return re.sub(r"[\W_]+", "_", name.casefold()).strip("_")


class _Given(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CriterionEntry(_Given):
    """One criterion in a file."""

    criterion: Text
    """Text of the criterion."""
    explanation: str = ""
    """Explanation for the judge."""
    weight: Weight
    """Weight; weights are normalised."""


class DimensionEntry(_Given):
    """One dimension in a file."""

    name: Text
    """Name of the dimension."""
    definition: str = ""
    """Definition for the judge."""
    kind: DimensionKind
    """Kind: one of the four general dimensions, or specific to the task."""
    weight: Weight
    """Weight; weights are normalised."""
    criteria: Annotated[tuple[CriterionEntry, ...], Field(min_length=1, max_length=MOST_CRITERIA)]

    @property
    def id(self) -> str:
        """Id of the task's dimension."""
        return key_of(self.name)

    @model_validator(mode="after")
    def _criteria_differ(self) -> Self:
        texts = [" ".join(one.criterion.split()).casefold() for one in self.criteria]
        for number, text in enumerate(texts):
            if text in texts[:number]:
                raise ValueError(
                    f"dimension {self.name!r}: two criteria have the text {self.criteria[number].criterion!r}"
                )
        if not sum(one.weight for one in self.criteria):
            raise ValueError(f"dimension {self.name!r}: the weights of its criteria are all 0")
        return self


class Dimensions(_Given):
    """All dimensions of a task."""

    dimensions: tuple[DimensionEntry, ...]
    """Dimensions: `name`, `definition`, `kind`, `weight`, and `criteria` with `criterion`, `explanation`,
    `weight`."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        ids = [one.id for one in self.dimensions]
        for number, name in enumerate(ids):
            if not name or name in ids[:number]:
                what = "has no letter or digit" if not name else "appears twice"
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


class DimensionsRow(OwnRow[QualityDimensions], Dimensions):
    """One line of a dimensions file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    what: ClassVar[str] = "set of dimensions"

    before: Dimensions | None = None
    """Dimensions of the draft, if a reviewer changed them."""

    @classmethod
    def parse(cls, data: dict[str, Any], place: str) -> Self:
        """Return a row from data. Raises InputError: the data is not a row; names `place`."""
        try:
            return super().parse(data, place)
        except (TypeError, ValueError) as error:
            raise InputError(f"{place}: {' '.join(str(error).split())}") from None

    @property
    def editable(self) -> str:
        """Dimensions and criteria as YAML."""
        return as_yaml(part_of(self, Dimensions).model_dump(mode="json"))

    def edited(self, text: str) -> DimensionsRow:
        """Return the row with dimensions from YAML or JSON. Raises InputError: see `with_part`."""
        return with_part(self, Dimensions, text)

    def as_content(self, status: GuidanceStatus) -> QualityDimensions:
        """Return the dimensions of a task, the general ones first."""
        return settled(self.dimensions).model_copy(update={"status": status, "reviewer": self.reviewer})


def settled(entries: Sequence[DimensionEntry]) -> QualityDimensions:
    """Return dimensions whose weights are divided by their sum, the general ones first."""
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
    largest = max(given)  # divided by it first, because a sum of finite numbers may overflow
    scaled = [weight / largest for weight in given]
    total = math.fsum(scaled)
    return [weight / total for weight in scaled]


_CACHED = re.compile(r"(dimensions|weights|criteria)_([0-9]{1,18})(?:_(.+))?")
_STAND_IN = re.compile(r"general \w+ assessment", re.IGNORECASE)
"""Placeholder criterion of the published code, used if its judge returned none."""

Json = Mapping[str, Any]


class _Published(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class PublishedDimension(_Published):
    """A dimension made for a task, in the files of DeepResearchEval."""

    meta_dimension_name: str
    definition: str = ""


class PublishedCriterion(_Published):
    """A criterion in its files."""

    criterion: str
    explanation: str = ""
    weight: Weight


class PublishedTask(_Published):
    """Entry of a task in `quality_results.json`, without its reports.

    Dimensions go by the keys that the published code makes of their names.
    """

    query_id: int | str | None = None
    query_prompt: str | None = None
    all_dims_with_definition: dict[str, str] = Field(default_factory=dict[str, str])
    additional_dimensions: tuple[PublishedDimension, ...]
    dimension_weights: dict[str, Weight]
    all_criteria: dict[str, tuple[PublishedCriterion, ...]]


def _published(path: Path, open_dates: bool) -> list[Keyed[DimensionsRow]] | None:
    """Return the rows of files of DeepResearchEval; None for a file in our own form."""
    if path.is_dir():
        rows = _cached(_merged(sorted(path.glob("*.json"))), path)
    elif path.suffix.lower() == ".json":
        data = parse_object(read_text(path), str(path))
        rows = _results(data, path) if "query_results" in data else _cached(data, path)
    else:
        return None
    return [Keyed(place, row.key, row.request, row) for place, row in rows]


def _merged(paths: Sequence[Path]) -> Json:
    merged: dict[str, Any] = {}
    for path in paths:
        for key, value in parse_object(read_text(path), str(path)).items():
            if _CACHED.fullmatch(key) and key in merged:
                raise InputError(f"{path}: {key!r} is in another file of the folder too")
            merged[key] = value
    return merged


def _cached(data: Json, path: Path) -> list[tuple[str, DimensionsRow]]:
    """Return the rows of a cache, one for each task with dimensions there."""
    tasks = [
        found[2] for key in data if (found := _CACHED.fullmatch(key)) and key == f"dimensions_{found[2]}"
    ]
    rows: list[tuple[str, DimensionsRow]] = []
    for task in sorted(tasks, key=int):
        place = f"{path}: dimensions_{task}"
        own = data[f"dimensions_{task}"]
        if not isinstance(own, list):
            raise InputError(f"{place}: expected a list")
        additional = cast("list[Any]", own)
        weights = f"weights_{task}_{len(additional)}"
        if weights not in data:
            raise InputError(f"{place}: {weights!r} is missing")
        criteria = {
            key_of(found[3]): data[key]
            for key in data
            if (found := _CACHED.fullmatch(key)) and found[1] == "criteria" and found[2] == task and found[3]
        }
        entry = {
            "additional_dimensions": additional,
            "dimension_weights": data[weights],
            "all_criteria": criteria,
        }
        rows.append((place, _row(task, entry, place)))
    return rows


def _results(data: Json, path: Path) -> list[tuple[str, DimensionsRow]]:
    """Return the rows of a file of results."""
    rows: list[tuple[str, DimensionsRow]] = []
    for task, result in object_of(data["query_results"], f"{path}: query_results").items():
        place = f"{path}: query_results.{task}"
        rows.append((place, _row(task, object_of(result, place), place)))
    return rows


def _row(task: str, data: dict[str, Any], place: str) -> DimensionsRow:
    """Return a row from the published project's data."""
    read = row_of(PublishedTask, data, place)
    defined = {name: (shown, text, "general") for name, (shown, text) in GENERAL.items()}
    for one in read.additional_dimensions:
        name = one.meta_dimension_name
        defined.setdefault(key_of(name), (name, one.definition, "specific"))
    if len(defined) != len(GENERAL) + len(read.additional_dimensions):
        raise InputError(f"{place}: two dimensions of the task have one name")
    by_key = {key_of(name): weight for name, weight in read.dimension_weights.items()}
    lists = {key_of(name): rows for name, rows in read.all_criteria.items()}
    try:
        entries = [
            {
                "name": shown,
                "definition": text,
                "kind": kind,
                "weight": by_key[key],
                "criteria": [one.model_dump() for one in lists[key]],
            }
            for key, (shown, text, kind) in defined.items()
        ]
    except KeyError as error:
        raise InputError(f"{place}: has no entry for {error.args[0]!r}") from None
    row = DimensionsRow.parse({"task_id": task, "task": read.query_prompt, "dimensions": entries}, place)
    for entry in row.dimensions:
        if len(entry.criteria) == 1 and _STAND_IN.fullmatch(entry.criteria[0].criterion):
            raise InputError(
                f"{place}: the criteria of {entry.id!r} are the placeholder of a failed answer; draft them again"
            )
    return row


DIMENSIONS_KIND = Kind("dimensions", "dimensions", DimensionsRow, other_forms=_published)
