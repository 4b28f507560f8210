"""Values in the draws of a bootstrap."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from local_judge.lab.qualification.figures import (
    Auc,
    Draws,
    Ece,
    Value,
    by_unit,
    draws_of,
    in_draws,
    jackknife_p,
    leaving_one_out,
    share,
    times_of,
)
from local_judge.lab.qualification.model import Item

DRAWS = Draws(50, 3)


def items() -> list[Item]:
    """Six pages with two to four claims each, some of equal probability, one page with altered claims alone."""
    found: list[Item] = []
    for page in range(6):
        for place in range(2 + page % 3):
            true = page != 5 and (page + place) % 2 == 0
            said = (7 * page + 3 * place) % 10 / 10 + 0.05
            found.append(
                Item(id=f"{page}-{place}", unit=f"p{page}", truth=float(true), said=said, called=said >= 0.5)
            )
    return found


@pytest.mark.parametrize("value", [Auc(), Ece(), share(lambda item: item.called == (item.truth == 1))])
def test_a_value_in_draws_is_that_of_the_drawn_items(value: Value) -> None:
    groups = by_unit(items())

    def slowly(own: Sequence[Item]) -> float | None:
        return value(own)

    draws = draws_of(len(groups), DRAWS) + leaving_one_out(len(groups))
    drawn, slow = in_draws(value, groups, draws), in_draws(slowly, groups, draws)
    assert [one is None for one in drawn] == [one is None for one in slow]
    assert [one for one in drawn if one is not None] == pytest.approx(
        [one for one in slow if one is not None]
    )


def test_a_draw_of_one_page_has_no_auc_where_its_claims_are_all_altered() -> None:
    group = [[item for item in items() if item.unit == "p5"]]
    assert in_draws(Auc(), group, draws_of(1, DRAWS)) == [None] * 50


def test_how_often_each_page_is_drawn() -> None:
    draws = draws_of(4, DRAWS)
    for row, draw in zip(times_of(4, draws).tolist(), draws, strict=True):
        assert row == [draw.count(place) for place in range(4)]


def test_pseudo_values_of_a_mean_are_its_units() -> None:
    """Six units of equal size with the differences 1, 2, 3, 4, 5 and -1: the mean is 14 / 6, and without d it is
    (14 - d) / 5. |sum| >= 14 in 6 of 64 patterns: none turned, that of -1 (16), those of -1 and 1 (14), and their
    opposites."""
    differences = (1, 2, 3, 4, 5, -1)
    left_out = [(14 - d) / 5 for d in differences]
    assert jackknife_p(14 / 6, left_out, seed=0) == 6 / 64


def test_a_difference_that_one_unit_alone_defines_has_no_p_value() -> None:
    assert jackknife_p(0.5, [0.5, 0.5, None, 0.5, 0.5, 0.5, 0.5], seed=0) is None
