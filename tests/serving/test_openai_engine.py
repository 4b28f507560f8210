"""What the engine sends, byte for byte, and what it reads out of good answers."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from serving.engine import Engine
from serving.engines.openai import OpenAIEngine
from serving.engines.sending import normal_base_url
from serving.errors import BadEndpoint, MalformedReply, RequestRefused, UnsupportedRequest
from serving.types import ChatArgument, EngineLimits, Generation, Message, Sampling, Usage
from tests.stub_server import Stub, StubPlan, number_of

PROMPT = [Message(role="system", content="You judge."), Message(role="user", content="Is it so? 对吗?")]
SENT_MESSAGES = [{"role": "system", "content": "You judge."}, {"role": "user", "content": "Is it so? 对吗?"}]
SCHEMA = {"title": "verdict", "type": "object", "properties": {"ok": {"type": "boolean"}}}
# the stub: 4 characters a token plus 1, half of the prompt cached; prompt 10 + 13 characters, reply 12
USAGE = Usage(prompt_tokens=6, completion_tokens=4, cached_tokens=3)


@pytest.fixture
async def stub() -> AsyncIterator[Stub]:
    async with Stub() as running:
        yield running


@pytest.fixture
async def engine(stub: Stub) -> AsyncIterator[Engine]:
    made: Engine = OpenAIEngine([stub.url], api_key="k-123")
    yield made
    await made.aclose()


async def test_generate_sends_exactly_this(stub: Stub, engine: Engine) -> None:
    sampling = Sampling(temperature=0.3, top_p=0.9, seed=5, max_tokens=64)
    reply = await engine.generate(PROMPT, sampling, SCHEMA)
    assert reply == Generation(text='{"ok": true}', usage=USAGE)
    (request,) = stub.chats
    assert request.json == {
        "model": "stub",
        "messages": SENT_MESSAGES,
        "temperature": 0.3,
        "top_p": 0.9,
        "seed": 5,
        "max_tokens": 64,
        "chat_template_kwargs": {"enable_thinking": False},
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "verdict", "schema": SCHEMA, "strict": True},
        },
    }
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == "Bearer k-123"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"


async def test_the_same_question_is_the_same_bytes(stub: Stub, engine: Engine) -> None:
    for _ in range(2):
        await engine.generate(PROMPT, Sampling(), SCHEMA)
    first, second = stub.chats
    assert first.body == second.body
    assert "对吗".encode() in first.body


async def test_thinking_gets_its_own_budget_on_top(stub: Stub, engine: Engine) -> None:
    await engine.generate(PROMPT, Sampling(max_tokens=100, thinking=True, thinking_tokens=900))
    await engine.generate(PROMPT, Sampling(max_tokens=100, thinking=False, thinking_tokens=900))
    thinking, plain = [request.json for request in stub.chats]
    assert thinking["max_tokens"] == 1000
    assert thinking["thinking_token_budget"] == 900
    assert thinking["chat_template_kwargs"] == {"enable_thinking": True}
    assert plain["max_tokens"] == 100
    assert "thinking_token_budget" not in plain


async def test_a_budget_that_the_server_cannot_keep_is_not_asked_for(stub: Stub) -> None:
    engine = OpenAIEngine([stub.url], thinking_budget=False)
    await engine.generate(PROMPT, Sampling(max_tokens=100, thinking=True, thinking_tokens=900))
    identity = await engine.identity()
    await engine.aclose()
    (request,) = stub.chats
    assert request.json["max_tokens"] == 1000
    assert "thinking_token_budget" not in request.json
    assert identity.options["thinking_budget"] is False


async def test_only_sampling_parameters_that_are_set_are_sent(stub: Stub, engine: Engine) -> None:
    given: dict[str, Any] = {
        "top_k": 20,
        "min_p": 0.05,
        "presence_penalty": 1.5,
        "repetition_penalty": 1.1,
    }
    await engine.generate(PROMPT, Sampling(temperature=0.7, **given))
    assert {name: stub.chats[0].json.get(name) for name in given} == given
    await engine.generate(PROMPT, Sampling(temperature=0.7, top_k=20))
    assert stub.chats[1].json["top_k"] == 20
    assert not set(given) - {"top_k"} & set(stub.chats[1].json)


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ((), {}),
        (("enable_thinking",), {"chat_template_kwargs": {"enable_thinking": True}}),
        (("reasoning_effort",), {"reasoning_effort": "low"}),
        (
            ("enable_thinking", "reasoning_effort"),
            {"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": True}},
        ),
    ],
)
async def test_a_model_gets_only_its_own_chat_template_arguments(
    stub: Stub, arguments: tuple[ChatArgument, ...], fields: dict[str, Any]
) -> None:
    engine = OpenAIEngine([stub.url], chat_arguments=arguments)
    await engine.generate(PROMPT, Sampling(thinking=True, reasoning_effort="low"))
    await engine.choose(PROMPT, ["Yes", "No"])
    await engine.count_tokens(PROMPT)
    identity = await engine.identity()
    await engine.aclose()
    names = ("reasoning_effort", "chat_template_kwargs")
    generated, chosen = [chat.json for chat in stub.chats]
    assert {name: generated[name] for name in names if name in generated} == fields
    off = {"chat_template_kwargs": {"enable_thinking": False}} if "enable_thinking" in arguments else {}
    assert {name: chosen[name] for name in names if name in chosen} == off
    counted = stub.received[-1].json
    assert stub.received[-1].path == "/tokenize"
    assert {name: counted[name] for name in names if name in counted} == off
    expected = None if arguments == ("enable_thinking",) else list(arguments)
    assert identity.options.get("chat_arguments") == expected


async def test_a_server_that_is_not_vllm_gets_plain_fields_only() -> None:
    async with Stub(StubPlan(vllm=False)) as stub:
        engine = OpenAIEngine([stub.url], context_tokens=8192, extra_body={"top_k": 1}, structured="none")
        await engine.generate(PROMPT, Sampling(thinking=True, thinking_tokens=10, min_p=0.1), SCHEMA)
        identity = await engine.identity()
        limits = await engine.limits()
        tokens = await engine.count_tokens(PROMPT)
        await engine.aclose()
    assert set(stub.chats[0].json) == {
        "model",
        "messages",
        "temperature",
        "top_p",
        "seed",
        "max_tokens",
        "top_k",
    }
    assert (identity.engine, identity.engine_version) == ("openai", None)
    assert identity.options == {"structured": "none", "extra_body": {"top_k": 1}, "top_logprobs": 20}
    assert limits == EngineLimits(context_tokens=8192, concurrency=64)
    # 10 + 17 bytes ("对吗" is six bytes), 256 for the template, 16 for each of two messages
    assert tokens == 10 + 17 + 256 + 32
    assert "/version" not in [request.path for request in stub.received]


async def test_identity_limits_and_tokens_come_from_vllm(stub: Stub) -> None:
    engine = OpenAIEngine(
        [stub.url], "stub", revision="abc", weights_digest="d1", quantisation="fp8", options={"dtype": "bf16"}
    )
    identity = await engine.identity()
    assert identity.model_dump() == {
        "model": "stub",
        "revision": "abc",
        "weights_digest": "d1",
        "quantisation": "fp8",
        "tokenizer_digest": None,
        "chat_template_digest": None,
        "engine": "vllm",
        "engine_version": "0.0-stub",
        "options": {"dtype": "bf16", "structured": "json_schema"},
    }
    # 1000 blocks of 16 tokens
    assert await engine.limits() == EngineLimits(context_tokens=32_768, kv_tokens=16_000, concurrency=64)
    assert await engine.count_tokens(PROMPT) == 6  # the stub: ceil(23 / 4)
    assert stub.received[-1].path == "/tokenize"
    assert stub.received[-1].json == {
        "model": "stub",
        "messages": SENT_MESSAGES,
        "add_generation_prompt": True,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    assert [request.path for request in stub.received].count("/v1/models") == 1
    await engine.aclose()


async def test_limits_may_be_given(stub: Stub) -> None:
    engine = OpenAIEngine([stub.url], context_tokens=4096, kv_tokens=9000, concurrency=3)
    assert await engine.limits() == EngineLimits(context_tokens=4096, kv_tokens=9000, concurrency=3)
    await engine.aclose()


async def test_a_context_that_nobody_names_is_asked_for() -> None:
    async with Stub(StubPlan(vllm=False)) as stub:
        engine = OpenAIEngine([stub.url])
        with pytest.raises(UnsupportedRequest, match="set context_tokens"):
            await engine.limits()
        await engine.aclose()


async def test_a_model_that_is_not_served_names_those_that_are(stub: Stub) -> None:
    engine = OpenAIEngine([stub.url], "qwen")
    with pytest.raises(RequestRefused, match=r"/v1/models does not serve 'qwen'; it serves stub"):
        await engine.generate(PROMPT, Sampling())
    await engine.aclose()


async def test_streaming_tells_when_the_prompt_is_done(stub: Stub, engine: Engine) -> None:
    begun: list[str] = []
    reply = await engine.generate(PROMPT, Sampling(), started=lambda: begun.append("begun"))
    assert reply == Generation(text='{"ok": true}', usage=USAGE)
    assert begun == ["begun"]
    body = stub.chats[0].json
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("streamed", [False, True])
async def test_reasoning_that_the_server_parted_stays_apart(streamed: bool) -> None:
    async with Stub(StubPlan(reasoning="Let me see.")) as stub:
        engine = OpenAIEngine([stub.url])
        started = (lambda: None) if streamed else None
        reply = await engine.generate(PROMPT, Sampling(thinking=True), started=started)
        await engine.aclose()
    assert (reply.reasoning, reply.text) == ("Let me see.", '{"ok": true}')


@pytest.mark.parametrize(
    ("content", "thinking", "reasoning", "text"),
    [
        ("<think>\nwhy\n</think>\n\n{}", True, "why", "{}"),
        ("<think>\n\n</think>\n\n{}", False, "", "{}"),
        ("<think>never ends", True, "never ends", ""),
        ("why\n</think>\n{}", True, "why", "{}"),  # the template opened the tag in the prompt
        ("the page says </think>", False, None, "the page says </think>"),
        ("a <think>b</think>", False, None, "a <think>b</think>"),
        ("", False, None, ""),
    ],
)
async def test_reasoning_left_in_the_text_is_taken_out(
    content: str, thinking: bool, reasoning: str | None, text: str
) -> None:
    async with Stub(StubPlan(content=content)) as stub:
        engine = OpenAIEngine([stub.url])
        reply = await engine.generate(PROMPT, Sampling(thinking=thinking))
        await engine.aclose()
    assert (reply.reasoning, reply.text) == (reasoning, text)


async def test_choose_sends_one_token_unconstrained(stub: Stub, engine: Engine) -> None:
    choice = await engine.choose(PROMPT, ["Yes", "No"])
    assert choice.logprobs == {"Yes": pytest.approx(-0.25), "No": pytest.approx(-1.75)}
    assert choice.bounded == ()
    assert choice.usage.cached_tokens == 3
    assert stub.chats[0].json == {
        "model": "stub",
        "messages": SENT_MESSAGES,
        "temperature": 0.0,
        "top_p": 1.0,
        "seed": 0,
        "max_tokens": 1,
        "chat_template_kwargs": {"enable_thinking": False},
        "logprobs": True,
        "top_logprobs": 20,
        "logprob_token_ids": [number_of(text) for text in ("Yes", " Yes", "No", " No")],
        "return_tokens_as_token_ids": True,
    }
    tokenized = [request.json["prompt"] for request in stub.received if request.path == "/tokenize"]
    assert tokenized == ["Yes", " Yes", "No", " No"]
    await engine.choose(PROMPT, ["Yes", "No"])
    assert [request.path for request in stub.received].count("/tokenize") == 4  # asked once for each option


async def test_choose_sums_the_variants_and_bounds_what_is_missing() -> None:
    top = (
        ("Yes", math.log(0.5)),
        (" Yes", math.log(0.25)),
        ("yes", math.log(0.2)),
        ("Maybe", math.log(0.01)),
    )
    async with Stub(StubPlan(top_logprobs=top)) as stub:
        engine = OpenAIEngine([stub.url])
        choice = await engine.choose(PROMPT, ["Yes", "No"])
        await engine.aclose()
    # 0.5 + 0.25; "yes" is another answer; "No" was not returned: its two tokens, with a space and without, are each at
    # most as likely as the least likely one returned, 2 x 0.01, which is less than what is left, 1 - 0.96
    assert choice.logprobs == {"Yes": pytest.approx(math.log(0.75)), "No": pytest.approx(math.log(0.02))}
    assert choice.bounded == ("No",)
    assert choice.unreported == pytest.approx(0.02 / 0.77)


def digits(asked: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """After "1234" the model says "5" or stops; before, "9" or the first piece of "12345"."""
    begun = asked["messages"][-1]
    if begun == {"role": "assistant", "content": "1234"}:
        return (("<end>", math.log(0.75)), ("5", math.log(0.25)))
    return (("1234", math.log(0.5)), ("9", math.log(0.3)))


async def test_an_option_of_several_tokens_is_asked_for_after_its_beginning() -> None:
    # The stub's tokens are four characters each: "12345" is "1234" and "5".
    async with Stub(StubPlan(alternatives=digits)) as stub:
        engine = OpenAIEngine([stub.url])
        choice = await engine.choose(PROMPT, ["1234", "9", "12345"])
        await engine.aclose()
    # 0.5 x (1 - 0.25), 0.3, 0.5 x 0.25
    assert choice.logprobs == {
        "1234": pytest.approx(math.log(0.375)),
        "9": pytest.approx(math.log(0.3)),
        "12345": pytest.approx(math.log(0.125)),
    }
    assert choice.bounded == ()
    first, second = (chat.json for chat in stub.chats)
    assert first["messages"] == SENT_MESSAGES and "continue_final_message" not in first
    assert second["messages"] == [*SENT_MESSAGES, {"role": "assistant", "content": "1234"}]
    assert (second["add_generation_prompt"], second["continue_final_message"]) == (False, True)
    assert second["logprob_token_ids"] == [number_of("5")]
    assert choice.usage.completion_tokens == 2 * (len('{"ok": true}') // 4 + 1)


async def test_a_menu_of_more_tokens_than_the_server_returns_is_asked_for_in_parts() -> None:
    """vLLM computes all the tokens that are named, and returns the first twenty of them with the one that it takes."""
    menu = [f"{letter}{letter}" for letter in "ABCDEFGHIJK"]
    shares = dict(zip(menu, (0.3, *[0.02] * 9, 0.4), strict=True))
    texts = {number_of(text): text for option in menu for text in (option, f" {option}")}

    def as_named(asked: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
        named = [texts[token] for token in asked["logprob_token_ids"]]
        said = [(text, math.log(shares.get(text, 1e-9))) for text in named]
        return (("The", math.log(0.1)), *said)[: asked["top_logprobs"]]

    async with Stub(StubPlan(alternatives=as_named)) as stub:
        engine = OpenAIEngine([stub.url])
        choice = await engine.choose(PROMPT, menu)
        await engine.aclose()
    # Eleven options with and without a space before them: 18 of the 22 tokens, then 4.
    assert [len(chat.json["logprob_token_ids"]) for chat in stub.chats] == [18, 4]
    assert {option: math.exp(value) for option, value in choice.logprobs.items()} == pytest.approx(shares)
    assert choice.bounded == ()
    assert choice.usage.completion_tokens == 2 * (len('{"ok": true}') // 4 + 1)


async def test_without_a_tokenizer_options_that_begin_alike_are_refused() -> None:
    async with Stub(StubPlan(vllm=False)) as stub:
        engine = OpenAIEngine([stub.url])
        with pytest.raises(UnsupportedRequest, match="'1' and '10' may begin with the same token"):
            await engine.choose(PROMPT, ["1", "10"])
        await engine.aclose()
    assert stub.chats == []


async def test_an_infinite_log_probability_counts_as_not_reported() -> None:
    top = (("Yes", math.log(0.5)), ("Maybe", math.log(0.25)), ("No", -math.inf))
    async with Stub(StubPlan(top_logprobs=top)) as stub:
        engine = OpenAIEngine([stub.url])
        choice = await engine.choose(PROMPT, ["Yes", "No"])
        await engine.aclose()
    # 1 - (0.5 + 0.25), which is less than 2 x 0.25
    assert choice.logprobs == {"Yes": pytest.approx(math.log(0.5)), "No": pytest.approx(math.log(0.25))}
    assert choice.bounded == ("No",)


async def test_nothing_but_infinite_log_probabilities_is_a_malformed_reply() -> None:
    async with Stub(StubPlan(top_logprobs=(("Yes", -math.inf), ("No", -math.inf)))) as stub:
        engine = OpenAIEngine([stub.url])
        with pytest.raises(MalformedReply, match="no finite log-probability"):
            await engine.choose(PROMPT, ["Yes", "No"])
        await engine.aclose()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["Yes"], "at least two"),
        (["Yes", ""], "''"),
        (["Yes", "No "], "'No '"),
        (["A", "A"], "'A' is given twice"),
    ],
)
async def test_what_is_no_menu_is_refused(stub: Stub, engine: Engine, options: list[str], said: str) -> None:
    with pytest.raises(UnsupportedRequest, match=said):
        await engine.choose(PROMPT, options)
    assert stub.chats == []


async def test_a_server_without_log_probabilities_is_named() -> None:
    async with Stub(StubPlan(top_logprobs=(), vllm=False)) as stub:
        engine = OpenAIEngine([stub.url])
        with pytest.raises(UnsupportedRequest, match="returns no log-probabilities"):
            await engine.choose(PROMPT, ["Yes", "No"])
        await engine.aclose()


async def test_concurrency_is_bounded_and_the_server_asked_for_its_facts_once() -> None:
    async with Stub(StubPlan(delay=0.001)) as stub:
        engine = OpenAIEngine([stub.url], concurrency=3)
        await asyncio.gather(*(engine.generate(PROMPT, Sampling()) for _ in range(12)))
        await engine.aclose()
    assert stub.peak == 3
    assert len(stub.chats) == 12
    assert [request.path for request in stub.received].count("/v1/models") == 1


async def test_close_is_idempotent(engine: Engine) -> None:
    await engine.generate(PROMPT, Sampling())
    await engine.aclose()
    await engine.aclose()


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("http://localhost:8000", "http://localhost:8000/v1"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1"),
        ("https://host/openai/v1", "https://host/openai/v1"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
    ],
)
def test_base_urls_are_brought_to_one_form(given: str, normal: str) -> None:
    assert normal_base_url(given) == normal


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000",
        "ftp://host/v1",
        "http://",
        "http://h:x/v1",
        "http://h/v1?key=1",
        "http://[::1",
        "http://gpu..local/v1",
        "http://" + 64 * "a",
    ],
)
def test_what_is_no_base_url_is_refused(url: str) -> None:
    with pytest.raises(BadEndpoint, match="is not a base URL"):
        OpenAIEngine([url])


def test_a_password_in_the_url_is_refused_without_being_shown() -> None:
    with pytest.raises(BadEndpoint) as caught:
        OpenAIEngine(["http://me:s3cret@host/v1"])
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("key", ["s3cret\n", "s3cret\u2014"])
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(BadEndpoint, match="API key") as caught:
        OpenAIEngine(["http://host/v1"], api_key=key)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("wrong", [{"timeout": 0}, {"concurrency": 0}, {"max_attempts": 0}])
def test_numbers_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadEndpoint, match=next(iter(wrong))):
        OpenAIEngine(["http://localhost:8000"], **wrong)


async def test_a_schema_that_is_no_json_is_refused(engine: Engine) -> None:
    with pytest.raises(RequestRefused, match="cannot be written as JSON"):
        await engine.generate(PROMPT, Sampling(), {"enum": [float("nan")]})


async def test_proxies_of_the_environment_are_not_used(
    stub: Stub, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nothing listens there
    assert json.loads((await engine.generate(PROMPT, Sampling())).text) == {"ok": True}
    assert stub.chats[0].path == "/v1/chat/completions"  # a proxy would have been sent the whole URL
