"""Scores of the `paper` profile, with what failures leave open."""

from __future__ import annotations

import pytest

from local_judge.protocols.race import Race
from local_judge.protocols.race.findings import RaceFindings
from local_judge.protocols.race.paper import Scores
from local_judge.scoring.node import Profile

from .race_cases import IDS, REFERENCE_SCORES, TARGET_SCORES, comparison, findings

TARGET: dict[str, float | None] = {**TARGET_SCORES}
REFERENCE: dict[str, float | None] = {**REFERENCE_SCORES}


def scores_of(found: RaceFindings) -> Scores:
    """The scores of the tree, with the bounds that failures leave open."""
    *dimensions, overall = Race().score([found], "paper")
    return Scores(
        {f"{root.id}.{child.id}": child.score for root in dimensions for child in root.children},
        {root.id: root.score for root in dimensions},
        overall.score,
    )


def test_a_complete_sheet() -> None:
    one = comparison(TARGET, REFERENCE)
    scores = scores_of(findings(one))
    # 7.05 / (7.05 + 8.6); 5.8 / 14.4; 8.3 / 17.3; 7.55 / 16.1; overall 6.9375 / 15.61 (see the published arithmetic).
    expected = {
        "comprehensiveness": 45.047923,
        "insight": 40.277778,
        "instruction_following": 47.976879,
        "readability": 46.894410,
    }
    for name, value in expected.items():
        found = scores.dimensions[name]
        assert found.value == pytest.approx(value, abs=1e-6)
        assert (found.low, found.high, found.n_failed) == (found.value, found.value, 0)
    assert scores.overall.value == pytest.approx(100 * 6.9375 / 15.61, abs=1e-9)
    assert (scores.overall.numerator, scores.overall.denominator) == pytest.approx((6.9375, 15.61), abs=1e-9)
    assert scores.overall.n_expected == 9
    assert scores.criteria["readability.1"].value == pytest.approx(100 * 8 / 17)


def test_a_failed_criterion_is_left_out_and_opens_the_bounds() -> None:
    one = comparison(TARGET | {"readability.2": None}, REFERENCE)
    scores = scores_of(findings(one))
    found = scores.dimensions["readability"]
    assert found.value == pytest.approx(100 * 8 / 17)  # Structure alone
    # Against the report: 8*.55 = 4.4 against 9*.55 + 10*.45 = 9.45. In its favour: 4.4 + 4.5 = 8.9 against 4.95.
    assert found.low == pytest.approx(100 * 4.4 / 13.85)
    assert found.high == pytest.approx(100 * 8.9 / 13.85)
    assert (found.n_expected, found.n_failed, found.note) == (2, 1, "1 of 2 criteria failed")
    # T = 2.115 + 2.03 + 1.66 + .15*8 = 7.005; R = 2.58 + 3.01 + 1.8 + .15*9 = 8.74.
    overall = scores.overall
    assert overall.value == pytest.approx(100 * 7.005 / 15.745)
    # 5.805 + .15*4.4 = 6.465 against 7.39 + .15*9.45 = 8.8075; 5.805 + .15*8.9 = 7.14 against 7.39 + .15*4.95 = 8.1325.
    assert overall.low == pytest.approx(100 * 6.465 / 15.2725)
    assert overall.high == pytest.approx(100 * 7.14 / 15.2725)
    assert (overall.n_expected, overall.n_failed) == (9, 1)
    assert scores.criteria["readability.2"].model_dump(include={"value", "low", "high", "n_failed"}) == {
        "value": None,
        "low": 0.0,
        "high": 100.0,
        "n_failed": 1,
    }


def test_a_dimension_that_failed_altogether_is_left_out_of_the_totals() -> None:
    one = comparison(TARGET | {"readability.1": None, "readability.2": None}, REFERENCE)
    scores = scores_of(findings(one))
    assert (scores.dimensions["readability"].value, scores.dimensions["readability"].n_failed) == (None, 2)
    assert scores.overall.value == pytest.approx(100 * 5.805 / (5.805 + 7.39))
    assert scores.overall.low == pytest.approx(100 * 5.805 / (5.805 + 7.39 + 1.5))
    assert scores.overall.high == pytest.approx(100 * 7.305 / (7.305 + 7.39))


def test_nothing_answered_leaves_all_open() -> None:
    one = comparison(dict.fromkeys(IDS), REFERENCE)
    overall = scores_of(findings(one)).overall
    assert (overall.value, overall.low, overall.high, overall.n_failed) == (None, 0.0, 100.0, 9)


