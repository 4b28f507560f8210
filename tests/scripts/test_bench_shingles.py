"""The measure of extraction."""

from __future__ import annotations

import pytest

from scripts.benchmarking.shingles import scores, shingles, without_marks

pytestmark = pytest.mark.slow


def test_runs_of_four_tokens() -> None:
    assert shingles("a b c d e") == {("a", "b", "c", "d"): 1, ("b", "c", "d", "e"): 1}
    assert shingles("a, b!") == {("a", "b"): 1}
    assert shingles(" -- ") == {}


def test_scores_of_pages_weigh_alike() -> None:
    # Page 1: marked has 2 runs, extracted 3, of which 2 are shared: precision 2/3, recall 1.
    # Page 2: 1 marked, none extracted: no precision, recall 0.
    precision, recall, f1 = scores([("a b c d e", "a b c d e f"), ("a b c d", "")])
    assert (precision, recall) == (2 / 3, 1 / 2)
    assert f1 == pytest.approx(4 / 7)  # 2 * (2/3) * (1/2) / (2/3 + 1/2)
    assert scores([("a b c d", "w x y z")]) == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="no page"):
        scores([])


def test_numbers_of_lists_are_marks() -> None:
    assert without_marks("# T\n1. one\n2. two 3. three") == "# T\none\ntwo 3. three"
