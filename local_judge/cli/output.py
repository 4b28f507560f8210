"""JSON on standard output, and notes about the input on standard error.

Invariant: text from reports, pages and judges reaches the terminal as printable characters, and a JSON parser restores
the original values.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel

from local_judge.base.errors import plain
from local_judge.runs.planning.report_files import left_out

_UNPRINTABLE = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters escaped in addition to those of JSON: C1 controls, which terminals execute, line separators, and marks
that reverse the direction of text."""


def json_line(data: object) -> str:
    """Return one line of JSON; pydantic models become objects. Raises ValueError for NaN and infinities."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, default=_fields)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_json(data: object) -> None:
    """Print one line of JSON."""
    print(json_line(data))


def print_left_out(reports: Iterable[Path]) -> None:
    """Print for each folder of reports which of its files are not read."""
    for line in left_out(reports):
        sys.stderr.write(f"{plain(line)}\n")


def _fields(model: object) -> object:
    if isinstance(model, BaseModel):
        return model.model_dump(mode="json")
    raise TypeError(f"{type(model).__name__} has no JSON form")
