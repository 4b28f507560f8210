"""The data files of the experiments: those that come with the package, and the user's own of the same form.

Invariant: what is loaded has been checked whole; what is wrong with a file ends in one line that names the file, the
entry and the key.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, StringConstraints, ValidationError

from local_judge.errors import ConfigError, InputError
from local_judge.rows import is_text, read_text
from serving.strict_yaml import load_yaml

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

EntryId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=60)]
"""Of one entry of a file; becomes a part of file names."""
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, pattern=r"^[^\n]+$")]
"""Text of one line, such as one sentence."""
Said = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""Text of any number of lines."""


def packaged(name: str) -> Path:
    """The file of this name that comes with the package."""
    return Path(__file__).with_name("data") / name


def load_entries(path: Path, model: type[M]) -> tuple[M, ...]:
    """The entries of a data file: a list in YAML, or in JSON.

    Raises:
        InputError: the file cannot be read, is no list or an empty one, or has an entry that the model refuses.
    """
    try:
        data: object = load_yaml(read_text(path))
    except ValueError as error:
        raise InputError(f"{path}: no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, list) or not data:
        raise InputError(f"{path}: expected a list of entries")
    entries: list[M] = []
    for number, entry in enumerate(cast("list[Any]", data), 1):
        if not is_text(repr(entry)):
            raise InputError(f"{path}: entry {number}: holds half a character (a lone surrogate)")
        try:
            entries.append(model.model_validate(entry))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the whole"
            said = "unknown key" if first["type"] == "extra_forbidden" else first["msg"]
            raise InputError(f"{path}: entry {number}: {place}: {said}") from None
    return tuple(entries)


def once(path: Path, what: str, values: Sequence[str]) -> None:
    """Raises InputError for a value that stands twice."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise InputError(f"{path}: {what} {value!r} stands twice")
        seen.add(value)


def occurs(path: Path, entry: str, sentence: str, text: str) -> None:
    """Raises InputError unless `sentence` stands in `text` exactly once."""
    if text.count(sentence) != 1:
        raise InputError(
            f"{path}: {entry}: {sentence!r} stands {text.count(sentence)} times in its text, not once"
        )


def taken(entries: Sequence[T], n: int | None, what: str) -> Sequence[T]:
    """The first `n` entries, None for all. Raises ConfigError where there are not so many."""
    if n is not None and not 1 <= n <= len(entries):
        raise ConfigError(f"--topics {n}: there are {len(entries)} {what}; take 1 to {len(entries)}")
    return entries[:n]
