"""Four claims about one text, with a label of each kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

TEXT = "The mill was built in 1904. It ground rye until the flood. The wheel is made of oak."
ROWS: list[dict[str, Any]] = [
    {"id": "built", "claim": "The mill was built in 1904.", "evidence": TEXT, "label": "supported"},
    {"id": "ground", "claim": "It ground rye and oats.", "evidence": TEXT, "label": "partial"},
    {"id": "owner", "claim": "A cooperative owns the mill.", "evidence": TEXT, "label": "unsupported"},
    {"id": "year", "claim": "The mill was built in 1940.", "evidence": TEXT, "label": "contradicted"},
]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "mill.jsonl", ROWS)
