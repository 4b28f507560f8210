"""The rubric read from its files.

Invariant: the packaged files are the published structure, its names included. A `Rubric` from another folder has the
same items, each once, and the same bands; only its words may differ. Whatever else the folder holds is refused in one
line that names the file, the place in it and what is wrong.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal, TypeVar, cast

from pydantic import BaseModel, ValidationError

from local_judge.base.errors import ConfigError, problem_of, reason_of
from local_judge.base.files import MOST_YAML, read_utf8
from local_judge.base.model import Frozen
from local_judge.base.strict_yaml import load_yaml
from local_judge.protocols.deer.names import RUBRIC
from local_judge.protocols.deer.rubric.model import Band, Dimension, Kind, Rubric

LONGEST_TEXT = 1000
"""Characters of one text. An item is a sentence or two; a page pasted in by mistake would push the report out of the
judge's context."""
SCALE_FILE = "scale.yaml"
FILES = (*(f"{dimension}.yaml" for dimension in RUBRIC), SCALE_FILE)

M = TypeVar("M", bound=BaseModel)


class _Scale(Frozen):
    """The bands of both kinds of item, from the highest down."""

    coverage: tuple[Band, ...]
    quality: tuple[Band, ...]


def load_rubric(folder: Path | None = None) -> Rubric:
    """Return the packaged rubric, or the one in `folder`: a file for each dimension, and `scale.yaml`.

    Raises:
        ConfigError: a file is missing, unknown or unreadable, has an unknown key or a wrong value, lacks an item of
            the published structure or has one more, or its bands are not the published ones.
    """
    published = _load_published()
    return published if folder is None else _read(folder, published)


def label_of(id: str) -> str:
    """Return the published name of a dimension or sub-dimension; one of another rubric is named after its id.

    An edited rubric changes no name of scores that were already earned.
    """
    return _labels().get(id) or id.replace("_", " ").capitalize()


def rubric_digest(rubric: Rubric) -> str:
    """SHA-256, in hex, of the rubric's canonical JSON: any change of a word changes it."""
    data = json.dumps(
        rubric.model_dump(mode="json"), ensure_ascii=False, sort_keys=True, separators=(",", ":")
    )
    return hashlib.sha256(data.encode("utf-8")).hexdigest()


def bands_for(rubric: Rubric, kind: Kind, scale: Literal[5, 10]) -> tuple[Band, ...]:
    """Return the meanings of the scores, from the highest down.

    A scale of 5 has the same five meanings, one for each score: its 5 is 9-10 on the scale of 10, its 1 is 1-2.
    """
    bands = rubric.coverage if kind == "coverage" else rubric.quality
    if scale == 10:
        return bands
    return tuple(
        Band(low=score, high=score, meaning=band.meaning)
        for score, band in zip((5, 4, 3, 2, 1), bands, strict=True)
    )


@cache
def _load_published() -> Rubric:
    return _read(files("local_judge.protocols.deer.rubric") / "data")


@cache
def _labels() -> Mapping[str, str]:
    dimensions = _load_published().dimensions
    return {part.id: part.label for one in dimensions for part in (one, *one.subdimensions)}


def _read(folder: Traversable, published: Rubric | None = None) -> Rubric:
    """Return the rubric in a folder, with the items and bands of `published` and no other."""
    try:
        there = sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        raise ConfigError(f"{folder}: the rubric's folder cannot be read: {reason_of(error)}") from None
    for name in FILES:
        if name not in there:
            raise ConfigError(f"{folder}: {name} is missing; a rubric has {', '.join(FILES)}")
    for name in there:
        if name.endswith((".yaml", ".yml")) and name not in FILES:
            raise ConfigError(f"{folder / name}: no file of a rubric, which has {', '.join(FILES)}")
    scale = _model(_Scale, folder / SCALE_FILE)
    read = Rubric(
        dimensions=tuple(_dimension(folder / f"{name}.yaml", name) for name in RUBRIC),
        coverage=scale.coverage,
        quality=scale.quality,
    )
    if published is not None:
        for key, bands, wanted in (
            ("coverage", read.coverage, published.coverage),
            ("quality", read.quality, published.quality),
        ):
            if (got := _written(bands)) != (must := _written(wanted)):
                raise ConfigError(
                    f"{folder / SCALE_FILE}: {key}: the bands must be {must}, in this order (got {got})"
                )
        for dimension, own in zip(published.dimensions, read.dimensions, strict=True):
            _check_items(folder / f"{own.id}.yaml", own, dimension)
    return read


