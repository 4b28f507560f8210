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

    drawn, slow = in_draws(value, groups, DRAWS), in_draws(slowly, groups, DRAWS)
    assert [one is None for one in drawn] == [one is None for one in slow]
    assert [one for one in drawn if one is not None] == pytest.approx(
        [one for one in slow if one is not None]
    )


def test_a_draw_of_one_page_has_no_auc_where_its_claims_are_all_altered() -> None:
    group = [[item for item in items() if item.unit == "p5"]]
    assert in_draws(Auc(), group, DRAWS) == [None] * 50


def test_how_often_each_page_is_drawn() -> None:
    for row, draw in zip(times_of(4, DRAWS).tolist(), draws_of(4, DRAWS), strict=True):
        assert row == [draw.count(place) for place in range(4)]
