"""Batch files: what is written, which answers are used, and which are asked for again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from serving.engines.batch import BatchEngine, BatchFolder, Requests, job_command
from serving.errors import (
    EngineError,
    EngineFault,
    MalformedReply,
    PlannedCall,
    PromptTooLong,
    WrongModel,
)
from serving.http import Answer
from serving.presets import load_preset
from serving.types import Message, Sampling

from .conftest import Versioned

CARD = {"id": "m", "owned_by": "vllm", "max_model_len": 4096}
PROMPT = [Message(role="user", content="Is it so?")]


class App(Versioned):
    """vLLM's application without a model, as far as an engine asks it."""

    async def get(self, url: str) -> Answer:
        if url.endswith("/v1/models"):
            return Answer(url, json.dumps({"data": [CARD]}).encode())
        return await super().get(url)

    async def post(self, url: str, body: bytes) -> Answer:
        text = json.loads(body).get("prompt", "")
        return Answer(url, json.dumps({"count": 1, "tokens": [len(text)]}).encode())


def engine(folder: Path, attempts: int = 2, **identity: Any) -> BatchEngine:
    preset = load_preset("qwen3-8b").model_copy(update={"model": "m"})
    return BatchEngine(BatchFolder(folder, App(), identity, attempts), preset)


def chat(text: str = "yes", **changes: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"message": {"content": text}, "finish_reason": "stop"}], **changes}


def result(key: str, body: Any, status: int = 200, error: Any = None) -> str:
    response = {"status_code": status, "request_id": "r", "body": body}
    return json.dumps({"id": "i", "custom_id": key, "response": response, "error": error}) + "\n"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def planned(engine: BatchEngine, *seeds: int) -> list[dict[str, Any]]:
    """The lines of the file for these calls, in their order."""
    for seed in seeds:
        with pytest.raises(PlannedCall):
            await engine.generate(PROMPT, Sampling(seed=seed), started=lambda: None)
    requests = engine.files.write()
    assert requests is not None
    lines = [json.loads(line) for line in requests.path.read_text().splitlines()]
    assert requests.calls == len(lines)
    return lines


async def test_a_file_has_the_format_of_vllm_and_no_request_twice(tmp_path: Path) -> None:
    lines = await planned(engine(tmp_path), 2, 1, 2)
    assert [line["body"]["seed"] for line in lines] == [1, 2]
    assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/chat/completions")}
    assert lines[0]["body"]["messages"] == [{"role": "user", "content": "Is it so?"}]
    assert "stream" not in lines[0]["body"]
    assert names(tmp_path) == ["requests-1.jsonl"]
    # A round without results is written again, in the same file.
    assert await planned(engine(tmp_path), 1, 2) == lines
    # Another judge has other ids.
    others = await planned(engine(tmp_path, dtype="float16"), 1, 2)
    assert {line["custom_id"] for line in lines}.isdisjoint(line["custom_id"] for line in others)


async def test_an_answer_is_used_and_the_rest_goes_into_the_next_file(tmp_path: Path) -> None:
    first, second = await planned(engine(tmp_path), 1, 2)
    (tmp_path / "results-1.jsonl").write_text(
        "\n"
        + result("of another run", chat())
        + result(first["custom_id"], chat("so"))
        + '{"custom_id": "cut'
    )
    again = engine(tmp_path)
    begun: list[int] = []
    reply = await again.generate(PROMPT, Sampling(seed=1), started=lambda: begun.append(1))
    assert (reply.text, begun) == ("so", [1])
    assert [str(line) for line in again.files.unreadable] == [f"{tmp_path}/results-1.jsonl:4"]
    assert await planned(again, 2) == [second]
    assert names(tmp_path) == [
        "requests-1.jsonl",
        "requests-2.jsonl",
        "results-1.jsonl",
    ]
    (tmp_path / "results-2.jsonl").write_text(result(second["custom_id"], chat("not so")))
    last = engine(tmp_path)
    assert (await last.generate(PROMPT, Sampling(seed=2))).text == "not so"
    assert last.files.write() is None


BROKEN = [
    (result("{key}", None, 500, {"error": {"message": "boom"}}), EngineFault, "HTTP 500 .boom."),
    (result("{key}", {"choices": []}), MalformedReply, "no ChatReply"),
    (result("{key}", None), MalformedReply, "no ChatReply"),
    (
        json.dumps({"custom_id": "{key}", "response": None, "error": {"code": "expired"}}),
        EngineFault,
        "expired",
    ),
    (json.dumps({"custom_id": "{key}", "response": {"body": chat()}}), MalformedReply, "has no status"),
    (json.dumps({"custom_id": "{key}", "response": {"status_code": "x"}}), MalformedReply, "has no status"),
]


