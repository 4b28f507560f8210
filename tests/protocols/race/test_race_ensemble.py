"""RACE by several judges."""

from __future__ import annotations

import pytest

from local_judge.protocols.race.findings import RaceFindings
from local_judge.protocols.race.protocol import Race
from local_judge.protocols.race.scores import merge_judges
from local_judge.scoring.node import Profile, Score

from .race_cases import IDS, comparison, findings


def everywhere(target: float | None, reference: float = 6) -> RaceFindings:
    """A judge that says the same of every criterion."""
    return findings(comparison(dict.fromkeys(IDS, target), dict.fromkeys(IDS, reference)))


def overall(judges: list[RaceFindings], profile: Profile = "paper") -> Score:
    return next(root.score for root in Race().score(judges, profile) if root.id == "overall")


@pytest.mark.parametrize("profile", ["paper", "upstream"])
def test_the_formula_is_taken_of_the_judges_means(profile: Profile) -> None:
    score = overall([everywhere(8, 6), everywhere(4, 8)], profile)
    # 100 * 6 / (6 + 7), and not the mean of 100 * 8 / 14 and 100 * 4 / 12
    assert score.value == pytest.approx(100 * 6 / 13)
    assert (score.low, score.high) == (score.value, score.value)


def test_a_judge_that_failed_leaves_the_bounds_open() -> None:
    score = overall([everywhere(8, 6), everywhere(None)])
    assert score.value == pytest.approx(100 * 8 / 14)
    # against: (8 + 0) / 2 and (6 + 10) / 2; in favour: (8 + 10) / 2 and (6 + 0) / 2
    assert (score.low, score.high) == (pytest.approx(100 * 4 / 12), pytest.approx(100 * 9 / 12))
    assert (score.n_expected, score.n_failed) == (18, 9)


def test_a_judge_that_failed_at_one_criterion_is_left_out_of_that_one() -> None:
    targets: dict[str, float | None] = dict.fromkeys(IDS, 4.0)
    targets[IDS[0]] = None
    partial = findings(comparison(targets, dict.fromkeys(IDS, 6.0)))
    (only,) = merge_judges([everywhere(8, 6), partial]).comparisons
    assert [item.target for item in only.scores] == [8.0, *[6.0] * 8]
    tree = Race().score([everywhere(8, 6), partial], "paper")
    assert [root.score.n_failed for root in tree] == [1, 0, 0, 0, 1]


def test_a_criterion_that_all_failed_at_stays_failed() -> None:
    (only,) = merge_judges([everywhere(None), everywhere(None)]).comparisons
    assert all(item.failure is not None for item in only.scores)
    score = overall([everywhere(None), everywhere(None)])
    assert (score.value, score.low, score.high) == (None, 0.0, 100.0)


def test_without_a_reference_there_is_one_mean() -> None:
    alone = [
        findings(comparison(dict.fromkeys(IDS, target), None), mode="pointwise") for target in (8.0, 5.0)
    ]
    assert overall(alone).value == pytest.approx(65.0)


def test_noise_and_position_bias_are_of_the_means() -> None:
    def both_ways(first: float, second: float) -> RaceFindings:
        comparisons = [
            comparison(dict.fromkeys(IDS, target), dict.fromkeys(IDS, 5.0), target_first=place)
            for target, place in ((first, True), (second, False))
        ]
        return findings(*comparisons)

    tree = Race().score([both_ways(5, 5), both_ways(15 / 2, 5)], "paper")
    bias = next(root.score for root in tree if root.id == "position_bias")
    # With the report first: 100 * 6.25 / 11.25; second: 50
    assert bias.value == pytest.approx(100 * 6.25 / 11.25 - 50)


def test_what_judges_are_compared_in() -> None:
    found = Race().decisions(findings(comparison({IDS[0]: 7.0, IDS[3]: None}, {IDS[0]: 7.0, IDS[3]: 5.0})))
    assert [(one.metric, one.value, one.scale) for one in found] == [
        ("comprehensiveness", 7.0, "interval"),
        ("reference", 7.0, "interval"),
        ("preference", "neither", "nominal"),
        ("insight", None, "interval"),
        ("reference", None, "interval"),
        ("preference", None, "nominal"),
    ]
    assert len({(one.metric, one.item) for one in found}) == len(found)
