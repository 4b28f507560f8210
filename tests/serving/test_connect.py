"""From a preset to an engine: the identity holds what the preset says of the server."""

from __future__ import annotations

from typing import Any

import pytest

from serving.connect import connect, is_judge
from serving.preset_sections import VllmSettings, Weights
from serving.presets import Preset, load_preset
from serving.types import EngineIdentity, Message
from tests.stub_server import Stub


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        (VllmSettings(), {"dtype": "auto", "kv_cache_dtype": "auto"}),
        # flags of how much the server takes at once change no reply
        (
            VllmSettings(max_num_seqs=7, gpu_memory_utilization=0.5),
            {"dtype": "auto", "kv_cache_dtype": "auto"},
        ),
        (
            VllmSettings(kv_cache_dtype="fp8", compact_json=False, args=("--quantization", "fp8")),
            {
                "dtype": "auto",
                "kv_cache_dtype": "fp8",
                "compact_json": False,
                "args": ["--quantization", "fp8"],
            },
        ),
    ],
)
async def test_what_a_server_is_started_with_is_part_of_the_identity(
    settings: VllmSettings, options: dict[str, Any]
) -> None:
    preset = Preset(
        name="p",
        description="a test",
        model="stub",
        licence="Apache-2.0",
        engine="vllm",
        weights=Weights(hub="owner/stub"),
        context_tokens=4096,
        vllm=settings,
    )
    async with Stub() as stub:
        engine = connect(preset, base_urls=[stub.url])
        identity = await engine.identity()
        await engine.aclose()
    assert identity.options == {**options, "structured": "json_schema"}


@pytest.mark.parametrize(
    ("name", "sampling"),
    [
        (
            "qwen3-8b",
            b'"temperature":0.0,"top_p":1.0,"seed":0,"max_tokens":2048,'
            b'"chat_template_kwargs":{"enable_thinking":false}',
        ),
        (
            "qwen3-235b-a22b-thinking",
            b'"temperature":0.6,"top_p":0.95,"seed":0,"max_tokens":10240,'
            b'"chat_template_kwargs":{"enable_thinking":true},"thinking_token_budget":8192',
        ),
        (
            "qwen2.5-coder-0.5b-vllm",
            b'"temperature":0.0,"top_p":1.0,"seed":0,"max_tokens":2048,'
            b'"chat_template_kwargs":{"enable_thinking":false}',
        ),
        ("mistral-small-3.2-24b", b'"temperature":0.0,"top_p":1.0,"seed":0,"max_tokens":2048'),
        (
            "gpt-oss-20b",
            b'"temperature":1.0,"top_p":1.0,"seed":0,"max_tokens":6144,"reasoning_effort":"medium"',
        ),
    ],
)
async def test_the_request_of_a_preset_has_exactly_these_bytes(name: str, sampling: bytes) -> None:
    preset = load_preset(name).model_copy(update={"model": "stub"})
    async with Stub() as stub:
        engine = connect(preset, base_urls=[stub.url])
        await engine.generate([Message(role="user", content="Hello")], preset.sampling)
        await engine.aclose()
    opening = b'{"model":"stub","messages":[{"role":"user","content":"Hello"}],'
    assert stub.chats[0].body == opening + sampling + b"}"


def test_an_identity_belongs_to_the_preset_that_fixes_the_same_model_and_settings() -> None:
    preset = Preset(
        name="p",
        description="a test",
        model="stub",
        licence="Apache-2.0",
        engine="vllm",
        weights=Weights(hub="owner/stub", revision="a" * 40),
        context_tokens=4096,
        vllm=VllmSettings(args=("--quantization", "fp8")),
    )
    options = {
        "dtype": "auto",
        "kv_cache_dtype": "auto",
        "args": ["--quantization", "fp8"],
        "structured": "json_schema",
    }
    identity = EngineIdentity(
        model="stub", revision="a" * 40, engine="vllm", engine_version="0.20.0", options=options
    )
    assert is_judge(preset, identity)
    assert is_judge(preset, identity.model_copy(update={"engine_version": "0.21.0"}))
    others = {
        "model": "other",
        "revision": "b" * 40,
        "engine": "openvino",
        "options": {**options, "args": []},
    }
    for name, value in others.items():
        assert not is_judge(preset, identity.model_copy(update={name: value})), name


def test_an_identity_in_this_process_belongs_to_the_preset_of_its_engine_and_weights() -> None:
    preset = load_preset("qwen2.5-coder-1.5b")
    identity = EngineIdentity(
        model=preset.model,
        weights_digest=preset.weights.sha256,
        revision=preset.weights.revision,
        quantisation=preset.quantisation,
        engine="openvino",
        engine_version="2026.4",
        options={"any": "property"},
    )
    assert is_judge(preset, identity)
    assert not is_judge(preset, identity.model_copy(update={"weights_digest": "0" * 64}))
    assert not is_judge(preset, identity.model_copy(update={"engine": "transformers"}))
