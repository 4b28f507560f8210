"""The stub server in a thread of the test's process, for code that has its own event loop or its own process."""

from __future__ import annotations

import asyncio
import json
import math
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.stub_replies import fill
from tests.stub_server import Received, Stub, StubPlan


class StubThread:
    """`with StubThread(plan) as server` serves at `server.url` until the block ends."""

    def __init__(self, plan: StubPlan, port: int = 0) -> None:
        self.port = port
        self._stub = Stub(plan)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="stub")

    def __enter__(self) -> Self:
        self._thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._stub.start(port=self.port), self._loop).result()
        self.url = f"http://127.0.0.1:{self.port}/v1"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def kill(self) -> None:
        """Close the port and every connection."""
        asyncio.run_coroutine_threadsafe(self._stub.stop(), self._loop).result()

    def restart(self) -> None:
        """Listen on the same port again."""
        asyncio.run_coroutine_threadsafe(self._stub.start(port=self.port), self._loop).result()

    def hold(self, count: int) -> None:
        """Answer no more chat completions than so many before `release`: who asks cannot finish until then."""
        self._stub.held_from = count

    def release(self) -> None:
        """Answer what is held, and hold nothing more."""
        self._loop.call_soon_threadsafe(self._stub.release)

    @property
    def chats(self) -> list[Received]:
        """The chat completions asked for so far."""
        return self._stub.chats


def answer(asked: Mapping[str, Any]) -> str:
    """A credulous judge: every sentence is one claim, every claim is supported by the page's longest line.

    A checklist has an item for each of `TOPICS`; of a menu, the first is taken; of two articles, none is better.
    """
    reply = json.loads(fill(asked))
    text: str = asked["messages"][-1]["content"]
    lists = listed(text, reply)
    if lists is not None:
        return json.dumps(lists)
    if reply.keys() & {"topic", "needs_deep_research", "sentence"}:
        return json.dumps(reply)
    for key, told, sample in (
        ("personas", "role", "Knows of {}"),
        ("tasks", "request", "What do sources say of {}?"),
    ):
        if key in reply:
            wanted = re.search(r"^Task: (?:invent|write) (\d+) ", text, re.MULTILINE)
            assert wanted is not None, text
            said = [sample.format(what) for what in TOPICS[: int(wanted[1])]]
            return json.dumps({key: [{**reply[key][0], told: each} for each in said]})
    if "action" in reply:
        return json.dumps(checked(text, reply) if "\n[s1] " in text else acted(text, asked, reply))
    targets = text.rpartition("Sentences:\n")[2]
    if reply.keys() == {"rationale", "score"} or {"stated_by", "relevance", "repeats"} & {
        *next(iter(reply.values()), "")
    }:
        return json.dumps(reply)
    for number, item in reply.items():
        if "queries" in item:
            item["queries"] = ["heat pump lake"]
        elif "supporting" in item:
            passage = text.partition("```\n")[2].partition("\n```")[0].partition("\n\n")[2]
            item |= {"supporting": [max(passage.splitlines(), key=len)[:200]], "opposing": []}
        elif "quote" not in item:
            line = re.search(rf"^{number}\. L\d+\.S\d+: (.+)$", targets, re.MULTILINE)
            assert line is not None, targets
            if "statements" in item:
                said = line[1][:200]
                item["statements"][0] |= {"statement": said, "quote": said, "entities": [said.split()[0]]}
                continue
            claim = item.get("claims", [item])[0]
            claim["claim"] = line[1][:300]
            claim |= dict.fromkeys(claim.keys() & {"checkable", "salient"}, True)
        else:
            page = text.partition("```\n")[2].partition("\n```")[0]
            item["quote"] = max(page.splitlines(), key=len)[:200]
    return json.dumps(reply)


def listed(text: str, reply: dict[str, Any]) -> dict[str, Any] | None:
    """A reply that is a list, or more; None where it is something else."""
    if "issues" in reply:
        return {"issues": []}
    if reply and all(isinstance(item, dict) and "article_1" in item for item in reply.values()):
        return {key: {**item, "article_1": 5, "article_2": 5} for key, item in reply.items()}
    if reply.keys() == {"claims"}:
        return {"claims": [*range(1, 1 + len(reply["claims"]))]}
    if "deductions" in reply:
        return finished(text, set(reply), None, "")
    if "points" in reply:
        return {"points": [drafted(text, number, point) for number, point in enumerate(reply["points"])]}
    if "questions" in reply:
        return {"questions": [{**one, "question": QUESTION} for one in reply["questions"]]}
    if "items" in reply and isinstance(reply["items"][0], dict):  # key information
        first = re.search(r"^Passage 1, (\S+), .+:\n```\n(.+)$", text, re.MULTILINE)
        if first is not None:
            return {
                "items": [{"url": first[1], "quote": first[2][:200], "question": "Does the report say it?"}]
            }
        asked = reply["items"][0].keys() == {"question"}
        return {"items": [{"question": "Does the report say it?"}] if asked else []}
    if "items" in reply:
        return {"items": [f"Does the report say {what}?" for what in TOPICS]}
    return None


