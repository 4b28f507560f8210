"""Every operation on scores at known values, with the derivation beside the number."""

from __future__ import annotations

from operator import mul

import pytest

from local_judge.scoring.aggregate import NO_REPORT, mean_over_reports, share_of_reports
from local_judge.scoring.algebra import (
    Answer,
    answers,
    answers_between,
    count,
    difference,
    exactly,
    failures_of,
    mean_of,
    measured,
    resolved,
    rising,
    share,
    undefined,
    unknown,
    weighted,
)
from local_judge.scoring.node import Score, noted

Figures = tuple[float | None, float | None, float | None]


def figures(score: Score) -> Figures:
    """Value and bounds."""
    return score.value, score.low, score.high


def counts(score: Score) -> tuple[int, int, int]:
    """Expected, failed and undefined units."""
    return score.n_expected, score.n_failed, score.n_undefined


def test_a_number_by_definition_has_itself_as_bounds() -> None:
    assert exactly(3, "so it is") == Score(value=3, low=3, high=3, note="so it is")


def test_undefined_is_counted_apart_from_unknown() -> None:
    assert (figures(undefined("0/0")), counts(undefined("0/0", 4))) == ((None, None, None), (4, 0, 1))
    assert (figures(unknown(0, 10)), counts(unknown(0, 10, n=3))) == ((None, 0, 10), (3, 3, 0))


def test_answers() -> None:
    # (4 + 2) / 2; the third may be 0 to 5: (4 + 2 + 0) / 3 and (4 + 2 + 5) / 3.
    score = answers([4, 2, None], 0, 5, "of three")
    assert figures(score) == (3, 2, pytest.approx(11 / 3))
    assert (counts(score), score.note) == ((3, 1, 0), "of three")
    # Of none that answered only the ends are known.
    assert figures(answers([None, None], 1, 10)) == (None, 1, 10)
    # 0.1 + 0.1 + 0.1 rounds up: the lower bound, its third, is 0.10000000000000002, and the value 0.1.
    assert figures(answers([0.1, 0.1, None], 0.1, 0.1)) == (0.1, 0.1, pytest.approx(0.1))


def test_answers_with_bounds_of_their_own() -> None:
    # The first is known, the second between 1 and 2, of the third nothing but the ends 0 and 3.
    given = [Answer(1, 1, 1), Answer(1.5, 1, 2), Answer(None, 0, 3)]
    assert figures(answers_between(given)) == (1.25, pytest.approx(2 / 3), 2)


def test_share() -> None:
    # 3 of 4 known; two failed: 3 of 6 to 5 of 6.
    score = share(3, 4, 2, top=100)
    assert figures(score) == (75, 50, pytest.approx(500 / 6))
    assert (score.numerator, score.denominator, counts(score)) == (3, 4, (6, 2, 0))
    # Half credits: 1.5 of 2.
    assert figures(share(1.5, 2, 0)) == (0.75, 0.75, 0.75)


def test_a_share_of_nothing_is_undefined_and_of_failures_unknown() -> None:
    nothing = share(0, 0, 0, empty="0/0: nothing is cited")
    assert (figures(nothing), counts(nothing), nothing.note) == (
        (None, None, None),
        (0, 0, 1),
        "0/0: nothing is cited",
    )
    lost = share(0, 0, 3)
    assert (figures(lost), counts(lost)) == ((None, 0, 1), (3, 3, 0))
    assert (lost.numerator, lost.denominator) == (None, None)
    # What is in the ratio is a part of what is expected.
    assert counts(share(1, 2, 1, n_expected=7)) == (7, 1, 0)


def test_count() -> None:
    # 2 are known to belong; of 3 failed ones at most 3 more do.
    score = count(2, 3, n_expected=8, n_failed=3)
    assert (figures(score), score.numerator, score.denominator, counts(score)) == (
        (2, 2, 5),
        2,
        None,
        (8, 3, 0),
    )
    assert figures(count(2, None, fewer=1, n_expected=8)) == (2, 1, None)
    assert figures(count(2, fewer=3, n_expected=8)) == (2, 0, 2)


