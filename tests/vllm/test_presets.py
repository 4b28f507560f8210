"""Every preset against vLLM's own parser, registries and request model; needs no server and no weights."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from serving.connect import connect
from serving.launch import command
from serving.presets import Preset, list_presets, load_preset
from serving.types import Message
from tests.stub_server import Stub

pytestmark = [pytest.mark.vllm, pytest.mark.filterwarnings("ignore")]

SERVED = [name for name in list_presets() if load_preset(name).vllm is not None]
QWEN3 = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 64,
    "intermediate_size": 64,
    "head_dim": 16,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "vocab_size": 64,
    "torch_dtype": "bfloat16",
    "max_position_embeddings": 40_960,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000},
}
"""A small model of the family of Qwen3, with the original's positions."""


ROOT = Path(__file__).resolve().parents[2]
"""A folder in place of a checkpoint: without a network, vLLM looks up the name of one that is not there."""


def vllm(path: str) -> Any:
    """What vLLM has under a dotted name."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.fixture(scope="module")
def parser() -> argparse.ArgumentParser:
    """vLLM's parser of the server's command line."""
    vllm("vllm.AsyncEngineArgs")  # first, since the parser's module and this one import each other
    return vllm("vllm.entrypoints.launchers.cli_args.make_arg_parser")(
        vllm("vllm.utils.argparse_utils.FlexibleArgumentParser")()
    )


def parsed(
    parser: argparse.ArgumentParser, preset: Preset, model: Path = ROOT, data_parallel: int = 1
) -> argparse.Namespace:
    """The arguments of a preset's command; a flag or value that vLLM refuses fails the test."""
    words = command(preset, model=model, data_parallel=data_parallel)
    try:
        return parser.parse_args(words[words.index("--model") :])
    except SystemExit:
        pytest.fail(f"{preset.name}: vLLM refuses {words}")


@pytest.mark.parametrize("name", SERVED)
def test_vllm_knows_every_flag_and_value(parser: argparse.ArgumentParser, name: str) -> None:
    preset = load_preset(name)
    args = parsed(parser, preset)
    vllm("vllm.entrypoints.launchers.cli_args.validate_parsed_serve_args")(args)
    assert args.max_model_len == preset.context_tokens
    assert isinstance(args.structured_outputs_config, vllm("vllm.config.StructuredOutputsConfig"))
    assert vllm("vllm.AsyncEngineArgs").from_cli_args(args).model == str(ROOT)
    loaders = vllm("vllm.model_executor.model_loader._LOAD_FORMAT_TO_MODEL_LOADER")
    configs = vllm("vllm.transformers_utils.config._CONFIG_FORMAT_TO_CONFIG_PARSER")
    assert args.load_format in loaders and args.config_format in {"auto", *configs}
    assert preset.vllm is not None
    if preset.vllm.tokenizer_mode != "auto":
        vllm("vllm.tokenizers.registry.TokenizerRegistry").load_tokenizer_cls(preset.vllm.tokenizer_mode)
    if preset.reasoning is not None:
        assert args.reasoning_parser == preset.reasoning.parser
        assert args.reasoning_parser in vllm("vllm.reasoning.ReasoningParserManager").list_registered()


def test_vllm_knows_the_flags_of_several_engines_behind_one_server(parser: argparse.ArgumentParser) -> None:
    shared = [preset for preset in map(load_preset, SERVED) if preset.vllm and preset.vllm.expert_parallel]
    assert shared
    for preset in shared:
        args = parsed(parser, preset, data_parallel=2)
        assert args.data_parallel_size == 2 and args.enable_expert_parallel


def test_a_flag_that_vllm_does_not_know_is_noticed(parser: argparse.ArgumentParser) -> None:
    preset = load_preset("qwen3-8b")
    assert preset.vllm is not None
    for args in (("--no-such-flag",), ("--kv-cache-dtype", "fp9")):
        settings = preset.vllm.model_copy(update={"args": args})
        with pytest.raises(pytest.fail.Exception, match="qwen3-8b: vLLM refuses"):
            parsed(parser, preset.model_copy(update={"vllm": settings}))