def _written(bands: Sequence[Band]) -> str:
    return ", ".join(f"{band.low}-{band.high}" for band in bands) or "none"


def _dimension(file: Traversable, name: str) -> Dimension:
    dimension = _model(Dimension, file)
    if dimension.id != name:
        raise ConfigError(f"{file}: id: must be {name!r}, as the file is named (got {dimension.id!r})")
    return dimension


def _check_items(file: Traversable, dimension: Dimension, published: Dimension) -> None:
    """Check that a dimension has the published items, each once, and no other part."""
    paths = list(_nodes(dimension))
    for path, times in Counter(paths).items():
        if times > 1:
            raise ConfigError(f"{file}: {_place(path)}: occurs {times} times")
    known = set(_nodes(published))
    for path in paths:
        if path not in known:
            raise ConfigError(f"{file}: {_place(path)}: the published rubric has no such part")
    for path, _ in published.items():
        if path[1:] not in paths:
            raise ConfigError(f"{file}: {_place(path[1:])}: is missing; the published rubric has it")


def _nodes(dimension: Dimension) -> Iterator[tuple[str, ...]]:
    """Yield the ids of every part below a dimension, each with those above it."""
    for part in dimension.subdimensions:
        yield (part.id,)
        for criterion in part.criteria:
            yield part.id, criterion.id
            for item in criterion.items:
                yield part.id, criterion.id, item.id


def _place(path: Iterable[object]) -> str:
    return " / ".join(map(str, path))


def _model(model: type[M], file: Traversable) -> M:
    """Return a file's content as a model."""
    try:
        with as_file(file) as path:
            data: object = load_yaml(read_utf8(path, MOST_YAML))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {reason_of(error)}") from None
    except ValueError as error:
        raise ConfigError(f"{file}: {' '.join(str(error).split())}") from None
    try:
        read = model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = _place(_name_place(data, first["loc"])) or "the file"
        if first["type"] == "extra_forbidden":
            raise ConfigError(f"{file}: {place}: unknown key") from None
        if first["type"] == "missing":
            raise ConfigError(f"{file}: {place}: is missing") from None
        raise ConfigError(f"{file}: {place}: {problem_of(first)}") from None
    for place, text in _texts(read.model_dump(mode="json"), ()):
        if not text.strip():
            raise ConfigError(f"{file}: {_place(place)}: is empty")
        if len(text) > LONGEST_TEXT:
            raise ConfigError(
                f"{file}: {_place(place)}: {len(text)} characters; at most {LONGEST_TEXT} are taken"
            )
    return read


def _texts(data: object, place: tuple[object, ...]) -> Iterator[tuple[tuple[object, ...], str]]:
    """Yield every string of a file with its place."""
    if isinstance(data, str):
        yield place, data
    elif isinstance(data, dict):
        for key, value in cast("dict[object, object]", data).items():
            yield from _texts(value, (*place, key))
    elif isinstance(data, list):
        for number, value in enumerate(cast("list[object]", data), 1):
            yield from _texts(value, (*place, _id(value, number)))


def _name_place(data: object, loc: Sequence[int | str]) -> Iterator[object]:
    """Yield a place as pydantic gives it, with ids in place of positions."""
    for step in loc:
        if isinstance(step, int) and isinstance(data, list) and step < len(cast("list[object]", data)):
            data = cast("list[object]", data)[step]
            yield _id(data, step + 1)
        else:
            data = cast("dict[object, object]", data).get(step) if isinstance(data, dict) else None
            yield step


def _id(data: object, number: int) -> object:
    """Return the name of a list's entry: its id, else its number, counted from 1."""
    named: object = cast("dict[object, object]", data).get("id") if isinstance(data, dict) else None
    return named if isinstance(named, str) else f"entry {number}"
