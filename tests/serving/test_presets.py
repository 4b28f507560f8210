"""Presets: what is packaged is whole, and what is wrong is told in one line with file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from serving.errors import PresetError
from serving.presets import list_presets, load_preset, preset_folder
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
    for size in ("4b", "8b", "14b", "32b", "30b-a3b", "235b-a22b"):
        assert {f"qwen3-{size}", f"qwen3-{size}-thinking"} <= names
    assert {"gpt-oss-20b", "mistral-small-3.2-24b", "qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b"} <= names


def test_thinking_changes_the_sampling_and_nothing_else() -> None:
    off, on = load_preset("qwen3-8b"), load_preset("qwen3-8b-thinking")
    assert off.sampling == Sampling()
    assert on.sampling.thinking and on.sampling.temperature == 0.6 and on.sampling.thinking_tokens == 8192
    same = {"name": "", "sampling": Sampling()}
    assert off.model_copy(update=same) == on.model_copy(update=same)


def test_only_weights_with_a_digest_or_a_commit_count_as_pinned() -> None:
    pinned = [name for name in list_presets() if load_preset(name).pinned]
    dense = [f"qwen3-{size}b{thinking}" for size in (14, 32, 4, 8) for thinking in ("", "-thinking")]
    assert pinned == [
        "qwen2.5-coder-0.5b",
        "qwen2.5-coder-0.5b-vllm",
        "qwen2.5-coder-1.5b",
        *dense,
        "smollm2-135m",
    ]


def test_unpinned_presets_say_so_in_their_file() -> None:
    for name in list_presets():
        path = preset_folder() / f"{name}.yaml"
        if path.is_file() and not load_preset(name).pinned:
            assert "revision: null # pin" in path.read_text(encoding="utf-8")


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
        ("mistral-small-3.2-24b", ()),
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


def test_a_file_is_named_after_itself(tmp_path: Path) -> None:
    preset = load_preset(write(tmp_path, GOOD))
    assert preset.name == "mine"
    assert preset.vllm is not None and preset.vllm.prefix_caching


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "contxt: 1\n", "contxt: unknown key"),
        (GOOD.replace("vllm: {}", "vllm: {tensor_paralel: 2}"), "vllm.tensor_paralel: unknown key"),
        (GOOD.replace("4096", "many"), "context_tokens must be a"),
        (
            GOOD.replace("{hub: owner/model}", "{hub: a/b, revision: main}"),
            "weights.revision must match",
        ),
        (
            GOOD.replace("{hub: owner/model}", "{hub: a/b, file: w.gguf}"),
            "weights: file needs its sha256 and size",
        ),
        (
            GOOD.replace("{hub: owner/model}", "{hub: a/b, file: ../w}"),
            "weights.file must match pattern",
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
        (GOOD + "sampling: {reasoning_effort: some}\n", "sampling.reasoning_effort must be 'minimal', "),
        (GOOD + "sampling: {top_k: 0}\n", "sampling.top_k must be greater than or equal to 1"),
        (GOOD + "sampling: {topk: 20}\n", "sampling.topk: unknown key"),
        (GOOD + "chat_arguments: [thinking]\n", "chat_arguments.0 must be 'enable_thinking' or "),
        (
            GOOD + "chat_arguments: []\nreasoning: {parser: qwen3, sampling: {thinking: true}}\n",
            "the file: reasoning that can be switched off needs enable_thinking",
        ),
        (
            GOOD.replace("vllm: {}", "embedded: {}\nsampling: {top_k: 20}").replace(": vllm", ": openvino"),
            "the file: sampling: an embedded engine knows temperature and top_p",
        ),
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
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(PresetError, match="no judge preset 'qwen9'; there are: gpt-oss-20b, "):
        load_preset("qwen9")
    with pytest.raises(PresetError, match="no judge preset 'gpt-oss-20b-thinking'"):  # it always thinks
        load_preset("gpt-oss-20b-thinking")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PresetError, match=r"no preset file .*/none\.yaml"):
        load_preset(tmp_path / "none.yaml")
