"""Errors of the frozen web.

    IndexesError
    ├── ImportRefused        a page list, a folder or a line of it that cannot be imported as it is
    ├── SnapshotExists       the output directory is there and holds something else
    ├── FetchError           pages cannot be fetched in the way that was asked for
    ├── ExtractionFailed     no process could be started that reads pages
    ├── SearchError          see `indexes.search.errors`
    ├── MissingExtra         an optional dependency that is not installed
    └── SnapshotError        a snapshot that cannot be used
        ├── SnapshotMissing  there is no such directory
        ├── NotASnapshot     a directory without a readable manifest
        ├── SnapshotTooNew   written by a newer version of this package
        └── DigestMismatch   contents that are not those the manifest names

Invariant: every message is one line that names the value, the place and the remedy, fit to be shown to a
user. What is wrong with one page is no error: the page keeps a status and a reason.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class IndexesError(Exception):
    """Root of all errors of this package."""


class ImportRefused(IndexesError):
    """A page list, a folder or a line of it that cannot be imported as it is."""


class SnapshotExists(IndexesError):
    """The output directory is there and holds something else."""


class FetchError(IndexesError):
    """Pages cannot be fetched in the way that was asked for."""


class ExtractionFailed(IndexesError):
    """No process could be started that reads pages."""


class MissingExtra(IndexesError):
    """An optional dependency that is not installed; the message holds the pip line."""


class SnapshotError(IndexesError):
    """A snapshot that cannot be used."""


class SnapshotMissing(SnapshotError):
    """There is no such directory."""


class NotASnapshot(SnapshotError):
    """A directory without a readable manifest."""


class SnapshotTooNew(SnapshotError):
    """Written by a newer version of this package."""


class DigestMismatch(SnapshotError):
    """Contents that are not those the manifest names."""


def first_problem(error: ValidationError, whole: str = "the line") -> str:
    """Return the first problem that a model reports, as `key must be …`, or all missing keys."""
    found = error.errors(include_url=False)
    missing = [".".join(map(str, one["loc"])) for one in found if one["type"] == "missing"]
    if missing:
        return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    first = found[0]
    key = ".".join(str(step) for step in first["loc"] if step not in _BRANCHES) or whole
    if first["type"] == "extra_forbidden":
        return f"{key}: unknown key"
    if first["type"] == "value_error":
        return f"{key}: {first['msg'].removeprefix('Value error, ')}"
    said = first["msg"]
    for pattern, words in _WORDS:
        said = re.sub(pattern, words, said)
    return f"{key} {said}" if said.startswith("must ") else f"{key}: {said}"


_WORDS = (
    (r"^(Input|String|List|Tuple) should ", "must "),
    (r" or instance of \w+", ""),
    (r", unable to .*| after validation, not .*", ""),
    (r"a valid integer", "a whole number"),
    (r"a valid dictionary", "a mapping of keys to values"),
    (r"a valid (tuple|list)", "a list"),
    (r"a valid string", "a text"),
    (r"\bvalid ", ""),
)
"""Patterns in messages of pydantic, and what replaces them."""
_BRANCHES = ("int", "str", "float", "bool")
"""Steps of a place that name a type of several that are allowed."""
