"""The check that people with a GPU run, on the CPU build: the shortest form, with the server of these tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.benchmarking.gpu_check import main
from serving.launch import RunningServer

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
