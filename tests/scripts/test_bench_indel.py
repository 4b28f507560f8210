"""The distance in insertions and deletions, on values counted by hand."""

import pytest

from scripts.benchmarking.indel import indel_distance, indel_similarity

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("", "", 0),
        ("abc", "abc", 0),
        ("", "abc", 3),
        ("abc", "", 3),
        ("abcabba", "cbabac", 5),  # the example of Myers (1986)
        ("kitten", "sitting", 5),  # k, e out; s, i, g in
        ("ab", "ba", 2),
    ],
)
def test_distance(one: str, other: str, distance: int) -> None:
    assert indel_distance(one, other) == distance
    assert indel_distance(other, one) == distance


def test_similarity_is_of_both_lengths() -> None:
    assert indel_similarity("abcd", "abd") == 1 - 1 / 7
    assert indel_similarity("", "") == 1
    assert indel_similarity("a", "b") == 0
