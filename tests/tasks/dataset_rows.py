"""Rows of LiveResearchBench's dataset, as it publishes them; the questions are made up."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

OPEN = "How many heat pumps did Fernholt install up to {{date}}?"
FIXED = "How many heat pumps did Fernholt install up to 2025-09-01?"

ROWS: list[dict[str, str]] = [
    {
        "qid": "qid_pumps",
        "question": OPEN,
        "checklist": "Does the report give the number of heat pumps up to {{date}}?",
        "question_no_placeholder": FIXED,
        "checklist_no_placeholder": "Does the report give the number of heat pumps up to 2025-09-01?",
    },
    {
        "qid": "mill",
        "question": "What did the mill cost, and who paid?",
        "checklist": "Does the report state the cost of the mill?",
        "question_no_placeholder": "What did the mill cost, and who paid?",
        "checklist_no_placeholder": "Does the report state the cost of the mill?",
    },
    {
        "qid": "pumps",
        "question": OPEN,
        "checklist": 'Does the report name, after "Fernholt", the makers?',
        "question_no_placeholder": FIXED,
        "checklist_no_placeholder": "",
    },
]


def write_jsonl(path: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def write_csv(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
