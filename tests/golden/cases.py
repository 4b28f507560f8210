"""What a golden case is, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Case = Mapping[str, Any]


class Comparison(NamedTuple):
    """What a case expects and what we get, both as JSON."""

    expected: object
    got: object
