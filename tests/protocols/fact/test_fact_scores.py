"""Scores of one report, with their derivation."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import ValidationError

from local_judge.protocols.fact import Fact
from local_judge.protocols.fact.findings import Pair
from local_judge.scoring.coverage import known_enough
from local_judge.scoring.node import Score, ScoreNode

from .fact_cases import findings

Numbers = tuple[float | None, float | None, float | None]


def scores(letters: str, profile: Literal["paper", "upstream"]) -> dict[str, ScoreNode]:
    return {root.id: root for root in Fact().score([findings(letters)], profile)}


def numbers(score: Score) -> Numbers:
    return score.value, score.low, score.high


ACCURACY: list[tuple[str, Numbers, Numbers]] = [
    # All known: 3 of 4, in both.
    ("sssu", (0.75, 0.75, 0.75), (0.75, 0.75, 0.75)),
    # Two dead pages: not supported by the paper's two labels, left out by the code. An unusable one: 1/5 to 2/5, and
    # 1/3 to 2/3 in the code.
    ("suddx", (0.25, 0.2, 0.4), (0.5, 1 / 3, 2 / 3)),
    # One failure beside 2 of 3: left out, and either way in the bounds: 2/4 and 3/4.
    ("ssuf", (2 / 3, 0.5, 0.75), (2 / 3, 0.5, 0.75)),
    # Dead and failed: the paper has 1 of 3 known (1/4 to 2/4), the code 1 of 2 (1/3 to 2/3).
    ("sudn", (1 / 3, 0.25, 0.5), (0.5, 1 / 3, 2 / 3)),
    # Nothing known, through failures of ours.
    ("fn", (None, 0.0, 1.0), (None, 0.0, 1.0)),
    # Only dead pages: 0 of 2 by the paper, 0/0 in the code.
    ("dd", (0.0, 0.0, 0.0), (None, None, None)),
    # No citation: 0 by definition (appendix E.1), 0/0 in the code.
    ("", (0.0, 0.0, 0.0), (None, None, None)),
]


@pytest.mark.parametrize(("letters", "paper", "upstream"), ACCURACY)
def test_citation_accuracy(letters: str, paper: Numbers, upstream: Numbers) -> None:
    assert numbers(scores(letters, "paper")["citation_accuracy"].score) == paper
    assert numbers(scores(letters, "upstream")["citation_accuracy"].score) == upstream


def test_what_the_scores_rest_on() -> None:
    accuracy = scores("sudn", "paper")["citation_accuracy"].score
    assert (accuracy.numerator, accuracy.denominator) == (1, 3)
    assert (accuracy.n_expected, accuracy.n_failed, accuracy.n_undefined) == (4, 1, 0)
    upstream = scores("sudn", "upstream")["citation_accuracy"].score
    assert (upstream.numerator, upstream.denominator, upstream.n_expected, upstream.n_failed) == (1, 2, 3, 1)
    assert scores("fn", "paper")["citation_accuracy"].score.note == "all 2 failed"
    nothing = scores("dd", "upstream")["citation_accuracy"].score
    assert (nothing.n_undefined, nothing.note) == (1, "0/0: no pair is known, the code fails")
    assert scores("", "paper")["citation_accuracy"].score.note == "no citation"


def test_counts() -> None:
    # Supported: 2, or 3 if the failure is resolved in favour.
    for profile in ("paper", "upstream"):
        assert numbers(scores("ssufd", profile)["effective_citations"].score) == (2.0, 2.0, 3.0)
    # The paper counts all five pairs; the code the three known ones, four had nothing failed.
    assert scores("ssufd", "paper")["citations"].score.value == 5.0
    assert numbers(scores("ssufd", "upstream")["citations"].score) == (3.0, 3.0, 4.0)
    # Where every pair failed nothing is known: a stored score has no value then, only the bounds.
    for profile in ("paper", "upstream"):
        assert numbers(known_enough(scores("ff", profile)["effective_citations"].score)) == (None, 0.0, 2.0)
    assert numbers(scores("", "paper")["effective_citations"].score) == (0.0, 0.0, 0.0)


def test_the_unknown_are_told_apart() -> None:
    for profile in ("paper", "upstream"):
        unknown = scores("sddxnf", profile)["unknown"]
        assert (unknown.score.value, unknown.score.numerator, unknown.score.denominator) == (5 / 6, 5, 6)
        counts = {child.id: child.score.numerator for child in unknown.children if child.score.numerator}
        assert counts == {"dead": 2, "judged_unknown": 1, "not_in_snapshot": 1, "judge_failed": 1}
    empty = scores("", "paper")["unknown"].score
    assert (empty.value, empty.n_undefined, empty.note) == (None, 1, "no pair")


def test_citations_that_lead_nowhere_are_said() -> None:
    found = findings("s").model_copy(update={"n_unresolved": 2})
    notes = {root.id: root.score.note for root in Fact().score([found], "paper")}
    assert notes["citations"] == "2 citations lead to no URL and make no pair"


def test_a_reason_stands_exactly_where_the_outcome_is_unknown() -> None:
    with pytest.raises(ValidationError, match="outcome 'unknown' with reason None"):
        Pair(statement="a", url="b", outcome="unknown")
    with pytest.raises(ValidationError, match="outcome 'supported' with reason 'dead'"):
        Pair(statement="a", url="b", outcome="supported", reason="dead")
