"""Fusion of two rankings: known values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from pydantic import ValidationError

from indexes.search.fusion import FusionSettings, fuse
from indexes.search.model import Ranked


def ranked(rows: Sequence[int], scores: Sequence[float]) -> Ranked:
    return Ranked(np.array(rows, np.int64), np.array(scores, np.float64))


def test_reciprocal_ranks() -> None:
    found = fuse(ranked([7, 3, 5], [9, 8, 1]), ranked([3, 9], [0.9, 0.8]), 10)
    # 3: 1/62 + 1/61; 7: 1/61; 9: 1/62; 5: 1/63
    assert found.rows.tolist() == [3, 7, 9, 5]
    assert found.scores.tolist() == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62, 1 / 63], abs=1e-12)


def test_ties_are_broken_by_row() -> None:
    # Each is first once and second once: 1/61 + 1/62 in either order.
    found = fuse(ranked([8, 2], [5, 4]), ranked([2, 8], [0.5, 0.4]), 2)
    assert found.rows.tolist() == [2, 8]
    assert found.scores[0] == found.scores[1]
    assert fuse(ranked([8], [5]), ranked([2], [0.5]), 1).rows.tolist() == [2]


def test_convex_combination() -> None:
    words, meanings = ranked([1, 2], [10, 5]), ranked([2, 3], [0.6, 0.2])
    found = fuse(words, meanings, 3, FusionSettings(method="convex", alpha=0.25))
    # 1: 0.75 * 10/10; 2: 0.75 * 5/10 + 0.25 * 1.6/1.6; 3: 0.25 * 1.2/1.6
    assert found.rows.tolist() == [1, 2, 3]
    assert found.scores.tolist() == pytest.approx([0.75, 0.625, 0.1875], abs=1e-12)
    for alpha, order in ((0.0, [1, 2, 3]), (1.0, [2, 3, 1])):
        settings = FusionSettings(method="convex", alpha=alpha)
        assert fuse(words, meanings, 3, settings).rows.tolist() == order


def test_empty_rankings() -> None:
    nothing = Ranked.nothing()
    for settings in (FusionSettings(), FusionSettings(method="convex")):
        assert fuse(nothing, nothing, 5, settings).rows.tolist() == []
        assert fuse(nothing, ranked([4], [0.1]), 5, settings).rows.tolist() == [4]
    # A cosine of -1 is the least there is.
    opposite = fuse(nothing, ranked([4], [-1.0]), 5, FusionSettings(method="convex"))
    assert opposite.scores.tolist() == [0.0]


def test_settings_out_of_range() -> None:
    for wrong in ({"alpha": 1.5}, {"depth": 0}, {"k": 60}):
        with pytest.raises(ValidationError):
            FusionSettings.model_validate(wrong)
