"""Agreement with people against the values of other libraries on the same ratings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.golden.human import run_human_consistency


def test_every_case_of_the_golden_file(shared: Path) -> None:
    path = shared / "fixtures" / "human_consistency.json"
    if not path.is_file():
        pytest.skip(f"no golden vectors at {path}")
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    assert [case["name"] for case in cases] == ["no_ties_one_negative_icc", "degenerate"]
    for case in cases:
        expected, got = run_human_consistency(case)
        assert got == expected, case["name"]


def test_a_wrong_number_is_noticed(shared: Path) -> None:
    path = shared / "fixtures" / "human_consistency.json"
    if not path.is_file():
        pytest.skip(f"no golden vectors at {path}")
    [case, _] = json.loads(path.read_text(encoding="utf-8"))["cases"]
    case["expected"]["fap"] += 1e-11
    expected, got = run_human_consistency(case)
    assert got != expected
