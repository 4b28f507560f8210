"""The published arithmetic, and the published result file."""

from __future__ import annotations

import json
import logging
import random
import runpy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from local_judge.protocols.race import Race
from local_judge.protocols.race.upstream import (
    comparison_sides,
    criteria_json,
    items_of,
    judged_json,
    means,
    row,
    share,
    sides,
    weight_of,
)

from .race_cases import CRITERIA, REFERENCE_SCORES, ROW, TARGET_SCORES, comparison, findings

WEIGHTS = {"Market Size": 0.5, "Regions": 0.3, "Data and Dates": 0.2}


def judged(**changes: list[Any]) -> dict[str, list[Any]]:
    """Both articles' scores as the published judge gives them."""
    found = {
        dimension: [
            {
                "criterion": criterion["criterion"],
                "article_1_score": TARGET_SCORES[f"{dimension}.{number}"],
                "article_2_score": REFERENCE_SCORES[f"{dimension}.{number}"],
            }
            for number, criterion in enumerate(criteria, 1)
        ]
        for dimension, criteria in ROW["criterions"].items()
    }
    return found | changes


def test_totals_come_before_the_ratio() -> None:
    found = sides(judged(), ROW)
    # 7*.5 + 6.5*.3 + 8*.2 = 7.05 and 9*.5 + 8*.3 + 8.5*.2 = 8.6; insight 5.8 and 8.6; 8.3 and 9; 7.55 and 8.55.
    assert found.target.dims["comprehensiveness_weighted_avg"] == pytest.approx(7.05, abs=1e-12)
    # .3*7.05 + .35*5.8 + .2*8.3 + .15*7.55 = 6.9375; .3*8.6 + .35*8.6 + .2*9 + .15*8.55 = 8.6725.
    assert (found.target.total, found.reference.total) == pytest.approx((6.9375, 8.6725), abs=1e-12)
    scores = row(found)
    assert scores["overall_score"] == pytest.approx(6.9375 / 15.61, abs=1e-12)
    assert scores["insight"] == pytest.approx(5.8 / 14.4, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "weight"),
    [
        ("Regions", 0.3),
        ("market size", 0.5),  # letter case
        ("Regions (by province)", 0.3),  # the name is longer
        ("dates", 0.2),  # or shorter
        ("a", 0.5),  # part of all three names: the first is taken
        ("Something else", 1 / 3),  # the mean of all
    ],
)
def test_a_name_is_taken_for_a_criterion(name: str, weight: float) -> None:
    assert weight_of(name, WEIGHTS) == pytest.approx(weight, abs=1e-15)


# Structure has the weight .55 and Language .45, in the dimension readability.
ONE_SIDED = {"criterion": "Language", "article_1_score": 7}
BOTH = {"criterion": "Structure", "article_1_score": 8, "article_2_score": 9}


LISTS: list[tuple[list[Any], float, float]] = [
    # 8*.55 + 7*.45 = 7.55; the reference's 9*.55 = 4.95 is divided by .55 + .45 all the same.
    ([ONE_SIDED, BOTH], 7.55, 4.95),
    ([BOTH, ONE_SIDED], 7.55, 0),
    # Entries that count nowhere decide too, if their scores can be read: 8*.55 / .55 = 8 and 9.
    ([BOTH, {"note": "overall"}], 8, 0),
    ([BOTH, {"criterion": None, "article_1_score": 3}], 8, 0),
    ([BOTH, {"criterion": "Language", "article_2_score": 5}], 8, 9),
    ([ONE_SIDED, {"criterion": "Structure", "article_2_score": 5}], 7, 0),  # 0 / .45
    ([BOTH, ONE_SIDED, {"article_2_score": 5}], 7.55, 4.95),
    # Entries whose scores cannot be read, or that are none, do not.
    ([BOTH, {"criterion": "Language", "article_1_score": "n/a", "article_2_score": None}], 8, 9),
    ([BOTH, {"criterion": "Language", "article_1_score": 7, "article_2_score": []}, "x", None], 8, 9),
    ([BOTH, ONE_SIDED, {"criterion": "Structure", "article_1_score": {}}], 7.55, 0),
    ([{"note": "overall"}], 0, 0),
]


@pytest.mark.parametrize(("entries", "target", "reference"), LISTS)
def test_the_last_entry_decides_about_the_reference(
    entries: list[Any], target: float, reference: float
) -> None:
    found = sides(judged(readability=entries), ROW)
    both = [side.dims["readability_weighted_avg"] for side in found]
    assert both == pytest.approx([target, reference], abs=1e-12)
    assert row(found)["readability"] == pytest.approx(share(target, reference), abs=1e-12)


ODD_SCORES: list[Any] = [None, "", "8", " 7.5 ", "7/10", "n/a", True, {}, []]


def drawn_score(draw: random.Random) -> Any:
    """A score as judges write it: mostly a number, else a text, something else or nothing."""
    if draw.random() < 0.8:
        return draw.choice([draw.randint(0, 10), round(draw.uniform(0, 10), 1)])
    return draw.choice(ODD_SCORES)


