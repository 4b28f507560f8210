"""What `choose` says when a server reports few alternatives, none of the options, or no distribution at all."""

from __future__ import annotations

import math
import re
import time
from random import Random

import pytest

from serving.engines.choosing import read_pieces
from serving.engines.openai import OpenAIEngine
from serving.engines.wire import TokenLogprobs, TopToken
from serving.errors import MalformedReply, UnsupportedRequest
from serving.types import Choice, Message, Usage
from tests.stub_server import Stub, StubPlan, number_of

PROMPT = [Message(role="user", content="Is it so?")]
OPTIONS = ("Yes", "No")
Tokens = tuple[tuple[str, float], ...]


async def choose(top: Tokens, *, vllm: bool = False) -> Choice:
    async with Stub(StubPlan(top_logprobs=top, vllm=vllm)) as stub:
        engine = OpenAIEngine([stub.url], context_tokens=8192, max_attempts=1)
        try:
            return await engine.choose(PROMPT, OPTIONS)
        finally:
            await engine.aclose()


def distribution(seed: int) -> dict[str, float]:
    """What a model believes of the next token: 30 tokens, of which four spell an option, in random proportions."""
    rng = Random(seed)
    tokens = ["Yes", " Yes", "No", " No", *(f"word{i}" for i in range(26))]
    weights = [rng.lognormvariate(0.0, 3.0) for _ in tokens]
    return {token: weight / sum(weights) for token, weight in zip(tokens, weights, strict=True)}


def reported(belief: dict[str, float], count: int) -> Tokens:
    """The likeliest tokens, as a server lists them."""
    ranked = sorted(belief.items(), key=lambda item: -item[1])[:count]
    return tuple((token, math.log(p)) for token, p in ranked)


@pytest.mark.parametrize("count", [1, 5, 20])
async def test_what_is_said_is_never_further_from_the_truth_than_is_said(count: int) -> None:
    """The true probability lies within `unreported` of the stated one, however few alternatives are reported.

    Tokens of an option that was reported in one spelling only are not looked for: the truth counts those reported,
    which is why the bound holds for each option that is not reported at all.
    """
    open_ended = 0
    for seed in range(60):
        belief = distribution(seed)
        top = reported(belief, count)
        choice = await choose(top)
        seen = {token for token, _ in top}
        true: dict[str, float] = {}
        for option in OPTIONS:
            spelt = [token for token in (option, f" {option}") if token in seen]
            true[option] = math.fsum(belief[token] for token in spelt or (option, f" {option}"))
            assert (option in choice.bounded) == (not spelt)
            assert math.exp(choice.logprobs[option]) >= true[option] - 1e-9
        probability = true["Yes"] / (true["Yes"] + true["No"])
        assert abs(choice.probabilities()["Yes"] - probability) <= choice.unreported + 1e-9
        open_ended += choice.unreported > 0.02
    # Of 60 answers with seeds of their own: fewer alternatives leave more of them open.
    assert open_ended == {1: 60, 5: 49, 20: 8}[count]


async def test_no_alternatives_are_no_answer() -> None:
    with pytest.raises(UnsupportedRequest, match="returns no log-probabilities"):
        await choose(())


@pytest.mark.parametrize("vllm", [False, True])
async def test_nothing_is_known_of_options_that_are_not_reported(vllm: bool) -> None:
    # P(Maybe) = 0.905; Yes and No have at most 1 - 0.905 = 0.095 each, and either may have nothing.
    choice = await choose((("Maybe", -0.1),), vllm=vllm)
    assert choice.bounded == OPTIONS
    assert choice.logprobs["Yes"] == pytest.approx(math.log(1 - math.exp(-0.1)))
    assert choice.unreported == 1.0


async def test_an_answer_that_is_nearly_certain_decides_the_other() -> None:
    # P(Yes) = 0.999; No has at most 0.001, so that P(Yes | Yes or No) is between 0.999 and 1.
    choice = await choose((("Yes", math.log(0.999)),))
    assert choice.bounded == ("No",)
    assert choice.unreported == pytest.approx(0.001)


