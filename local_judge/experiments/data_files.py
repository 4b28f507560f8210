"""The texts that come with the experiments.

Invariant: what is loaded has been checked whole; a text that does not fit the others is a defect of the package, named
by file and entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from serving.strict_yaml import load_yaml

M = TypeVar("M", bound=BaseModel)


class DataError(ValueError):
    """The package's own texts do not fit each other."""


def load_entries(name: str, model: type[M]) -> tuple[M, ...]:
    """The entries of `data/NAME`, a list in YAML.

    Raises:
        DataError: the file is no list, or an entry is not what the model says; names the entry.
    """
    data: object = load_yaml((files("local_judge.experiments") / "data" / name).read_text(encoding="utf-8"))
    if not isinstance(data, list):
        raise DataError(f"{name}: no list")
    entries: list[M] = []
    for number, entry in enumerate(cast("list[Any]", data), 1):
        try:
            entries.append(model.model_validate(entry))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the whole"
            raise DataError(f"{name}: entry {number}: {place}: {first['msg']}") from None
    return tuple(entries)


def once(name: str, what: str, values: Sequence[str]) -> None:
    """Raises DataError for a value that stands twice."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise DataError(f"{name}: {what} {value!r} stands twice")
        seen.add(value)


def occurs(name: str, entry: str, sentence: str, text: str) -> None:
    """Raises DataError unless `sentence` stands in `text` exactly once."""
    if text.count(sentence) != 1:
        raise DataError(
            f"{name}: {entry}: {sentence!r} stands {text.count(sentence)} times in its text, not once"
        )