def drawn_entry(draw: random.Random, names: Sequence[str]) -> Any:
    """An entry for one of the names, or for something like it, or none at all."""
    if draw.random() < 0.04:
        return draw.choice([None, "text", 5, [], {}, {"note": "overall"}])
    name = draw.choice(names)
    entry: dict[str, Any] = {
        "criterion": draw.choice([name] * 8 + [name.lower(), name[2:5], f" {name}: more", "Other", "", None])
    }
    for key in draw.choice([("article_1_score", "article_2_score")] * 9 + [("target_score",), ()]):
        if draw.random() < 0.95:
            entry[key] = drawn_score(draw)
    return entry


def test_replies_of_any_structure_are_read_as_by_the_published_calculator(shared: Path) -> None:
    script = shared / "originals/drb/utils/score_calculator.py"
    if not script.is_file():
        pytest.skip("the published code is not there")
    calculate: Callable[..., Any] = runpy.run_path(str(script))["calculate_weighted_scores"]
    logging.disable(logging.CRITICAL)
    try:
        for seed in range(6000):
            draw = random.Random(seed)
            reply: dict[str, Any] = {}
            for dimension in (*ROW["criterions"], "style"):
                criteria = ROW["criterions"].get(dimension, [{"criterion": "Tone"}])
                names = [one["criterion"] for one in criteria]
                reply[dimension] = [drawn_entry(draw, names) for _ in range(draw.randrange(6))]
                if draw.random() < 0.02:
                    reply[dimension] = draw.choice(ODD_SCORES)
            theirs, ours = calculate(reply, ROW), sides(reply, ROW)
            assert [side._asdict() for side in ours] == [theirs["target"], theirs["reference"]], seed
    finally:
        logging.disable(logging.NOTSET)


def test_what_is_passed_over_and_what_counts_twice() -> None:
    costs = {"criterion": "Costs", "article_1_score": "8.5", "article_2_score": True}
    odd: list[Any] = [
        {"criterion": "Dates", "article_1_score": "8/10", "article_2_score": 1},
        {"criterion": 5, "article_1_score": 1},
        {"criterion": "  ", "article_1_score": 1},
        {"criterion": "Dates"},
        "Dates",
        None,
        costs,
        costs,
    ]
    assert [(item.name, item.target, item.reference) for item in items_of(odd)] == [("Costs", 8.5, 1.0)] * 2


def test_dimensions_without_a_list_or_without_criteria_do_not_count() -> None:
    strange: Any = {"criterion": "Structure", "article_1_score": 8, "article_2_score": 9}
    found = sides(judged(readability=strange, style=[strange]), ROW)
    assert sorted(found.target.dims) == [
        "comprehensiveness_weighted_avg",
        "insight_weighted_avg",
        "instruction_following_weighted_avg",
    ]
    assert found.target.total == pytest.approx(6.9375 - 0.15 * 7.55, abs=1e-12)
    empty = sides(judged(readability=[]), ROW)
    assert (empty.target.dims["readability_weighted_avg"], row(empty)["readability"]) == (0, 0)


def test_nothing_against_nothing_is_nothing() -> None:
    assert share(0, 0) == 0
    assert row(sides({}, ROW))["overall_score"] == 0


def test_target_scores_alone_win_against_no_reference() -> None:
    alone = [{"criterion": "Structure", "target_score": 3}]
    assert row(sides({"readability": alone}, ROW))["readability"] == 1.0


@pytest.mark.parametrize("criterion_weights", [True, False])
@pytest.mark.parametrize("dimension_weights", [True, False])
def test_rows_equal_those_of_the_published_calculator(
    shared: Path, criterion_weights: bool, dimension_weights: bool
) -> None:
    """Our answers, with each ablation of the weights, through the published code itself."""
    script = shared / "originals/drb/utils/score_calculator.py"
    if not script.is_file():
        pytest.skip("the published code is not there")
    calculate: Callable[..., Any] = runpy.run_path(str(script))["calculate_weighted_scores"]
    one = comparison({**TARGET_SCORES, "insight.1": None}, {**REFERENCE_SCORES})
    found = findings(one, criterion_weights=criterion_weights, dimension_weights=dimension_weights)
    theirs = calculate(
        judged_json(one, CRITERIA), criteria_json(CRITERIA, criterion_weights, dimension_weights)
    )
    ours = comparison_sides(one, found)
    assert ours is not None
    assert [side._asdict() for side in ours] == [theirs["target"], theirs["reference"]]
    target, reference = theirs["target"]["total"], theirs["reference"]["total"]
    whole = {node.id: node.score.value for node in Race().score([found], "upstream")}
    assert whole["overall"] == 100 * (target / (target + reference))


def test_the_published_rows_give_the_published_means(shared: Path) -> None:
    folder = shared / "data/reports/drb/results_race"
    lines = (folder / "raw_results.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 100
    assert means(rows) == (folder / "race_result.txt").read_text(encoding="utf-8")


def test_means_of_nothing() -> None:
    with pytest.raises(ValueError, match="no row"):
        means([])
