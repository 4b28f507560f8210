"""JSON on standard output.

Invariant: what a report, a page or a judge says reaches the terminal as printable characters; a JSON reader gets the
same values back.
"""

from __future__ import annotations

import json
import re

from pydantic import BaseModel

_UNPRINTABLE = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Beside what JSON escapes anyway: C1 controls, which terminals obey, line separators, and marks that turn the order of
what is shown around."""


def json_line(data: object) -> str:
    """One line of JSON; pydantic models in `data` become objects. Raises ValueError for NaN and infinities."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, default=_fields)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_json(data: object) -> None:
    """Print one line of JSON."""
    print(json_line(data))


def _fields(model: object) -> object:
    if isinstance(model, BaseModel):
        return model.model_dump(mode="json")
    raise TypeError(f"{type(model).__name__} has no JSON form")
