"""The check of a judge on a machine, against the stub server and with made-up figures."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scripts.benchmarking import gpu_check
from scripts.benchmarking.gpu_check import beside_recorded, equal_share, main
from scripts.benchmarking.gpu_check_command import CPU_JUDGE
from scripts.benchmarking.gpu_check_report import markdown, reasons
from scripts.benchmarking.gpu_check_steps import StepFailed, step
from serving.errors import LaunchFailed
from serving.launch import RunningServer
from serving.presets import Preset, load_preset
from tests.stub_server import StubPlan
from tests.stub_thread import StubThread, answer, leaning


def test_a_running_server_is_measured_in_one_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_check, "has_cuda", lambda: False)
    plan = StubPlan(
        model=load_preset(CPU_JUDGE).model, answer=answer, alternatives=leaning, cache_tokens=100_000
    )
    out = tmp_path / "found.json"
    with StubThread(plan) as server:
        assert main(["--quick", "--base-url", server.url, "--judge", CPU_JUDGE, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    found = json.loads(out.read_text(encoding="utf-8"))
    assert printed.rstrip() == markdown(found)
    assert len(printed.splitlines()) <= 60
    plain, _ = found["runs"]
    assert plain["reports"]["done"] == plain["reports"]["reports"] == 1
    assert plain["reports"]["calls_failed"] == 0
    assert 0 < plain["reports"]["cached_share"] < 1
    assert plain["again"]["equal_share"] == 1.0  # the stub's reply depends on the request alone
    assert plain["claims"]["claims"] == 4
    assert plain["speed"]["decode_at_once"] == 4
    assert f"{CPU_JUDGE}-invariant: skipped: the server was given" in printed


def test_a_gpu_gets_three_servers_and_a_start_that_fails_is_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = StubPlan(
        model=load_preset(CPU_JUDGE).model, answer=answer, alternatives=leaning, cache_tokens=100_000
    )
    started: list[str] = []

    @contextmanager
    def launch(preset: Preset, *, log: Path) -> Generator[RunningServer]:
        started.append(preset.name)
        if preset.name != CPU_JUDGE:
            raise LaunchFailed(f"{preset.name} did not start: out of memory (log: {log.name})")
        with StubThread(plan) as server:
            yield RunningServer(
                base_url=server.url, model=preset.model, pid=os.getpid(), log=log, seconds=9.0
            )

    monkeypatch.setattr(gpu_check, "has_cuda", lambda: True)
    monkeypatch.setattr(gpu_check, "launch", launch)
    monkeypatch.setattr(gpu_check, "fetch", str)  # fetches nothing
    out = tmp_path / "found.json"
    assert main(["--out", str(out)]) == 1
    assert started == ["qwen3-4b", "qwen3-4b-invariant", CPU_JUDGE]
    small = json.loads(out.read_text(encoding="utf-8"))["runs"][2]
    assert small.keys() == {"judge", "kv_tokens", "start_seconds", "claims"}
    assert small["claims"]["claims"] == small["claims"]["recorded"]["claims"] == 12
    printed = capsys.readouterr().out.splitlines()
    assert printed[-2:] == [
        f"- {name}: failed: {name} did not start: out of memory (log: found.{name}.log)"
        for name in ("qwen3-4b", "qwen3-4b-invariant")
    ]


def test_a_server_that_does_not_answer_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--base-url", "http://127.0.0.1:9", "--judge", CPU_JUDGE, "--out", str(tmp_path / "x")]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and said[0].startswith("error: http://127.0.0.1:9/metrics: ")


def test_a_step_that_fails_leaves_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, Any] = {"judge": "j"}
    with step(found, "speed") as figures:
        figures["prefill_tokens_per_s"] = 3.0
        raise StepFailed("run ended with 1: out of paper")
    assert reasons(found) == [("speed", "failed", "StepFailed: run ended with 1: out of paper")]
    assert "j: speed" in capsys.readouterr().err


def test_the_block_has_at_most_60_lines_whatever_fails() -> None:
    steps = ("speed", "reports", "claims", "again", "memory")
    failing = {"judge": "j", **{name: {"failed": "x" * 300} for name in steps}}
    versions = {f"GPU {number}": "a GPU" for number in range(16)} | {"commit": "c", "python": "3"}
    block = markdown({"quick": False, "versions": versions, "runs": [failing] * 3})
    assert len(block.splitlines()) <= 60
    assert block.count(": failed: x") == 15


def test_the_report_of_random_weights_has_its_rows_and_options() -> None:
    run = {"judge": "j, transformers", "prefix": {"cached_tokens": 1200}, "schema": {"reply": "a|b"}}
    block = markdown({"random-weights": True, "quick": True, "versions": {}, "runs": [run]})
    assert block.startswith("### gpu_check --random-weights --quick\n")
    assert "| of these from the cache | 1,200 |" in block
    assert "| reply under a JSON schema | a\\|b |" in block
    assert "claims" not in block


def test_replies_are_equal_only_if_both_runs_have_them() -> None:
    first = {"a": ("Yes", "-0.1"), "b": ("No", None), "c": ("x", None)}
    second = {"a": ("Yes", "-0.1"), "b": ("No.", None), "d": ("x", None)}
    assert equal_share(first, second) == {
        "replies": 4,
        "equal": 1,
        "equal_share": 0.25,
        "same_text_share": 0.25,
    }
    assert equal_share({}, {})["equal_share"] == 0.0


def test_the_same_text_with_other_log_probabilities_is_counted() -> None:
    found = equal_share(
        {"a": ("Yes", "-0.1"), "b": ("No", "-0.2")}, {"a": ("Yes", "-0.1001"), "b": ("No", "-0.2")}
    )
    assert (found["equal_share"], found["same_text_share"]) == (0.5, 1.0)


def test_verdicts_are_compared_at_the_threshold() -> None:
    found = beside_recorded({"a": 0.5, "b": 0.3, "new": 0.9}, {"a": 0.4, "b": 0.39, "gone": 0.1}, 0.38)
    assert found == {"claims": 2, "alike": 1, "largest_difference": 0.1}
    assert "skipped" in beside_recorded({"a": 0.5}, None, 0.38)
