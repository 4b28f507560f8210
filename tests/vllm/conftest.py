"""A real vLLM server, started once for all tests of this folder."""

from __future__ import annotations

import importlib.util
from collections.abc import Generator
from pathlib import Path

import pytest

from serving.launch import RunningServer, launch
from serving.presets import load_preset


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningServer]:
    """The small judge behind vLLM, in the interpreter that runs the tests; missing weights are an error."""
    if importlib.util.find_spec("vllm") is None:
        pytest.fail("these tests need vLLM in this interpreter: run scripts/test --vllm")
    log: Path = tmp_path_factory.mktemp("vllm") / "server.log"
    with launch(load_preset("qwen2.5-coder-0.5b-vllm"), log=log, timeout=900) as running:
        yield running
