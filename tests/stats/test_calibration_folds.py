"""Folds by page, and figures before and after."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from local_judge.ledger.calibrations import sigmoid
from local_judge.stats.calibration.assess import Settings, assess, calibrated, part, uncalibrated
from local_judge.stats.calibration.fitting import Uncalibratable, folds_of, out_of_fold
from local_judge.stats.calibration.measures import Judged
from local_judge.stats.estimate import Estimate


def leaning(n_pages: int = 40, per_page: int = 10, seed: int = 1) -> list[Judged]:
    """A judge whose log-odds are twice too large and lean to yes: it says 2 z + 3 where the odds are exp(z)."""
    random = Random(seed)
    claims: list[Judged] = []
    for number in range(n_pages * per_page):
        z = random.gauss(0, 2)
        true = random.random() < sigmoid(z)
        claims.append(Judged(true, 2 * z + 3, f"p{number // per_page}"))
    return claims


def value(found: Estimate) -> float:
    assert found.value is not None
    return found.value


def test_a_page_is_in_one_fold_and_folds_are_of_about_equal_size() -> None:
    pages = ["a"] * 5 + ["b"] * 4 + ["c"] * 3 + ["d"] * 3 + ["e"] * 1
    placed = folds_of(pages, 2, seed=0)
    filled = Counter(placed[page] for page in pages)
    # a 5 | b 4, then the two of 3 to b's fold (4 + 3) and a's (5 + 3), e to the lesser: 8 and 8
    assert sorted(filled.values()) == [8, 8]
    assert placed == folds_of(pages[::-1], 2, seed=0)
    assert set(folds_of(pages, 99, seed=0).values()) == set(range(5))


def test_the_threshold_of_a_page_comes_from_the_other_pages() -> None:
    claims = [Judged(True, 0.2, "low"), Judged(False, 0.1, "low")]
    claims += [Judged(True, 0.9, "high"), Judged(False, 0.8, "high")]
    held = out_of_fold(claims, method=None, n_folds=2)
    # "low" is judged at the middle of 0.8 and 0.9, "high" at that of 0.1 and 0.2
    assert sorted(held.thresholds) == pytest.approx([0.15, 0.85])
    assert held.called == [False, False, True, True]
    assert held.judged == claims


def test_what_is_known_of_a_page_does_not_touch_its_own_probabilities() -> None:
    claims = leaning(n_pages=6)
    lied = [Judged(not one.true if one.page == "p2" else one.true, one.value, one.page) for one in claims]
    honest, other = out_of_fold(claims, n_folds=6), out_of_fold(lied, n_folds=6)
    here = [number for number, one in enumerate(claims) if one.page == "p2"]
    assert [honest.judged[n].value for n in here] == [other.judged[n].value for n in here]
    assert [honest.called[n] for n in here] == [other.called[n] for n in here]
    elsewhere = [number for number in range(len(claims)) if number not in here]
    assert all(honest.judged[n].value != other.judged[n].value for n in elsewhere)


def test_a_fit_finds_what_the_judge_adds() -> None:
    claims = leaning()
    fitted, held = calibrated(claims, Settings(method="platt"))
    # The odds are exp((x - 3) / 2): slope 0.5, intercept -1.5; 400 claims scatter.
    assert fitted.curve.slope_yes == fitted.curve.slope_no == pytest.approx(0.5, abs=0.06)
    assert fitted.curve.intercept == pytest.approx(-1.5, abs=0.25)
    before, after = assess(uncalibrated(claims), Settings(draws=200)), assess(held, Settings(draws=200))
    assert before.n == after.n == 400 and before.n_pages == 40
    assert value(before.ece) > 0.15 and value(after.ece) < 0.06
    assert value(before.ece_mass) > 0.15 and value(after.ece_mass) < 0.06
    assert value(after.brier) < value(before.brier)
    assert value(after.accuracy) > value(before.accuracy)
    # A rising map changes no order within a fold.
    assert value(after.auc) == pytest.approx(value(before.auc), abs=0.01)
    for figure in (before.auc, after.accuracy, after.brier):
        assert figure.low is not None and figure.high is not None
        assert figure.low <= value(figure) <= figure.high
    assert len(held.thresholds) == 10
    assert after.threshold_low <= after.threshold <= after.threshold_high
    assert sum(one.true.of for one in after.bins) == 400


def test_the_same_claims_and_seed_give_the_same_figures() -> None:
    claims = leaning(n_pages=8)
    one, other = (assess(calibrated(claims, Settings(draws=50))[1], Settings(draws=50)) for _ in range(2))
    assert one == other
    shuffled = assess(calibrated(claims, Settings(draws=50, seed=5))[1], Settings(draws=50, seed=5))
    assert shuffled.auc.low != one.auc.low


def test_figures_of_a_part_keep_the_folds() -> None:
    claims = leaning(n_pages=8)
    _, held = calibrated(claims, Settings(draws=0))
    here = part(held, [one.page in ("p1", "p2") for one in claims])
    assert here.judged == held.judged[10:30]
    assert here.thresholds == held.thresholds
    assert assess(here, Settings(draws=0)).accuracy.low is None


@pytest.mark.parametrize(
    ("claims", "kind", "said"),
    [
        ([Judged(True, 1, "a"), Judged(False, 0, "a")], "few_pages", "fewer than two documents"),
        # Without page a only true claims are left.
        (
            [Judged(True, 2, "a"), Judged(False, 1, "a"), Judged(True, 2, "b")],
            "few_pages",
            "with one fold held out, every claim is supported",
        ),
        (
            [Judged(number % 2 == 0, number % 2, f"p{number // 2}") for number in range(8)],
            "inverted",
            "not higher than",
        ),
    ],
)
def test_what_cannot_be_calibrated_is_refused(claims: list[Judged], kind: str, said: str) -> None:
    with pytest.raises(Uncalibratable, match=said) as refused:
        calibrated(claims, Settings())
    assert refused.value.kind == kind


def test_the_threshold_of_a_separated_judge_lies_within_its_range() -> None:
    claims = [
        Judged(number % 2 == 0, 5.0 if number % 2 == 0 else -5.0, f"p{number // 2}") for number in range(20)
    ]
    fitted, held = calibrated(claims, Settings())
    assert fitted.threshold == 0.5
    assert all(called == one.true for called, one in zip(held.called, claims, strict=True))