QUESTION = "Was it worth what it cost?"


def leaning(asked: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """A judge that leans to yes: of a claim, ln P(yes) - ln P(no) is 4, less 2 for each word that its page has not.

    Claims of odd length get half a point more, so that they do not all get the same. On a scale from 0 to 10 it likes
    long articles: p(k) goes with exp(-(k - c)²), where c is a point for each 200 characters.
    """
    text: str = asked["messages"][-1]["content"]
    article = text.partition("Article:\n```\n")[2].partition("\n```")[0]
    if article:
        weights = {str(k): math.exp(-((k - min(10.0, len(article) / 200)) ** 2)) for k in range(11)}
        total = sum(weights.values())
        return tuple((k, math.log(max(1e-9, weight / total))) for k, weight in weights.items())
    page, claim = (text.partition(f"{name}:\n```\n")[2].partition("\n```")[0] for name in ("Page", "Claim"))
    known = set(re.findall(r"\w+", page.casefold()))
    missing = [word for word in re.findall(r"\w+", claim.casefold()) if word not in known]
    odds = math.exp(4 - 2 * len(missing) + 0.5 * (len(claim) % 2))
    return (("Yes", math.log(odds / (1 + odds))), ("No", -math.log(1 + odds)))


def acted(text: str, asked: Mapping[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
    """An agent's turn: looks its question up once, and answers with the first line of the first page that it was shown.

    It knows nothing where it was shown none, and says so where it has to finish.
    """
    shown = re.search(r"^address: (\S+)\n(?:.+\n)*\n(.+)$", text, re.MULTILINE)
    if shown is not None or reply["action"]["tool"] == "finish":
        page, words = (shown[1], shown[2][:200]) if shown is not None else (None, "Unknown.")
        answer = finished(text, answer_keys(asked), page, words)
        return {"thought": "I finish.", "action": {"tool": "finish", "answer": answer}}
    if "Claim:\n" in text:
        return {"thought": "I look.", "action": {"tool": "search", "queries": ["heat pump lake"], "k": 1}}
    titles = "(?:Question|Request|Question and plan):\n```\n(?:question: )?(.+)$"
    question = re.findall(titles, text, re.MULTILINE)[-1]
    return {"thought": "I look it up.", "action": {"tool": "search", "queries": [question[:200]], "k": 1}}


def answer_keys(asked: Mapping[str, Any]) -> set[str]:
    """The keys of the answer that an agent may finish with."""
    action: Any = asked["response_format"]["json_schema"]["schema"]["properties"]["action"]
    options = action.get("anyOf", [action])
    [answer] = [one["properties"]["answer"] for one in options if "answer" in one["properties"]]
    return set(answer["properties"])


def finished(text: str, keys: set[str], page: str | None, words: str) -> dict[str, Any]:
    """An agent's answer: cited words, an item of key information, or what it finds of a report's reasoning."""
    if "items" in keys:
        item = {
            "url": page or "https://nowhere.example/",
            "quote": words,
            "question": "Does the report say it?",
        }
        return {"items": [item]}
    if "label" in keys:
        supporting = [{"url": page, "quote": words}] if page else []
        label = "supported" if page else "unverifiable"
        return {"supporting": supporting, "opposing": [], "rationale": "", "label": label}
    if "deductions" in keys:
        sentences = re.findall(r"^L\d+\.S\d+: (.+)$", text, re.MULTILINE)
        return {"extracted": [sentences[0][:200]], "deductions": []}
    return {"text": words, "citations": [{"url": page, "quote": words}] if page else []}


def checked(text: str, reply: dict[str, Any]) -> dict[str, Any]:
    """An agent's turn on a statement: looks it up once, and calls it Right by the first page that it was shown."""
    shown = re.search(r"^address: (\S+)\n(?:.+\n)*\n(.+)$", text, re.MULTILINE)
    if shown is None and reply["action"]["tool"] != "finish":
        statement = text.partition("\n[s1] ")[2].partition("\n")[0]
        return {"thought": "I look it up.", "action": {"tool": "search", "queries": [statement], "k": 1}}
    found = [{"url": shown[1], "quote": shown[2][:200], "stance": "supports"}] if shown else []
    verdict = {"evidence": found, "reasoning": "So it is.", "label": "Right" if shown else "Unknown"}
    return {"thought": "Done.", "action": {"tool": "finish", "answer": {"s1": verdict}}}


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
