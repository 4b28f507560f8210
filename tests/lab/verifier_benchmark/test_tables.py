"""Tables of a benchmark of verifiers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from local_judge.lab.labelled.load import evidence_snapshot, load_sets
from local_judge.lab.labelled.model import LabelledSet
from local_judge.lab.verifier_benchmark.answers import word_overlap
from local_judge.lab.verifier_benchmark.measure import figures_of
from local_judge.lab.verifier_benchmark.tables import benchmark_tables
from local_judge.stats.calibration.assess import Settings

from .conftest import write_rows

OWN = {"claim": "A claim.", "evidence": "A text."}
THEIRS = {"claim": "A claim.", "doc": "A text."}


def shown(path: Path) -> str:
    rows = load_sets([path])
    with evidence_snapshot(rows) as snapshot:
        found = figures_of(
            word_overlap([LabelledSet(rows, snapshot)]), Settings(draws=0, objective="balanced_accuracy")
        )
    console = Console(width=200)
    with console.capture() as captured:
        console.print(benchmark_tables(found, []))
    return captured.get()


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{**OWN, "set": "factcheck", "label": "supported"}], {"on other claims of the set": 6}),
        (
            [{**THEIRS, "dataset": "FactCheck-GPT", "label": 1}],
            {"on the 1,566 claims of the benchmark's test split (1 measured here)": 6},
        ),
        # The figures of three verifiers of WiCE are of 100 claims of the test split.
        (
            [{**THEIRS, "dataset": "Wice", "label": 1}],
            {
                "on the 358 claims of the benchmark's test split (1 measured here)": 8,
                "on other claims of the set": 3,
            },
        ),
    ],
)
def test_published_figures_say_on_which_claims(
    tmp_path: Path, rows: list[dict[str, Any]], says: dict[str, int]
) -> None:
    text = shown(write_rows(tmp_path / "set.jsonl", rows))
    found: dict[str, int] = {}
    for part in text.split("published figures, ")[1:]:
        heading, *lines = part.splitlines()
        found[heading.strip()] = sum(" selection " in line or "100 claims" in line for line in lines)
    assert found == says
