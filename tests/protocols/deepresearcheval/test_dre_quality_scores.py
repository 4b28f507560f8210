"""Scores of adaptive quality: known values, what failures leave open, several judges, the run of a system."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from local_judge.protocols.deepresearcheval import DeepResearchEval
from local_judge.protocols.deepresearcheval.findings import QualityFindings
from local_judge.protocols.deepresearcheval.quality_scores import aggregate_quality, score_quality
from local_judge.scoring.node import Profile, Score, ScoreNode
from local_judge.tasks.dimensions import DimensionsRow

from .dre_cases import GENERAL, IDS, QUALITY, ROW, SCORES, SPECIFIC, entry, findings, marked

DRE = DeepResearchEval()
PROFILES: tuple[Profile, ...] = ("paper", "upstream")


def at(tree: Sequence[ScoreNode], path: str) -> Score:
    first, *rest = path.split("/")
    return next(node for node in tree if node.id == first).find(*rest).score


def paths(tree: Sequence[ScoreNode]) -> list[tuple[str, ...]]:
    return [path for root in tree for path, _ in root.walk()]


def scored(found: QualityFindings, profile: Profile = "paper") -> tuple[ScoreNode, ...]:
    return DRE.score([findings(found)], profile)


def test_weights_as_in_the_paper() -> None:
    tree = scored(marked())
    assert [root.id for root in tree] == ["quality", "general_gap"]
    # The derivation stands at SCORES.
    for path, value in {
        "quality": 6.13,
        "quality/general": GENERAL,
        "quality/specific": SPECIFIC,
        "quality/general/coverage": 7,
        "quality/general/insight": 6,
        "quality/general/instruction_following": 9,
        "quality/general/clarity": 7.5,
        "quality/specific/cost_accounting": 4.4,
        "quality/specific/sources_of_money": 3,
        "quality/specific/cost_accounting/2": 5,
        "general_gap": GENERAL - SPECIFIC,
    }.items():
        found = at(tree, path)
        assert found.value == pytest.approx(value), path
        assert (found.low, found.high, found.n_failed) == (found.value, found.value, 0), path
    quality = at(tree, "quality")
    assert (quality.n_expected, quality.note) == (9, "dimensions given")
    assert quality.numerator == pytest.approx(6.13) and quality.denominator == pytest.approx(1.0)


def test_upstream_has_plain_means_of_columns() -> None:
    tree = scored(marked(), "upstream")
    assert at(tree, "quality").value == pytest.approx(6.13)
    # (7 + 6 + 9 + 7.5) / 4 and (4.4 + 3) / 2.
    assert at(tree, "quality/general").value == pytest.approx(7.375)
    assert at(tree, "quality/specific").value == pytest.approx(3.7)
    assert at(tree, "general_gap").value == pytest.approx(3.675)


def test_both_profiles_have_one_tree() -> None:
    for found in (marked(), marked(SCORES | {"insight.1": None}), failed()):
        assert paths(scored(found, "paper")) == paths(scored(found, "upstream"))


def test_a_failed_dimension_is_no_0() -> None:
    tree = scored(marked(SCORES | {"insight.1": None}))
    insight = at(tree, "quality/general/insight")
    assert (insight.value, insight.low, insight.high, insight.n_failed) == (None, 0.0, 10.0, 1)
    quality = at(tree, "quality")
    # Without insight (weight 0.2): (6.13 - 1.2) / 0.8. Bounds: 4.93 + 0.2 * 0 and 4.93 + 0.2 * 10.
    assert quality.value == pytest.approx(4.93 / 0.8)
    assert (quality.low, quality.high) == (pytest.approx(4.93), pytest.approx(6.93))
    assert quality.note == "dimensions given; 1 of 9 answers failed"
    gap = at(tree, "general_gap")
    # general (4.95 - 1.2) / 0.5 = 7.5, from 3.75 / 0.7 to 5.75 / 0.7; specific as before.
    assert gap.value == pytest.approx(7.5 - SPECIFIC)
    assert gap.low == pytest.approx(3.75 / 0.7 - SPECIFIC)
    assert gap.high == pytest.approx(5.75 / 0.7 - SPECIFIC)


def test_a_failed_criterion_is_left_out_of_its_dimension() -> None:
    tree = scored(marked(SCORES | {"coverage.1": None}))
    coverage = at(tree, "quality/general/coverage")
    # The other one has 4 and a quarter of the weight: from 1 to 1 + 7.5.
    assert (coverage.value, coverage.low, coverage.high) == (4.0, 1.0, 8.5)
    quality = at(tree, "quality")
    assert quality.value == pytest.approx(6.13 - 0.3 * 3)
    assert (quality.low, quality.high) == (pytest.approx(6.13 - 0.3 * 6), pytest.approx(6.13 + 0.3 * 1.5))


def test_upstream_has_no_value_where_the_published_code_makes_a_0() -> None:
    tree = scored(marked(SCORES | {"coverage.1": None}), "upstream")
    coverage = at(tree, "quality/general/coverage")
    assert (coverage.value, coverage.low, coverage.high) == (None, 1.0, 8.5)
    assert coverage.note == "an answer is missing: the published code counts the dimension as 0"
    for path in ("quality", "quality/general", "general_gap"):
        found = at(tree, path)
        assert found.value is None and found.low is not None and found.high is not None, path
    assert at(tree, "quality/specific").value == pytest.approx(3.7)


def failed() -> QualityFindings:
    """Of a report for whose task no dimensions could be drafted."""
    return QualityFindings.model_validate(
        {"dimensions": None, "origin": "judge", "failure": {"kind": "invalid_reply", "detail": "none"}}
    )


@pytest.mark.parametrize("profile", PROFILES)
def test_without_dimensions_all_is_open(profile: Profile) -> None:
    quality, gap = scored(failed(), profile)
    assert (quality.score.value, quality.score.low, quality.score.high) == (None, 0.0, 10.0)
    assert (quality.score.n_expected, quality.score.n_failed) == (1, 1)
    assert quality.score.note == "no dimensions were drafted: invalid_reply"
    assert (gap.score.value, gap.score.low, gap.score.high) == (None, -10.0, 10.0)


def test_dimensions_without_weight() -> None:
    row = {
        **ROW,
        "dimensions": [
            {**one, "weight": 0} if one["kind"] == "specific" else one for one in ROW["dimensions"]
        ],
    }
    tree = scored(marked(dimensions=DimensionsRow.model_validate(row).content or QUALITY))
    specific, gap = at(tree, "quality/specific"), at(tree, "general_gap")
    assert (specific.value, specific.n_undefined, specific.note) == (None, 1, "all its weights are 0")
    assert (gap.value, gap.n_undefined, gap.low) == (None, 1, None)
    assert at(tree, "quality").value == pytest.approx(4.95 / 0.7)


def test_what_has_no_weight_is_undefined_also_where_its_answers_failed() -> None:
    rows = [{**one, "weight": 0} if one["kind"] == "specific" else one for one in ROW["dimensions"]]
    unweighted = DimensionsRow.model_validate({**ROW, "dimensions": rows}).content or QUALITY
    lost = marked({**SCORES, "sources_of_money.1": None}, unweighted)
    whole, gap = score_quality([lost], "paper")
    specific = whole.find("specific").score
    assert [(one.value, one.n_failed, one.n_undefined) for one in (specific, gap.score)] == [(None, 0, 1)] * 2
    # The failure is counted where an answer could matter, and over reports an undefined part opens no bound.
    assert whole.score.n_failed == 1 and whole.score.value == pytest.approx(GENERAL)
    over, _ = aggregate_quality([[lost], [marked()]], "paper", 0)
    mean = over.find("specific").score
    assert (mean.low, mean.value, mean.high) == (pytest.approx(SPECIFIC),) * 3
    assert (mean.n_failed, mean.n_undefined) == (0, 1)


def test_several_judges_criterion_by_criterion() -> None:
    other = marked(dict.fromkeys(IDS, 4.0) | {"insight.1": None, "coverage.1": 6.0})
    tree = DRE.score([findings(), findings(other)], "paper")
    one = at(tree, "quality/general/coverage/1")
    assert (one.value, one.n_expected) == (7.0, 2)
    insight = at(tree, "quality/general/insight")
    # Only the first judge answered, with 6: alone 6, with the other's 0 or 10 from 3 to 8.
    assert (insight.value, insight.low, insight.high, insight.n_failed) == (6.0, 3.0, 8.0, 1)
    # coverage (3*7 + 4)/4 = 6.25, 6, 6.5, (5.5 + 6)/2 = 5.75, (3 + 4*4.5)/5 = 4.2, 3.5
    expected = 0.3 * 6.25 + 0.2 * 6 + 0.1 * 6.5 + 0.1 * 5.75 + 0.2 * 4.2 + 0.1 * 3.5
    quality = at(tree, "quality")
    assert quality.value == pytest.approx(expected)
    assert (quality.low, quality.high) == (pytest.approx(expected - 0.6), pytest.approx(expected + 0.4))
    assert (quality.n_expected, quality.n_failed) == (18, 1)


def test_judges_with_dimensions_of_their_own_are_averaged_by_score() -> None:
    row = {**ROW, "dimensions": [*ROW["dimensions"][:4], entry("Machines", "specific", 3, Wheels=1)]}
    quality = DimensionsRow.model_validate(row).content
    assert quality is not None
    ids = [one.id for dimension in quality.dimensions for one in dimension.criteria]
    other = marked(dict.fromkeys(ids, 5.0), quality)
    tree = DRE.score([findings(), findings(other)], "paper")
    assert at(tree, "quality").value == pytest.approx((6.13 + 5) / 2)
    assert at(tree, "quality/general/coverage").value == pytest.approx((7 + 5) / 2)
    machines = at(tree, "quality/specific/machines")
    assert (machines.value, machines.n_undefined) == (5.0, 1)


def test_a_run_of_a_system() -> None:
    found = [findings(marked()), findings(marked(dict.fromkeys(IDS, 5.0)), "b")]
    tree = DRE.aggregate([[one] for one in found], "paper", 0)
    assert at(tree, "quality").value == pytest.approx((6.13 + 5) / 2)
    assert at(tree, "quality/general/coverage").value == pytest.approx(6.0)
    assert at(tree, "quality/specific").value == pytest.approx((SPECIFIC + 5) / 2)
    assert at(tree, "general_gap").value == pytest.approx((GENERAL - SPECIFIC) / 2)
    published = DRE.aggregate([[one] for one in found], "upstream", 0)
    # By name: cost_accounting (4.4 + 5) / 2 = 4.7, sources_of_money (3 + 5) / 2 = 4; their mean.
    assert at(published, "quality/specific").value == pytest.approx(4.35)
    # (6 + 5.5 + 7 + 6.25) / 4
    assert at(published, "quality/general").value == pytest.approx(6.1875)
    assert at(published, "general_gap").value == pytest.approx(6.1875 - 4.35)
    assert paths(tree) == paths(published)
    # Without a report of 0, only scores by name are no means over the reports.
    by_rule = {"/".join(path) for root in published for path, one in root.walk() if not one.mean}
    assert by_rule == {"quality/specific", "general_gap"}


def test_the_column_task_goes_by_names_and_not_by_reports() -> None:
    row = {**ROW, "dimensions": [*ROW["dimensions"][:4], entry("Cost accounting", "specific", 3, Totals=1)]}
    quality = DimensionsRow.model_validate(row).content
    assert quality is not None
    ids = [one.id for dimension in quality.dimensions for one in dimension.criteria]
    found = [findings(marked()), findings(marked(dict.fromkeys(ids, 8.0), quality), "b")]
    # cost_accounting (4.4 + 8) / 2 = 6.2, sources_of_money 3 of the one report that has it: (6.2 + 3) / 2.
    assert at(
        DRE.aggregate([[one] for one in found], "upstream", 0), "quality/specific"
    ).value == pytest.approx(4.6)
    assert at(DRE.aggregate([[one] for one in found], "paper", 0), "quality/specific").value == pytest.approx(
        (SPECIFIC + 8) / 2
    )


def test_the_published_summary_drops_reports_of_0() -> None:
    zero = findings(marked(dict.fromkeys(IDS, 0.0)), "b")
    paper, published = (
        at(DRE.aggregate([[findings()], [zero]], profile, 0), "quality") for profile in PROFILES
    )
    assert paper.value == pytest.approx(6.13 / 2)
    assert published.value == pytest.approx(6.13)
    assert published.note == "1 of 2 reports have a total of 0 and are left out"
    over, _ = DRE.aggregate([[findings()], [zero]], "upstream", 0)
    assert not over.mean


def test_missing_reports_open_the_bounds_of_a_run() -> None:
    tree = DRE.aggregate([[findings()]], "paper", 1)
    quality, gap = at(tree, "quality"), at(tree, "general_gap")
    assert quality.value == pytest.approx(6.13)
    assert (quality.low, quality.high) == (pytest.approx(6.13 / 2), pytest.approx(16.13 / 2))
    assert gap.low == pytest.approx((GENERAL - SPECIFIC - 10) / 2)
    published = at(DRE.aggregate([[findings()]], "upstream", 1), "quality")
    assert (published.low, published.n_failed) == (None, 1)
    assert published.note == "1 of 2 reports without all answers"


def test_upstream_says_of_how_many_reports_a_judge_failed() -> None:
    lost = marked({**SCORES, "insight.1": None})
    over, _ = aggregate_quality([[marked(), lost], [marked(), marked()]], "upstream", 0)
    # The first report has the value of one judge: nobody knows what the other would have made of it.
    assert over.score.value == pytest.approx(6.13)
    assert (over.score.low, over.score.high, over.score.n_failed) == (None, None, 0)
    assert over.score.note == "1 of 2 reports by a part of the judges"


def test_judges_are_compared_by_criteria_that_they_share() -> None:
    decisions = DRE.decisions(findings())
    assert [(one.metric, one.item, one.value) for one in decisions][:2] == [
        ("coverage", "coverage.1", 8.0),
        ("coverage", "coverage.2", 4.0),
    ]
    assert {one.metric for one in decisions[-3:]} == {"specific"}
    own = DRE.decisions(findings(marked(origin="judge")))
    assert own[0].item.startswith("coverage.1#") and own[0].item != decisions[0].item


@pytest.mark.parametrize("seed", range(20))
def test_drawn_scores(seed: int) -> None:
    draw = random.Random(seed)
    row = {
        **ROW,
        "dimensions": [
            {
                **one,
                "weight": draw.random(),
                "criteria": [{**criterion, "weight": draw.random()} for criterion in one["criteria"]],
            }
            for one in ROW["dimensions"]
        ],
    }
    quality = DimensionsRow.model_validate(row).content
    assert quality is not None
    whole = {id: round(10 * draw.random(), 2) for id in IDS}
    paper, published = (at(scored(marked(whole, quality), profile), "quality").value for profile in PROFILES)
    assert paper is not None and published == pytest.approx(paper)
    # What fails leaves the value that all answers would have given within the bounds, and the value too.
    part = {id: None if draw.random() < 0.4 else score for id, score in whole.items()}
    for path in ("quality", "quality/general", "quality/specific", "general_gap", "quality/general/clarity"):
        known, found = at(scored(marked(whole, quality)), path), at(scored(marked(part, quality)), path)
        assert known.value is not None and found.low is not None and found.high is not None
        assert found.low - 1e-9 <= known.value <= found.high + 1e-9, path
        assert found.value is None or found.low <= found.value <= found.high, path


@pytest.mark.parametrize("wrong", [{"coverage.1": 8.0}, {**SCORES, "coverage.9": 1.0}])
def test_every_criterion_has_one_answer(wrong: dict[str, float | None]) -> None:
    with pytest.raises(ValueError, match="scores of"):
        marked(wrong)
