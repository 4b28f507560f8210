"""Calls of two judges on the same labelled claims: known values of the shares, their difference and its interval."""

from __future__ import annotations

import pytest

from local_judge.stats.paired_calls import PairedCall, compare_calls


def test_known_values() -> None:
    """Right by the first: a1, a3, b2. By the second: a1, a2, a3, b1. Supported claims: a1, a2, b1.

    Balanced accuracy: the first (1/3 + 2/2) / 2 = 2/3, the second (3/3 + 1/2) / 2 = 3/4.
    """
    found = compare_calls(
        [
            PairedCall("a", True, True, True),
            PairedCall("a", True, False, True),
            PairedCall("a", False, False, False),
            PairedCall("b", True, False, True),
            PairedCall("b", False, False, True),
        ]
    )
    assert (found.n, found.n_true, found.n_units) == (5, 3, 2)
    assert (found.right, found.only) == ((3, 4), (1, 2))
    assert (found.share.first, found.share.second, found.share.value) == (0.6, 0.8, pytest.approx(0.2))
    assert found.balanced_accuracy == (pytest.approx(2 / 3), 0.75)
    assert found.balanced_difference.value == pytest.approx(1 / 12)
    # Of a alone: (1 + 1) / 2 - (1/2 + 1) / 2 = 1/4. Of b alone: (1 + 0) / 2 - (0 + 1) / 2 = 0.
    assert (found.balanced_difference.low, found.balanced_difference.high) == (0.0, 0.25)


def test_claims_of_one_kind_have_no_balanced_accuracy() -> None:
    found = compare_calls([PairedCall("a", True, True, False), PairedCall("b", True, True, True)])
    assert (found.right, found.only, found.balanced_accuracy) == ((2, 1), (1, 0), (None, None))
    assert found.balanced_difference.reason == "all claims are of one kind"


def test_without_claims_there_is_no_figure() -> None:
    found = compare_calls([])
    assert (found.n, found.right, found.share.value, found.balanced_difference.value) == (
        0,
        (0, 0),
        None,
        None,
    )


def test_one_unit_has_no_interval() -> None:
    found = compare_calls([PairedCall("a", True, True, False), PairedCall("a", False, True, False)])
    assert (found.balanced_difference.value, found.balanced_difference.low) == (0.0, None)
