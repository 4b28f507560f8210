"""Presets: what is packaged is whole, and what is wrong is told in one line with file and key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from serving.connect import connect
from serving.errors import PresetError
from serving.launch import check_served
from serving.memory import context_gib, gpus
from serving.preset_code import ALLOWING, code_settings
from serving.presets import list_presets, load_preset
from serving.running import server_name
from serving.types import Sampling

GOOD = """
description: a test
model: owner/model
licence: Apache-2.0
engine: vllm
weights: {hub: owner/model}
context_tokens: 4096
vllm: {}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_packaged_preset_loads_under_its_own_name() -> None:
    names = list_presets()
    assert names == sorted(names)
    assert [load_preset(name).name for name in names] == names


def test_the_open_judges_people_use_are_there_with_thinking_off_and_on() -> None:
    names = set(list_presets())
    sizes = ("4b", "8b", "14b", "32b", "32b-awq", "30b-a3b", "235b-a22b")
    newer = (
        "qwen3.5-9b",
        "qwen3.6-35b-a3b",
        "qwen3.6-35b-a3b-fp8",
        "qwen3.8-27b",
        "qwen3.8-27b-fp8",
        "qwen3.8-27b-int4",
    )
    for name in (*(f"qwen3-{size}" for size in sizes), *newer):
        assert {name, f"{name}-thinking"} <= names
    assert {"gpt-oss-20b", "gpt-oss-120b", "mistral-small-3.2-24b", "granite-guardian-4.1-8b"} <= names


def test_thinking_changes_the_sampling_and_nothing_else() -> None:
    off, on = load_preset("qwen3-8b"), load_preset("qwen3-8b-thinking")
    assert off.sampling == Sampling()
    assert on.sampling.thinking and on.sampling.temperature == 0.6 and on.sampling.thinking_tokens == 8192
    same = {"name": "", "sampling": Sampling()}
    assert off.model_copy(update=same) == on.model_copy(update=same)


def test_every_packaged_preset_is_pinned() -> None:
    assert [name for name in list_presets() if not load_preset(name).pinned] == []


def test_presets_for_gpus_say_what_they_need() -> None:
    for name in list_presets():
        preset = load_preset(name)
        if preset.vllm is not None and preset.vllm.gpu_memory_utilization is not None:
            assert preset.memory is not None and preset.native_context_tokens is not None, name
            assert gpus(preset), name


def test_the_smallest_gpu_holds_weights_one_context_and_a_reserve() -> None:
    # qwen3-32b: 61.0 GiB and 8 GiB of KV cache on two GPUs, 2.5 GiB reserve: 37.0 GiB; 0.9 x 44.3 GiB = 39.9 GiB
    preset = load_preset("qwen3-32b")
    assert context_gib(preset) == 8.0  # 262,144 bytes x 32,768 tokens
    assert gpus(preset) == "2 x 48 GB"
    assert preset.memory is not None
    larger = preset.memory.model_copy(update={"weights_gib": 67.0})  # 40.0 GiB
    assert gpus(preset.model_copy(update={"memory": larger})) == "2 x 80 GB"
    assert (
        gpus(preset.model_copy(update={"memory": preset.memory.model_copy(update={"weights_gib": 900.0})}))
        == ""
    )
    assert gpus(load_preset("qwen2.5-coder-1.5b")) == ""


def test_the_kv_cache_is_divided_among_as_many_gpus_as_there_are_kv_heads() -> None:
    # qwen3-235b-a22b: 437.9 / 8 + 5.875 / 4 + 2.5 = 58.7 GiB
    preset = load_preset("qwen3-235b-a22b")
    assert gpus(preset) == "8 x 80 GB"
    whole = preset.model_copy(
        update={"context_tokens": 32768 * 12}
    )  # 5.875 x 12 / 4 = 17.6 GiB: 74.9 > 71.2 GiB
    assert gpus(whole) == "8 x 96 GB"


def test_a_context_beyond_the_native_one_is_scaled_by_yarn() -> None:
    native = load_preset("qwen3-8b")
    assert native.config_overrides is None and native.server_env == {}
    longer = native.model_copy(update={"context_tokens": 65_536})
    assert longer.config_overrides == {
        "max_position_embeddings": 65_536,
        "rope_parameters": {
            "rope_theta": 1_000_000,
            "rope_type": "yarn",
            "factor": 2.0,  # 65,536 / 32,768
            "original_max_position_embeddings": 32_768,
        },
    }
    assert longer.server_env == {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}
    assert longer.reply_options["config_overrides"] == longer.config_overrides
    newer = load_preset("qwen3.8-27b").model_copy(update={"context_tokens": 524_288})
    assert newer.config_overrides is not None
    assert newer.config_overrides["text_config"]["rope_parameters"]["factor"] == 2.0  # as on the model card


