"""A small annotated report, written to a folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REPORT = """# The mill

## What was built

The mill was opened in 1974 [1]. Its wheel turns at night [2]. It is therefore older than the bridge. The river is cold.

## What came of it

The mill is as old as the pump. Mills are machines. In short, the mill stands. Few towns have one.

## References

[1] The mill. https://mill.example/history
[2] The wheel. https://wheel.example/night
[3] The pump, a book.
"""

ROWS: list[dict[str, Any]] = [
    {
        "id": "m1",
        "sentence": "L3.S1",
        "claim": "The mill was opened in 1974.",
        "type": "A",
        "citations": {"1": "supported"},
        "altered": {
            "kind": "date",
            "claim": "The mill was opened in 1947.",
            "citations": {"1": "contradicted"},
        },
    },
    {
        "id": "m2",
        "sentence": "L3.S2",
        "claim": "The wheel turns at night.",
        "type": "A",
        "citations": {"2": None},
    },
    {
        "id": "m3",
        "sentence": "L3.S3",
        "claim": "The mill is older than the bridge.",
        "type": "B",
        "evidence": ["L3.S1"],
        "citations": {"1": "not_found"},
    },
    {
        "id": "m4",
        "sentence": "L5.S1",
        "claim": "The mill is as old as the pump.",
        "type": "C",
        "evidence": ["L3.S3"],
        "citations": {"1": "partial"},
        "altered": {
            "kind": "direction",
            "claim": "The mill is older than the pump.",
            "citations": {"1": "contradicted"},
        },
    },
    {"id": "m5", "sentence": "L5.S2", "claim": "Mills are machines.", "type": "E"},
    {"id": "m6", "sentence": "L5.S3", "claim": "The mill stands.", "type": "D"},
    {"id": "m7", "sentence": "L5.S4", "claim": "Few towns have a mill.", "type": "F"},
]
"""`The river is cold.` is annotated as no claim."""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the report and its rows, some of them changed: `write(m3={"type": "C"})`; None drops a row."""

    def made(**changes: dict[str, Any] | None) -> Path:
        rows = [
            {**row, **(changes.get(row["id"]) or {})}
            for row in ROWS
            if changes.get(row["id"], {}) is not None
        ]
        (tmp_path / "mill.md").write_text(REPORT, encoding="utf-8")
        path = tmp_path / "mill.claims.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return made