@pytest.mark.parametrize(("line", "kind", "said"), BROKEN)
async def test_what_may_pass_is_asked_for_again_and_fails_after_its_last_attempt(
    tmp_path: Path, line: str, kind: type[EngineError], said: str
) -> None:
    [request] = await planned(engine(tmp_path), 1)
    answered = line.replace("{key}", request["custom_id"])
    (tmp_path / "results-1.jsonl").write_text(answered)
    assert await planned(engine(tmp_path), 1) == [request]
    (tmp_path / "results-2.jsonl").write_text(answered)
    with pytest.raises(kind, match=said):
        await engine(tmp_path).generate(PROMPT, Sampling(seed=1))
    # A later answer counts.
    (tmp_path / "results-10.jsonl").write_text(result(request["custom_id"], chat("so")))
    assert (await engine(tmp_path).generate(PROMPT, Sampling(seed=1))).text == "so"


FINAL = [
    ((chat(model="other"),), WrongModel, "answered as 'other'"),
    ((chat(system_fingerprint="vllm-0.31.0-aaaa"),), WrongModel, r"written by vllm-0\.31\.0-aaaa"),
    ((None, 400, {"error": {"message": "maximum context length is 8"}}), PromptTooLong, "length is 8"),
]


@pytest.mark.parametrize(("answered", "kind", "said"), FINAL)
async def test_what_no_repetition_helps_fails_at_once(
    tmp_path: Path, answered: tuple[Any, ...], kind: type[EngineError], said: str
) -> None:
    [request] = await planned(engine(tmp_path), 1)
    (tmp_path / "results-1.jsonl").write_text(result(request["custom_id"], *answered))
    with pytest.raises(kind, match=said):
        await engine(tmp_path).generate(PROMPT, Sampling(seed=1))


async def test_a_reply_of_the_same_version_counts(tmp_path: Path) -> None:
    [request] = await planned(engine(tmp_path), 1)
    body = chat(system_fingerprint="vllm-0.0-stub-tp2-aaaa")
    (tmp_path / "results-1.jsonl").write_text(result(request["custom_id"], body))
    assert (await engine(tmp_path).generate(PROMPT, Sampling(seed=1))).text == "yes"


async def test_one_round_has_all_passes_of_a_choice(tmp_path: Path) -> None:
    class Digits(App):
        """A tokenizer with a token for each digit."""

        async def post(self, url: str, body: bytes) -> Answer:
            text = json.loads(body)["prompt"]
            tokens = [ord(character) for character in text]
            return Answer(url, json.dumps({"count": len(tokens), "tokens": tokens}).encode())

    preset = load_preset("qwen3-8b").model_copy(update={"model": "m"})
    made = BatchEngine(BatchFolder(tmp_path, Digits(), {}, 2), preset)
    with pytest.raises(PlannedCall):
        await made.choose(PROMPT, ["1", "2", "10"])
    requests = made.files.write()
    assert requests is not None and requests.calls == 2  # of the first digit, and of what follows "1"


def test_a_job_has_the_options_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("serving.engines.batch.checkpoint", lambda preset: Path("/models/q"))  # pyright: ignore
    files = Requests(tmp_path / "requests-1.jsonl", tmp_path / "results-1.jsonl", 3)
    said = job_command(load_preset("qwen3-8b"), files)
    assert f"run_batch -i {files.path} -o {files.results} --model /models/q" in said
    assert "--reasoning-parser qwen3" in said and "--enable-prefix-caching" in said
    assert said.startswith("env HF_HUB_OFFLINE=1 ")
    assert "--port" not in said and "--uvicorn" not in said


@pytest.mark.parametrize(
    "body", ['{"content": "\\ud800 yes"}', f'{{"content": "yes", "more": {"[" * 600}{"]" * 600}}}']
)
async def test_an_answer_that_is_no_text_is_asked_for_again(tmp_path: Path, body: str) -> None:
    [line] = await planned(engine(tmp_path), 1)
    written = result(line["custom_id"], chat()).replace('{"content": "yes"}', body)
    (tmp_path / "results-1.jsonl").write_text(written, encoding="utf-8")
    assert await planned(engine(tmp_path), 1) == [line]


async def test_an_answer_counts_if_the_job_ran_again_and_failed(tmp_path: Path) -> None:
    [line] = await planned(engine(tmp_path), 1)
    key = line["custom_id"]
    lines = [result(key, chat("good")), *2 * [result(key, None, 500, {"message": "out of memory"})]]
    (tmp_path / "results-1.jsonl").write_text("".join(lines), encoding="utf-8")
    reply = await engine(tmp_path).generate(PROMPT, Sampling(seed=1), started=lambda: None)
    assert reply.text == "good"
