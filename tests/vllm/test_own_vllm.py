"""vLLM in this process, and its batch program, answer as the server does; and what is left when they end."""

from __future__ import annotations

import asyncio
import math
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from serving.connect import connect
from serving.engine import Engine
from serving.engines.batch import BatchEngine, job_command
from serving.errors import LaunchFailed, PlannedCall, PromptTooLong
from serving.presets import Preset, load_preset
from serving.types import Choice, Generation, Message, Sampling

from ..waiting import until, wait_until
from .conftest import ROOT, RandomJudge

# vLLM is imported into this process, and its imports warn.
pytestmark = [pytest.mark.vllm, pytest.mark.filterwarnings("ignore")]

PAGE = "Apollo 11 landed on the Moon on July 20, 1969. Neil Armstrong was the first person to walk on it. "
QUESTION = [Message(role="user", content=PAGE * 12 + "Did Apollo 11 land in 1969? Answer Yes or No.")]
TASK = [Message(role="user", content=PAGE * 12 + "In which year was the landing? Answer as JSON.")]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"year": {"type": "integer", "minimum": 1000, "maximum": 2999}},
    "required": ["year"],
    "additionalProperties": False,
}


@pytest.fixture
def preset(random_judge: RandomJudge, monkeypatch: pytest.MonkeyPatch) -> Preset:
    """The judge of random weights, in the home that has them."""
    monkeypatch.setenv("LOCAL_JUDGE_HOME", str(random_judge.home))
    return load_preset(random_judge.preset)


def changed(preset: Preset, **env: str) -> Preset:
    """The preset with other environment variables."""
    assert preset.vllm is not None
    settings = preset.vllm.model_copy(update={"env": {**preset.vllm.env, **env}})
    return preset.model_copy(update={"vllm": settings})


@pytest.fixture
async def over_http(preset: Preset, random_url: str) -> AsyncIterator[Engine]:
    engine = connect(preset, base_urls=[random_url])
    yield engine
    await engine.aclose()


async def answers(engine: Engine) -> tuple[Generation, Choice, Choice]:
    """A reply under a schema, a choice of one token, and one of numbers up to two tokens."""
    numbers = [str(number) for number in range(11)]
    reply = await engine.generate(TASK, Sampling(max_tokens=32), SCHEMA)
    return reply, await engine.choose(QUESTION, ["Yes", "No"]), await engine.choose(QUESTION, numbers)


def assert_alike(one: tuple[Generation, Choice, Choice], other: tuple[Generation, Choice, Choice]) -> None:
    assert one[0].text == other[0].text
    assert one[0].finish_reason == other[0].finish_reason == "stop"
    for mine, theirs in zip(one[1:], other[1:], strict=True):
        assert isinstance(mine, Choice) and isinstance(theirs, Choice)
        assert mine.logprobs == pytest.approx(theirs.logprobs, abs=0.02)
        assert mine.bounded == theirs.bounded == ()


def children() -> list[str]:
    """Command lines of processes that vLLM has started for this one; servers have groups of their own."""
    return [args for args in group(os.getpgrp()) if _is_of_vllm(args)]


def _is_of_vllm(args: str) -> bool:
    return "spawn_main" in args or "VLLM::" in args  # before and after the process names itself


async def test_in_this_process_it_is_the_same_judge(preset: Preset, over_http: Engine) -> None:
    # As in a packaged preset, the model has a process of its own on a CPU.
    here = connect(changed(preset, VLLM_ENABLE_V1_MULTIPROCESSING="1"), in_process=True)
    try:
        assert await here.identity() == await over_http.identity()
        assert (await here.limits()).context_tokens == (await over_http.limits()).context_tokens
        assert (await here.limits()).kv_tokens
        assert await here.count_tokens(QUESTION) == await over_http.count_tokens(QUESTION)
        answered = await answers(here)
        assert_alike(answered, await answers(over_http))
        begun: list[float] = []
        streamed = await here.generate(
            TASK, Sampling(max_tokens=32), SCHEMA, lambda: begun.append(time.monotonic())
        )
        assert streamed.text == answered[0].text and len(begun) == 1
        assert streamed.usage.cached_tokens  # the prefix of the first call
        with pytest.raises(PromptTooLong):
            await here.generate([Message(role="user", content="word " * 20_000)], Sampling())
        generating = asyncio.Event()
        given_up = asyncio.create_task(here.generate(TASK, Sampling(max_tokens=2000), started=generating.set))
        await generating.wait()
        assert given_up.cancel()
        assert math.isfinite((await here.choose(QUESTION, ["Yes", "No"])).mass)  # it goes on
        assert len(children()) == 2  # engine and model
    finally:
        await here.aclose()
    await until(lambda: not children())


