"""Two real vLLM servers, each started once for all tests of this folder, and judges on them.

What depends on answers is tested with the small judge of the packaged preset. What any model does, such as starts,
ends, equal replies of two servers and shared prefixes, is tested with a model of one layer and random weights.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from local_judge.judge.judge import Judge, JudgeSettings
from local_judge.ledger.ledger import Ledger
from scripts.benchmarking.small_server import write_model, write_preset
from serving.connect import connect
from serving.launch import RunningServer, launch
from serving.presets import Preset, load_preset
from serving.weights import checkpoint, weights_path

PRESET = "qwen2.5-coder-0.5b-vllm"
BLOCK_TOKENS = 128
"""vLLM's on a processor: a prefix is shared in whole blocks of this many tokens."""
ROOT = Path(__file__).resolve().parents[2]
SECONDS = 900
"""After which a command or a start hangs."""


class RandomJudge(NamedTuple):
    """A judge of one layer with random weights."""

    home: Path
    """LOCAL_JUDGE_HOME with its weights."""
    preset: Path

    def start(self, *arguments: str | Path, home: Path | None = None) -> subprocess.Popen[str]:
        """Start `local-judge` in its home, or in another one."""
        return subprocess.Popen(
            [sys.executable, "-m", "local_judge", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "LOCAL_JUDGE_HOME": str(home or self.home), "PYTHONPATH": str(ROOT)},
        )

    def run(self, *arguments: str | Path, home: Path | None = None, statuses: Sequence[int] = (0,)) -> str:
        """Run `local-judge` to its end, and return the standard output."""
        return output(self.start(*arguments, home=home), statuses)


def output(process: subprocess.Popen[str], statuses: Sequence[int] = (0,)) -> str:
    """What a process prints until its end."""
    with process:
        try:
            out, err = process.communicate(timeout=SECONDS)
        except BaseException:
            process.kill()
            raise
    assert process.returncode in statuses, err
    return out


@pytest.fixture(scope="session", autouse=True)
def vllm_is_here() -> None:
    """Missing libraries and weights are errors."""
    if importlib.util.find_spec("vllm") is None:
        pytest.fail("these tests need vLLM in this interpreter: run scripts/test --vllm")


@pytest.fixture(scope="session")
def random_judge(tmp_path_factory: pytest.TempPathFactory) -> RandomJudge:
    """The judge of random weights, written to a home of its own."""
    home = tmp_path_factory.mktemp("home")
    written = RandomJudge(home, write_preset(home, concurrency=8))
    source = checkpoint(load_preset(PRESET))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCAL_JUDGE_HOME", str(home))
        write_model(weights_path(load_preset(written.preset)), source)
    return written


@pytest.fixture(scope="session")
def starting(random_judge: RandomJudge) -> Generator[subprocess.Popen[str]]:
    """`judge up --detach` of the judge of random weights, which starts while the other server does."""
    with random_judge.start("judge", "up", random_judge.preset, "--detach") as process:
        yield process
    random_judge.run("judge", "down", load_preset(random_judge.preset).name)
    assert json.loads(random_judge.run("judge", "show", "--running", "--json")) == []


@pytest.fixture(scope="session")
def random_url(starting: subprocess.Popen[str]) -> str:
    """The server of the judge of random weights."""
    return output(starting).strip()


@pytest.fixture(scope="session")
def server(
    starting: subprocess.Popen[str], tmp_path_factory: pytest.TempPathFactory
) -> Generator[RunningServer]:
    """The small judge behind vLLM, in the interpreter that runs the tests."""
    del starting
    log: Path = tmp_path_factory.mktemp("vllm") / "server.log"
    with launch(on_every_core(load_preset(PRESET)), log=log, timeout=SECONDS) as running:
        yield running


@pytest.fixture
async def judge(server: RunningServer, tmp_path: Path) -> AsyncIterator[Judge]:
    """A judge on the server that asks nothing twice."""
    async with judging(load_preset(PRESET), server.base_url, tmp_path) as judge:
        yield judge


@pytest.fixture
async def judge_of_random_weights(
    random_judge: RandomJudge, random_url: str, tmp_path: Path
) -> AsyncIterator[Judge]:
    """A judge on the server of random weights that asks nothing twice."""
    async with judging(load_preset(random_judge.preset), random_url, tmp_path) as judge:
        yield judge


@asynccontextmanager
async def judging(preset: Preset, url: str, folder: Path) -> AsyncGenerator[Judge]:
    """A judge on a server, with a new ledger."""
    engine = connect(preset, base_urls=[url])
    try:
        with Ledger.open(folder / "ledger.sqlite") as ledger:
            yield Judge(engine, ledger, JudgeSettings(sampling=preset.sampling, reasks=0))
    finally:
        await engine.aclose()


def on_every_core(preset: Preset) -> Preset:
    """The preset with the model in the engine's process, as on one GPU.

    On a CPU, vLLM gives the model a process of its own, which leaves a core to the engine that waits for it: of two
    cores, it computes on one.
    """
    assert preset.vllm is not None
    args = (*preset.vllm.args, "--distributed-executor-backend", "uni")
    env = {**preset.vllm.env, "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
    return preset.model_copy(update={"vllm": preset.vllm.model_copy(update={"args": args, "env": env})})


def counted(base_url: str, name: str) -> int:
    """One of a server's own counters."""
    text = httpx.get(base_url.removesuffix("/v1") + "/metrics", timeout=30).text
    values = re.findall(rf"^vllm:{name}_total\{{[^}}]*\}} (\S+)$", text, re.MULTILINE)
    assert values, name
    return int(sum(map(float, values)))
