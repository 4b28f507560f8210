"""Order of things by several people's ratings of items, against DREAM's Table 9."""

from __future__ import annotations

import pytest

from local_judge.stats.agreement.concordance import RatedItem, concordance
from local_judge.stats.correlation import kendall_w_test

RANK_SUMS = {
    # Of six people and three things the ranks sum to 36, on average 12. S is the sum of squared deviations.
    "relevance": (7, 13, 16),  # 25 + 1 + 16 = 42
    "verifiability": (6, 14, 16),  # 36 + 4 + 16 = 56
    "validation": (6, 13, 17),  # 36 + 1 + 25 = 62
    "average": (7, 12, 17),  # 25 + 0 + 25 = 50
}
TABLE_9 = {
    "relevance": (0.58, 0.030),
    "verifiability": (0.78, 0.009),
    "validation": (0.86, 0.006),
    "average": (0.69, 0.016),
}
ORDERS = {
    # Ranks that six people give to the three ways, with these sums.
    "relevance": ["123", "123", "123", "132", "132", "213"],
    "verifiability": ["123", "123", "123", "123", "132", "132"],
    "validation": ["123", "123", "123", "123", "123", "132"],
    "average": ["123", "123", "123", "123", "132", "213"],
}


@pytest.mark.parametrize("axis", TABLE_9)
def test_the_figures_of_table_9_are_those_of_six_people_and_three_ways(axis: str) -> None:
    """W = 12 S / (36 (27 - 3)) = S / 72, and p of chi^2 = 6 * 2 * W with 2 degrees of freedom, exp(-6 W)."""
    orders = ORDERS[axis]
    assert tuple(sum(int(order[way]) for order in orders) for way in range(3)) == RANK_SUMS[axis]
    # Items of a way are rated 4 less its rank, one of them a point better and one a point worse.
    items = [
        RatedItem(task, str(way), f"p{person}", 4 - int(order[way]) + apart)
        for person, order in enumerate(orders)
        for way in range(3)
        for task, apart in (("t1", 0.5), ("t2", -0.5))
    ]
    w, p = concordance(items, draws=20)
    assert (w.id, w.estimate.n, p.id) == ("kendall_w", 6, "kendall_w_p")
    assert (round(w.estimate.value or 0, 2), round(p.estimate.value or 0, 3)) == TABLE_9[axis]


def test_whoever_rated_only_some_things_has_no_order() -> None:
    items = [RatedItem("t", thing, person, score) for person in "ab" for thing, score in (("x", 1), ("y", 2))]
    w, _ = concordance([*items, RatedItem("t", "x", "c", 3)], draws=0)
    assert (w.estimate.value, w.estimate.n, w.estimate.n_undefined) == (1.0, 2, 1)
    w, p = concordance([*items[:2], RatedItem("t", "x", "c", 3)], draws=0)
    assert (w.estimate.value, p.estimate.value) == (None, None)
    assert w.estimate.reason == "1 people and 2 things, needs 2 of each"


def test_the_p_value_of_kendalls_w() -> None:
    # chi^2 with 2 degrees of freedom: exp(-chi^2 / 2). With 1: chi^2 = 3.841 has 0.05.
    assert kendall_w_test(42 / 72, 6, 3) == pytest.approx(2.718281828459045 ** (-3.5))
    assert kendall_w_test(3.841459 / 5, 5, 2) == pytest.approx(0.05, abs=1e-6)
