"""The in-process engine: telemetry is off, files are checked and, with weights, it answers as promised."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from math import exp
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from serving.connect import connect
from serving.engine import Engine
from serving.engines.openvino import OpenVinoEngine
from serving.errors import PresetError, PromptTooLong, WeightsMissing
from serving.presets import load_preset
from serving.types import Message, Sampling

ROOT = Path(__file__).parents[2]
HAS_OPENVINO = importlib.util.find_spec("openvino_genai") is not None

WATCHER = """
import sys
events = []
sys.addaudithook(lambda event, args: events.append(event) if event.startswith("socket.") else None)
{load}
print(sorted(set(events)), "openvino_telemetry.reporter" in sys.modules)
"""


def watch(tmp_path: Path, load: str) -> str:
    """What a fresh interpreter does with the network while it loads OpenVINO, in its own words.

    The telemetry package is replaced by one of the same shape that looks a host up for every event.
    """
    package = tmp_path / "openvino_telemetry"
    (package / "backend").mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(
        "from openvino_telemetry.reporter import Telemetry\n", encoding="utf-8"
    )
    (package / "reporter.py").write_text(
        "import socket\n"
        "class Telemetry:\n"
        "    def __init__(self, *args, **kwargs): pass\n"
        "    def send_event(self, *args, **kwargs): socket.getaddrinfo('127.0.0.1', 9)\n"
        "    start_session = end_session = force_shutdown = send_event\n",
        encoding="utf-8",
    )
    (package / "backend" / "__init__.py").write_text("", encoding="utf-8")
    (package / "backend" / "backend_ga4.py").write_text("", encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-c", WATCHER.format(load=load)],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@pytest.mark.skipif(not HAS_OPENVINO, reason="openvino-genai is not installed")
def test_telemetry_is_never_loaded_and_no_socket_is_touched(tmp_path: Path) -> None:
    assert (
        watch(tmp_path, "import openvino.tools.ovc") == "['socket.getaddrinfo'] True"
    )  # what happens unasked
    load = "from serving.engines.openvino_worker import load_openvino\nload_openvino()\n"
    assert watch(tmp_path, f"{load}import openvino.tools.ovc") == "[] False"


def test_a_missing_file_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match=r"no weights at .*/none\.gguf"):
        OpenVinoEngine("none", tmp_path / "none.gguf")


def test_a_preset_without_weights_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_JUDGE_HOME", str(tmp_path))
    with pytest.raises(WeightsMissing, match=r"local-judge judge fetch qwen2\.5-coder-1\.5b"):
        connect(load_preset("qwen2.5-coder-1.5b"))


def test_a_served_preset_needs_a_server() -> None:
    with pytest.raises(PresetError, match=r"`local-judge judge up qwen3-8b`, .*--serve"):
        connect(load_preset("qwen3-8b"))


@pytest.fixture
async def engine() -> AsyncGenerator[Engine]:
    connected = connect(load_preset("qwen2.5-coder-1.5b"))
    yield connected
    await connected.aclose()


def question(text: str) -> list[Message]:
    page = "Apollo 11 landed on the Moon on July 20, 1969. Neil Armstrong was the first to walk on it."
    return [
        Message(role="system", content="You check facts."),
        Message(role="user", content=f"Text: {page}\n{text}"),
    ]


@pytest.mark.embedded
async def test_with_weights_it_keeps_every_promise(engine: Engine) -> None:
    # One test, as loading takes longer than all of it.
    identity = await engine.identity()
    assert identity.engine == "openvino" and identity.weights_digest is not None
    assert identity.tokenizer_digest is not None and identity.chat_template_digest is not None
    true = question("Claim: Apollo 11 landed in 1969.\nIs every number of the claim in the text? Yes or No.")
    false = question("Claim: Apollo 11 landed in 1971.\nIs every number of the claim in the text? Yes or No.")
    assert await engine.count_tokens(true) == await engine.count_tokens(false) > 60

    for_true, for_false = await asyncio.gather(*(engine.choose(m, ["Yes", "No"]) for m in (true, false)))
    assert for_true.probabilities()["Yes"] > for_false.probabilities()["Yes"]
    # What was cached decides which kernel reads the last tokens; the figures agree to about 0.004.
    again = await engine.choose(true, ["Yes", "No"])
    assert again.logprobs["Yes"] == pytest.approx(for_true.logprobs["Yes"], abs=0.02)
    # An option too rare to be among the likeliest tokens is forced, and scored by the same scale.
    rare = await engine.choose(true, ["Yes", "No", "Zebra"])
    assert rare.logprobs["Yes"] == pytest.approx(for_true.logprobs["Yes"], abs=0.02)
    assert rare.logprobs["Zebra"] < -8
    assert 0.5 < rare.mass <= 1

    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"year": {"type": "string", "maxLength": 6}, "supported": {"type": "boolean"}},
        "required": ["year", "supported"],
        "additionalProperties": False,
    }
    told: list[str] = []
    replies = await asyncio.gather(
        *(
            engine.generate(m, Sampling(max_tokens=32), schema, started=lambda: told.append("started"))
            for m in (true, false)
        )
    )
    for reply in replies:
        assert reply.finish_reason == "stop"
        jsonschema.validate(json.loads(reply.text), schema)
        assert reply.text == json.dumps(json.loads(reply.text), separators=(",", ":"))
    assert told == ["started", "started"]
    assert (await engine.generate(true, Sampling(max_tokens=1))).finish_reason == "length"

    # "Yes" is what does not go on to "Yes,": the two share the probability of the first token.
    yes = await engine.choose(true, ["Yes", "No"])
    both = await engine.choose(true, ["Yes", "Yes,"])
    assert both.mass == pytest.approx(exp(yes.logprobs["Yes"]), rel=1e-3)
    with pytest.raises(PromptTooLong, match=r"exceed Qwen/Qwen2\.5-Coder-1\.5B-Instruct's 32768"):
        await engine.generate(true, Sampling(max_tokens=40_000))
