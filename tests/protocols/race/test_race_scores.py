"""Trees of both profiles, noise and position bias."""

from __future__ import annotations

import math
from typing import Any

import pytest

from local_judge.protocols.race import Race, RaceFindings
from local_judge.protocols.race.findings import ShownArticle
from local_judge.protocols.race.upstream import judged_json, result_row, row, sides
from local_judge.protocols.stated import Stated
from local_judge.runs.results.summary import number_of
from local_judge.scoring.node import ScoreNode

from .race_cases import CRITERIA, IDS, REFERENCE_SCORES, ROW, TARGET_SCORES, comparison, findings

TARGET: dict[str, float | None] = {**TARGET_SCORES}
REFERENCE: dict[str, float | None] = {**REFERENCE_SCORES}


def flat(score: float) -> dict[str, float | None]:
    """The same score everywhere."""
    return dict.fromkeys(IDS, score)


def shape(nodes: tuple[ScoreNode, ...]) -> list[tuple[str, ...]]:
    return [path for root in nodes for path, _ in root.walk()]


def root(nodes: tuple[ScoreNode, ...], name: str) -> ScoreNode:
    return next(node for node in nodes if node.id == name)


def test_both_profiles_have_the_same_tree_and_agree_where_nothing_failed() -> None:
    found = findings(comparison(TARGET, REFERENCE))
    paper, upstream = (Race().score([found], profile) for profile in Race.profiles)
    assert shape(paper) == shape(upstream)
    names = ["comprehensiveness", "insight", "instruction_following", "readability", "overall"]
    assert [node.id for node in paper] == names
    assert [child.id for child in paper[0].children] == ["1", "2", "3"]
    for one, other in zip(paper, upstream, strict=True):
        assert one.score.value == pytest.approx(other.score.value, abs=1e-12)
    assert paper[-1].score.note == "order: paper, report first"


def test_the_upstream_profile_is_the_published_arithmetic_on_our_answers() -> None:
    one = comparison(TARGET | {"insight.1": None}, REFERENCE)
    found = findings(one)
    rendered = judged_json(one, CRITERIA)
    assert [item["criterion"] for item in rendered["insight"]] == ["Outlook"]
    assert rendered["readability"][0] == {
        "criterion": "Structure",
        "analysis": "",
        "article_1_score": 8,
        "article_2_score": 9,
    }
    expected = row(sides(rendered, ROW))
    nodes = Race().score([found], "upstream")
    # What the judge did not say is dropped for both sides: 5.5 / (5.5 + 8).
    assert expected["insight"] == pytest.approx(5.5 / 13.5)
    assert root(nodes, "insight").score.value == 100 * expected["insight"]
    assert root(nodes, "overall").score.value == 100 * expected["overall_score"]
    assert (root(nodes, "insight").score.n_expected, root(nodes, "insight").score.n_failed) == (2, 1)
    assert (root(nodes, "readability").score.n_expected, root(nodes, "readability").score.n_failed) == (2, 0)
    assert result_row(found) == expected


def test_a_dimension_without_answer_drops_the_report_upstream_and_not_here() -> None:
    found = findings(comparison(TARGET | {"readability.1": None, "readability.2": None}, REFERENCE))
    paper, upstream = (root(Race().score([found], profile), "overall").score for profile in Race.profiles)
    assert paper.value is not None
    assert (upstream.value, upstream.n_failed) == (None, 2)
    # Had the judge answered, the code would have kept it: 0 of 5.805 + 7.39 + .15*10, and 5.805 + .15*10 of it.
    assert (upstream.low, upstream.high) == pytest.approx((100 * 5.805 / 14.695, 100 * 7.305 / 14.695))
    assert "drops the report" in upstream.note
    assert result_row(found) is None


def test_noise_is_the_spread_of_the_draws_of_each_comparison() -> None:
    # Scores 4:6, 5:5 give 40 and 50: variance (5^2 + 5^2) / 1 = 50. 5:5 and 5:5 give no variance.
    draws = [
        comparison(flat(4), flat(6), draw=0, reference=0),
        comparison(flat(5), flat(5), draw=1, reference=0),
        comparison(flat(5), flat(5), draw=0, reference=1),
        comparison(flat(5), flat(5), draw=1, reference=1),
    ]
    for profile in Race.profiles:
        nodes = Race().score([findings(*draws)], profile)
        noise = root(nodes, "noise")
        assert noise.score.value == pytest.approx(math.sqrt((50 + 0) / 2))
        assert noise.find("insight").score.value == pytest.approx(5.0)
        assert (noise.score.low, noise.score.high) == (noise.score.value, noise.score.value)
        assert root(nodes, "overall").score.value == pytest.approx((40 + 50 + 50 + 50) / 4)
        assert "position_bias" not in [node.id for node in nodes]


