"""Sigmoids of greatest likelihood, with the derivation of each."""

from __future__ import annotations

from math import exp, log

import pytest

from local_judge.ledger.calibrations import Method, mapped, sigmoid
from local_judge.stats.calibration.fitting import Uncalibratable, fit
from local_judge.stats.calibration.measures import Judged


def at(x: float, n_true: int, n_altered: int) -> list[Judged]:
    """Claims with these log-odds."""
    return [Judged(number < n_true, x, "a") for number in range(n_true + n_altered)]


@pytest.mark.parametrize("n", [1, 4, 99])
def test_what_a_threshold_separates_has_a_finite_fit(n: int) -> None:
    """n true claims at 1, n altered at -1: by symmetry b = 0 and sigmoid(a) = (n + 1) / (n + 2), so a = ln(n + 1)."""
    for method in ("beta", "platt", "temperature"):
        found = fit([*at(1, n, 0), *at(-1, 0, n)], method)
        assert found.slope_yes == found.slope_no == pytest.approx(log(n + 1), rel=1e-6)
        assert found.intercept == pytest.approx(0, abs=1e-6)


def test_targets_are_averaged_where_values_are_equal() -> None:
    """Targets 5/6 and 1/6. At 1 they average (3 x 5/6 + 1/6) / 4 = 2/3, at -1 1/3: a = ln 2, b = 0."""
    found = fit([*at(1, 3, 1), *at(-1, 1, 3)])
    assert (found.slope_yes, found.intercept) == pytest.approx((log(2), 0), abs=1e-6)


def test_a_judge_that_leans_to_yes_is_pushed_back() -> None:
    """The same log-odds three higher: the slope stays, and the intercept takes them back: b = -3 ln 2."""
    found = fit([*at(4, 3, 1), *at(2, 1, 3)])
    assert (found.slope_yes, found.intercept) == pytest.approx((log(2), -3 * log(2)), abs=1e-6)
    # Temperature alone cannot: all log-odds are positive, and so all probabilities at least a half.
    leaning = fit([*at(4, 3, 1), *at(2, 1, 3)], "temperature")
    assert leaning.intercept == 0.0
    assert min(one.value for one in leaning.of(at(2, 1, 0))) >= 0.5


def test_log_odds_of_any_size_are_fitted() -> None:
    """Scaled by 1,000: the slope is a thousandth."""
    found = fit([*at(4000, 3, 1), *at(2000, 1, 3)])
    assert (found.slope_yes, found.intercept) == pytest.approx((log(2) / 1000, -3 * log(2)), rel=1e-5)


@pytest.mark.parametrize("method", ["beta", "platt", "temperature"])
def test_an_inverted_judge_is_refused(method: Method) -> None:
    """Of three values: more for altered claims everywhere."""
    with pytest.raises(Uncalibratable, match="are not higher than those of the others") as refused:
        fit([*at(2, 1, 3), *at(1, 1, 2), *at(-1, 3, 1)], method)
    assert refused.value.kind == "inverted"


def test_beta_has_a_slope_for_either_side() -> None:
    """Three values and three parameters: each value's probability is the mean of its targets.

    13 true and 10 altered: targets 14/15 and 1/12.
    """
    claims = [*at(-2, 1, 7), *at(0, 3, 2), *at(2, 9, 1)]
    found = fit(claims)
    means = [
        (n_true * 14 / 15 + n_altered / 12) / (n_true + n_altered)
        for n_true, n_altered in ((1, 7), (3, 2), (9, 1))
    ]
    assert [found.of(at(x, 1, 0))[0].value for x in (-2, 0, 2)] == pytest.approx(means, abs=1e-6)
    # At 0 both log-probabilities are -ln 2: logit(means[1]) = (b - a) ln 2 + c.
    logit = log(means[1] / (1 - means[1]))
    assert (found.slope_no - found.slope_yes) * log(2) + found.intercept == pytest.approx(logit, abs=1e-5)
    assert found.slope_yes != pytest.approx(found.slope_no, abs=0.05)


def test_a_side_on_which_the_curve_would_fall_is_left_flat() -> None:
    """At 3 fewer claims are true than at 0: the slope of ln P(no) would be below 0, and is 0.

    What is left is of greatest likelihood: sum(p - t) = 0 and sum((p - t) ln P(yes)) = 0.
    """
    claims = [*at(-3, 0, 8), *at(0, 8, 0), *at(3, 6, 4)]
    found = fit(claims)
    assert found.slope_no == 0 and found.slope_yes > 0
    rest = [
        p.value - (15 / 16 if one.true else 1 / 14) for p, one in zip(found.of(claims), claims, strict=True)
    ]
    assert sum(rest) == pytest.approx(0, abs=1e-6)
    assert sum(r * -log(1 + exp(-one.value)) for r, one in zip(rest, claims, strict=True)) == pytest.approx(
        0, abs=1e-6
    )


@pytest.mark.parametrize(
    ("claims", "kind", "said"),
    [
        (at(1, 3, 0), "one_class", r"every claim is supported \(n = 3\)"),
        (at(1, 0, 2), "one_class", r"no claim is supported \(n = 2\)"),
        ([], "one_class", "no claim was answered"),
        (at(1.25, 3, 4), "constant", "all 7 claims have the same probability"),
    ],
)
def test_what_cannot_be_fitted_is_refused(claims: list[Judged], kind: str, said: str) -> None:
    with pytest.raises(Uncalibratable, match=said) as refused:
        fit(claims)
    assert refused.value.kind == kind


def test_a_constant_other_than_0_has_a_temperature() -> None:
    """One value x = 2, three true of four: targets 4/5 and 1/3 average (3 x 4/5 + 1/3) / 4 = 41/60; 2a = ln(41/19)."""
    assert fit(at(2, 3, 1), "temperature").slope_yes == pytest.approx(log(41 / 19) / 2, rel=1e-6)
    with pytest.raises(Uncalibratable) as refused:
        fit(at(0, 3, 1), "temperature")
    assert refused.value.kind == "constant"


def test_the_sigmoid_does_not_overflow() -> None:
    assert (sigmoid(0), sigmoid(800), sigmoid(-800)) == (0.5, 1.0, 0.0)
    assert sigmoid(-2) == pytest.approx(1 / (1 + exp(2)))
    # ln P(yes) of -800 is -800, that of 800 is 0.
    assert mapped(-800, 0.01, 2.0, 0.0) == pytest.approx(sigmoid(-8))
    assert mapped(800, 0.01, 0.02, 0.0) == pytest.approx(sigmoid(16))
