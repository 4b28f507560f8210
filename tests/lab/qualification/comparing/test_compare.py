"""Finished qualifications compared."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from local_judge.base.errors import InputError
from local_judge.lab.planting.model import PlantedClaim
from local_judge.lab.qualification.comparing.comparison import compare, load_finished, write_comparison
from local_judge.lab.qualification.comparing.model import Comparison

from .conftest import SMALL, Examine


def good(claim: PlantedClaim) -> float:
    """Right, and surer of some claims than of others."""
    sure = 0.01 * (len(claim.claim) % 7)
    return 0.9 + sure if claim.true else 0.1 - sure


def poor(claim: PlantedClaim) -> float:
    """Right where a claim has an even number of characters."""
    return good(claim) if len(claim.claim) % 2 == 0 else 1 - good(claim)


def of(folders: list[Path]) -> Comparison:
    return compare([load_finished(folder) for folder in folders])


def test_the_better_judge_is_found_and_the_same_files_come_twice(examine: Examine, tmp_path: Path) -> None:
    folders = [examine("good", good), examine("poor", poor)]
    found = of(folders)
    by_id = {row.id: row for row in found.differences}
    auc = by_id["verification/auc/raw"]
    assert auc.first_value == 1.0
    assert auc.value is not None
    assert auc.value > 0
    assert auc.verdict == "first"
    for name in ("one", "two"):
        write_comparison(tmp_path / name, of(folders))
    for file in ("comparison.json", "comparison.md", "comparison.svg"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    page = (tmp_path / "one" / "comparison.md").read_text(encoding="utf-8")
    assert page.startswith("# Judges compared: good, poor\n")
    assert "| `verification/auc/raw` | good | poor | 1.000 |" in page
    assert Comparison.model_validate_json((tmp_path / "one" / "comparison.json").read_text()) == found


def test_without_matplotlib_the_page_says_that_the_plot_is_missing(
    examine: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = of([examine("good", good), examine("poor", poor)])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    write_comparison(tmp_path / "out", found)
    page = (tmp_path / "out" / "comparison.md").read_text(encoding="utf-8")
    assert re.search("Quality against cost is not drawn: .*`plots`", page)
    assert not (tmp_path / "out" / "comparison.svg").exists()


def test_other_claims_are_refused_with_what_differs(examine: Examine) -> None:
    fewer = SMALL.model_copy(update={"verification": SMALL.verification.model_copy(update={"claims": 16})})
    folders = [examine("good", good), examine("poor", poor, config=fewer)]
    with pytest.raises(
        InputError, match=r"poor: 'poor' was not asked the same as 'good' in .*good: another config"
    ):
        of(folders)


def test_one_judge_twice_is_refused(examine: Examine, tmp_path: Path) -> None:
    folder = examine("good", good)
    with pytest.raises(InputError, match="1 judge cannot be compared"):
        of([folder])
    with pytest.raises(InputError, match="1 judge cannot be compared"):
        of([folder, folder])


def test_what_holds_no_qualification_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no finished qualification \(manifest.json: no such file"):
        load_finished(tmp_path)