async def test_a_model_that_does_not_fit_is_one_line(preset: Preset) -> None:
    engine = connect(changed(preset, VLLM_CPU_KVCACHE_SPACE="100000"), in_process=True)
    try:
        with pytest.raises(LaunchFailed, match=r"did not start: .*\(log: .*\)$") as caught:
            await engine.identity()
        assert "\n" not in str(caught.value)
    finally:
        await engine.aclose()
    await until(lambda: not children())


def test_ctrl_c_while_the_model_loads_leaves_no_process(random_judge: RandomJudge, tmp_path: Path) -> None:
    (tmp_path / "claims.jsonl").write_text(
        '{"claim": "It is.", "url": "https://a.example/"}\n', encoding="utf-8"
    )
    (tmp_path / "pages").mkdir()
    code = "from indexes.making.importing import import_pages; from pathlib import Path; "
    code += "import_pages(Path('pages'), Path('snapshot'))"
    (tmp_path / "pages/a.md").write_text("It is so.", encoding="utf-8")
    (tmp_path / "pages/pages.jsonl").write_text(
        '{"url": "https://a.example/", "file": "a.md"}\n', encoding="utf-8"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LOCAL_JUDGE_HOME": str(random_judge.home)}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, check=True)
    words = ["verify", "claims.jsonl", "--snapshot", "snapshot", "--in-process", "--ledger", "l.sqlite"]
    process = subprocess.Popen(
        [sys.executable, "-m", "local_judge", *words, "--judge", str(random_judge.preset)],
        cwd=tmp_path,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until(lambda: any(map(_is_of_vllm, group(process.pid))), 600)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in err and "Stopped" in err
    wait_until(lambda: not group(process.pid))  # Python's own resource tracker ends after its process


def group(pid: int) -> list[str]:
    """Processes of a group that have not ended."""
    listed = subprocess.run(
        ["ps", "-wweo", "pgid=,stat=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [" ".join(row) for row in rows if row[0] == str(pid) and not row[1].startswith("Z")]


async def test_a_batch_job_answers_as_the_server_does(
    preset: Preset, over_http: Engine, tmp_path: Path
) -> None:
    def opened() -> BatchEngine:
        engine = connect(preset, batch=tmp_path / "batch")
        assert isinstance(engine, BatchEngine)
        return engine

    first = opened()
    try:
        assert await first.identity() == await over_http.identity()
        assert await first.count_tokens(QUESTION) == await over_http.count_tokens(QUESTION)
        for each in (
            first.generate(TASK, Sampling(max_tokens=32), SCHEMA, lambda: None),
            first.choose(QUESTION, ["Yes", "No"]),
            first.choose(QUESTION, [str(number) for number in range(11)]),
        ):
            with pytest.raises(PlannedCall):
                await each
        requests = first.files.write()
    finally:
        await first.aclose()
    assert requests is not None and requests.calls == 4  # "10" is "1", then "0"
    python = Path(sys.executable).parent
    done = await asyncio.create_subprocess_exec(
        *shlex.split(job_command(preset, requests)),
        env={**os.environ, "PATH": f"{python}:{os.environ['PATH']}"},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert await done.wait() == 0
    second = opened()
    try:
        assert_alike(await answers(second), await answers(over_http))
        assert second.files.write() is None
    finally:
        await second.aclose()
