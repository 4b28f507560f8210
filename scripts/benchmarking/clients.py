"""Clients that `scripts/bench_client` compares: each asks the same questions, with the same number of calls in flight.

    python scripts/benchmarking/clients.py {ours,openai,inspect,ray_data,ray_llm} URL CALLS IN_FLIGHT

It prints one JSON line: answered calls, and CPU time of the client without start and warm-up. Only the standard library
is imported at the top, so that the others run in an environment without this project.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).absolute().parents[2]
SYSTEM = "You are a careful judge of research reports."
PER_REPORT = 100
"""Questions about one report."""

Measured = dict[str, float | int]


def report(number: int) -> str:
    """Return a report of about 4 kB."""
    return f"Report {number}. " + "The reactor was opened in 1998 and closed in 2011 [3]. " * 75


def question(call: int) -> str:
    """Return the user message of a call."""
    return f"REPORT\n```\n{report(call // PER_REPORT)}\n```\n\nQuestion {call}: is it so?"


def messages(call: int) -> list[dict[str, str]]:
    """Return the chat messages of a call."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question(call)}]


async def in_flight(ask: Callable[[int], Awaitable[bool]], calls: range, at_once: int) -> int:
    """Ask all calls, `at_once` at a time; return how many were answered."""
    waiting, answered = iter(calls), 0

    async def asker() -> None:
        nonlocal answered
        for call in waiting:
            ok = await ask(call)
            answered += ok

    await asyncio.gather(*(asker() for _ in range(at_once)))
    return answered


async def ours(url: str, calls: int, at_once: int) -> Measured:
    """Ask through the whole judge: layout, ledger (committed to disk), scheduler, HTTP, parsing and validation."""
    sys.path.insert(0, str(ROOT))
    from pydantic import BaseModel

    from local_judge.cli.ending import relax_collector
    from local_judge.judge.judge import Answer, Judge
    from local_judge.ledger.ledger import Ledger
    from local_judge.prompts import Prompt, fence
    from serving.engines.openai import OpenAIEngine

    class Verdict(BaseModel):
        ok: bool

    relax_collector()  # as the command line does

    @lru_cache(maxsize=16)
    def fenced(number: int) -> str:
        return fence(report(number), "REPORT")

    engine = OpenAIEngine([url], concurrency=at_once)
    with tempfile.TemporaryDirectory() as folder, Ledger.open(Path(folder) / "ledger.db") as ledger:
        judge = Judge(engine, ledger)

        async def ask(call: int) -> bool:
            number = call // PER_REPORT
            own = f"Question {call}: is it so?"
            prompt = Prompt(shared=fenced(number), own=own, prefix_key=f"report-{number}", system=SYSTEM)
            return isinstance(await judge.ask(prompt, Verdict), Answer)

        # As a run does, with more questions that wait for their answer than calls in flight.
        await in_flight(ask, range(-2 * at_once, 0), 2 * at_once)
        before, cpu = resident(), time.process_time()
        answered = await in_flight(ask, range(calls), 4 * at_once)
        found = {"answered": answered, "cpu": time.process_time() - cpu, "grown": resident() - before}
    await engine.aclose()
    return found


async def bare_openai(url: str, calls: int, at_once: int) -> Measured:
    """Ask with the `openai` package and read the JSON of each reply; nothing is stored."""
    httpx, openai = _module("httpx"), _module("openai")
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    client = openai.AsyncOpenAI(
        base_url=url,
        api_key="none",
        http_client=openai.DefaultAsyncHttpxClient(limits=limits),
        timeout=600,
    )

    async def ask(call: int) -> bool:
        reply = await client.chat.completions.create(model="stub", messages=messages(call), max_tokens=2048)
        return "ok" in json.loads(reply.choices[0].message.content or "")

    await in_flight(ask, range(-2 * at_once, 0), at_once)
    cpu = time.process_time()
    answered = await in_flight(ask, range(calls), at_once)
    found = {"answered": answered, "cpu": time.process_time() - cpu}
    await client.close()
    return found


