"""What a snapshot lacked, on disk.

Invariant: a wishes file lists each thing once with the number of times that it was asked for, pages first, each by its
text: the same runs give the same bytes, in whatever order they ended.

The addresses are what judges asked for. A judge may have made one up, or have it from a page: who fetches them should
look at the list.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from local_judge.agents.result import Wish, merged
from local_judge.errors import InputError
from local_judge.rows import read_models, write_jsonl

WISHES = "wishes.jsonl"
"""Name of the file in a run's directory."""


def write_wishes(path: Path, wishes: Iterable[Wish]) -> None:
    """Write the wishes of runs, equal ones added up. Raises InputError."""
    write_jsonl(path, merged(wishes))


def read_wishes(path: Path) -> tuple[Wish, ...]:
    """The wishes in a file, or in the file of a run's directory.

    Raises:
        InputError: there is none, or it has a line that is no wish.
    """
    file = path / WISHES if path.is_dir() else path
    found: list[Wish] = []
    for place, wish in read_models(file, Wish):
        if (wish.url is None) == (wish.query is None):
            raise InputError(f"{place}: needs one of `url` and `query`")
        found.append(wish)
    return merged(found)
