"""Shares of a judge's calls, corrected by people's labels."""

from __future__ import annotations

import random

import pytest

from local_judge.stats.prediction_powered import LabelledUnit, corrected_share


def units(*rows: tuple[float, float | None]) -> list[LabelledUnit]:
    return [LabelledUnit(f"r{n // 2}", call, label) for n, (call, label) in enumerate(rows)]


def test_a_known_value() -> None:
    # Labelled: calls 1 1 0 0, labels 1 0 0 0. Not labelled: calls 1 1 1 0.
    found = corrected_share(
        units((1, 1), (1, 0), (0, 0), (0, 0), (1, None), (1, None), (1, None), (0, None)), draws=0
    )
    assert found.judge.value == pytest.approx(5 / 8)
    assert found.people.value == pytest.approx(1 / 4)
    # cov = mean of (f - 1/2)(y - 1/4) = (3/8 - 1/8 + 1/8 + 1/8) / 4 = 1/8; var of all eight calls = 5/8 * 3/8 = 15/64.
    weight = (1 / 8) / ((1 + 4 / 4) * 15 / 64)
    assert found.weight == pytest.approx(weight) == pytest.approx(4 / 15)
    # w * 3/4 + mean(y) - w * mean(f) = 1/4 + w / 4.
    assert found.corrected.value == pytest.approx(1 / 4 + weight / 4) == pytest.approx(19 / 60)


def test_all_labelled_is_the_peoples_share() -> None:
    found = corrected_share(units((1, 1), (1, 0), (0, 0), (1, 1)), draws=20)
    assert found.corrected.value == found.people.value == 0.5
    assert found.weight == 0.0


def test_a_judge_that_tells_nothing_apart_has_no_weight() -> None:
    found = corrected_share(units((1, 1), (1, 0), (1, 0), (1, 0), (1, None), (1, None)), draws=20)
    assert (found.weight, found.corrected.value, found.judge.value) == (0.0, 0.25, 1.0)


def test_without_labels_nothing_is_corrected() -> None:
    found = corrected_share(units((1, None), (0, None)), draws=20)
    assert found.judge.value == 0.5
    assert found.corrected.value is None and found.corrected.reason == "no labels"
    assert corrected_share([]).judge.reason == "no calls"


def test_one_report_has_no_interval() -> None:
    found = corrected_share([LabelledUnit("r", 1, 1), LabelledUnit("r", 0, None)], draws=20)
    assert found.corrected.value is not None and found.corrected.low is None


def test_a_biased_judge_is_corrected_and_the_interval_holds_the_truth() -> None:
    # The judge calls 30 % of the untrue claims supported: its share is far off, the corrected one is not.
    holds, narrower = 0, 0
    for seed in range(60):
        draw = random.Random(seed).random
        rows: list[LabelledUnit] = []
        for report in range(40):
            for _ in range(10):
                true = draw() < 0.6
                call = (draw() < 0.95) if true else (draw() < 0.3)
                labelled = draw() < 0.25
                rows.append(LabelledUnit(str(report), float(call), float(true) if labelled else None))
        found = corrected_share(rows, seed=seed, draws=200)
        assert found.judge.value is not None and found.judge.value > 0.64
        low, high = found.corrected.low, found.corrected.high
        assert (
            low is not None
            and high is not None
            and found.people.low is not None
            and found.people.high is not None
        )
        holds += low <= 0.6 <= high
        narrower += high - low < found.people.high - found.people.low
    # 95 % intervals: 60 * 0.95 = 57; fewer than 52 has a probability below 0.01.
    assert holds >= 52
    # The judge's calls tell more than the labels alone.
    assert narrower >= 55
