"""JSON as people write it into files.

Invariant: an object with a key that stands in it twice is refused, because readers differ in which of the two counts.
"""

from __future__ import annotations

import json
from typing import Any


def strict_json(text: str | bytes) -> Any:
    """Read JSON.

    Raises:
        ValueError: it is none, or a key stands twice in an object.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key[:60]!r} stands twice in an object")
        found[key] = value
    return found
