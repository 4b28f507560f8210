"""Runs with vLLM in this process, and through batch files, have the results of a run over HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from local_judge.demo.outcome import sample_folder
from local_judge.ledger.ledger import Ledger
from serving.engines.asgi import AppClient, AppThread
from serving.presets import Preset
from tests.stub_server import StubPlan

from ..forwarding import forwarding, run_job
from ..run_files import run_files
from ..stub_thread import StubThread, answer, leaning, write_preset
from .conftest import Command


@pytest.fixture
def given(tmp_path: Path, snapshot: Path) -> list[str]:
    """Arguments of a run with one-token questions, without its server and its directory."""
    sample = sample_folder()
    config = tmp_path / "config.yaml"
    config.write_text("claims: {method: scored}\n", encoding="utf-8")
    paths = [sample / "report.md", config, "--tasks", sample / "tasks.jsonl", "--snapshot", snapshot]
    return ["run", *map(str, paths), "--judge", str(write_preset(tmp_path))]


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> StubThread:
    """A server that stands for vLLM in this process; it is not started."""
    server = StubThread(StubPlan(answer=answer, alternatives=leaning))

    class App:
        def __init__(self, preset: Preset, log: Path, *, generating: bool = True) -> None:
            self.timeout = preset.timeout_seconds

        def client(self) -> AppClient:
            return AppClient(AppThread(lambda: forwarding(server.url.removesuffix("/v1"))), self.timeout)

    monkeypatch.setattr("serving.engines.vllm_app.VllmApp", App)
    monkeypatch.setattr("serving.engines.batch.checkpoint", lambda preset: Path("/models/stub"))  # pyright: ignore
    return server


def keys(ledger: Path) -> list[str]:
    with Ledger.open(ledger, read_only=True) as opened:
        return sorted(key for (key,) in opened._reader.execute("SELECT key FROM replies"))  # pyright: ignore


def test_the_judge_in_this_process_is_the_judge_behind_a_server(
    tmp_path: Path, given: list[str], vllm: StubThread, command: Command
) -> None:
    with vllm as server:
        over_http = command(*given, "--base-url", server.url, "--out", tmp_path / "http")
        here = command(*given, "--in-process", "--no-offline", "--out", tmp_path / "here")
    assert (over_http.code, here.code) == (0, 0), here.err
    assert "stub: loading the model in this process\n" in here.err
    assert run_files(tmp_path / "here") == run_files(tmp_path / "http")
    assert keys(tmp_path / "here/ledger.sqlite") == keys(tmp_path / "http/ledger.sqlite")


def test_rounds_of_batch_jobs_end_as_the_run_over_http(
    tmp_path: Path, given: list[str], vllm: StubThread, command: Command
) -> None:
    with vllm as server:
        assert command(*given, "--base-url", server.url, "--out", tmp_path / "http").code == 0
        batch = [*given, "--batch", str(tmp_path / "batch"), "--no-offline", "--out", str(tmp_path / "run")]
        rounds = 0
        while (ended := command(*batch)).code == 3:
            rounds += 1
            folder = tmp_path / "batch" / "stub"
            requests, job = folder / f"requests-{rounds}.jsonl", folder / f"results-{rounds}.jsonl"
            assert f"-i {requests} -o {job} --model /models/stub" in ended.out
            assert "calls need an answer" in ended.err
            assert not (tmp_path / "run" / "manifest.json").exists()
            asyncio.run(run_job(requests, job, f"{server.url}/chat/completions"))
    assert ended.code == 0, ended.err
    assert rounds == 4  # claims, then whether pages can be read, then verdicts, then quotations
    assert run_files(tmp_path / "run") == run_files(tmp_path / "http")
    assert keys(tmp_path / "run/ledger.sqlite") == keys(tmp_path / "http/ledger.sqlite")


def test_a_round_as_json_says_what_was_read_and_what_is_missing(
    tmp_path: Path, given: list[str], vllm: StubThread, command: Command
) -> None:
    with vllm:
        batch = [*given, "--batch", str(tmp_path / "batch"), "--no-offline", "--out", str(tmp_path / "run")]
        first = command(*batch, "--json")
        [row] = json.loads(first.out)
        [line, *_] = [json.loads(one) for one in Path(row["requests"]).read_text().splitlines()]
        wrong = {"model": "other", "choices": [{"message": {"content": "{}"}}]}
        response = {"status_code": 200, "body": wrong}
        answered = json.dumps({"custom_id": line["custom_id"], "response": response})
        (tmp_path / "batch/stub/results-1.jsonl").write_text(f"no JSON\n{answered}\n")
        second = command(*batch, "--json")
    assert first.code == second.code == 3
    assert (row["judge"], row["replies"], row["failures"]) == ("stub", 0, {})
    [again] = json.loads(second.out)
    assert again["failures"] == {"wrong_model": 1}
    assert again["unreadable"] == [f"{tmp_path}/batch/stub/results-1.jsonl:1"]
    assert again["calls"] == row["calls"] - 1
    assert "stub: no answer in" in second.err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--in-process", "--base-url", "http://h/v1"], "--in-process: judge 'stub' also has --base-url"),
        (["--batch", "b", "--serve"], "--batch: judge 'stub' also has --serve"),
        (["--batch", "b", "--judge", "qwen2.5-coder-1.5b"], "does not run on vLLM"),
        (["--in-process", "--judge", "qwen3-8b"], "--in-process: 2 judges (stub, qwen3-8b)"),
    ],
)
def test_what_does_not_go_together_is_refused(
    tmp_path: Path, given: list[str], command: Command, more: list[str], said: str
) -> None:
    ended = command(*given, *more, "--out", tmp_path / "run")
    assert ended.code == 1
    assert said in ended.line()