def test_weighted() -> None:
    # (3 * 10 + 1 * 2) / 4
    score = weighted([(3, exactly(10)), (1, exactly(2))])
    assert (figures(score), score.numerator, score.denominator) == ((8, 8, 8), 32, 4)
    # The second may be 0 to 10: (30 + 0) / 4 and (30 + 10) / 4; the value is that of the first.
    holed = weighted([(3, exactly(10)), (1, unknown(0, 10))])
    assert (figures(holed), counts(holed)) == ((10, 7.5, 10), (1, 1, 0))
    # A rate on a scale to 100 counts whole items: (100 + 0 + 50) / 3, 1.5 of 3 items.
    rate = weighted([(1, exactly(100)), (1, exactly(0)), (1, exactly(50))], unit=100)
    assert (rate.value, rate.numerator, rate.denominator) == (50, 1.5, 3)


def test_weights_that_sum_to_nothing() -> None:
    nothing = weighted([(0, exactly(10)), (0, unknown(0, 10))], empty="no weights")
    assert (figures(nothing), nothing.n_undefined, nothing.note) == ((None, None, None), 1, "no weights")
    # The only part with a weight failed: no value, though another has one.
    assert figures(weighted([(1, unknown(0, 10)), (0, exactly(3))])) == (None, 0, 10)


def test_an_undefined_part_has_no_weight_and_an_open_one_opens_the_mean() -> None:
    # (2 * 4 + 1 * 1) / 3, whatever the weight of 0/0.
    assert figures(weighted([(2, exactly(4)), (5, undefined("0/0")), (1, exactly(1))])) == (3, 3, 3)
    # Nobody knows how large the second may be.
    assert figures(weighted([(1, exactly(4)), (1, unknown(0, None))])) == (4, 2, None)


def test_mean_of() -> None:
    # (1 + 3) / 2; the third may be 0 to 10: (1 + 3 + 0) / 3 and (1 + 3 + 10) / 3.
    score = mean_of([exactly(1), exactly(3), unknown(0, 10)])
    assert figures(score) == (2, pytest.approx(4 / 3), pytest.approx(14 / 3))
    assert (score.numerator, score.denominator, counts(score)) == (4, 2, (3, 1, 0))
    assert (score.known, score.note) == (pytest.approx(2 / 3), "of 3 parts 1 failed")
    # What is undefined is in no mean, and in no bound.
    notes = ("0/0", "0/0"), ("0/0", "no pages"), ("", "")
    assert [mean_of([*map(undefined, both)]).note for both in notes] == [
        "0/0",
        *["of 2 parts 2 undefined"] * 2,
    ]
    apart = mean_of([exactly(1), exactly(3), undefined("0/0")])
    assert (figures(apart), counts(apart), apart.note) == ((2, 2, 2), (3, 0, 1), "of 3 parts 1 undefined")
    # One of three is known, less than half.
    assert figures(mean_of([exactly(9), unknown(0, 9), unknown(0, 9)])) == (None, 3, 9)
    assert mean_of([exactly(9), unknown(0, 9), unknown(0, 9)], partly=True).value == 9


def test_a_part_without_bounds_counts_with_its_value() -> None:
    # 3 without bounds, 1 between 0 and 2: (3 + 0) / 2 and (3 + 2) / 2.
    doubtful = Score(value=1, n_expected=2, n_failed=1, low=0, high=2)
    assert figures(mean_of([Score(value=3), doubtful])) == (2, 1.5, 2.5)
    # Of what failed and has no bound nothing is known on that side.
    assert figures(mean_of([exactly(3), doubtful.model_copy(update={"high": None})])) == (2, 1.5, None)


def test_one_part_is_its_own_mean() -> None:
    alone = share(3, 4, 1)
    assert mean_of([alone]) is alone


def test_difference() -> None:
    # 5 - 2; from 4 - 3 to 6 - 1.
    one = Score(value=5, n_expected=3, n_failed=1, low=4, high=6)
    other = Score(value=2, n_expected=3, n_failed=1, low=1, high=3)
    assert (figures(difference(one, other)), counts(difference(one, other))) == ((3, 1, 5), (6, 2, 0))
    # Without failures a missing bound is the value.
    assert figures(difference(Score(value=5), other)) == (3, 2, 4)
    # With failures it is open.
    assert figures(difference(one.model_copy(update={"low": None}), other)) == (3, None, 5)


