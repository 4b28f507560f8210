"""Strengths against published and hand-made values, and where they do not exist."""

from __future__ import annotations

import math

import numpy as np
import pytest

from local_judge.stats.bradley_terry import Fit, fit

# American League, 1987 season (Agresti, Categorical Data Analysis, 3rd ed., section 11.6): wins of row over column.
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
WINS = (
    (0, 7, 9, 7, 7, 9, 11),
    (6, 0, 7, 5, 11, 9, 9),
    (4, 6, 0, 7, 7, 8, 12),
    (6, 8, 6, 0, 6, 7, 10),
    (6, 2, 6, 7, 0, 7, 12),
    (4, 4, 5, 6, 6, 0, 6),
    (2, 4, 1, 3, 1, 7, 0),
)
PUBLISHED = (1.58, 1.44, 1.29, 1.25, 1.11, 0.68, 0.0)
"""Estimates with Baltimore at 0."""


def of(*rows: tuple[float, ...]) -> Fit:
    return fit(np.array(rows, dtype=np.float64))


def test_the_baseball_season() -> None:
    found = of(*WINS)
    relative = found.strengths - found.strengths[TEAMS.index("Baltimore")]
    assert [round(value, 2) for value in relative.tolist()] == list(PUBLISHED)
    assert found.strengths.sum() == pytest.approx(0, abs=1e-12)
    assert not found.regularised.any() and set(found.groups.tolist()) == {0}


def test_two_systems_have_the_log_odds_of_their_points() -> None:
    # 3 wins, 1 loss, 2 ties: 4 points to 2, odds of 2, half of ln 2 on either side of 0.
    assert of((0, 4), (2, 0)).strengths.tolist() == pytest.approx([math.log(2) / 2, -math.log(2) / 2])
    assert of((0, 2.5), (2.5, 0)).strengths.tolist() == [0, 0]


def test_a_chain_adds_up() -> None:
    # a:b is 3:1 and b:c is 2:1, a and c never met: ln 3 and ln 2 apart.
    found = of((0, 3, 0), (1, 0, 2), (0, 1, 0)).strengths
    assert found[0] - found[1] == pytest.approx(math.log(3))
    assert found[1] - found[2] == pytest.approx(math.log(2))


def test_a_lopsided_score_is_found_too() -> None:
    found = of((0, 10_000), (1, 0)).strengths
    assert found[0] - found[1] == pytest.approx(math.log(10_000))


def test_who_won_everything_has_no_maximum() -> None:
    found = of((0, 2, 2), (0, 0, 1), (0, 1, 0))
    assert found.above.tolist() == [True, False, False]
    assert found.below.tolist() == [False, True, True]
    assert found.regularised.all()
    assert found.strengths[0] > 0 > found.strengths[1] == pytest.approx(found.strengths[2])
    assert np.isfinite(found.strengths).all()


def test_the_fit_in_its_place_is_the_one_described() -> None:
    # One win each way to nothing, and each a tie against 0: by symmetry b, -b with
    # 1 - P(2b) + 1/2 - P(b) = 0, P the logistic function.
    b = of((0, 1), (0, 0)).strengths[0]

    def logistic(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    assert 1 - logistic(2 * b) + 0.5 - logistic(b) == pytest.approx(0, abs=1e-9)


def test_in_the_middle_of_a_ladder_is_neither_above_nor_below() -> None:
    found = of((0, 1, 0), (0, 0, 1), (0, 0, 0))
    assert (found.above.tolist(), found.below.tolist()) == ([True, False, False], [False, False, True])
    assert found.regularised.tolist() == [True, True, True]


def test_those_that_never_met_stand_apart() -> None:
    found = of((0, 1, 0, 0), (1, 0, 0, 0), (0, 0, 0, 2), (0, 0, 1, 0))
    assert found.groups.tolist() == [0, 0, 1, 1]
    assert found.strengths.tolist() == pytest.approx([0, 0, math.log(2) / 2, -math.log(2) / 2])
    alone = of((0,))
    assert (alone.strengths.tolist(), alone.groups.tolist(), alone.regularised.any()) == ([0], [0], False)
