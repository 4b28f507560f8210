"""One judge less another."""

from __future__ import annotations

import pytest

from local_judge.base.errors import InputError
from local_judge.lab.qualification.comparing.model import Difference
from local_judge.lab.qualification.comparing.pairs import differences
from local_judge.lab.qualification.figures import Auc, Draws, Measure, share
from local_judge.lab.qualification.model import Item

from .claims import Says, credulous, early, items, right, silent


def every(item: Item) -> bool:
    return True


ACCURACY = Measure("accuracy", every, share(lambda item: item.called == (item.truth == 1)), "more")
DRAWS = Draws(199, 0)


def compared(*judges: Says, measure: Measure = ACCURACY, pages: int = 8) -> list[Difference]:
    names = {chr(ord("a") + place): items(judge, pages=pages) for place, judge in enumerate(judges)}
    return differences(names, [measure], DRAWS)


def test_a_judge_that_is_right_on_every_page_is_better_than_one_that_believes_everything() -> None:
    (row,) = compared(right, credulous)
    assert (row.first_value, row.second_value, row.value) == (1.0, 0.5, 0.5)
    # Each page gives 1/2, so each draw does.
    assert (row.low, row.high) == (0.5, 0.5)
    # Of the patterns of eight signs, two have all pages on one side.
    assert row.p == 2 / 2**8
    assert row.verdict == "first"
    assert (row.n, row.n_units) == (16, 8)


def test_less_of_what_is_bad_is_better() -> None:
    (row,) = compared(right, credulous, measure=ACCURACY._replace(better="less"))
    assert row.verdict == "second"
    (row,) = compared(right, credulous, measure=ACCURACY._replace(better=None))
    assert row.verdict == "differs"


def test_identical_judges_differ_by_nothing() -> None:
    (row,) = compared(early, early)
    assert (row.value, row.low, row.high, row.p) == (0.0, 0.0, 0.0, 1.0)
    assert row.verdict == "not_shown"


def test_the_same_pages_are_drawn_for_both() -> None:
    # `early` is right on pages 0 to 3 only: unpaired draws of two equal judges would differ.
    (row,) = compared(early, early)
    assert row.low == row.high == 0.0


def test_an_item_that_only_one_answered_is_left_out_of_both() -> None:
    def half(page: int, true: bool) -> float | None:
        return right(page, true) if page < 6 else None

    (row,) = compared(early, half)
    # On pages 0 to 5, `early` is right on 4.
    assert row.first_value == pytest.approx(8 / 12)
    assert row.second_value == 1.0
    assert (row.n, row.n_units, row.n_only_first, row.n_only_second, row.n_neither) == (12, 6, 4, 0, 0)


def test_a_judge_that_answers_nothing_differs_from_none() -> None:
    (row,) = compared(right, silent)
    assert row.value is None
    assert row.verdict == "none"
    assert row.reason == "no item that both answered"
    assert row.n_only_first == 16
    (row,) = compared(silent, silent)
    assert row.n_neither == 16


def test_five_pages_are_too_few_for_a_test() -> None:
    (row,) = compared(right, credulous, pages=5)
    assert (row.low, row.high) == (0.5, 0.5)
    assert row.p is None
    assert row.verdict == "not_tested"


def test_a_figure_that_is_not_defined_without_one_page_is_not_tested() -> None:
    """All true claims are on one of eight pages: without it, there is no AUC, and so no p-value."""

    def elsewhere(item: Item) -> Item:
        return item if item.unit == "page0" else item.model_copy(update={"truth": 0.0})

    judges = {"a": [*map(elsewhere, items(right))], "b": [*map(elsewhere, items(credulous))]}
    (row,) = differences(judges, [Measure("auc", every, Auc(), "more")], DRAWS)
    # `right` says 0.9 of the true claim and of 7 of the 15 others; `credulous` says 0.9 of every claim.
    assert row.first_value == pytest.approx((8 + 7 / 2) / 15) and row.second_value == 0.5
    assert (row.n_units, row.p, row.p_holm, row.verdict) == (8, None, None, "not_tested")


def test_of_three_judges_all_pairs_are_tested_with_holms_correction() -> None:
    rows = compared(right, credulous, right)
    assert [(row.first, row.second) for row in rows] == [("a", "b"), ("a", "c"), ("b", "c")]
    # 2 / 2^8 twice and 1.0: 3 x that, then 2 x that but no less than before, then 1.
    assert [row.p_holm for row in rows] == pytest.approx([6 / 2**8, 1.0, 6 / 2**8])
    assert [row.verdict for row in rows] == ["first", "not_shown", "second"]


def test_other_truths_under_one_id_are_refused() -> None:
    def turned(item: Item) -> Item:
        return item.model_copy(update={"truth": 1.0})

    judges = {"a": items(right), "b": [turned(item) for item in items(right)]}
    with pytest.raises(
        InputError, match=r"item 'p0-false:calibrated': its truth is 0.0 for 'a' and 1.0 for 'b'"
    ):
        differences(judges, [ACCURACY], DRAWS)


def test_the_order_of_the_items_changes_nothing() -> None:
    one = differences({"a": items(right), "b": items(early)}, [ACCURACY], DRAWS)
    other = differences({"a": items(right)[::-1], "b": items(early)[::-1]}, [ACCURACY], DRAWS)
    assert one == other
