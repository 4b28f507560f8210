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
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from indexes.making.importing import import_pages
from local_judge.demo.outcome import sample_folder
from scripts.benchmarking.gpu_check_command import CPU_JUDGE, GPU_JUDGE, ROOT, read_arguments
from scripts.benchmarking.gpu_check_report import publish
from scripts.benchmarking.gpu_check_steps import Figures, StepFailed, memory, speed, step, versions
from scripts.benchmarking.vllm_server import MeasuredServer, MeasuringError, read_counters
from scripts.environment import has_cuda
from serving.engines.openai import OpenAIEngine
from serving.errors import PresetError, ServingError
from serving.launch import RunningServer, launch
from serving.metrics import kv_cache_tokens
from serving.presets import INVARIANT_SUFFIX, Preset, load_preset

CLAIMS = Path(__file__).with_name("gpu_check_claims.jsonl")
"""Claims about the packaged pages; the id says whether the page supports it."""
RECORDED = Path(__file__).with_name("gpu_check_recorded.json")
"""P(yes) of the claims by judge, from `--record` on the CPU build."""
PROTOCOLS = ("deer", "fact", "race")
SETTINGS = [
    "--set",
    "deer.parts=[verification]",
    "--set",
    "race.criteria=static",
    "--set",
    "race.calls=dimension",
]


async def served_speed(server: MeasuredServer, preset: Preset, kind: str, quick: bool) -> Figures:
    """Measure prefill and decode of a server."""
    engine = OpenAIEngine(
        [server.base_url], preset.model, chat_arguments=preset.chat_arguments, extra_body={"ignore_eos": True}
    )
    try:
        return await speed(engine, kind, quick)
    finally:
        await engine.aclose()


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
            figures |= asyncio.run(served_speed(server, preset, kind, args.quick))
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, print and write; return 1 if anything failed."""
    args = read_arguments(arguments)
    try:
        found = check(args)
    except (MeasuringError, ServingError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    first = found["runs"][0]
    if args.record and "yes" in first.get("claims", {}):
        recorded = json.loads(RECORDED.read_text(encoding="utf-8")) | {first["judge"]: first["claims"]["yes"]}
        RECORDED.write_text(json.dumps(recorded, indent=2) + "\n", encoding="utf-8")
    return publish(found, args.out)


if __name__ == "__main__":
    sys.exit(main())
