"""Scores on a scale as expected values."""

from __future__ import annotations

from math import log, sqrt

import pytest

from local_judge.base.failures import Failure
from local_judge.judge.scales import expected_score
from local_judge.prompts import Prompt
from serving.types import Choice

from ..scripted_judge import MakeJudge

PROMPT = Prompt(shared="An article.", own="A number from 1 to 10.", prefix_key="a")


async def test_a_score_is_the_expected_value_over_the_scale(make_judge: MakeJudge) -> None:
    judge, engine = make_judge([{"7": 0.4, "8": 0.2, "10": 0.2}])
    found = await expected_score(judge, PROMPT, 1, 10)
    assert not isinstance(found, Failure)
    # Over the numbers alone: 0.5 x 7 + 0.25 x 8 + 0.25 x 10 = 8; variance 0.5 x 1 + 0 + 0.25 x 4 = 1.5
    assert found.value == pytest.approx(8.0, abs=1e-6)
    assert found.spread == pytest.approx(sqrt(1.5), abs=1e-6)
    assert (found.likeliest, found.mass) == (7, pytest.approx(0.8, abs=1e-6))
    [call] = engine.calls
    assert call.options == tuple(str(number) for number in range(1, 11))
    assert call.messages == PROMPT.messages()
    # A second time it is the ledger's.
    assert await expected_score(judge, PROMPT, 1, 10) == found
    assert len(engine.calls) == 1


async def test_a_judge_that_would_say_something_else_has_no_score(make_judge: MakeJudge) -> None:
    judge, _ = make_judge([Choice(logprobs={str(number): -9.0 for number in range(11)})])
    found = await expected_score(judge, PROMPT, 0, 10)
    assert isinstance(found, Failure) and found.kind == "off_menu"


async def test_a_score_that_may_be_off_by_much_is_a_failure(make_judge: MakeJudge) -> None:
    # Bounds of 1 % on a scale of ten steps: off by up to 0.1. Of 0.4 %: by 0.04.
    reported = {"7": log(0.99), **{str(number): log(0.01 / 10) for number in range(11) if number != 7}}
    bounded = tuple(option for option in reported if option != "7")
    judge, _ = make_judge([Choice(logprobs=reported, bounded=bounded)])
    found = await expected_score(judge, PROMPT, 0, 10)
    assert isinstance(found, Failure) and found.kind == "unreported" and "off by 0.1," in found.detail

    reported = {"7": log(0.996), **{str(number): log(0.004 / 10) for number in range(11) if number != 7}}
    judge, _ = make_judge([Choice(logprobs=reported, bounded=bounded)])
    score = await expected_score(judge, PROMPT, 0, 10)
    assert not isinstance(score, Failure)
    assert score.unreported == pytest.approx(0.04)


async def test_a_scale_without_two_numbers_or_with_signs_is_none(make_judge: MakeJudge) -> None:
    judge, _ = make_judge()
    for low, high in ((5, 5), (-3, 3)):
        with pytest.raises(ValueError):
            await expected_score(judge, PROMPT, low, high)
