"""A vLLM server whose work is measured: its counters, its tokenizer, its prefix cache.

Invariant: every figure is the server's own; a server that others ask at the same time is noticed, because its
counters then grow by more than was sent.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from serving.launch import launch
from serving.presets import Preset
from serving.types import Message

_SAMPLE = re.compile(r"^(vllm:\w+)\{([^}]*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class MeasuringError(Exception):
    """The server cannot be measured; the message says why and what to do."""


@dataclass(frozen=True)
class PromptCounters:
    """Prompt tokens that the server has processed since its start."""

    total: int
    computed: int
    cached: int

    def since(self, before: PromptCounters) -> PromptCounters:
        """Return the difference."""
        return PromptCounters(
            self.total - before.total, self.computed - before.computed, self.cached - before.cached
        )


def read_counters(metrics: str) -> PromptCounters:
    """Return the prompt counters in the text of `/metrics`, over all engines of the server."""
    samples = [
        (name, dict(_LABEL.findall(labels)), float(value)) for name, labels, value in _SAMPLE.findall(metrics)
    ]

    def total(name: str, source: str | None = None) -> int:
        found = [
            value for key, labels, value in samples if key == name and labels.get("source", source) == source
        ]
        if not found:
            raise MeasuringError(f"the server's /metrics has no {name}: it is no vLLM of a known version")
        return int(sum(found))

    by_source = "vllm:prompt_tokens_by_source_total"
    return PromptCounters(
        total=total("vllm:prompt_tokens_total"),
        computed=total(by_source, "local_compute"),
        cached=total(by_source, "local_cache_hit"),
    )


def block_tokens(metrics: str) -> int | None:
    """Tokens of one block of the server's KV cache; None where it does not say."""
    for name, labels, _ in _SAMPLE.findall(metrics):
        size = dict(_LABEL.findall(labels)).get("block_size", "")
        if name == "vllm:cache_config_info" and size.isdigit():
            return int(size)
    return None


class MeasuredServer:
    """A running server; `base_url` ends with `/v1`."""

    def __init__(self, base_url: str, model: str) -> None:
        self.base_url = base_url.rstrip("/")
        self._root = self.base_url.removesuffix("/v1")
        self._model = model
        self._http = httpx.Client(timeout=120, trust_env=False)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def metrics(self) -> str:
        """Return the text of `/metrics`."""
        return self._asked("GET", "/metrics").text

    def tokens(self, messages: Sequence[Message]) -> list[int]:
        """Token ids of a chat as the server renders it."""
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [message.model_dump() for message in messages],
            "add_generation_prompt": True,
            "chat_template_kwargs": {"enable_thinking": False},
        }
        return self._asked("POST", "/tokenize", body).json()["tokens"]

    def empty_cache(self) -> None:
        """Forget all cached prefixes.

        Raises:
            MeasuringError: the server has no such route, or is busy with other requests.
        """
        for _ in range(20):
            answer = self._asked("POST", "/reset_prefix_cache", missing=(404, 405))
            if answer.status_code in (404, 405):
                raise MeasuringError(
                    f"{self.base_url} cannot empty its prefix cache: start it with VLLM_SERVER_DEV_MODE=1"
                )
            if answer.content != b'{"success":false}':
                return
            time.sleep(0.5)
        raise MeasuringError(f"{self.base_url} is busy; stop its other clients during a measurement")

    def _asked(
        self, method: str, path: str, body: dict[str, Any] | None = None, missing: Sequence[int] = ()
    ) -> httpx.Response:
        """Return the server's answer; `missing`: statuses that the caller understands.

        Raises:
            MeasuringError: it cannot be reached, or answers with another error.
        """
        try:
            answer = self._http.request(method, f"{self._root}{path}", json=body)
            return answer if answer.status_code in missing else answer.raise_for_status()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            said = str(error).splitlines()
            raise MeasuringError(f"{self._root}{path}: {said[0] if said else type(error).__name__}") from None

    def counted(self, before: PromptCounters, expected: int) -> PromptCounters:
        """Return the counters since `before`, once they have caught up with the `expected` prompt tokens.

        Raises:
            MeasuringError: they count more, or stay behind.
        """
        grown = read_counters(self.metrics()).since(before)
        for _ in range(40):
            if grown.total >= expected:
                break
            time.sleep(0.25)
            grown = read_counters(self.metrics()).since(before)
        if grown.total != expected:
            raise MeasuringError(
                f"{self.base_url} counted {grown.total} prompt tokens where {expected} were sent: no other client may "
                "ask it during a measurement"
            )
        return grown


def with_layers(preset: Preset, layers: int | None, block: int | None) -> Preset:
    """Return a preset whose server has `layers` layers with random weights, and cache blocks of `block` tokens.

    None leaves what the preset has. The counters of prompt tokens depend on neither weights nor layers.
    """
    if preset.vllm is None:
        return preset
    more: list[str] = []
    if layers is not None:
        overrides = {"num_hidden_layers": layers, "layer_types": ["full_attention"] * layers}
        more += ["--load-format", "dummy", "--hf-overrides", json.dumps(overrides)]
    if block is not None:
        more += ["--block-size", str(block)]
    settings = preset.vllm.model_copy(update={"args": (*preset.vllm.args, *more)})
    return preset.model_copy(update={"vllm": settings}).allowing_code()


@contextmanager
def measured_server(preset: Preset, base_url: str | None) -> Generator[MeasuredServer]:
    """Return the server at `base_url`, or else `preset` served by this interpreter's vLLM while the block runs."""
    if base_url is not None:
        server = MeasuredServer(base_url, preset.model)
        try:
            yield server
        finally:
            server.close()
        return
    if preset.vllm is not None:
        env = {**preset.vllm.env, "VLLM_SERVER_DEV_MODE": "1"}
        preset = preset.model_copy(
            update={"vllm": preset.vllm.model_copy(update={"env": env})}
        ).allowing_code()
    sys.stderr.write(f"starting vLLM with {preset.name}\n")
    with launch(preset) as running:
        server = MeasuredServer(running.base_url, running.model)
        try:
            yield server
        finally:
            server.close()