def test_nothing_against_nothing_is_undefined() -> None:
    zeros: dict[str, float | None] = dict.fromkeys(IDS, 0.0)
    one = comparison(zeros, zeros)
    overall = scores_of(findings(one)).overall
    assert (overall.value, overall.n_undefined, overall.n_failed) == (None, 1, 0)
    assert "0/0" in overall.note


def test_without_weights_all_count_alike() -> None:
    one = comparison(TARGET, REFERENCE)
    scores = scores_of(findings(one, criterion_weights=False, dimension_weights=False))
    # (7 + 6.5 + 8) / 3 = 7.1667 against (9 + 8 + 8.5) / 3 = 8.5
    assert scores.dimensions["comprehensiveness"].value == pytest.approx(100 * 21.5 / 47)
    # 21.5/3 + 5.75 + 8.5 + 7.5 = 28.9167 against 8.5 + 8.5 + 9 + 8.5 = 34.5
    assert scores.overall.value == pytest.approx(100 * 28.9166667 / 63.4166667)


@pytest.mark.parametrize("profile", ["paper", "upstream"])
def test_criterion_weights_and_dimension_weights_are_separate_ablations(profile: Profile) -> None:
    one = comparison(TARGET, REFERENCE)

    def values(**given: bool) -> dict[str, float | None]:
        return {root.id: root.score.value for root in Race().score([findings(one, **given)], profile)}

    # Means of the criteria: 21.5/3, 5.75, 8.5, 7.5 against 8.5, 8.5, 9, 8.5; the dimensions weigh .3, .35, .2, .15:
    # 2.15 + 2.0125 + 1.7 + 1.125 = 6.9875 against 2.55 + 2.975 + 1.8 + 1.275 = 8.6.
    no_criterion = values(criterion_weights=False)
    assert no_criterion["insight"] == pytest.approx(100 * 5.75 / 14.25)
    assert no_criterion["overall"] == pytest.approx(100 * 6.9875 / 15.5875)
    # Weighted means of the criteria: 7.05, 5.8, 8.3, 7.55 (sum 28.7) against 8.6, 8.6, 9, 8.55 (sum 34.75).
    no_dimension = values(dimension_weights=False)
    assert no_dimension["insight"] == pytest.approx(100 * 5.8 / 14.4)
    assert no_dimension["overall"] == pytest.approx(100 * 28.7 / 63.45)


def test_alone_a_report_is_measured_against_the_scale() -> None:
    one = comparison(TARGET, None)
    scores = scores_of(findings(one, mode="pointwise"))
    assert scores.dimensions["insight"].value == pytest.approx(58.0)
    assert scores.overall.value == pytest.approx(69.375)
    assert scores.overall.denominator == 10
    half = comparison(TARGET | {"readability.2": None}, None)
    found = scores_of(findings(half, mode="pointwise")).overall
    # 5.805 + .15*4.4 and 5.805 + .15*(4.4 + 4.5)
    assert (found.low, found.high) == pytest.approx((64.65, 71.4))
    zeros = comparison(dict.fromkeys(IDS, 0.0), None)
    assert scores_of(findings(zeros, mode="pointwise")).overall.value == 0.0


def test_as_a_whole() -> None:
    one = comparison({"overall": 6.5}, None)
    scores = scores_of(findings(one, mode="vanilla", criteria=None))
    assert (scores.overall.value, scores.dimensions) == (65.0, {})


def test_the_mean_of_comparisons_counts_what_is_missing() -> None:
    flat = dict.fromkeys(IDS, 4.0), dict.fromkeys(IDS, 6.0)  # 40
    part = {**dict.fromkeys(IDS, 5.0), "insight.1": None}, dict.fromkeys(IDS, 5.0)  # insight: 50
    none = dict.fromkeys(IDS), dict.fromkeys(IDS, 6.0)
    comparisons = [comparison(*pair, reference=number) for number, pair in enumerate((flat, part, none))]
    found = scores_of(findings(*comparisons)).dimensions["insight"]
    assert (found.value, found.numerator, found.denominator) == (45.0, 90.0, 2.0)
    assert (found.n_expected, found.n_failed) == (3, 1)
    # Of the second, 5*.4 = 2 against 5*.4 + 10*.6 = 8, or 8 against 2; of the third, anything.
    assert (found.low, found.high) == (pytest.approx((40 + 20 + 0) / 3), pytest.approx((40 + 80 + 100) / 3))
    assert found.note == "of 3 parts 1 failed"
