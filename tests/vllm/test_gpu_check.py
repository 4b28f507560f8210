"""The checks that people with a GPU run, on the CPU build: the shortest forms, one with the server of these tests."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from scripts.benchmarking import gpu_check_random
from scripts.benchmarking.gpu_check import main
from scripts.benchmarking.gpu_check_command import read_arguments
from scripts.benchmarking.gpu_check_tokenizer import write_tokenizer
from serving.launch import RunningServer
from serving.presets import Preset, load_preset
from serving.weights import checkpoint, weights_path

from .conftest import PRESET

pytestmark = pytest.mark.vllm


def test_it_measures_the_small_judge(
    server: RunningServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "found.json"
    assert main(["--quick", "--base-url", server.base_url, "--judge", PRESET, "--out", str(out)]) == 0
    found = json.loads(out.read_text(encoding="utf-8"))["runs"][0]
    assert found["speed"]["prefill_tokens_per_s"] > 0
    assert found["speed"]["decode_at_once_tokens_per_s"] > 0
    assert found["reports"]["done"] == 1
    # The claims are the recorded ones, so this judge's probabilities are known but for the order of the sums.
    assert found["claims"]["recorded"] == {
        "claims": 4,
        "alike": 4,
        "largest_difference": pytest.approx(0, abs=0.02),
    }
    # The second run finds its prompts in the prefix cache, so its last digits can differ: the order of sums differs.
    assert found["again"]["same_text_share"] > 0.5
    assert "| verdicts as on the CPU build | 4 | – |" in capsys.readouterr().out


def test_random_weights_are_measured_in_this_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    preset = load_preset(PRESET)
    shapes = json.loads(gpu_check_random.ARCHITECTURES.read_text(encoding="utf-8"))[preset.model]
    shapes |= {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_attention_heads": 2,
        "tie_word_embeddings": True,
    }
    (tmp_path / "shapes.json").write_text(json.dumps({preset.model: shapes}), encoding="utf-8")
    (tmp_path / "tokenizer").mkdir()
    write_tokenizer(weights_path(preset), tmp_path / "tokenizer")
    monkeypatch.setattr(gpu_check_random, "ARCHITECTURES", tmp_path / "shapes.json")
    monkeypatch.setattr(gpu_check_random, "TOKENIZER", tmp_path / "tokenizer")

    def skipped(preset: Preset, *_: object) -> dict[str, str]:
        return {"judge": f"{preset.name}, vLLM", "skipped": "it would need a minute to start"}

    monkeypatch.setattr(gpu_check_random, "served", skipped)
    out = tmp_path / "found.json"
    arguments = ["--random-weights", "--quick", "--layers", "1", "--judge", PRESET, "--out", str(out)]
    assert gpu_check_random.run(read_arguments(arguments)) == 0
    figures = json.loads(out.read_text(encoding="utf-8"))["runs"][0]
    assert figures.keys() == {
        "judge",
        "start_seconds",
        "parameters",
        "speed",
        "prefix",
        "client",
        "schema",
        "memory",
        "out_of_memory",
    }
    # An embedding; four matrices and two biased vectors of the attention; three of the MLP; three norms.
    attention = 2 * 64 * 64 + 2 * 64 * 64 + 3 * 64
    assert figures["parameters"] == 151_936 * 64 + attention + 3 * 64 * 128 + 3 * 64
    assert figures["speed"]["prefill_tokens"] > 400
    assert figures["speed"]["decode_at_once_tokens_per_s"] > 0
    assert 0 < figures["client"]["share"] < 1
    assert figures["prefix"]["cached_tokens"] / figures["prefix"]["prompt_tokens"] > 0.95
    assert json.loads(figures["schema"]["reply"]).keys() == {"verdict", "numeric"}
    printed = capsys.readouterr().out
    assert printed.startswith("### gpu_check --random-weights --quick\n")
    assert f"| weights | random, {preset.model}, layers: 1 |" in printed
    assert f"- {PRESET}, vLLM: skipped: it would need a minute to start" in printed


def test_the_carried_tokenizer_is_that_of_the_weights(tmp_path: Path) -> None:
    preset = load_preset(PRESET)
    write_tokenizer(weights_path(preset), tmp_path)
    transformers: Any = importlib.import_module("transformers")
    carried, converted = map(transformers.AutoTokenizer.from_pretrained, (tmp_path, checkpoint(preset)))
    assert carried.chat_template == converted.chat_template
    for text in (
        "Is 1969 a year?\r\n  No\tspace",
        "<|im_start|>user\nnaïve 北京 e\u0301",
        "it's <tool_call>",
    ):
        assert carried(text)["input_ids"] == converted(text)["input_ids"]
