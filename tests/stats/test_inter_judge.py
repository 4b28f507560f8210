"""Agreement of judges against values worked out by hand."""

from __future__ import annotations

import pytest

from local_judge.stats.agreement.inter_judge import Answers, agreement_of_judges


def items(**answers: tuple[str | float | None, ...]) -> Answers:
    """Items with the answers of judges a, b and c; None is a missing one."""
    return {
        item: {judge: answer for judge, answer in zip("abc", given, strict=False) if answer is not None}
        for item, given in answers.items()
    }


LABELS = items(p=("s", "s"), q=("s", "u"), r=("u", "u"), t=("s", None))


def test_two_judges_with_labels() -> None:
    found = agreement_of_judges([LABELS], "ab", "nominal")
    assert (found.n_items, found.n_missing) == (3, {"a": 0, "b": 1})
    assert (found.alike.value, found.alike.hits, found.alike.n) == (pytest.approx(2 / 3), 2, 3)
    assert found.alike_pairs.value == found.alike.value
    assert found.difference is None
    # a says s in 2 of 3, b in 1 of 3: by chance 2/3 * 1/3 + 1/3 * 2/3 = 4/9; (2/3 - 4/9) / (1 - 4/9)
    assert found.kappa is not None and found.kappa.value == pytest.approx(0.4)
    # Six ratings that can be paired, three of each: D_o = 2/6, D_e = 18/30
    assert found.alpha.value == pytest.approx(1 - (2 / 6) / (18 / 30))
    # One report has no interval.
    assert (found.alpha.low, found.alpha.high) == (None, None)


def test_numbers_have_a_distance() -> None:
    found = agreement_of_judges([items(p=(6, 8.5), q=(5, 5))], "ab", "interval")
    assert found.difference is not None
    assert (found.difference.value, found.difference.n) == (1.25, 2)
    # Ratings 5, 5, 6, 8.5, mean 6.125. D_o = 2 * 2.5^2 / 4; D_e = 2 * 4 * sum of squares 8.1875 / (4 * 3)
    assert found.alpha.value == pytest.approx(1 - (2 * 6.25 / 4) / (2 * 4 * 8.1875 / 12))
    # Quadratic weights: observed (6.25 + 0) / 2, expected mean of (a - b)^2 over {6, 5} x {8.5, 5}
    expected = (2.5**2 + 1**2 + 3.5**2 + 0) / 4
    assert found.kappa is not None and found.kappa.value == pytest.approx(1 - (6.25 / 2) / expected)


def test_three_judges_have_no_kappa_and_all_their_pairs() -> None:
    found = agreement_of_judges(
        [items(p=("s", "s", "u"), q=("s", "s", "s"), r=("u", None, "u"))], "abc", "nominal"
    )
    assert found.kappa is None
    assert (found.n_items, dict(found.n_missing)) == (3, {"a": 0, "b": 1, "c": 0})
    # Of the two items that all answered one is alike; of 3 + 3 + 1 pairs 1 + 3 + 1.
    assert (found.alike.hits, found.alike.n) == (1, 2)
    assert (found.alike_pairs.hits, found.alike_pairs.n) == (5, 7)


def test_a_judge_that_answered_nothing_is_compared_with_nothing() -> None:
    found = agreement_of_judges([items(p=("s", None), q=("u", None))], "ab", "nominal")
    assert (found.n_items, found.n_missing["b"]) == (0, 2)
    assert found.alike.value is None and found.alike.reason == "no item has answers to compare"
    assert found.kappa is not None and found.kappa.value is None
    assert found.alpha.value is None


def test_intervals_draw_whole_reports() -> None:
    reports = [items(p=("s", "s"), q=("u", "u")), items(p=("s", "u"), q=("s", "s")), LABELS]
    found = agreement_of_judges(reports, "ab", "nominal")
    again = agreement_of_judges(reports, "ab", "nominal")
    assert found == again
    for measure in (found.alike, found.alike_pairs, found.kappa, found.alpha):
        assert measure is not None and measure.value is not None
        assert measure.low is not None and measure.high is not None
        assert measure.low <= measure.value <= measure.high
    # The worst report that a draw can hold alone agrees on half, the best on all.
    assert found.alike.low is not None and found.alike.low >= 0.5
    assert agreement_of_judges(reports, "ab", "nominal", seed=1).alike.value == found.alike.value


def test_the_order_of_items_and_judges_changes_nothing() -> None:
    backwards = dict(reversed(list(LABELS.items())))
    one, other = (
        agreement_of_judges([report], order, "nominal")
        for report, order in ((LABELS, "ab"), (backwards, "ba"))
    )
    assert (one.alike, one.alpha, one.kappa) == (other.alike, other.alpha, other.kappa)
