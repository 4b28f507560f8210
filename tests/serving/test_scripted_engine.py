"""The fake answers from its script, records what it was asked and fails as told."""

from __future__ import annotations

import asyncio
import json
import math

import pytest

from serving import errors
from serving.engine import Engine
from serving.engines.scripted import Call, PrefixCache, ScriptedEngine, ScriptExhausted
from serving.types import Choice, Generation, Message, Sampling, Usage

PROMPT = [Message(role="system", content="You judge."), Message(role="user", content="Is it so?")]


async def test_replies_in_order_and_records_exactly_what_was_asked() -> None:
    engine: Engine = (scripted := ScriptedEngine(["first", {"verdict": "是"}]))
    schema = {"type": "object"}
    sampling = Sampling(temperature=0.5, seed=7)
    begun: list[str] = []
    first = await engine.generate(PROMPT, sampling)
    second = await engine.generate(PROMPT, Sampling(), schema, started=lambda: begun.append("now"))
    # 19 characters of prompt = ceil(19 / 4) = 5 tokens; "first" = 2 tokens; no whole block of 16 to cache
    usage = Usage(prompt_tokens=5, completion_tokens=2, cached_tokens=0)
    assert first == Generation(text="first", usage=usage)
    assert json.loads(second.text) == {"verdict": "是"}
    assert begun == ["now"]
    assert scripted.calls == [
        Call(tuple(PROMPT), sampling),
        Call(tuple(PROMPT), Sampling(), schema, streamed=True),
    ]
    with pytest.raises(ScriptExhausted, match=r"call 3 has no reply.*Is it so\?"):
        await engine.generate(PROMPT, sampling)


async def test_a_function_answers_by_the_question() -> None:
    engine = ScriptedEngine(lambda call: call.messages[-1].content.upper())
    reply = await engine.generate([Message(role="user", content="loud")], Sampling())
    assert reply.text == "LOUD"


@pytest.mark.parametrize(
    "error",
    [
        errors.EngineUnreachable("x"),
        errors.EngineTimeout("x"),
        errors.EngineOverloaded("x", retry_after=3.0),
        errors.EngineFault("x"),
        errors.RequestRefused("x"),
        errors.PromptTooLong("x"),
        errors.UnsupportedRequest("x"),
        errors.MalformedReply("x"),
    ],
)
async def test_every_failure_is_raised_as_given_and_the_script_goes_on(error: errors.EngineError) -> None:
    engine = ScriptedEngine([error, "after"])
    with pytest.raises(type(error)) as caught:
        await engine.generate(PROMPT, Sampling())
    assert caught.value is error
    assert (await engine.generate(PROMPT, Sampling())).text == "after"


async def test_choose_gives_the_scripted_probabilities() -> None:
    whole = Choice(logprobs={"Yes": -1.0, "No": -2.0})
    engine = ScriptedEngine([{"Yes": 0.75, "No": 0.25}, "No", whole])
    choice = await engine.choose(PROMPT, ["Yes", "No"])
    assert choice.logprobs == {"Yes": pytest.approx(math.log(0.75)), "No": pytest.approx(math.log(0.25))}
    assert choice.mass == pytest.approx(1.0)
    certain = (await engine.choose(PROMPT, ["Yes", "No"])).probabilities()
    assert certain == {"Yes": pytest.approx(1e-9, rel=1e-3), "No": pytest.approx(1.0)}
    assert await engine.choose(PROMPT, ["Yes", "No"]) is whole
    assert [call.options for call in engine.calls] == [("Yes", "No")] * 3


async def test_a_script_that_does_not_fit_the_question_is_an_error_of_the_test() -> None:
    engine = ScriptedEngine([Choice(logprobs={"A": 0.0}), Generation(text="x"), {"Maybe": 1.0}])
    with pytest.raises(TypeError, match="Choice"):
        await engine.generate(PROMPT, Sampling())
    with pytest.raises(TypeError, match="Generation"):
        await engine.choose(PROMPT, ["A", "B"])
    with pytest.raises(ValueError, match="Maybe"):
        await engine.choose(PROMPT, ["A", "B"])


def test_prefix_cache_counts_whole_blocks_of_sixteen_tokens() -> None:
    cache = PrefixCache()
    report = "abcd" * 40  # 160 characters = 40 tokens = 2 whole blocks and 8 tokens
    assert cache.add(report) == (40, 0)
    assert cache.add(report + "wxyz" * 20) == (60, 32)  # the two whole blocks; the third is new
    assert cache.add(report + "wxyz" * 20) == (60, 48)  # 240 characters: three whole blocks now
    assert cache.add("x" + report) == (41, 0)  # shifted by a character: nothing is shared
    assert cache.add("abcd" * 32) == (32, 16)  # two whole blocks, but the last token is always computed


async def test_usage_reports_the_cached_prefix() -> None:
    engine = ScriptedEngine(["a", "b"])
    report = Message(role="user", content="r" * 640)  # 160 tokens = 10 blocks
    batches = [[report, Message(role="user", content=text)] for text in ("first batch", "second batch")]
    usages = [(await engine.generate(batch, Sampling())).usage for batch in batches]
    assert [usage.cached_tokens for usage in usages] == [0, 160]
    assert [usage.prompt_tokens for usage in usages] == [163, 163]  # ceil(651 / 4), ceil(652 / 4)


async def test_long_prompts_are_refused_before_the_script_is_read() -> None:
    engine = ScriptedEngine(["kept"], context_tokens=10)
    with pytest.raises(errors.PromptTooLong, match=r"11 tokens and the context 10"):
        await engine.generate([Message(role="user", content="x" * 41)], Sampling())
    assert engine.remaining == 1
    assert (await engine.limits()).context_tokens == 10


async def test_calls_overlap_while_they_wait() -> None:
    engine = ScriptedEngine(lambda call: "x", delay=0.001)
    await asyncio.gather(*(engine.generate(PROMPT, Sampling()) for _ in range(5)))
    assert engine.peak_in_flight == 5
    assert engine.in_flight == 0


async def test_identity_and_close() -> None:
    engine = ScriptedEngine(model="fake-8b", options={"dtype": "none"})
    identity = await engine.identity()
    assert (identity.model, identity.engine, identity.options) == ("fake-8b", "scripted", {"dtype": "none"})
    await engine.aclose()
    await engine.aclose()
    with pytest.raises(errors.ServingError, match="closed"):
        await engine.generate(PROMPT, Sampling())
