"""Stand-in for vLLM's API server: the stub server with vLLM's arguments, and a child process as vLLM has them.

Environment: FAKE_LOG is printed, and ends the server with status 1, only on the GPU FAKE_GPU if that is set; FAKE_GATE
is a file before which the server neither ends nor listens; FAKE_RECORD is a file that gets a line of JSON for each
start; FAKE_CONTEXT is a context other than the one asked for.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[5]))

from tests.stub_server import StubPlan, serve
from tests.stub_thread import answer, leaning


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--served-model-name")
    parser.add_argument("--max-model-len", type=int)
    given, _ = parser.parse_known_args()
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    names = ("CUDA_VISIBLE_DEVICES", "VLLM_API_KEY", "LOCAL_JUDGE_API_KEY", "HF_HUB_OFFLINE")
    started = {
        "pid": os.getpid(),
        "child": child.pid,
        "arguments": sys.argv[1:],
        "env": {name: os.environ.get(name) for name in names},
    }
    if "FAKE_RECORD" in os.environ:
        with Path(os.environ["FAKE_RECORD"]).open("a", encoding="utf-8") as record:
            record.write(json.dumps(started) + "\n")
    print("loading weights", flush=True)
    while "FAKE_GATE" in os.environ and not Path(os.environ["FAKE_GATE"]).exists():
        time.sleep(0.02)
    gpu = os.environ.get("CUDA_VISIBLE_DEVICES")
    if "FAKE_LOG" in os.environ and gpu == os.environ.get("FAKE_GPU", gpu):
        child.kill()
        sys.exit(os.environ["FAKE_LOG"])
    context = int(os.environ.get("FAKE_CONTEXT") or given.max_model_len)
    plan = StubPlan(
        model=given.served_model_name, context_tokens=context, answer=answer, alternatives=alternatives
    )
    asyncio.run(serve(plan, given.host, given.port))


def alternatives(asked: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """A judge that leans to yes; one whose name ends in `no` answers the opposite."""
    (first, yes), (second, no), *rest = leaning(asked)
    return (
        ((first, no), (second, yes)) if asked["model"].endswith("no") else ((first, yes), (second, no), *rest)
    )


if __name__ == "__main__":
    main()
