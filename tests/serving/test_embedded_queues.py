"""The queues of the embedded engines, with stand-ins for the libraries: nobody waits for a reply that never comes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from serving.engines.openvino_worker import Request, Worker
from serving.engines.transformers import TransformersEngine
from serving.engines.transformers_model import Model, Reply, Row
from serving.errors import EngineFault, EngineUnreachable
from serving.types import Message, Sampling

from ..waiting import SECONDS, until


class Tokenizer:
    """One token a character."""

    def apply_chat_template(self, history: list[dict[str, str]], **_: bool) -> str:
        return history[-1]["content"]

    def __call__(self, text: str, **_: bool) -> dict[str, list[int]]:
        return {"input_ids": [ord(letter) for letter in text]}

    def decode(self, tokens: list[int], **_: bool) -> str:
        return "".join(map(chr, tokens))


async def test_a_call_that_is_given_up_holds_up_no_other(
    tmp_path: Path,
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    batches: list[str] = []

    class Echo:
        tokenizer = Tokenizer()

        def run(self, rows: list[Row]) -> list[Reply]:
            batches.append(" ".join(self.tokenizer.decode(row.prompt) for row in rows))
            begun.set()
            assert go_on.wait(SECONDS)
            return [Reply(row.prompt, True, 0, []) for row in rows]

    engine = TransformersEngine("echo", tmp_path, load=lambda _: cast("Model", Echo()))

    def ask(text: str) -> asyncio.Task[Any]:
        message = Message(role="user", content=text)
        return asyncio.create_task(engine.generate([message], Sampling(max_tokens=8)))

    first = ask("a")
    assert await asyncio.to_thread(begun.wait, SECONDS)
    given_up, last = ask("b"), ask("c")
    await until(lambda: len(engine._waiting) == 2)  # pyright: ignore[reportPrivateUsage]
    for task in (first, given_up):
        task.cancel()
    await asyncio.wait([first, given_up])
    go_on.set()
    assert (await asyncio.wait_for(last, SECONDS)).text == "c"
    await engine.aclose()
    assert batches == ["a", "c"]  # "a" ran on, and its end had nobody to tell


class OutOfMemoryError(RuntimeError):
    """Stands in for torch's."""


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (
            OutOfMemoryError(
                "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.25 GiB of which 1.06 "
                "GiB is free. Process 7 has 78 GiB memory in use.\nOf the allocated memory 77 GiB is PyTorch's."
            ),
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.25 GiB of which 1.06 GiB "
            "is free",
        ),
        (
            RuntimeError(
                "[enforce fail at alloc_cpu.cpp:128] err == 0. DefaultCPUAllocator: can't allocate memory: you tried "
                "to allocate 9000000000 bytes. Error code 12 (Cannot allocate memory)"
            ),
            "[enforce fail at alloc_cpu.cpp:128] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
            "allocate 9000000000 bytes. Error code 12 (Cannot allocate memory)",
        ),
        (MemoryError(), "MemoryError"),
    ],
)
async def test_memory_that_runs_out_is_one_line(tmp_path: Path, error: Exception, cause: str) -> None:
    class Full:
        tokenizer = Tokenizer()

        def run(self, rows: list[Row]) -> list[Reply]:
            raise error

    engine = TransformersEngine("full", tmp_path, load=lambda _: cast("Model", Full()))
    with pytest.raises(EngineFault) as raised:
        await engine.generate([Message(role="user", content="abc")], Sampling(max_tokens=8))
    await engine.aclose()
    assert str(raised.value) == (
        f"no memory for a batch of 1, prompt and reply up to 11 tokens ({cause}): lower concurrency or "
        "context_tokens in the preset"
    )


async def test_a_model_that_cannot_be_loaded_is_one_line(tmp_path: Path) -> None:
    def load(_: Path) -> Model:
        raise RuntimeError("no such layer\nand where it was looked for")

    engine = TransformersEngine("none", tmp_path, load=load)
    with pytest.raises(EngineFault, match=rf"^transformers cannot load {tmp_path}: no such layer$"):
        await engine.identity()
    await engine.aclose()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_worker_that_dies_fails_those_who_wait_and_those_who_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = tmp_path / "w.gguf"
    weights.touch()

    def broken() -> None:
        raise RuntimeError("a handle that cannot be read")

    def giving(value: object) -> Callable[..., object]:
        def give(*_: object, **__: object) -> object:
            return value

        return give

    ids = SimpleNamespace(input_ids=SimpleNamespace(data=[[1]]))
    tokenizer = SimpleNamespace(
        apply_chat_template=giving("a"), encode=giving(ids), decode=giving("a"), get_vocab=giving({})
    )
    pipeline = SimpleNamespace(
        get_tokenizer=giving(tokenizer),
        get_config=SimpleNamespace,
        add_request=giving(SimpleNamespace(can_read=broken, cancel=giving(None))),
        step=giving(None),
    )
    genai = SimpleNamespace(SchedulerConfig=SimpleNamespace, ContinuousBatchingPipeline=giving(pipeline))
    openvino = SimpleNamespace(Tensor=giving(None))
    monkeypatch.setattr("serving.engines.openvino_worker.load_openvino", giving((genai, openvino)))
    worker = Worker(weights, kv_tokens=1024, max_num_seqs=8, properties={})
    assert worker.ready.result(SECONDS) is tokenizer
    waiting = worker.submit(Request((1, 2), {}))
    with pytest.raises(EngineFault, match=r"w\.gguf"):
        waiting.result(SECONDS)
    with pytest.raises(EngineUnreachable, match="is closed"):
        worker.submit(Request((1, 2), {}))
    worker.close()
