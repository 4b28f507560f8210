"""`judge up`, `run`, `judge down` and `run --serve` with a real vLLM give the same results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from local_judge.demo.outcome import sample_folder
from serving.weights import models_folder

pytestmark = pytest.mark.vllm

ROOT = Path(__file__).resolve().parents[2]
JUDGE = "qwen2.5-coder-0.5b-vllm"
SECONDS = 900
"""After which a command hangs."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder for the state of this test, with the weights of this machine."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "models").symlink_to(models_folder().absolute(), target_is_directory=True)
    return folder


def judge(home: Path, *arguments: str | Path) -> str:
    """Run `local-judge` and return its standard output."""
    ended = subprocess.run(
        [sys.executable, "-m", "local_judge", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        cwd=ROOT,
        env={**os.environ, "LOCAL_JUDGE_HOME": str(home), "PYTHONPATH": str(ROOT)},
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def results(run: Path) -> dict[str, Any]:
    """Claims with verdicts, findings and scores of a run, by file."""
    return {
        str(path.relative_to(run)): [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for pattern in ("claims.jsonl", "findings/**/*.jsonl", "scores/**/*.jsonl")
        for path in sorted(run.glob(pattern))
    }


def rounded(found: Any) -> Any:
    """Results without the digits that depend on the order of sums, which differs from one server to the next."""
    match found:
        case float():
            return pytest.approx(found, abs=0.02)
        case list():
            return [rounded(one) for one in cast("list[Any]", found)]
        case dict():
            return {key: rounded(one) for key, one in cast("dict[str, Any]", found).items()}
        case _:
            return found


def test_a_running_judge_and_one_that_a_run_serves_give_the_same_results(tmp_path: Path, home: Path) -> None:
    report = tmp_path / "report.md"
    report.write_text(
        "# Fernholt\n\nThe retrofit connected 1,240 dwellings [1].\n\n## References\n\n"
        "[1] The renewal. https://heat.example/fernholt/renewal\n",
        encoding="utf-8",
    )
    judge(home, "snapshot", "import", sample_folder() / "pages", tmp_path / "snapshot")
    evaluate = ("run", report, "--snapshot", tmp_path / "snapshot", "--judge", JUDGE, "--method", "scored")
    settings = ("--terse", "--set", "deer.parts=[verification]")
    try:
        url = judge(home, "judge", "up", JUDGE, "--detach").strip()
        [listed] = json.loads(judge(home, "judge", "status", "--json"))
        assert [(one["base_url"], one["state"]) for one in listed["replicas"]] == [(url, "ready")]
        judge(home, *evaluate, *settings, "--out", tmp_path / "found")
    finally:
        judge(home, "judge", "down", JUDGE)
    judge(home, *evaluate, *settings, "--serve", "--out", tmp_path / "served")
    assert json.loads(judge(home, "judge", "status", "--json")) == []
    assert sorted(results(tmp_path / "found")) == [
        "claims.jsonl",
        "findings/deer.jsonl",
        "scores/deer.jsonl",
        "scores/deer.systems.jsonl",
    ]
    assert results(tmp_path / "served") == rounded(results(tmp_path / "found"))