def inspect(url: str, calls: int, at_once: int) -> Measured:
    """Evaluate an Inspect task with one sample per call, and its log."""
    inspect_ai, model, solver = map(_module, ("inspect_ai", "inspect_ai.model", "inspect_ai.solver"))
    sample = _module("inspect_ai.dataset").Sample

    def evaluate(numbers: range) -> int:
        samples = [
            sample(
                id=str(call),
                input=[
                    model.ChatMessageSystem(content=SYSTEM),
                    model.ChatMessageUser(content=question(call)),
                ],
            )
            for call in numbers
        ]
        judge = model.get_model("openai/stub", base_url=url, api_key="none", responses_api=False)
        task = inspect_ai.Task(dataset=samples, solver=solver.generate())
        limits = {"max_connections": at_once, "max_samples": at_once, "max_tokens": 2048}
        with tempfile.TemporaryDirectory() as folder:
            log: Any = inspect_ai.eval(
                task, model=judge, log_dir=folder, display="none", score=False, **limits
            )[0]
            return sum("ok" in one.output.completion for one in log.samples)

    evaluate(range(-at_once, 0))
    cpu = time.process_time()
    answered = evaluate(range(calls))
    return {"answered": answered, "cpu": time.process_time() - cpu}


class _Asker:
    """Actor of a Ray Data map: sends each batch at once."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/chat/completions"
        self._session: Any = None

    async def __call__(self, batch: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        if self._session is None:  # now, as it needs the event loop
            aiohttp = _module("aiohttp")
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

        async def ask(call: int) -> bool:
            body = {"model": "stub", "messages": messages(call), "max_tokens": 2048}
            async with self._session.post(self._url, json=body) as response:
                reply = await response.json()
            return "ok" in json.loads(reply["choices"][0]["message"]["content"])

        ok = await asyncio.gather(*(ask(int(call)) for call in batch["id"]))
        yield {"ok": list(ok)}


def ray_data(url: str, calls: int, at_once: int) -> Measured:
    """Map the calls with Ray Data, one actor, half of the calls in flight in each of two batches."""
    ray = _ray()

    def ask(n: int) -> Any:
        data = ray.data.range(n, override_num_blocks=max(1, 2 * n // at_once))
        arguments = {"batch_size": at_once // 2, "concurrency": 1, "max_concurrency": 2}
        return data.map_batches(_Asker, fn_constructor_args=(url,), **arguments).to_pandas()

    ask(at_once)
    cpu = time.process_time() + _work()
    found = ask(calls)
    return {"answered": int(found["ok"].sum()), "cpu": time.process_time() + _work() - cpu}


def ray_llm(url: str, calls: int, at_once: int) -> Measured:
    """Process the calls with `ray.data.llm`, whose HTTP stage sends the calls of a batch one after the other."""
    ray = _ray()
    llm = _module("ray.data.llm")
    config = llm.HttpRequestProcessorConfig(url=f"{url}/chat/completions", batch_size=8, concurrency=1)

    def payload(row: dict[str, Any]) -> dict[str, Any]:
        return {"payload": {"model": "stub", "messages": messages(row["id"]), "max_tokens": 2048}}

    def content(row: dict[str, Any]) -> dict[str, Any]:
        return {"content": row["http_response"]["choices"][0]["message"]["content"]}

    processor = llm.build_processor(config, preprocess=payload, postprocess=content)
    cpu = time.process_time() + _work()
    found = processor(ray.data.range(calls, override_num_blocks=max(1, calls // 8))).to_pandas()
    answered = int(found["content"].str.contains("ok").sum())
    return {"answered": answered, "cpu": time.process_time() + _work() - cpu}


def _ray() -> Any:
    os.environ["RAY_AUTH_MODE"] = (
        "disabled"  # otherwise Ray leaves a token in the home folder, for all later clusters
    )
    ray = _module("ray")
    _module("ray.data")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray


def _work() -> float:
    """Return the CPU time of Ray's workers that run now, start included."""
    ticks = 0
    for process in Path("/proc").iterdir():
        try:
            if (process / "cmdline").read_bytes().startswith(b"ray::"):
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        except OSError:  # no process, or one that has ended
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


def _module(name: str) -> Any:
    """Import a module that only some environments have."""
    return import_module(name)


def resident() -> int:
    """Return the resident set of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


CLIENTS: dict[str, Callable[[str, int, int], Any]] = {
    "ours": ours,
    "openai": bare_openai,
    "inspect": inspect,
    "ray_data": ray_data,
    "ray_llm": ray_llm,
}


def main() -> None:
    """Measure one client."""
    name, url, calls, at_once = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    found = CLIENTS[name](url, calls, at_once)
    print(json.dumps(asyncio.run(found) if asyncio.iscoroutine(found) else found), flush=True)


if __name__ == "__main__":
    main()
