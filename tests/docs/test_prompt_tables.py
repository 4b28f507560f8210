"""The tables of docs/appendix/prompts.md are of the prompts that there are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import pytest

from scripts.benchmarking import prompt_extraction, prompt_scoring, prompt_verification
from scripts.benchmarking.prompt_rows import Kind
from scripts.benchmarking.prompt_tables import COLUMNS, DOCUMENT, stale, table_of

ROOT = Path(__file__).resolve().parents[2]
DIGESTS: Mapping[Kind, Mapping[str, str]] = {
    "verification": {name: way.digest() for name, way in prompt_verification.WAYS.items()},
    "extraction": {name: way.digest() for name, way in prompt_extraction.WAYS.items()},
    "scoring": {name: way.digest() for name, way in prompt_scoring.WAYS.items()},
}


@pytest.mark.parametrize("kind", get_args(Kind))
def test_what_was_measured_is_what_is_asked_now(kind: Kind) -> None:
    text = (ROOT / DOCUMENT).read_text(encoding="utf-8")
    assert all(len(cells) == len(COLUMNS[kind]) for cells in table_of(text, kind))
    assert list(stale(text, kind, DIGESTS[kind])) == []


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_prompt_is_described(kind: Kind) -> None:
    text = (ROOT / DOCUMENT).read_text(encoding="utf-8")
    section = text.partition(f"\n## {kind.title()}\n")[2].partition("\n## ")[0]
    for name in DIGESTS[kind]:
        assert f"\n| `{name}` | " in section.partition("<!-- measured")[0], f"{kind}: `{name}`"