@pytest.mark.parametrize(
    ("top", "said"),
    [
        ((("Yes", math.log(0.9)), ("No", math.log(0.8))), "a probability of 1.7 together"),
        ((("Yes", math.log(2.4)), ("No", math.log(1.6))), "less than or equal to 0.01"),
        ((("Yes", 800.0), ("No", -1.0)), "less than or equal to 0.01"),
        ((("Yes", math.inf), ("No", -1.0)), "less than or equal to 0.01"),
        ((("Yes", math.nan), ("No", -1.0)), "less than or equal to 0.01"),
        ((("Yes", False), ("No", -9.0)), "valid number"),  # 0, which is certain
        # Counted twice, "Yes" would have 0.52 of 0.97, and "No" 0.45.
        ((("No", math.log(0.45)), ("Yes", math.log(0.26)), ("Yes", math.log(0.26))), "'Yes' 2 times"),
        ((("Yes", math.log(0.5)), ("Yes", math.log(0.4)), ("No", -9.0)), "'Yes' 2 times"),
        (
            (("No", -0.7), ("The", -2.0), ("The", -2.0)),
            "'The' 2 times",
        ),  # of no option: the list is not sound
        (tuple(("Yes", math.log(0.05)) for _ in range(20)), "'Yes' 20 times"),
        ((("No", -0.7), ("Yes", -2.0), ("Yes", -math.inf)), "'Yes' 2 times"),
    ],
)
@pytest.mark.parametrize("vllm", [False, True])
async def test_what_is_no_distribution_is_refused(top: Tokens, said: str, vllm: bool) -> None:
    if vllm:  # which names tokens by number
        said = re.sub("'(.*)'", lambda match: f"'token_id:{number_of(match[1])}'", said)
    with pytest.raises(MalformedReply, match=said):
        await choose(top, vllm=vllm)


def position(sampled: tuple[str, float], *top: tuple[str, float]) -> TokenLogprobs:
    entries = [TopToken(token=token, logprob=value) for token, value in top]
    return TokenLogprobs(token=sampled[0], logprob=sampled[1], top_logprobs=entries)


def test_an_answer_that_contradicts_its_entry_among_the_alternatives_is_refused() -> None:
    with pytest.raises(
        MalformedReply, match=r"its answer 'Yes' the log-probability -0.1 and .* alternatives -2"
    ):
        read_pieces({"Yes": (), "No": ()}, position(("Yes", -0.1), ("No", -0.2), ("Yes", -2.0)), Usage())


def test_alternatives_of_which_some_are_numbers_are_refused() -> None:
    with pytest.raises(MalformedReply, match="1 of 2 alternatives by number"):
        read_pieces(
            {"Yes": (7,), "No": (8,)}, position(("Yes", -0.1), ("token_id:7", -0.1), ("No", -3.0)), Usage()
        )


def test_tokens_of_the_same_text_are_told_apart_by_their_numbers() -> None:
    """The numbers 7 and 9 are "Yes" with and without a space; 5 has the same text and spells neither option."""
    top = (("token_id:7", math.log(0.5)), ("token_id:9", math.log(0.25)), ("token_id:5", math.log(0.1)))
    read = read_pieces({"Yes": (7, 9), "No": (8,)}, position(top[0], *top), Usage())
    assert math.exp(read.logprobs["Yes"]) == pytest.approx(0.75)
    assert read.bounded == {"No"}


def test_parts_of_a_character_may_have_the_same_text() -> None:
    top = (("Yes", -0.5), ("\ufffd", -3.0), ("\ufffd", -4.0))
    read = read_pieces({"Yes": (), "No": ()}, position(top[0], *top), Usage())
    assert read.logprobs["Yes"] == pytest.approx(-0.5)


async def test_what_rounds_to_a_little_more_than_one_is_taken() -> None:
    choice = await choose((("Yes", 0.001), ("No", -9.0)))
    assert choice.logprobs == {"Yes": 0.0, "No": pytest.approx(-9.0)}
    assert choice.bounded == ()


def test_many_alternatives_take_linear_time() -> None:
    """One reply of 200,000 alternatives, compared with each other, took hours."""
    top = [TopToken(token=f"word{n}", logprob=-20.0) for n in range(200_000)]
    position = TokenLogprobs(
        token="Yes", logprob=-0.1, top_logprobs=[TopToken(token="Yes", logprob=-0.1), *top]
    )
    begun = time.process_time()
    assert read_pieces({"Yes": (), "No": ()}, position, Usage()).logprobs["Yes"] == pytest.approx(-0.1)
    assert time.process_time() - begun < 10