def test_batch_invariance_is_part_of_the_name_and_of_the_identity() -> None:
    plain, invariant = load_preset("qwen3-8b"), load_preset("qwen3-8b-invariant")
    assert invariant.name == "qwen3-8b-invariant"
    assert invariant.server_env == {"VLLM_BATCH_INVARIANT": "1"}
    assert invariant.reply_options == {**plain.reply_options, "batch_invariant": True}
    assert server_name(load_preset("qwen3-8b-invariant-thinking")) == "qwen3-8b-invariant"
    both = load_preset("qwen3-8b-invariant-thinking")
    assert both.sampling == load_preset("qwen3-8b-thinking").sampling
    assert both.vllm == invariant.vllm
    for name in ("qwen2.5-coder-1.5b-invariant", "qwen3-8b-thinking-invariant", "qwen3-8b-thinking-thinking"):
        with pytest.raises(PresetError, match=f"preset '{name}'"):
            load_preset(name)
    with pytest.raises(
        PresetError, match=r"vLLM has no batch-invariant kernels for it; use qwen3\.8-27b-thinking"
    ):
        load_preset("qwen3.8-27b-invariant-thinking")
    with pytest.raises(
        PresetError, match=r"; use qwen2\.5-coder-0\.5b-vllm"
    ):  # a CPU would ignore the setting
        load_preset("qwen2.5-coder-0.5b-vllm-invariant")


def test_gpt_oss_is_never_sent_a_budget_that_its_parser_does_not_know() -> None:
    # vLLM's openai_gptoss parser has no reasoning_start_str: a request with thinking_token_budget is a 400.
    reasoning = load_preset("gpt-oss-20b").reasoning
    assert reasoning is not None and not reasoning.budget
    qwen = load_preset("qwen3-8b-thinking").reasoning
    assert qwen is not None and qwen.budget


@pytest.mark.parametrize(
    ("family", "arguments"),
    [
        ("qwen3-8b", ("enable_thinking",)),
        ("qwen3-30b-a3b-2507", ()),
        ("gpt-oss-20b", ("reasoning_effort",)),
        ("gpt-oss-120b", ("reasoning_effort",)),
        ("mistral-small-3.2-24b", ()),
        ("granite-guardian-4.1-8b", ()),
        ("qwen3.6-35b-a3b-fp8", ("enable_thinking",)),
        ("qwen3.8-27b", ("enable_thinking", "reasoning_effort")),
    ],
)
def test_each_family_declares_its_chat_template_arguments(family: str, arguments: tuple[str, ...]) -> None:
    assert load_preset(family).chat_arguments == arguments


def test_sampling_that_is_not_set_leaves_stored_samplings_as_they_were() -> None:
    # Ledger keys contain this text; the fields after thinking_tokens came later.
    assert Sampling().model_dump(mode="json") == {
        "temperature": 0.0,
        "top_p": 1.0,
        "seed": 0,
        "max_tokens": 2048,
        "thinking": False,
        "thinking_tokens": 0,
    }
    chosen = Sampling(top_k=20, reasoning_effort="low")
    assert chosen.model_dump(mode="json") == Sampling().model_dump() | {
        "top_k": 20,
        "reasoning_effort": "low",
    }
    assert Sampling.model_validate(chosen.model_dump(mode="json")) == chosen


def test_all_packaged_licences_are_open() -> None:
    assert {load_preset(name).licence for name in list_presets()} == {"Apache-2.0"}


