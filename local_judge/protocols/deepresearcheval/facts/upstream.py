"""What the published code makes of its agents' last words.

Invariant: as `fact_check.py` computes: of each text what stands between its first `{` and its last `}`, read as JSON;
its `core_state` is appended item by item, another object as it is, and what cannot be read is passed over. Labels stay
as they are written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast


def merged(texts: Iterable[str]) -> list[dict[str, Any]]:
    """The rows of a result file from the last replies of all segments, failed ones among them."""
    rows: list[dict[str, Any]] = []
    for text in texts:
        try:
            value: Any = json.loads(text[text.index("{") : text.rindex("}") + 1])
        except (ValueError, RecursionError):
            continue
        found = cast("dict[str, Any]", value)
        rows += found.get("core_state", [found])
    return rows


def ratio_range(right: float, statements: float, half: float = 0.005) -> tuple[float, float]:
    """Between what the paper's ratio lies, 100 * N_Right / N_Statements, where both numbers are rounded, and it too.

    No published code counts labels.

    Args:
        right: mean number of statements that are Right, as printed.
        statements: mean number of statements, as printed.
        half: half of the last digit of all three.
    """
    low, high = (right - half) / (statements + half), (right + half) / (statements - half)
    return 100.0 * low - half, 100.0 * high + half
