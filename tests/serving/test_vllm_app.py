"""The start and the end of vLLM in this process, with a stand-in for its modules."""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import multiprocessing.spawn
import os
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from serving.engines.asgi import Event
from serving.engines.vllm_app import VllmApp
from serving.errors import LaunchFailed, MissingExtra, ServerDown
from serving.presets import load_preset

URL = "http://in-process/v1/models"
LAUNCHERS = "vllm.entrypoints.launchers"


class Engine:
    """vLLM's engine, as far as it is asked."""

    model_config = None

    def __init__(self) -> None:
        self.errored = False

    async def get_supported_tasks(self) -> tuple[str, ...]:
        return ("generate",)


class Vllm:
    """Stand-in for vLLM's modules; its engine is a process that prints a line and sleeps."""

    def __init__(self, failure: str = "") -> None:
        self.failure = failure
        self.engine = Engine()
        self.words: list[str] = []
        self.seen: dict[str, str | None] = {}
        self.process: BaseProcess | None = None

    def parse_args(self, words: list[str]) -> argparse.Namespace:
        self.words = words
        return argparse.Namespace()

    @asynccontextmanager
    async def build_async_engine_client(self, arguments: Any) -> AsyncGenerator[Engine]:
        names = ("HF_HUB_OFFLINE", "VLLM_WORKER_MULTIPROC_METHOD", "VLLM_LOGGING_CONFIG_PATH")
        self.seen = {name: os.environ.get(name) for name in names}
        self.process = multiprocessing.get_context("spawn").Process(target=work)
        self.process.start()
        if self.failure:
            await asyncio.to_thread(self._until_started)
            raise RuntimeError(self.failure)
        yield self.engine

    def _until_started(self) -> None:
        while self.process is not None and self.process.is_alive() and not self.log.read_text():
            time.sleep(0.01)

    async def init_app_state(self, engine: Engine, state: Any, arguments: Any, tasks: Any) -> None:
        state.engine = engine

    def build_app(self, arguments: Any, tasks: Any, model_config: Any) -> Any:
        async def application(
            scope: Event, receive: Callable[[], Awaitable[Event]], send: Callable[[Event], Awaitable[None]]
        ) -> None:
            status = 500 if self.engine.errored else 200
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b"{}"})

        application.state = SimpleNamespace()  # pyright: ignore
        return application

    log = Path()


def work() -> None:
    print("started", flush=True)
    time.sleep(60)


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Vllm], VllmApp]:
    """Makes the application of a preset with a stand-in."""

    def made(vllm: Vllm) -> VllmApp:
        vllm.log = tmp_path / "log"
        modules: dict[str, dict[str, Any]] = {
            "vllm.utils.argparse_utils": {"FlexibleArgumentParser": lambda: None},
            f"{LAUNCHERS}.cli_args": {"make_arg_parser": lambda parser: vllm},  # pyright: ignore
            f"{LAUNCHERS}.app": {"build_app": vllm.build_app},
            f"{LAUNCHERS}.api_server.entry": {
                "build_async_engine_client": vllm.build_async_engine_client,
                "init_app_state": vllm.init_app_state,
            },
        }
        for name, content in modules.items():
            module = ModuleType(name)
            module.__dict__.update(content)
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr("serving.engines.vllm_app.find_spec", lambda name: name)  # pyright: ignore
        monkeypatch.setattr("serving.engines.vllm_app.checkpoint", lambda preset: tmp_path)  # pyright: ignore
        return VllmApp(load_preset("qwen3-8b"), vllm.log)

    return made


async def test_it_gets_the_options_of_a_server_and_leaves_nothing(start: Callable[[Vllm], VllmApp]) -> None:
    vllm = Vllm()
    client = start(vllm).client()
    before = dict(os.environ)
    assert (await client.get(URL)).body == b"{}"
    assert vllm.words[:2] == ["--model", str(vllm.log.parent)]
    assert "--enable-prefix-caching" in vllm.words
    assert (vllm.seen["HF_HUB_OFFLINE"], vllm.seen["VLLM_WORKER_MULTIPROC_METHOD"]) == ("1", "spawn")
    assert vllm.process is not None and vllm.process.is_alive()
    await client.aclose()
    assert not vllm.process.is_alive()
    assert dict(os.environ) == before
    assert multiprocessing.spawn.get_executable() == os.fsencode(sys.executable)


async def test_a_start_that_fails_is_one_line_with_the_cause(
    start: Callable[[Vllm], VllmApp], capfd: pytest.CaptureFixture[str]
) -> None:
    vllm = Vllm("CUDA out of memory. Tried to allocate 20.00 GiB")
    client = start(vllm).client()
    with pytest.raises(LaunchFailed, match=r"qwen3-8b did not start: out of memory; .*\(log: .*/log\)$"):
        await client.get(URL)
    await client.aclose()
    assert vllm.process is not None and not vllm.process.is_alive()
    assert vllm.log.read_text().startswith("started")
    assert capfd.readouterr() == ("", "")


async def test_an_engine_that_dies_ends_the_run(start: Callable[[Vllm], VllmApp]) -> None:
    vllm = Vllm()
    client = start(vllm).client()
    await client.get(URL)
    vllm.engine.errored = True
    with pytest.raises(ServerDown, match=r"vLLM in this process has ended: .*run the same command again"):
        await client.get(URL)
    await client.aclose()


def test_vllm_is_needed_only_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("serving.engines.vllm_app.find_spec", lambda name: None)  # pyright: ignore
    with pytest.raises(MissingExtra, match=r"qwen3-8b needs vLLM .*pip install '\.\[gpu\]'"):
        VllmApp(load_preset("qwen3-8b"), tmp_path / "log")
