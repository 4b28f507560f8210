"""Command line of `scripts/gpu_check`: the check of a judge, with its weights or with random ones, and what it carries.

Invariant: only the check with weights makes an environment, and nothing but the standard library is imported before the
arguments are read.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUPPLIES = ROOT / "supplies"
"""Commit, tokenizer and packages that `--pack` adds to the files of the checkout."""
GPU_JUDGE, CPU_JUDGE = "qwen3-4b", "qwen2.5-coder-0.5b-vllm"


def read_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options; a wrong one ends the program with a message."""
    parser = argparse.ArgumentParser(
        prog="gpu_check", description="Check of a judge on this machine, as a report to paste."
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
    parser.add_argument(
        "--random-weights",
        action="store_true",
        help="in a folder of --pack: the judge's architecture with random weights; installs and fetches nothing",
    )
    parser.add_argument("--layers", type=int, help="with --random-weights: layers; default: the model's")
    parser.add_argument(
        "--pack",
        type=Path,
        metavar="FOLDER",
        help="write what --random-weights needs on a machine without a network to a new folder",
    )
    parser.add_argument("--python", default="3.12", metavar="VERSION", help="with --pack: that machine's")
    args = parser.parse_args(arguments)
    if args.layers is not None and not (args.random_weights and args.layers >= 1):
        parser.error("--layers needs --random-weights, and a number of at least 1")
    return args


def main() -> int:
    """Pack, check with random weights, or check with weights in an environment of this project."""
    args = read_arguments()
    if args.pack is not None:
        from scripts.benchmarking.gpu_check_pack import PackFailed, pack

        try:
            pack(args.pack, args.python)
        except PackFailed as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        return 0
    if args.random_weights:
        return check_random(args)
    environment = [sys.executable, str(ROOT / "scripts" / "environment.py"), "vllm"]
    process = subprocess.run(environment, stdout=subprocess.PIPE, text=True, check=False)
    if process.returncode != 0:
        return process.returncode
    python = process.stdout.strip()
    os.execv(python, [python, "-P", "-m", "scripts.benchmarking.gpu_check", *sys.argv[1:]])


def check_random(args: argparse.Namespace) -> int:
    """Check with random weights in this Python, with the carried packages for those that it lacks."""
    sys.path.append(str(SUPPLIES / "site"))  # at the end: the machine's own packages come first
    missing = [
        name for name in ("torch", "transformers", "pydantic") if importlib.util.find_spec(name) is None
    ]
    if missing:
        print(
            f"error: {sys.executable} has no {' and no '.join(missing)}; name another Python in PYTHON, and run in a "
            "folder that `scripts/gpu_check --pack FOLDER` has written",
            file=sys.stderr,
        )
        return 1
    from scripts.benchmarking.gpu_check_random import run

    return run(args)


if __name__ == "__main__":
    sys.exit(main())
