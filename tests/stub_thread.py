"""The stub server in a thread of the test's process, for code that has its own event loop or its own process."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from serving.stub import Received, Stub, StubPlan
from serving.stub_fill import fill


class StubThread:
    """`with StubThread(plan) as server` serves at `server.url` until the block ends."""

    def __init__(self, plan: StubPlan) -> None:
        self._stub = Stub(plan)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="stub")

    def __enter__(self) -> Self:
        self._thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._stub.start(), self._loop).result()
        self.url = f"http://127.0.0.1:{self.port}/v1"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stub.stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def chats(self) -> list[Received]:
        """The chat completions asked for so far."""
        return self._stub.chats


def answer(asked: Mapping[str, Any]) -> str:
    """A credulous judge: every sentence is one claim, every claim is supported by the page's longest line.

    A checklist has an item for each of `TOPICS`; of a menu, the first is taken.
    """
    reply = json.loads(fill(asked))
    text: str = asked["messages"][-1]["content"]
    if "issues" in reply:
        return json.dumps({"issues": []})
    if "points" in reply:
        return json.dumps(
            {"points": [drafted(text, number, point) for number, point in enumerate(reply["points"])]}
        )
    if "items" in reply:
        return json.dumps({"items": [f"Does the report say {what}?" for what in TOPICS]})
    if reply.keys() & {"topic", "needs_deep_research", "sentence"}:
        return json.dumps(reply)
    if "action" in reply:
        return json.dumps(acted(text, reply))
    targets = text.rpartition("Sentences:\n")[2]
    for number, item in reply.items():
        if "quote" not in item:
            line = re.search(rf"^{number}\. L\d+\.S\d+: (.+)$", targets, re.MULTILINE)
            assert line is not None, targets
            item.get("claims", [item])[0]["claim"] = line[1][:300]
        else:
            page = text.partition("```\n")[2].partition("\n```")[0]
            item["quote"] = max(page.splitlines(), key=len)[:200]
    return json.dumps(reply)


def acted(text: str, reply: dict[str, Any]) -> dict[str, Any]:
    """An agent's turn: looks its question up once, and answers with the first line of the first page that it was shown.

    It knows nothing where it was shown none, and says so where it has to finish.
    """
    shown = re.search(r"^address: (\S+)\n(?:.+\n)*\n(.+)$", text, re.MULTILINE)
    if shown is not None:
        cited = [{"url": shown[1], "quote": shown[2][:200]}]
        answer = {"text": shown[2][:200], "citations": cited}
        return {"thought": "The page says it.", "action": {"tool": "finish", "answer": answer}}
    if reply["action"]["tool"] == "finish":
        return {**reply, "action": {"tool": "finish", "answer": {"text": "Unknown.", "citations": []}}}
    question = text.partition("Question:\n```\n")[2].partition("\n```")[0]
    return {"thought": "I look it up.", "action": {"tool": "search", "queries": [question], "k": 1}}


TOPICS = ("the cost", "who decided", "what was built", "the homes", "the risks", "the year")


def drafted(text: str, number: int, point: dict[str, str]) -> dict[str, str]:
    """A point of guidance, with the first passage's longest line where there are passages."""
    if "quote" in point:
        passage = text.partition("Passage 1:\n```\n")[2].partition("\n```")[0]
        point["quote"] = max(passage.splitlines(), key=len)[:200]
    return {**point, "statement": f"The report has to say {TOPICS[number]}, with a source."}


PRESET = """description: The stub server.
model: stub
licence: Apache-2.0
engine: vllm
weights: {{hub: nobody/stub}}
context_tokens: 32768
concurrency: {concurrency}
timeout_seconds: {timeout}
vllm: {{}}
"""


def write_preset(folder: Path, *, concurrency: int = 8, timeout: float = 60.0) -> Path:
    """A preset file for the stub."""
    path = folder / "stub.yaml"
    path.write_text(PRESET.format(concurrency=concurrency, timeout=timeout), encoding="utf-8")
    return path