def test_a_file_is_named_after_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    preset = load_preset(write(tmp_path, GOOD))
    assert preset.name == "mine"
    monkeypatch.chdir(tmp_path)
    assert [load_preset(path) for path in ("mine.yaml", "./mine.yaml", Path("mine.yaml"))] == [preset] * 3
    (tmp_path / "mine.yaml").rename(tmp_path / "mine-invariant.yaml")
    assert (
        load_preset("mine-invariant.yaml").vllm == preset.vllm
    )  # a suffix in the name of a file means nothing
    assert preset.vllm is not None and preset.vllm.prefix_caching


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "contxt: 1\n", "contxt: unknown key"),
        (GOOD.replace("vllm: {}", "vllm: {tensor_paralel: 2}"), "vllm.tensor_paralel: unknown key"),
        (GOOD.replace("4096", "many"), "context_tokens must be a"),
        (
            GOOD.replace("{hub: owner/model}", "{hub: a/b, revision: main}"),
            "weights.revision must have the form ^[0-9a-f]{40}$ (got 'main')",
        ),
        (
            GOOD.replace("{hub: owner/model}", "{hub: a/b, file: w.gguf}"),
            "weights: file needs its sha256 and size",
        ),
        (
            GOOD.replace("{hub: owner/model}", "{hub: a/b, file: ../w}"),
            "weights.file must have the form",
        ),
        (
            GOOD.replace(
                "{hub: owner/model}",
                "{hub: a/b, index: {package: 'a{m}', version: '1', count: 2, member: b}}",
            ),
            "weights.index.package: 'a{m}' may contain {n} for the number of a part",
        ),
        (GOOD.replace("vllm: {}", "embedded: {}"), "the file: the section vllm goes with engine: vllm"),
        (
            GOOD + "sampling: {reasoning_effort: low}\n",
            "the file: sampling.reasoning_effort needs reasoning_effort in chat_arguments",
        ),
        (
            GOOD + "sampling: {reasoning_effort: some}\n",
            "sampling.reasoning_effort: 'some' … minimal, ",
        ),
        (GOOD + "sampling: {top_k: 0}\n", "sampling.top_k must be at least 1 (got 0)"),
        (GOOD + "sampling: {topk: 20}\n", "sampling.topk: unknown key"),
        (GOOD + "chat_arguments: [thinking]\n", "chat_arguments: 'thinking' … enable_thinking, "),
        (
            GOOD + "chat_arguments: []\nreasoning: {parser: qwen3, sampling: {thinking: true}}\n",
            "the file: reasoning that can be switched off needs enable_thinking",
        ),
        (
            GOOD.replace("vllm: {}", "embedded: {}\nsampling: {top_k: 20}").replace(": vllm", ": openvino"),
            "the file: sampling: an embedded engine knows temperature and top_p",
        ),
        (
            GOOD + "native_context_tokens: 2048\n",
            "the file: context_tokens is 4096, but the model reads at most 2048",
        ),
        (
            GOOD + "native_context_tokens: 1024\nyarn: {max_context_tokens: 2048, rope: {}}\n",
            "the file: context_tokens is 4096, but the model reads at most 2048",
        ),
        (GOOD + "yarn: {max_context_tokens: 8192, rope: {}}\n", "the file: yarn needs native_context_tokens"),
        (
            GOOD.replace("vllm: {}", "vllm: {batch_invariant: true, invariant_kernels: false}"),
            "vllm: batch_invariant needs invariant_kernels",
        ),
        (
            GOOD.replace("vllm: {}", "vllm: {args: ['--api_key=secret']}"),
            "vllm: --api-key is not for args and env; use the environment variable LOCAL_JUDGE_API_KEY",
        ),
        (
            GOOD.replace("vllm: {}", "vllm: {args: ['--max-model-len', '9']}"),
            "vllm: --max-model-len is not for args and env; use the key context_tokens",
        ),
        (
            GOOD.replace("vllm: {}", "vllm: {env: {VLLM_BATCH_INVARIANT: '0'}, batch_invariant: true}"),
            "vllm: VLLM_BATCH_INVARIANT is not for args and env; use the key vllm.batch_invariant",
        ),
        (GOOD.replace("vllm: {}", "vllm: {system_date: today}"), "vllm.system_date must have the form"),
        (GOOD + "memory: {weights_gib: 1}\n", "memory.kv_bytes_per_token and memory.kv_heads are missing"),
        (GOOD + "name: other\n", "name: a preset is named by its file"),
        ("- a\n- b\n", "a preset is a mapping of keys to values"),
        ("a: [1\n", "not readable as YAML"),
        (GOOD + "engine: vllm\n", "not readable as YAML: line "),
        (GOOD + "timeout_seconds: 1" + ":1" * 200 + ".5\n", "not readable as YAML: line "),
    ],
)
def test_a_mistake_is_one_line_with_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(PresetError) as caught:
        load_preset(path)
    assert re.match(re.escape(f"{path}: {message}").replace("…", ".*"), str(caught.value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("section", "found"),
    [
        ("args: [--trust-remote-code]", "vllm.args --trust-remote-code"),
        ("args: [--trust_remote_code]", "vllm.args --trust-remote-code"),
        ("args: [--trust-rem]", "vllm.args --trust-rem"),  # argparse completes it
        ("args: [--tool-parser-plugin, work/x.py]", "vllm.args --tool-parser-plugin"),
        ("args: [--reasoning-parser-plugin=work/x.py]", "vllm.args --reasoning-parser-plugin"),
        ("args: [--chat-template, x.jinja, --enforce-eager]", "vllm.args --chat-template"),
        ("args: [--config, x.yaml]", "vllm.args --config"),
        ("args: [--enforce-eager, x.yaml]", "vllm.args x.yaml"),
        ("args: [--load-format, tensorizer]", "vllm.args --load-format tensorizer"),
        (
            "args: [--distributed-executor-backend, work.evil.Executor]",
            "vllm.args --distributed-executor-backend",
        ),
        ("args: [--attention-backend, work.Evil]", "vllm.args --attention-backend work.Evil"),
        ("args: [--max-num-batched-tokens, --config]", "vllm.args --max-num-batched-tokens --config"),
        ("args: [--max-num-batched-tokens]", "vllm.args --max-num-batched-tokens"),
        ("args: [--worker-cls, a.B, --middleware, a.b]", "vllm.args --worker-cls, vllm.args --middleware"),
        ('args: [--compilation-config, "{}"]', "vllm.args --compilation-config"),
        ("args: [--hf-overrides.auto_map.AutoConfig, x.Y]", "vllm.args --hf-overrides.auto-map.AutoConfig"),
        ("env: {PYTHONPATH: work/evil}", "vllm.env PYTHONPATH"),
        ("env: {LD_PRELOAD: x.so}", "vllm.env LD_PRELOAD"),
        ("env: {VLLM_LOGGING_CONFIG_PATH: x.json}", "vllm.env VLLM_LOGGING_CONFIG_PATH"),
        ("env: {HF_HUB_OFFLINE: '0'}", "vllm.env HF_HUB_OFFLINE"),
        ("env: {NCCL_NET_PLUGIN: x.so}", "vllm.env NCCL_NET_PLUGIN"),
        ("env: {VLLM_CPU_OMP_THREADS_BIND: /dev/zero}", "vllm.env VLLM_CPU_OMP_THREADS_BIND"),
        ("kv_cache_dtype: --trust-remote-code", "vllm.kv_cache_dtype"),
        ("tokenizer_mode: --trust-remote-code", "vllm.tokenizer_mode"),
    ],
)
def test_a_setting_that_can_run_code_needs_permission(tmp_path: Path, section: str, found: str) -> None:
    text = GOOD.replace("vllm: {}", f"vllm: {{{section}}}")
    preset = load_preset(write(tmp_path, text))
    with pytest.raises(PresetError, match=re.escape(f"mine: {found}")) as refused:
        check_served(preset)
    assert str(refused.value).endswith(f"allow it with {ALLOWING}")
    check_served(preset.allowing_code().model_copy(update={"context_tokens": 2048}))
    with pytest.raises(PresetError, match="_code_allowed"):
        load_preset(write(tmp_path, text + "_code_allowed: true\n"))


def test_settings_that_tune_vllm_need_no_permission(tmp_path: Path) -> None:
    args = "[--enforce-eager, --block_size=32, --quantization, awq_marlin, --limit-mm-per-prompt, '{\"image\": 0}']"
    env = "{VLLM_ATTENTION_BACKEND: FLASH_ATTN, NCCL_P2P_DISABLE: '1', VLLM_CPU_OMP_THREADS_BIND: 0-7|8-15}"
    path = write(tmp_path, GOOD.replace("vllm: {}", f"vllm: {{args: {args}, env: {env}}}"))
    assert code_settings(load_preset(path)) == ()
    assert [name for name in list_presets() if code_settings(load_preset(name))] == []


def test_properties_of_an_embedded_engine_may_not_load_libraries(tmp_path: Path) -> None:
    properties = "{INFERENCE_NUM_THREADS: 2, extensions: [x.so], KV_CACHE_PRECISION: u8}"
    section = f"embedded: {{properties: {properties}}}"
    path = write(tmp_path, GOOD.replace("vllm: {}", section).replace(": vllm", ": openvino"))
    assert code_settings(load_preset(path)) == ("embedded.properties extensions",)
    with pytest.raises(PresetError, match="extensions can run code"):
        connect(load_preset(path))


def test_an_unknown_name_says_where_the_known_ones_are() -> None:
    with pytest.raises(PresetError, match="no judge preset 'x'; `local-judge judge show` lists all presets"):
        load_preset("x")
    with pytest.raises(
        PresetError, match=r"no judge preset 'qwen3-14'; did you mean qwen3-14b\? `local-judge "
    ):
        load_preset("qwen3-14")
    with pytest.raises(PresetError, match="no judge preset 'gpt-oss-20b-thinking'"):  # it always thinks
        load_preset("gpt-oss-20b-thinking")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PresetError, match=r"no preset file .*/none\.yaml"):
        load_preset(tmp_path / "none.yaml")
