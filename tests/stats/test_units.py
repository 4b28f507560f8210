"""Units of a bootstrap."""

from __future__ import annotations

from local_judge.stats.units import united


def test_rows_with_a_common_key_are_one_unit() -> None:
    assert united([]) == []
    assert united([["a"], ["b"], ["a"], []]) == [0, 1, 0, 3]
    # The third row links the first two, and the last one has a key of the third.
    assert united([["a", "b"], ["c"], ["b", "c", "d"], ["e"], ["d"]]) == [0, 0, 0, 3, 0]
