"""A vLLM server of a model so small that a CPU answers hundreds of calls per minute, and that can be killed.

The model is a Qwen2 with one layer of width 64 and random weights: vLLM computes, caches and samples as for any other,
and its replies mean nothing. One number of the residual stream is the same for all tokens and raises the probability
of tokens that end strings and lists, so that replies are short.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import shutil
import signal
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import yaml

from serving.launch import Place, free_ports, program
from serving.presets import load_preset, preset_path
from serving.processes import Process, end, start, wait_until_healthy
from serving.weights import checkpoint

NAME = "small"
TOKENIZER = "qwen2.5-coder-0.5b-vllm"
"""Packaged preset whose tokenizer and chat template the model has."""
WEIGHTS = {"hub": "local_judge/small", "revision": "0" * 40}
"""Weights in the preset: a folder that `write_model` has written and that no hub has."""
WIDTH = 64
START_SECONDS = 600.0
_DONE = re.compile(r"^vllm:request_success_total\{[^}]*\} (\S+)$", re.MULTILINE)


def write_model(folder: Path, source: Path) -> None:
    """Write the model to `folder`, with the tokenizer of the checkpoint `source`. Needs torch and transformers."""
    torch: Any = importlib.import_module("torch")
    transformers: Any = importlib.import_module("transformers")
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.safetensors*", "source.json"))
    config = transformers.AutoConfig.from_pretrained(source)
    config.update(
        {
            "num_hidden_layers": 1,
            "layer_types": ["full_attention"],
            "hidden_size": WIDTH,
            "intermediate_size": 2 * WIDTH,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "tie_word_embeddings": False,
        }
    )
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    tokens = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    bias = torch.zeros(config.vocab_size)
    for token, number in tokens.items():
        if token[0] == '"':
            bias[number] = 6.0 if "]" in token or "}" in token else 4.0
        elif token[0] in "]}":
            bias[number] = 0.0 if "," in token else 3.6 if "]" in token else 3.0
    with torch.no_grad():
        embedding, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
        embedding.normal_(std=0.5)
        head.normal_(std=0.5)
        embedding[:, 0], head[:, 0] = 4.0, bias
    model.save_pretrained(folder)


def write_preset(folder: Path, concurrency: int) -> Path:
    """Write the preset of the model, which runs in the engine's process, as on one GPU, and on one core."""
    preset = yaml.safe_load(preset_path(TOKENIZER).read_text(encoding="utf-8"))
    preset["weights"] = WEIGHTS
    preset["concurrency"] = preset["vllm"]["max_num_seqs"] = concurrency
    preset["vllm"]["args"] += ["--distributed-executor-backend", "uni"]
    preset["vllm"]["env"] |= {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # else vLLM gives the model a process of its own on a CPU
        "OMP_NUM_THREADS": "1",
    }
    path = folder / f"{NAME}.yaml"
    path.write_text(yaml.safe_dump(preset), encoding="utf-8")
    return path


class SmallServer:
    """Server of the model, at `url`, for the duration of a `with` block.

    Args:
        folder: folder for the model and the log.
        preset: file that `write_preset` has written.
    """

    def __init__(self, folder: Path, preset: Path) -> None:
        self._folder, self._preset = folder / NAME, load_preset(preset)
        self._ended_before = 0
        self._process: Process | None = None
        with ExitStack() as held:
            self._place = Place(port=free_ports(Place().host, 1, held)[0])
        self.url = self._place.base_url
        write_model(self._folder, checkpoint(load_preset(TOKENIZER)))

    def __enter__(self) -> Self:
        self.restart()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            end([self._process])

    def restart(self) -> None:
        """Start the server and wait until it is healthy."""
        log = self._folder.with_suffix(".log")
        server = program(self._preset, self._place, log=log, model=self._folder)
        self._process = start(server)
        asyncio.run(wait_until_healthy([(self._process, server)], START_SECONDS, None))

    def kill(self) -> None:
        """Kill all processes of the server."""
        assert self._process is not None
        self._ended_before = self.calls
        os.killpg(self._process.pid, signal.SIGKILL)
        end([self._process])
        self._process = None

    @property
    def calls(self) -> int:
        """Number of calls that the server has answered, by its own counters."""
        if self._process is None:
            return self._ended_before
        metrics = httpx.get(f"{self._place.root}/metrics", timeout=60, trust_env=False).text
        return self._ended_before + int(sum(map(float, _DONE.findall(metrics))))
