"""What is relied on in a real vLLM: health, schemas, the prefix cache's counters, log-probabilities."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import httpx
import jsonschema
import pytest

from local_judge.judge.judge import Judge
from serving.launch import RunningServer
from serving.types import Message

pytestmark = pytest.mark.vllm

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verdict": {"enum": ["supported", "not_supported"]},
        "quote": {"type": "string", "maxLength": 60},
    },
    "required": ["verdict", "quote"],
    "additionalProperties": False,
}
PAGE = "Apollo 11 landed on the Moon on July 20, 1969. Neil Armstrong was the first person to walk on it. "


def ask(server: RunningServer, content: str, **settings: Any) -> dict[str, Any]:
    body = {
        "model": server.model,
        "messages": [{"role": "user", "content": content}],
        "temperature": 0,
        "max_tokens": 64,
        **settings,
    }
    response = httpx.post(f"{server.base_url}/chat/completions", json=body, timeout=300)
    assert response.status_code == 200, response.text
    return response.json()


def counter(server: RunningServer, name: str) -> float:
    text = httpx.get(server.base_url.removesuffix("/v1") + "/metrics", timeout=30).text
    values = re.findall(rf"^{re.escape(name)}\{{[^}}]*\}} (\S+)$", text, re.MULTILINE)
    assert values, name
    return sum(float(value) for value in values)


def test_it_is_healthy_and_serves_the_model_under_its_name(server: RunningServer) -> None:
    assert httpx.get(server.base_url.removesuffix("/v1") + "/health", timeout=30).status_code == 200
    models = httpx.get(f"{server.base_url}/models", timeout=30).json()["data"]
    assert [(model["id"], model["max_model_len"]) for model in models] == [(server.model, 16384)]
    assert server.log.read_text(encoding="utf-8", errors="replace")


def test_replies_follow_the_schema_without_free_white_space(server: RunningServer) -> None:
    reply = ask(
        server,
        PAGE + "Claim: Apollo 11 landed in 1971. Give a verdict and a quote as JSON.",
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "verdict", "schema": SCHEMA, "strict": True},
        },
    )
    text = reply["choices"][0]["message"]["content"]
    value = json.loads(text)
    jsonschema.validate(value, SCHEMA)
    # whether a separator is followed by one space depends on the version of xgrammar, never on the model
    spaced, compact = (
        json.dumps(value, ensure_ascii=False, separators=s) for s in ((", ", ": "), (",", ":"))
    )
    assert text in (spaced, compact)


def test_a_second_prompt_with_the_same_opening_comes_from_the_cache(server: RunningServer) -> None:
    opening = "The following page is evidence.\n" + PAGE * 12
    first = ask(server, opening + "\nWho walked first?", max_tokens=1)["usage"]
    before = counter(server, "vllm:prefix_cache_hits_total")
    second = ask(server, opening + "\nIn which year was the landing?", max_tokens=1)["usage"]
    cached = second["prompt_tokens_details"]["cached_tokens"]
    assert counter(server, "vllm:prefix_cache_hits_total") - before == cached
    # all but the question and at most one unfilled block of 128 tokens (the CPU backend's block size)
    assert first["prompt_tokens"] > 300
    assert cached >= second["prompt_tokens"] - 128 - 32


def test_answers_carry_the_log_probabilities_of_a_closed_menu(server: RunningServer) -> None:
    reply = ask(
        server,
        PAGE + "Did Apollo 11 land in 1969? Answer Yes or No.",
        max_tokens=1,
        logprobs=True,
        top_logprobs=64,
    )
    [position] = reply["choices"][0]["logprobs"]["content"]
    top = {entry["token"]: entry["logprob"] for entry in position["top_logprobs"]}
    assert len(top) >= 60
    assert {"Yes", "No"} <= top.keys()
    mass = sum(math.exp(value) for value in top.values())
    assert 0.5 < mass <= 1.0001


def test_tokens_are_reported_by_number(server: RunningServer) -> None:
    named = tokens(server, prompt="Yes", add_special_tokens=False)
    reply = ask(
        server,
        PAGE + "Did Apollo 11 land in 1969? Answer Yes or No.",
        max_tokens=1,
        logprobs=True,
        top_logprobs=20,
        logprob_token_ids=named,
        return_tokens_as_token_ids=True,
    )
    [position] = reply["choices"][0]["logprobs"]["content"]
    names = [entry["token"] for entry in position["top_logprobs"]]
    assert f"token_id:{named[0]}" in names
    assert all(name.startswith("token_id:") for name in [position["token"], *names])
    assert len(set(names)) == len(names)


async def test_a_number_of_two_tokens_has_the_probability_of_both(
    server: RunningServer, judge: Judge
) -> None:
    """The tokenizer writes "10" as "1" and "0": one more token is computed, after "1" as the answer's beginning."""
    said = Message(role="user", content=PAGE + "How sure is the landing, from 0 to 10? Answer with a number.")
    numbers = await judge.engine.choose([said], [str(number) for number in range(11)])
    digits = await judge.engine.choose([said], [str(number) for number in range(10)])
    # What begins with "1" is 1 or 10, and all else is as it was.
    both = math.exp(numbers.logprobs["1"]) + math.exp(numbers.logprobs["10"])
    assert both == pytest.approx(math.exp(digits.logprobs["1"]), rel=0.02)
    assert numbers.logprobs["7"] == pytest.approx(digits.logprobs["7"], abs=0.02)
    assert numbers.bounded == ()
    # The same by the tokens themselves.
    prompt = tokens(server, messages=[said.model_dump()], add_generation_prompt=True)
    prompt += tokens(server, prompt="1", add_special_tokens=False)
    after = next_tokens(server, prompt)
    assert "0" in after, "of the twenty likeliest tokens after 1, none is 0"
    assert numbers.logprobs["10"] - math.log(both) == pytest.approx(after["0"], abs=0.05)


def tokens(server: RunningServer, **what: Any) -> list[int]:
    root = server.base_url.removesuffix("/v1")
    answer = httpx.post(f"{root}/tokenize", json={"model": server.model, **what}, timeout=60)
    return answer.json()["tokens"]


def next_tokens(server: RunningServer, prompt: list[int]) -> dict[str, float]:
    """The twenty likeliest tokens after these, with their log-probabilities."""
    body = {"model": server.model, "prompt": prompt, "max_tokens": 1, "temperature": 0, "logprobs": 20}
    answer = httpx.post(f"{server.base_url}/completions", json=body, timeout=300)
    return answer.json()["choices"][0]["logprobs"]["top_logprobs"][0]
