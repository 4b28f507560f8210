"""The stub in a process of its own, as benchmarks and scripts use it."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from serving.engines.openai import OpenAIEngine
from serving.errors import EngineFault
from serving.types import Message, Sampling
from tests.stub_server import Fault, Stub, StubPlan, main, parse_fault

ROOT = Path(__file__).parents[2]
PROMPT = [Message(role="user", content="Is it so?")]


async def test_it_runs_from_the_command_line() -> None:
    command = [
        sys.executable,
        "-m",
        "tests.stub_server",
        "--content",
        "hello",
        "--fault",
        "500*2",
        "--delay-ms",
        "1",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, cwd=ROOT, env=environment)
    assert process.stdout is not None
    url = (await process.stdout.readline()).decode().strip()
    engine = OpenAIEngine([url], max_attempts=1)
    for _ in range(2):
        with pytest.raises(EngineFault):
            await engine.generate(PROMPT, Sampling())
    assert (await engine.generate(PROMPT, Sampling())).text == "hello"
    await engine.aclose()
    process.terminate()
    await process.communicate()


async def test_no_more_than_its_slots_are_answered_at_one_time() -> None:
    async with Stub(StubPlan(delay=0.002, slots=2)) as stub:
        engine = OpenAIEngine([stub.url], concurrency=10)
        await asyncio.gather(*(engine.generate(PROMPT, Sampling()) for _ in range(10)))
        await engine.aclose()
    assert stub.peak == 2
    assert len(stub.chats) == 10


def test_faults_are_written_as_kind_and_times() -> None:
    assert parse_fault("hang") == [Fault("hang")]
    assert parse_fault("503*3") == [Fault("503")] * 3


@pytest.mark.parametrize("text", ["200", "explode", "500*many"])
def test_a_fault_that_is_none_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--fault", text])
    assert caught.value.code == 2
    assert "--fault" in capsys.readouterr().err
