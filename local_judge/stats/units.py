"""Units of a bootstrap and of folds: rows that share anything are one unit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def united(rows: Sequence[Iterable[str]]) -> list[int]:
    """Return the number of each row's unit: rows with a common key, and rows linked by others, have the same.

    Args:
        rows: the keys of each row. A row without keys is a unit of its own.
    """
    above = list(range(len(rows)))
    first: dict[str, int] = {}

    def top(row: int) -> int:
        while above[row] != row:
            above[row] = row = above[above[row]]
        return row

    for number, keys in enumerate(rows):
        for key in keys:
            one, other = sorted((top(number), top(first.setdefault(key, number))))
            above[other] = one
    return [top(number) for number in range(len(rows))]