@pytest.mark.parametrize("name", SERVED)
def test_vllm_knows_every_environment_variable(name: str) -> None:
    preset = load_preset(name)
    assert preset.vllm is not None
    settings = preset.vllm.model_copy(update={"batch_invariant": True})
    env = preset.model_copy(update={"vllm": settings}).server_env
    assert set(env) <= set(vllm("vllm.envs.environment_variables"))


def test_models_with_gated_deltanet_have_no_batch_invariant_kernels() -> None:
    backend = vllm("vllm.v1.attention.backends.gdn_attn.GDNAttentionBackend")
    hybrid = [name for name in SERVED if name.startswith(("qwen3.5", "qwen3.6", "qwen3.8"))]
    for name in hybrid:
        settings = load_preset(name).vllm
        assert settings is not None and settings.invariant_kernels == backend.supports_batch_invariance()
    assert (
        hybrid
        and vllm("vllm.v1.attention.backends.flash_attn.FlashAttentionBackend").supports_batch_invariance()
    )


async def request_of(preset: Preset) -> dict[str, Any]:
    """The chat completion that a judge with this preset sends."""
    async with Stub() as stub:
        engine = connect(preset.model_copy(update={"model": "stub"}), base_urls=[stub.url])
        await engine.generate([Message(role="user", content="Hello")], preset.sampling)
        await engine.aclose()
        return dict(stub.chats[0].json)


@pytest.mark.parametrize("name", SERVED)
async def test_vllm_accepts_the_request(name: str) -> None:
    kind = vllm("vllm.entrypoints.openai.chat_completion.protocol.ChatCompletionRequest")
    preset = load_preset(name)
    body = await request_of(preset)
    request = kind.model_validate(body)
    assert request.model_extra == {}, "fields that vLLM ignores"
    chosen = request.to_sampling_params(max_tokens=100, default_sampling_params={})
    sampling = preset.sampling
    assert (chosen.temperature, chosen.seed) == (sampling.temperature, sampling.seed)
    assert chosen.top_k == (sampling.top_k or 0) and chosen.presence_penalty == (
        sampling.presence_penalty or 0
    )
    if preset.vllm is not None and preset.vllm.tokenizer_mode == "mistral":
        validate_request_params = vllm("vllm.tokenizers.mistral.validate_request_params")
        validate_request_params(request)
        with pytest.raises(
            vllm("vllm.exceptions.VLLMValidationError"),
            match="chat_template is not supported for Mistral tokenizers",
        ):
            old = {**body, "chat_template_kwargs": {"enable_thinking": False}}
            validate_request_params(kind.model_validate(old))


@pytest.mark.parametrize("name", ["gpt-oss-20b", "gpt-oss-120b"])
def test_gpt_oss_knows_its_effort(name: str) -> None:
    known = vllm("vllm.entrypoints.openai.parser.harmony_utils.REASONING_EFFORT")
    assert load_preset(name).sampling.reasoning_effort in known


def test_vllm_accepts_a_context_that_is_extended_by_yarn(
    parser: argparse.ArgumentParser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(QWEN3), encoding="utf-8")
    preset = load_preset("qwen3-8b").model_copy(update={"context_tokens": 131_072})
    for variable in preset.server_env:
        monkeypatch.delenv(variable, raising=False)  # the overrides alone suffice for Qwen3
    args = parsed(parser, preset, tmp_path)
    args.skip_tokenizer_init = True
    model = vllm("vllm.AsyncEngineArgs").from_cli_args(args).create_model_config()
    assert model.max_model_len == 131_072
    assert model.hf_config.rope_parameters["factor"] == 4.0
    without = parsed(parser, preset.model_copy(update={"yarn": None}), tmp_path)
    without.skip_tokenizer_init = True
    with pytest.raises(ValueError, match="greater than the derived max_model_len"):
        vllm("vllm.AsyncEngineArgs").from_cli_args(without).create_model_config()
