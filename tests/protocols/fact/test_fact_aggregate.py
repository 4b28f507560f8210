"""Scores over several reports, with their derivation."""

from __future__ import annotations

import random

import pytest

from local_judge.protocols.fact import Fact
from local_judge.protocols.fact.export import fact_result
from local_judge.scoring.node import Profile, Score, ScoreNode

from .fact_cases import LETTERS, findings

# Three reports: 2 of 3 known pairs with one failed; one without citations; 1 of 1 beside a dead page.
REPORTS = [findings("ssuf", "a"), findings("", "b"), findings("sd", "c")]


def aggregate(profile: Profile, n_missing: int = 0) -> dict[str, ScoreNode]:
    return {root.id: root for root in Fact().aggregate([[one] for one in REPORTS], profile, n_missing)}


def numbers(score: Score) -> tuple[float | None, float | None, float | None]:
    return score.value, score.low, score.high


def test_citation_accuracy_in_all_its_ways() -> None:
    accuracy = aggregate("paper")["citation_accuracy"]
    # (2/3 + 0 + 1/2) / 3; the failure makes the first 2/4 or 3/4.
    every = numbers(accuracy.find("all").score)
    assert every == ((2 / 3 + 0 + 0.5) / 3, (0.5 + 0 + 0.5) / 3, (0.75 + 0 + 0.5) / 3)
    assert numbers(accuracy.find("citing").score) == ((2 / 3 + 0.5) / 2, 0.5, 0.625)
    # (2 + 1) / (3 + 2), and 3/6 or 4/6.
    assert numbers(accuracy.find("pooled").score) == (3 / 5, 3 / 6, 4 / 6)
    assert numbers(accuracy.score) == every
    assert accuracy.score.note == "mean over all reports"
    upstream = aggregate("upstream")["citation_accuracy"]
    # The dead page is left out: (2 + 1) / (3 + 1), which is what the code prints.
    assert numbers(upstream.find("pooled").score) == (3 / 4, 3 / 5, 4 / 5)
    assert numbers(upstream.score) == numbers(upstream.find("pooled").score)
    assert upstream.find("all").score.value == (2 / 3 + 0 + 1) / 3
    assert upstream.find("citing").score.value == (2 / 3 + 1) / 2


def test_effective_citations_and_citations() -> None:
    paper, upstream = aggregate("paper"), aggregate("upstream")
    # 3 supported over 3 reports, over 2 that cite; 4 with the failure.
    for profile in (paper, upstream):
        assert numbers(profile["effective_citations"].find("all").score) == (1.0, 1.0, 4 / 3)
        assert numbers(profile["effective_citations"].find("citing").score) == (1.5, 1.5, 2.0)
    assert paper["effective_citations"].score.value == 1.0
    assert upstream["effective_citations"].score.value == 1.5
    assert paper["citations"].find("all").score.value == 6 / 3
    assert upstream["citations"].find("citing").score.value == 4 / 2
    # 2 of 6 pairs are unknown.
    assert paper["unknown"].score.value == upstream["unknown"].score.value == 2 / 6
    assert paper["unknown"].find("dead").score.numerator == 1


def test_reports_that_are_missing_open_the_bounds() -> None:
    accuracy = aggregate("paper", n_missing=1)["citation_accuracy"]
    value, low, high = numbers(accuracy.find("all").score)
    assert value == (2 / 3 + 0 + 0.5) / 3
    assert (low, high) == ((0.5 + 0 + 0.5 + 0) / 4, (0.75 + 0 + 0.5 + 1) / 4)
    assert (accuracy.score.n_expected, accuracy.score.n_failed) == (4, 1)
    assert accuracy.score.note.endswith("; of 4 reports 1 missing")
    assert numbers(accuracy.find("pooled").score) == (3 / 5, 0.0, 1.0)
    unknown = aggregate("paper", n_missing=1)["unknown"].score
    assert (numbers(unknown), unknown.note) == ((2 / 6, 0.0, 1.0), "of 4 reports 1 missing")
    # How many citations it has is not known: there is no upper bound.
    assert numbers(aggregate("paper", n_missing=1)["effective_citations"].score) == (1.0, 3 / 4, None)


def test_a_report_of_which_nothing_is_known_is_no_zero() -> None:
    reports = [findings("su"), findings("ff")]
    accuracy, effective, *_ = Fact().aggregate([[one] for one in reports], "paper", 0)
    assert numbers(accuracy.score) == (0.5, 0.25, 0.75)
    assert (accuracy.score.n_expected, accuracy.score.n_failed) == (2, 1)
    assert accuracy.score.note.endswith("; of 2 reports 1 failed")
    assert numbers(effective.score) == (1.0, 0.5, 1.5)
    # The code keeps such a report in the number of tasks.
    assert Fact().aggregate([[one] for one in reports], "upstream", 0)[1].score.value == 0.5


def test_a_report_that_was_not_extracted_is_no_report_of_the_code() -> None:
    # The code writes no row for it: 12 supported citations of 14 known ones in one report, not in two.
    reports = [findings("s" * 12 + "uu"), findings("ee")]
    accuracy, effective, citations, _ = Fact().aggregate([[one] for one in reports], "upstream", 0)
    assert numbers(effective.score) == (12.0, 6.0, None)
    assert (citations.score.value, accuracy.score.value) == (14.0, 12 / 14)
    assert (effective.score.n_expected, effective.score.n_failed) == (2, 1)
    # In the paper's mean it is unknown, and not a zero.
    assert Fact().aggregate([[one] for one in reports], "paper", 0)[1].score.value == 12.0


@pytest.mark.parametrize("profile", ["paper", "upstream"])
def test_without_reports_there_is_nothing(profile: Profile) -> None:
    for root in Fact().aggregate([], profile, 0):
        assert root.score.value is None
        assert root.score.n_failed == 0


def test_upstream_is_the_code_to_the_last_bit() -> None:
    draw = random.Random(7)
    for _ in range(300):
        reports = [
            findings("".join(draw.choices(list(LETTERS), k=draw.randrange(9))))
            for _ in range(draw.randrange(1, 30))
        ]
        accuracy, effective, citations, _ = Fact().aggregate([[one] for one in reports], "upstream", 0)
        try:
            printed = fact_result(reports)
        except ZeroDivisionError:
            assert accuracy.score.value is None
            continue
        assert (citations.score.value, effective.score.value, accuracy.score.value) == printed
        for root in (
            *Fact().aggregate([[one] for one in reports], "paper", 0),
            *Fact().aggregate([[one] for one in reports], "upstream", 2),
        ):
            for _, node in root.walk():
                value, low, high = numbers(node.score)
                if value is not None and low is not None:
                    assert low <= value and (high is None or value <= high)