def test_position_bias_is_what_the_report_gains_by_coming_first() -> None:
    both = [
        comparison(flat(6), flat(4), target_first=True),  # 60
        comparison(flat(5), flat(5), target_first=False),  # 50
    ]
    nodes = Race().score([findings(*both)], "paper")
    bias = root(nodes, "position_bias")
    assert bias.score.value == pytest.approx(10.0)
    assert root(nodes, "overall").score.value == pytest.approx(55.0)
    assert root(nodes, "overall").score.note == "order: paper, both ways"
    assert "noise" not in [node.id for node in nodes]


def test_noise_and_bias_say_what_they_miss() -> None:
    failed = comparison(dict.fromkeys(IDS), REFERENCE, draw=1)
    nodes = Race().score([findings(comparison(flat(5), flat(5)), failed)], "paper")
    noise = root(nodes, "noise").score
    assert (noise.value, noise.n_expected, noise.n_failed) == (None, 2, 1)
    assert (noise.low, noise.high) == (None, None)
    overall = root(nodes, "overall").score
    # 50, and nothing at all from the second: between (50 + 0) / 2 and (50 + 100) / 2.
    assert (overall.value, overall.low, overall.high) == (50.0, 25.0, 75.0)
    # What a criterion that failed would have changed is not known: a value without bounds.
    part = comparison(flat(6) | {"insight.2": None}, flat(4), draw=1)
    nodes = Race().score([findings(comparison(flat(5), flat(5)), part)], "paper")
    assert root(nodes, "noise").score.value == pytest.approx(math.sqrt(50))
    exported = number_of(root(nodes, "noise").score)
    answered = 2 * len(IDS)
    assert (exported["low"], exported["high"]) == (None, None)
    assert exported["known"] == pytest.approx((answered - 1) / answered)
    turned = comparison(dict.fromkeys(IDS), REFERENCE, target_first=False)
    nodes = Race().score([findings(comparison(flat(5), flat(5)), turned)], "paper")
    assert root(nodes, "position_bias").score.value is None


def test_without_a_reference_upstream_is_undefined() -> None:
    alone = findings(comparison(TARGET, None), mode="pointwise")
    paper, upstream = (Race().score([alone], profile) for profile in Race.profiles)
    assert shape(paper) == shape(upstream)
    assert root(paper, "overall").score.value == pytest.approx(69.375)
    # The published ratio is D / (D + 0) = 1 whatever the scores are: no number, and no row.
    for name in ("insight", "overall"):
        found = root(upstream, name).score
        assert (found.value, found.low, found.high) == (None, None, None)
        assert (found.n_undefined, found.n_failed) == (1, 0)
        assert "divides the report by itself" in found.note
    assert result_row(alone) is None
    for tree in (Race().score([alone, alone], "upstream"), Race().score([alone], "upstream")):
        assert {node.score.value for node in tree} == {None}


def test_as_a_whole_there_is_one_score_and_none_upstream() -> None:
    found = findings(comparison({"overall": 6.5}, None), mode="vanilla", criteria=None)
    paper, upstream = (Race().score([found], profile) for profile in Race.profiles)
    assert [node.id for node in paper] == [node.id for node in upstream] == ["overall"]
    assert (paper[0].score.value, upstream[0].score.value) == (65.0, None)
    assert upstream[0].score.n_undefined == 1
    assert result_row(found) is None


def test_scores_survive_storage() -> None:
    found = findings(
        comparison(TARGET, REFERENCE), comparison(TARGET | {"insight.2": None}, REFERENCE, draw=1)
    )
    stored: dict[str, Any] = found.model_dump(mode="json")
    again = RaceFindings.model_validate(stored)
    assert again == found
    assert Race().score([again], "paper") == Race().score([found], "paper")
    assert found.n_failed == 1


STATED = RaceFindings(
    case="a",
    document="d",
    task="900",
    request="",
    stated=Stated(scores=(), record={}),
)
SHOWN = ShownArticle(sha256="0", n_characters=9, n_removed=1, joined="id")


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (STATED, "race: scores of a published file, without comparisons"),
        (
            findings(comparison(TARGET, REFERENCE), references=(SHOWN,)),
            "race: reference; 9 criteria (given, joined by id); 1 reference (joined by id); "
            "order: paper, report first; 1 comparison; 0 citations cleaned from the report",
        ),
        (
            findings(
                *(comparison(TARGET, REFERENCE, target_first=first) for first in (True, False)),
                source="static",
                criterion_weights=False,
                dimension_weights=False,
                references=(SHOWN, SHOWN),
                report=SHOWN,
            ),
            "race: reference; 9 criteria (static); no criterion weights; no dimension weights; 2 references (joined by "
            "id, joined by id); order: paper, both ways; 2 comparisons; 1 citation cleaned from the report",
        ),
        (
            findings(comparison({"vanilla": 7}, None), mode="vanilla", criteria=None, cleaning="none"),
            "race: vanilla; no reference; 1 comparison; citations left in",
        ),
    ],
)
def test_a_line_sums_up_what_was_asked(found: RaceFindings, line: str) -> None:
    assert Race().view(found, (), items=False).lines == (line,)
