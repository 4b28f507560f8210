"""Scores that cannot be, scales, trees, and scores as text."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from local_judge.base.output import NONE
from local_judge.scoring import text as score_text
from local_judge.scoring.node import (
    DIAGNOSTIC,
    PERCENT,
    UNIT,
    WHOLE,
    Place,
    Scale,
    Score,
    ScoreNode,
    headlines,
    map_scores,
    placed,
)

NUMBERS = ("value", "numerator", "denominator", "known", "low", "high", "interval_low", "interval_high")


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_no_score(name: str, number: float) -> None:
    with pytest.raises(ValidationError, match="finite number"):
        Score.model_validate({"value": None, name: number})
    with pytest.raises(ValidationError, match="finite number"):
        Score(value=None).model_copy(update={name: number})
    for text in ("NaN", "Infinity", "-Infinity"):
        with pytest.raises(ValidationError):
            Score.model_validate_json(f'{{"value": null, "{name}": {text}}}')


@pytest.mark.parametrize(
    "given",
    [{"low": 2.0}, {"high": 0.5}, {"value": None, "low": 2.0, "high": 1.0}, {"low": 1.5, "high": 0.5}],
)
def test_a_value_lies_within_its_bounds(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="outside of its bounds"):
        Score.model_validate({"value": 1.0, **given})
    with pytest.raises(ValidationError, match="outside of its bounds"):
        Score(value=1.0).model_copy(update=given)


def test_the_last_bit_of_a_sum_is_no_bound() -> None:
    # 0.1 + 0.2 is 0.30000000000000004.
    assert Score(value=0.1 + 0.2, low=0.1, high=0.3).high == 0.3


def test_a_copy_is_a_score_of_its_own() -> None:
    score = Score(value=1, low=0, high=2)
    assert score.model_copy(update={"value": 2}) == Score(value=2, low=0, high=2)
    assert score.model_copy() == score and score.value == 1
    with pytest.raises(ValidationError, match="Extra inputs"):
        score.model_copy(update={"mean": 1})


@pytest.mark.parametrize(
    ("scale", "value", "expected"),
    [
        (PERCENT, 40, 40),
        (UNIT, 0.25, 25),
        (Scale(low=1, high=10), 5.5, 50),  # 4.5 / 9
        (Scale(high=1, better="lower"), 0.25, 75),
        (Scale(high=None), 7, None),
    ],
)
def test_a_scale_from_worst_to_best(scale: Scale, value: float, expected: float | None) -> None:
    assert scale.normalised(value) == expected


def node(id: str, *children: ScoreNode) -> ScoreNode:
    return ScoreNode(id=id, label=id.title(), score=Score(value=1), children=children)


def test_trees() -> None:
    tree = node("a", node("b", node("c")), node("d"))
    assert [path for path, _ in tree.walk()] == [("a",), ("a", "b"), ("a", "b", "c"), ("a", "d")]
    assert tree.find("b", "c").id == "c" and tree.find() is tree
    with pytest.raises(KeyError, match="b/x"):
        tree.find("b", "x")
    (doubled,) = map_scores([tree], lambda score: score.model_copy(update={"value": 2}))
    assert {one.score.value for _, one in doubled.walk()} == {2}
    (placed_tree,) = placed([tree], {"a/b": Place(vertical="depth", scale=UNIT)})
    assert (placed_tree.find("b").vertical, placed_tree.find("b").scale) == ("depth", UNIT)
    assert placed_tree.find("d") == tree.find("d")


def test_headlines_are_the_overall_score_or_what_measures_quality() -> None:
    insight, overall, noise = node("insight"), node("overall"), node("noise")
    overall = overall.model_copy(update={"aside": WHOLE})
    noise = noise.model_copy(update={"aside": DIAGNOSTIC})
    with_parts = overall.model_copy(update={"children": (insight,)})
    assert headlines([insight, overall, noise]) == [overall]
    assert headlines([insight, with_parts, noise]) == [insight, with_parts]
    assert headlines([noise]) == [noise]


@pytest.mark.parametrize(
    ("score", "texts"),
    [
        (Score(value=None), (NONE, "", "", "", "")),
        (
            Score(value=2 / 3, numerator=2, denominator=3, n_expected=4, n_failed=1, low=0.5, high=0.75),
            ("0.67", "2/3", "0.50 to 0.75", "75.0 %", ""),
        ),
        (
            Score(value=1, numerator=2.5, low=0.999, high=1.001, interval_low=0.5, interval_high=1.25),
            ("1.00", "2.5", "", "", "0.50 to 1.25"),
        ),
        # One end alone is no range; four places of what is no count.
        (
            Score(value=4, numerator=10 / 3, denominator=3, low=1, interval_high=5, known=1.0),
            ("4.00", "3.333/3", "", "", ""),
        ),
        (Score(value=4, high=5, interval_low=1, known=0.125), ("4.00", "", "", "12.5 %", "")),
    ],
)
def test_a_score_as_text(score: Score, texts: tuple[str, ...]) -> None:
    names = ("value", "ratio", "bounds", "known_percent", "interval")
    assert tuple(getattr(score_text, name)(score) for name in names) == texts
