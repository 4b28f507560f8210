"""The soak test: many calls with long prompts over several servers, of which one is killed and started again in turn.

    scripts/chaos soak [--calls N] [--minutes M] [--kill-every S] [--away S] [--slots N] [--delay S] [--seed K]

Each server is a process (`tests.stub_server`) that answers `slots` calls at a time after `delay` seconds, and logs the
number of each call that it answers. The client is the one of a run: `OpenAIEngine`, `Judge` and a ledger. Every prompt
is another text of 40,000 characters (10,000 tokens), which is generated when it is asked.

Prints one JSON line. Exits with 1 if a call fails or is not in the ledger, if an answer belongs to another call, if a
call was answered twice that was not in flight at a kill, or if the throughput is below 0.95 of the capacity of the
servers that were alive.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from pydantic import BaseModel

from local_judge.base.failures import Failure
from local_judge.cli.ending import relax_collector
from local_judge.judge.judge import Judge
from local_judge.ledger.ledger import Ledger
from local_judge.prompts import Prompt, fence
from serving.engines.openai import OpenAIEngine
from serving.launch import free_ports
from tests.stub_server import StubPlan, serve

N_SERVERS = 4
CHARACTERS = 40_000
LEAST_SHARE = 0.95
PATIENCE = 600.0
"""The default of `run --wait-for-server`, in seconds."""


class Echo(BaseModel):
    """Reply: the number of its call."""

    call: int


class Texts:
    """Distinct texts by number, as slices of one text of words."""

    def __init__(self, seed: int) -> None:
        rng = Random(seed)
        words = [
            "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 10))) for _ in range(4000)
        ]
        self._pool = " ".join(rng.choices(words, k=8 * CHARACTERS))
        self._seed = seed

    def prompt(self, number: int) -> Prompt:
        """Return the prompt of a call."""
        start = Random(self._seed + number).randrange(len(self._pool) - CHARACTERS)
        text = f"Report {number}. {self._pool[start : start + CHARACTERS]}"
        return Prompt(
            shared=fence(text, "REPORT"), own=f"Question {number}: is it so?", prefix_key=f"report-{number}"
        )


@dataclass
class Server:
    """One server, its lives, and their logs."""

    name: str
    port: int
    folder: Path
    slots: int
    delay: float
    alive: list[list[float]] = field(default_factory=list[list[float]])
    """Start and end of each life; the last has no end until the server is killed."""
    process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it; returns once it listens."""
        log = self.folder / f"{self.name}-{len(self.alive)}"
        command = [sys.executable, "-m", "tests.chaos.soak", "--serve", str(log), "--port", str(self.port)]
        command += ["--slots", str(self.slots), "--delay", str(self.delay)]
        self.process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        await self.process.stdout.readline()
        self.alive.append([time.monotonic()])

    async def kill(self) -> None:
        """SIGKILL, unless it was killed already."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            if self.alive and len(self.alive[-1]) == 1:
                self.alive[-1].append(time.monotonic())
            await self.process.wait()

    def answered(self) -> list[array[int]]:
        """Return the numbers of the calls that each life answered, in order."""
        lives: list[array[int]] = []
        for log in sorted(self.folder.glob(f"{self.name}-*")):
            numbers = array("I")
            numbers.frombytes(log.read_bytes())
            lives.append(numbers)
        return lives

    def seconds_alive(self, begin: float, end: float) -> float:
        """Return for how long of an interval it was alive."""
        lives = [(life[0], life[1] if len(life) > 1 else end) for life in self.alive]
        return sum(max(0.0, min(end, stop) - max(begin, start)) for start, stop in lives)


@dataclass
class Soak:
    """One soak test."""

    args: argparse.Namespace
    servers: list[Server]
    asked: int = 0
    answered: int = 0
    failures: Counter[str] = field(default_factory=Counter[str])
    mistaken: int = 0
    """Answers that belong to another call."""
    kills: int = 0
    begin: tuple[float, int] = (0.0, 0)
    """Time and number of answers from which the throughput counts."""
    end: tuple[float, int] | None = None
    """The same when the first asker has no call left."""

    @property
    def in_flight(self) -> int:
        """Calls in flight at one server: more than its slots, so that a free slot has a call to take."""
        return max(self.args.slots + 1, self.args.slots * 3 // 2)

    async def run(self, folder: Path) -> dict[str, Any]:
        """Ask all calls, or for so long; return the figures."""
        urls = [f"http://127.0.0.1:{server.port}/v1" for server in self.servers]
        engine = OpenAIEngine(urls, concurrency=self.in_flight, patience=PATIENCE)
        place = folder / "ledger.sqlite"
        try:
            await asyncio.gather(*(server.start() for server in self.servers))
            with Ledger.open(str(place)) as ledger:
                await engine.identity()
                begun, cpu, memory = time.monotonic(), time.process_time(), resident()
                killing = asyncio.create_task(self._kill_in_turn())
                await self._ask_all(Judge(engine, ledger))
                seconds, cpu, grown = time.monotonic() - begun, time.process_time() - cpu, resident() - memory
                killing.cancel()
                await asyncio.wait([killing])
        finally:
            await engine.aclose()
            for server in self.servers:
                await server.kill()
        with closing(sqlite3.connect(place)) as connection:
            [stored] = connection.execute("SELECT count(*) FROM replies").fetchone()
        return {
            **self._throughput(),
            **self._repeated(),
            "calls": self.asked,
            "failed": dict(self.failures),
            "lost": self.asked - self.failures.total() - stored,
            "mistaken": self.mistaken,
            "kills": self.kills,
            "seconds": round(seconds, 1),
            "client_ms": round(1000 * cpu / max(1, self.asked), 2),
            "ledger_bytes_per_call": round(place.stat().st_size / max(1, stored)),
            "grown_mb": round(grown / 1e6, 1),
        }

    async def _ask_all(self, judge: Judge) -> None:
        args, texts, begun = self.args, Texts(self.args.seed), time.monotonic()
        stable, deadline = begun + 5 * args.delay, begun + 60 * args.minutes
        self.begin = (begun, 0)

        async def asker() -> None:
            while True:
                now = time.monotonic()
                if now >= stable and self.begin[0] == begun:
                    self.begin = (now, self.answered)
                if now >= deadline or self.asked == args.calls:
                    self.end = self.end or (now, self.answered)
                    return
                number = self.asked
                self.asked += 1
                answer = await judge.ask(texts.prompt(number), Echo)
                if isinstance(answer, Failure):
                    self.failures[f"{answer.kind}: {answer.detail}"[:200]] += 1
                else:
                    self.answered += 1
                    self.mistaken += answer.value.call != number

        await asyncio.gather(*(asker() for _ in range((self.in_flight + 1) * len(self.servers))))

    def _throughput(self) -> dict[str, float]:
        """Return calls per second, the capacity of the servers that were alive, and the share."""
        (begin, n_begin), (end, n_end) = self.begin, self.end or self.begin
        seconds = max(1e-9, end - begin)
        per_second = (n_end - n_begin) / seconds
        alive = sum(server.seconds_alive(begin, end) for server in self.servers)
        capacity = alive * self.args.slots / self.args.delay / seconds
        return {
            "per_s": round(per_second, 1),
            "capacity_per_s": round(capacity, 1),
            "share": round(per_second / capacity, 3) if capacity else 0.0,
        }

    def _repeated(self) -> dict[str, int]:
        lives = [life for server in self.servers for life in server.answered()]
        lost, others = answered_twice(lives, self.in_flight)
        return {"answered_again_after_a_kill": lost, "answered_twice": others}

    async def _kill_in_turn(self) -> None:
        """Kill a server at each interval, and start it again."""
        while True:
            await asyncio.sleep(self.args.kill_every - self.args.away)
            server = self.servers[self.kills % len(self.servers)]
            await server.kill()
            self.kills += 1
            await asyncio.sleep(self.args.away)
            await server.start()


def answered_twice(lives: Sequence[Sequence[int]], in_flight: int) -> tuple[int, int]:
    """Count calls that were answered more than once: those in flight at a kill, and others.

    Args:
        lives: Calls that each life of a server answered, in order.
        in_flight: Calls that a server may have had in flight: so many of the latest answers may have been lost.
    """
    total = Counter(number for life in lives for number in life)
    lost = Counter(number for life in lives for number in life[-in_flight:])
    repeated = {number: n - 1 for number, n in total.items() if n > 1}
    others = sum(n > lost[number] for number, n in repeated.items())
    return len(repeated) - others, others


def resident() -> int:
    """Return the resident memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def answer_calls(args: argparse.Namespace) -> None:
    """Serve until killed."""
    log = os.open(args.serve, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def answer(asked: Mapping[str, Any]) -> str:
        number = re.search(r"Question (\d+): is it so\?", asked["messages"][-1]["content"][-200:])
        assert number is not None
        os.write(log, array("I", [int(number[1])]).tobytes())
        return json.dumps({"call": int(number[1])})

    plan = StubPlan(delay=args.delay, slots=args.slots, answer=answer, kv_blocks=1 << 20)
    asyncio.run(serve(plan, "127.0.0.1", args.port))


def holds(figures: Mapping[str, Any]) -> bool:
    """Check the figures of a soak test."""
    wrong = any(figures[name] for name in ("failed", "lost", "mistaken", "answered_twice"))
    return not wrong and figures["share"] >= LEAST_SHARE


def soak(args: argparse.Namespace) -> dict[str, Any]:
    """Run a soak test in a temporary folder."""
    relax_collector()  # as the command line does
    with tempfile.TemporaryDirectory(prefix="soak-") as name, ExitStack() as held:
        folder = Path(name)
        ports = free_ports("127.0.0.1", N_SERVERS, held)  # which a killed server takes again
        servers = [Server(f"server-{port}", port, folder, args.slots, args.delay) for port in ports]
        return asyncio.run(Soak(args, servers).run(folder))


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="scripts/chaos soak", description="Ask many calls of servers of which one is killed in turn."
    )
    parser.add_argument("--calls", type=int, default=1_000_000, help="maximum number of calls")
    parser.add_argument("--minutes", type=float, default=60.0, help="start no call after so long")
    parser.add_argument("--kill-every", type=float, default=60.0, help="seconds between two kills")
    parser.add_argument("--away", type=float, default=15.0, help="seconds until a killed server is started")
    parser.add_argument("--slots", type=int, default=16, help="answers in progress at a time in one server")
    parser.add_argument("--delay", type=float, default=2.0, help="seconds of one answer")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    return parser.parse_args(given)


def main() -> int:
    """Run from the command line."""
    args = arguments()
    if args.serve is not None:
        answer_calls(args)
        return 0
    figures = soak(args)
    print(json.dumps(figures))
    return 0 if holds(figures) else 1


if __name__ == "__main__":
    sys.exit(main())
