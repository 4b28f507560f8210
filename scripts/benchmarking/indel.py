"""Similarity of two long texts: the normalised distance in insertions and deletions.

Invariant: exact. Time grows with the length and with the square of the distance, so that texts which are nearly equal
are compared in milliseconds, whatever their length.
"""

from __future__ import annotations


def indel_distance(one: str, other: str) -> int:
    """Return the least number of characters to insert and delete (Myers 1986, the greedy algorithm of its figure 2)."""
    n, m = len(one), len(other)
    furthest = {1: 0}
    for distance in range(n + m + 1):
        for diagonal in range(-distance, distance + 1, 2):
            down = diagonal == -distance or (
                diagonal != distance and furthest[diagonal - 1] < furthest[diagonal + 1]
            )
            x = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
            y = x - diagonal
            while x < n and y < m and one[x] == other[y]:
                x += 1
                y += 1
            furthest[diagonal] = x
            if x >= n and y >= m:
                return distance
    raise AssertionError("n + m steps always suffice")


def indel_similarity(one: str, other: str) -> float:
    """`1 - distance / (len(one) + len(other))`; 1 for two empty texts."""
    total = len(one) + len(other)
    return 1 - indel_distance(one, other) / total if total else 1.0
