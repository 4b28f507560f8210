"""FACT by several judges."""

from __future__ import annotations

import pytest

from local_judge.protocols.fact import Fact
from local_judge.protocols.fact.scores import voted
from local_judge.scoring.node import Score, ScoreNode

from .fact_cases import findings


def scores(tree: tuple[ScoreNode, ...]) -> dict[str, Score]:
    return {root.id: root.score for root in tree}


def test_judges_vote_pair_by_pair() -> None:
    found = voted([findings("ssufdn"), findings("susfdn")])
    assert [(pair.outcome, pair.reason) for pair in found.pairs] == [
        ("supported", None),
        ("unknown", "tied"),
        ("unknown", "tied"),
        ("unknown", "judge_failed"),
        ("unknown", "dead"),
        ("unknown", "not_in_snapshot"),
    ]
    third = voted([findings("ssu"), findings("sus"), findings("fsu")])
    assert [pair.outcome for pair in third.pairs] == ["supported", "supported", "unsupported"]


def test_ties_are_unknown_and_open_the_bounds() -> None:
    tree = Fact().score([findings("ssu"), findings("suu")], "paper")
    accuracy = scores(tree)["citation_accuracy"]
    # Known: one supported, one not. The tie in between could be either.
    assert (accuracy.value, accuracy.low, accuracy.high) == (0.5, pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert (accuracy.numerator, accuracy.denominator) == (1, 2)
    unknown = next(root for root in tree if root.id == "unknown")
    assert unknown.find("tied").score.value == pytest.approx(1 / 3)


def test_a_failed_judge_leaves_a_hole_and_no_zero() -> None:
    found = scores(Fact().score([findings("ss"), findings("ff")], "upstream"))
    accuracy = found["citation_accuracy"]
    assert (accuracy.value, accuracy.n_failed, accuracy.n_expected) == (1.0, 2, 4)
    # Had the second judge said no, both would be tied and counted against the report.
    assert (accuracy.low, accuracy.high) == (0.0, 1.0)
    assert found["effective_citations"].value == 2.0


def test_judges_with_pairs_of_their_own_are_averaged() -> None:
    own = [findings(letters).model_copy(update={"source": "own"}) for letters in ("ss", "su")]
    found = scores(Fact().score(own, "paper"))
    assert (found["citation_accuracy"].value, found["citation_accuracy"].n_expected) == (0.75, 2)


def test_over_all_reports_by_the_same_votes() -> None:
    reports = [(findings("ssu"), findings("suu")), (findings("s"), findings("s"))]
    found = scores(Fact().aggregate(reports, "paper", 1))
    # How many pairs the missing report has is not known, whoever votes.
    assert found["effective_citations"].high is None and found["citations"].high is None
    # 1 of 2 and 1 of 1
    assert found["citation_accuracy"].value == 0.75
    assert found["citation_accuracy"].n_failed == 2  # the missing report, once for each judge
    assert scores(Fact().aggregate([], "paper", 2))["citation_accuracy"].value is None


def test_what_judges_are_compared_in() -> None:
    assert [(one.metric, one.value) for one in Fact().decisions(findings("sufdxn"))] == [
        ("support", "supported"),
        ("support", "unsupported"),
        ("support", None),
        ("support", "unknown"),
    ]
