"""A server that answers like a judge, so that the documentation's commands run without a model."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import Any

import pytest

from serving.stub import Stub, StubPlan

LISTED = re.compile(r"^\d+\. (?:L\d+\.S\d+: )?(.*)$", re.MULTILINE)


def answer(asked: Mapping[str, Any]) -> str:
    """One claim per sentence, of the sentence's own words; every claim supported by the page's first line.

    What is asked for is told by the schema, as a constrained decoder would be.
    """
    if asked.get("logprobs"):
        return "Yes"
    schema = asked["response_format"]["json_schema"]["schema"]
    keys = list(schema["properties"])
    user: str = asked["messages"][-1]["content"]
    data, _, own = user.rpartition("\n\nTask: ")
    items = LISTED.findall(own)
    assert len(items) == len(keys), "the stand-in misread its prompt"
    if own.startswith("list the claims"):
        found: list[Any] = [
            {"claims": [{"claim": text, "type": "A", "support": [], "checkable": True, "salient": False}]}
            for text in items
        ]
    else:
        first = next(line for line in data.splitlines()[2:] if len(line) > 20)
        found = [{"quote": first, "rationale": "The words are the same.", "label": "supported"}] * len(items)
    return json.dumps(dict(zip(keys, found, strict=True)), ensure_ascii=False)


@pytest.fixture(scope="session")
def stand_in() -> Iterator[str]:
    """Base URL of a server that runs in a thread of its own for the whole session."""
    plan = StubPlan(answer=answer, model="Qwen/Qwen3-14B")
    ready: Future[str] = Future()
    stop: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        stopped = asyncio.Event()
        async with Stub(plan, keep=False) as stub:
            stop.set_result((asyncio.get_running_loop(), stopped))
            ready.set_result(stub.url)
            await stopped.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    yield ready.result(timeout=10)
    loop, stopped = stop.result()
    loop.call_soon_threadsafe(stopped.set)
    thread.join()