def test_a_difference_with_what_is_undefined_is_undefined() -> None:
    found = difference(exactly(5), undefined("0/0", 2), "one of them is not defined")
    assert (figures(found), counts(found)) == ((None, None, None), (2, 0, 1))
    assert found.note == "one of them is not defined"
    # With what failed it has bounds: 5 - 10 and 5 - 0.
    assert figures(difference(exactly(5), unknown(0, 10))) == (None, -5, 5)


def test_a_rising_formula_has_its_values_at_the_ends_of_its_parts() -> None:
    # 2 * 3 = 6, from 1 * 3 to 2 * 10: the second part has no upper bound, and the scale ends at 10.
    parts = (Score(value=2, low=1, high=2, n_expected=4, n_failed=1), Score(value=3, low=3))
    found = rising(mul, parts, 0, 10, "product")
    assert (figures(found), counts(found), found.known, found.note) == (
        (6, 3, 20),
        (4, 1, 0),
        0.75,
        "product",
    )
    assert figures(rising(max, (parts[0], unknown(0, 5)), 0, 10)) == (None, 1, 5)


def test_a_resolved_formula_is_evaluated_at_the_extremes() -> None:
    def rate(favour: bool | None) -> Score:
        return share({None: 1, False: 1, True: 3}[favour], 4, 0)

    assert figures(resolved(rate, 0, 1)) == (0.25, 0.25, 0.75)
    assert figures(resolved(lambda favour: share(0, int(favour is True), 0), 0, 1)) == (None, 0, 0)


def test_a_measured_number_has_bounds_only_if_nothing_is_missing() -> None:
    assert figures(measured(3, complete=True, n_expected=2)) == (3, 3, 3)
    assert figures(measured(3, complete=False, n_expected=2, n_failed=1)) == (3, None, None)


def test_notes() -> None:
    assert failures_of(share(1, 2, 3), "pages") == "3 of 5 pages failed"
    assert failures_of(share(1, 2, 0)) == ""
    score = noted(exactly(1, "a"), "", "b")
    assert (score.note, noted(score, "c", first=True).note) == ("a; b", "c; a; b")


def test_mean_over_reports() -> None:
    # Two reports of 4 and 8, one that failed between 2 and 6, one missing between 0 and 10, one undefined.
    reports = [exactly(4), exactly(8), unknown(2, 6), undefined("0/0")]
    score = mean_over_reports(reports, 1, 0, 10)
    # (4 + 8) / 2; (4 + 8 + 2 + 0) / 4; (4 + 8 + 6 + 10) / 4
    assert figures(score) == (6, 3.5, 7)
    assert (score.numerator, score.denominator, counts(score)) == (12, 2, (5, 2, 1))
    # Two of the four that are defined or missing.
    assert (score.known, score.note) == (0.5, "of 5 reports 1 undefined, 1 failed, 1 missing")
    # Without an upper end a missing report leaves the mean open.
    assert figures(mean_over_reports(reports, 1, 0, None)) == (6, 3.5, None)
    assert mean_over_reports([], 0, 0, 10).note == NO_REPORT
    assert figures(mean_over_reports([], 2, 0, 10)) == (None, 0, 10)


def test_a_report_of_which_less_is_known_than_unknown_counts_as_failed() -> None:
    # 1 of 4 answers: its bounds 1 to 9 are in the mean's, its value is not.
    little = Score(value=5, n_expected=4, n_failed=3, low=1, high=9)
    score = mean_over_reports([exactly(3), little], 0, 0, 10)
    assert (figures(score), counts(score)) == ((3, 2, 6), (2, 1, 0))
    assert figures(mean_over_reports([exactly(3), little], 0, 0, 10, partly=True)) == (4, 2, 6)


def test_share_of_reports() -> None:
    # Of one and two reports; with the missing one 1 or 2 of 3.
    score = share_of_reports([True, False], 1)
    assert figures(score) == (50, pytest.approx(100 / 3), pytest.approx(200 / 3))
    assert (counts(score), score.note) == ((3, 1, 0), "of 3 reports 1 missing")
    assert share_of_reports([], 0).n_undefined == 1
