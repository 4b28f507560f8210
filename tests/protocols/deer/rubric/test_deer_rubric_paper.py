from __future__ import annotations

import pytest

from local_judge.protocols.deer.rubric.model import on_scale
from local_judge.protocols.deer.rubric.scores import score
from local_judge.scoring.coverage import failed
from local_judge.scoring.node import Score, ScoreNode

from ..rubric_cases import FS, II, PATHS, RF, drawn, everywhere, findings, settled


def root(nodes: tuple[ScoreNode, ...], id: str) -> ScoreNode:
    return next(node for node in nodes if node.id == id)


def test_the_published_rubric_has_101_items() -> None:
    assert len(PATHS) == len(set(PATHS)) == 101
    assert sum(path[3].startswith("C") for path in PATHS) == 66
    assert len({path[:3] for path in PATHS}) == 46
    assert len({path[:2] for path in PATHS}) == 17


def test_coverage_and_quality_weigh_the_same_whatever_they_are_made_of() -> None:
    scope = [(path, 4) for path in PATHS if path[1] == "scope" and path[3].startswith("C")]
    scope += [((RF, "scope", "1", "Q1-1"), 9), ((RF, "scope", "1", "Q1-2"), 10)]
    (dimension,) = score([findings(scope)], "paper")
    criterion = dimension.find("scope", "1")
    assert [child.id for child in criterion.children] == ["coverage", "quality"]
    assert criterion.find("coverage").score.value == 4  # of four items
    assert criterion.find("quality").score.value == 9.5  # of two
    # (4 + 9.5) / 2, and not the mean of the six items, 35/6
    assert dimension.score.value == criterion.score.value == 6.75
    assert [node.id for node in criterion.find("coverage").children] == ["C1-1", "C1-2", "C1-3", "C1-4"]


def test_levels_are_means_without_rounding() -> None:
    answers = everywhere(7)
    answers[RF, "helpfulness", "1", "Q1-1"] = 8
    request = root(score([findings(answers)], "paper"), RF)
    # coverage 7, quality (8 + 7) / 2; criterion 7.25; helpfulness (7.25 + 7 + 7) / 3; dimension (7 + 7 + that) / 3
    assert request.find("helpfulness", "1").score.value == 7.25
    helpful = request.find("helpfulness").score
    assert (helpful.value, helpful.numerator, helpful.denominator) == (21.25 / 3, 21.25, 3)
    assert request.score.value == (14 + 21.25 / 3) / 3


def test_what_is_not_applicable_is_left_out_and_counted() -> None:
    answers = everywhere(6)
    answers[FS, "paragraph_quality", "2", "C2-1"] = "N/A"
    answers[FS, "paragraph_quality", "2", "C2-2"] = "N/A"
    answers[FS, "paragraph_quality", "3", "C3-1"] = 9
    part = root(score([findings(answers)], "paper"), FS).find("paragraph_quality")
    gone = part.find("2").score
    assert (gone.value, gone.n_undefined, gone.n_failed, gone.low) == (None, 2, 0, None)
    # (6 + 9) / 2 of three criteria
    assert (part.score.value, part.score.denominator, part.score.n_expected) == (7.5, 2, 3)
    assert (part.score.n_undefined, part.score.note) == (1, "of 3 parts 1 undefined")


def test_a_failure_is_no_number_and_leaves_the_scale_open() -> None:
    answers = everywhere(6)
    answers[RF, "scope", "1", "Q1-1"] = "failed"
    scope = root(score([findings(answers)], "paper"), RF).find("scope")
    item = scope.find("1", "quality", "Q1-1").score
    assert item == Score(value=None, n_expected=1, n_failed=1, low=1, high=10, note="failed: timeout")
    quality = scope.find("1", "quality").score
    # one of two is known; (6 + 1) / 2 and (6 + 10) / 2
    assert (quality.value, quality.n_failed, quality.low, quality.high) == (6, 1, 3.5, 8)
    # (6 + 3.5) / 2 and (6 + 8) / 2
    assert (scope.score.value, scope.score.low, scope.score.high) == (6, 4.75, 7)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_are_the_scores_with_every_failure_as_1_and_as_10(seed: int) -> None:
    answers = drawn(seed)
    trees = [score([findings(run)], "paper") for run in (answers, settled(answers, 1), settled(answers, 10))]
    compared = 0
    for roots in zip(*trees, strict=True):
        for (_, node), (_, low), (_, high) in zip(*(found.walk() for found in roots), strict=True):
            if node.score.low is None or node.score.high is None:
                assert node.score.value is low.score.value is high.score.value is None
                continue
            # A part without value is in no mean, but in its bounds, which then are widened to hold the mean.
            if any(failed(one.score) for _, one in node.walk()):
                assert node.score.low <= (low.score.value or 0) + 1e-12
                assert node.score.high >= (high.score.value or 0) - 1e-12
            else:
                assert node.score.low == pytest.approx(low.score.value, abs=1e-12)
                assert node.score.high == pytest.approx(high.score.value, abs=1e-12)
            assert node.score.value is None or node.score.low <= node.score.value <= node.score.high
            compared += 1
    assert compared > 150


def test_five_points_are_put_on_the_scale_of_ten() -> None:
    assert [on_scale(score, 5) for score in range(1, 6)] == [1, 3.25, 5.5, 7.75, 10]
    assert [on_scale(score, 10) for score in (1, 5, 10)] == [1, 5, 10]
    (dimension,) = score([findings({(RF, "scope", "1", "C1-1"): 3}, scale=5)], "paper")
    assert dimension.score.value == 5.5


def test_whole_dimensions_are_leaves() -> None:
    roots = score([findings({(RF,): 8, (FS,): "N/A", (II,): "failed"}, mode="dimensions")], "paper")
    assert [(node.id, node.label, node.score.value) for node in roots] == [
        (RF, "Request Fulfillment", 8),
        (FS, "Format & Style", None),
        (II, "Information Integrity", None),
    ]
    assert all(not node.children for node in roots)


def test_a_report_judged_as_a_whole_is_one_leaf() -> None:
    (only,) = score([findings({(): 4}, mode="vanilla", scale=5)], "paper")
    assert (only.id, only.score.value) == ("overall", 7.75)


def test_an_item_that_is_neither_coverage_nor_quality_is_refused() -> None:
    with pytest.raises(ValueError, match="item 'X1-1': its id begins with neither C nor Q"):
        score([findings({(RF, "scope", "1", "X1-1"): 3})], "paper")


def test_ids_of_a_rubric_of_ones_own_are_named_after_themselves() -> None:
    (dimension,) = score([findings({("local_relevance", "nearby_places", "1", "C1-1"): 3})], "paper")
    assert (dimension.label, dimension.children[0].label) == ("Local relevance", "Nearby places")
