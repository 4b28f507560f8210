"""A real vLLM server, started once for all tests of this folder, and a judge on it."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import AsyncIterator, Generator
from pathlib import Path

import httpx
import pytest

from local_judge.judge.judge import Judge, JudgeSettings
from local_judge.judge.ledger import Ledger
from serving.connect import connect
from serving.launch import RunningServer, launch
from serving.presets import load_preset

PRESET = "qwen2.5-coder-0.5b-vllm"
BLOCK_TOKENS = 128
"""vLLM's on a processor: a prefix is shared in whole blocks of this many tokens."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningServer]:
    """The small judge behind vLLM, in the interpreter that runs the tests; missing weights are an error."""
    if importlib.util.find_spec("vllm") is None:
        pytest.fail("these tests need vLLM in this interpreter: run scripts/test --vllm")
    log: Path = tmp_path_factory.mktemp("vllm") / "server.log"
    with launch(load_preset(PRESET), log=log, timeout=900) as running:
        yield running


@pytest.fixture
async def judge(server: RunningServer, tmp_path: Path) -> AsyncIterator[Judge]:
    """A judge on the server that asks nothing twice."""
    preset = load_preset(PRESET)
    engine = connect(preset, base_urls=[server.base_url])
    try:
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            yield Judge(engine, ledger, JudgeSettings(sampling=preset.sampling, reasks=0))
    finally:
        await engine.aclose()


def counted(server: RunningServer, name: str) -> int:
    """One of the server's own counters."""
    text = httpx.get(server.base_url.removesuffix("/v1") + "/metrics", timeout=30).text
    values = re.findall(rf"^vllm:{name}_total\{{[^}}]*\}} (\S+)$", text, re.MULTILINE)
    assert values, name
    return int(sum(map(float, values)))
