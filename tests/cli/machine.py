"""A machine with weights and GPUs, on which `tests/fake_vllm` stands for vLLM."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from serving.judge_records import read_records
from serving.running import down

from ..waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]

PRESET = """description: A server that stands for vLLM.
model: owner/{name}
licence: Apache-2.0
engine: vllm
weights: {{hub: owner/stub, revision: {commit}}}
context_tokens: 32768
vllm:
  gpu_memory_utilization: null
  tensor_parallel: {tensor_parallel}
  env: {env}
"""
COMMIT = "c" * 40


class World(NamedTuple):
    """A machine with weights in the hub's cache, and GPUs by the variable."""

    folder: Path
    write: Callable[..., Path]

    def starts(self) -> list[dict[str, Any]]:
        """What each started server was given."""
        record = self.folder / "starts.jsonl"
        lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
        return [json.loads(line) for line in lines]


@contextmanager
def machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[World]:
    """Set up the machine in `folder`, and stop all of its judges at the end."""
    monkeypatch.setenv("LOCAL_JUDGE_HOME", str(folder / "home"))
    monkeypatch.setenv("HF_HUB_CACHE", str(folder / "hub"))
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'tests' / 'fake_vllm'}{os.pathsep}{ROOT}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("FAKE_RECORD", str(folder / "starts.jsonl"))
    weights = folder / "hub" / "models--owner--stub" / "snapshots" / COMMIT
    weights.mkdir(parents=True)
    for name in ("config.json", "tokenizer.json"):
        (weights / name).write_text("{}", encoding="utf-8")
    (weights / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")

    def write(name: str = "tiny", tensor_parallel: int = 1, **env: str) -> Path:
        path = folder / f"{name}.yaml"
        said = json.dumps({key: str(value) for key, value in env.items()})
        path.write_text(
            PRESET.format(name=name, commit=COMMIT, tensor_parallel=tensor_parallel, env=said),
            encoding="utf-8",
        )
        return path

    yield World(folder, write)
    for judge in read_records():
        down(judge.name)


def start(*arguments: str | Path) -> subprocess.Popen[str]:
    """`local-judge` in a process of its own, whose Python finds the server that stands for vLLM."""
    return subprocess.Popen(
        [sys.executable, "-m", "local_judge", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def lives(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pid: int) -> bool:
    """Wait for the end of a process."""
    wait_until(lambda: not lives(pid))
    return True


def files(run: Path) -> dict[str, bytes]:
    """The results of a run: everything but its manifest, which names the command, and the ledger."""
    return {
        path.relative_to(run).as_posix(): path.read_bytes()
        for path in sorted(run.rglob("*"))
        if path.is_file() and not path.name.startswith(("manifest", "ledger"))
    }
