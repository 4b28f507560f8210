"""Engine for machines without a GPU: OpenVINO GenAI, which reads GGUF files.

Invariant: requests that wait together are decoded together, and prompts with the same beginning share their KV cache in
steps of 32 tokens.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Unpack

from serving.engine import JsonSchema
from serving.engines import Connection
from serving.engines.choosing import Read
from serving.engines.embedded import EmbeddedEngine
from serving.engines.openvino_worker import Decoded, Request, Worker, encode_text
from serving.errors import UnsupportedRequest
from serving.grammar import compact_json_grammar
from serving.preset_sections import EmbeddedSettings
from serving.presets import Preset
from serving.types import EngineLimits, Generation, Message, Sampling, Usage
from serving.weights import WeightsIdentity, require_weights, weights_identity

MAX_SEQUENCES = 256
"""Maximum number of sequences decoded in one step; each beam of a one-token answer counts as one."""

STEADY: Mapping[str, Any] = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}
"""Precision of the CPU plugin. Its default depends on the processor (bfloat16 where available) and stores the KV cache
in 8 bits, which quantises log-probabilities in steps of 0.1 and makes them depend on the cache. With 32 bits they are
smooth and the same on every processor; prompts are processed slightly slower, replies more than twice as fast."""


class OpenVinoEngine(EmbeddedEngine):
    """A GGUF model on the CPU. A thread starts to load it at construction, and the first call waits for it.

    Args:
        model: Name under which replies are recorded.
        weights: Path of the GGUF file.
        context_tokens: Maximum length of prompt and reply together.
        kv_tokens: Size of the KV cache over all requests, in tokens; bounds memory.
        concurrency: Number of requests decoded together.
        properties: OpenVINO device properties in addition to `STEADY`.
        pinned: Digest, revision and quantisation of the weights; see `EmbeddedEngine`.

    Raises:
        WeightsMissing: `weights` does not exist.
    """

    def __init__(
        self,
        model: str,
        weights: Path,
        *,
        context_tokens: int = 32_768,
        kv_tokens: int = 32_768,
        concurrency: int = 8,
        properties: Mapping[str, Any] | None = None,
        **pinned: Unpack[WeightsIdentity],
    ) -> None:
        context = min(context_tokens, kv_tokens)
        limits = EngineLimits(context_tokens=context, kv_tokens=kv_tokens, concurrency=concurrency)
        super().__init__(model, limits, **pinned)
        self._properties = {**STEADY, **(properties or {})}
        self._worker = Worker(
            weights, kv_tokens=kv_tokens, max_num_seqs=MAX_SEQUENCES, properties=self._properties
        )

    async def aclose(self) -> None:
        """Release the model. Idempotent."""
        await asyncio.to_thread(self._worker.close)

    async def _library_facts(self) -> dict[str, Any]:
        tokenizer = await self._tokenizer()
        vocabulary = await asyncio.to_thread(tokenizer.get_vocab)
        return {
            "tokenizer_digest": _digest(sorted(vocabulary, key=lambda token: (vocabulary[token], token))),
            "chat_template_digest": _digest([tokenizer.chat_template.encode()]),
            "engine": "openvino",
            "engine_version": version("openvino-genai"),
            "options": self._properties,
        }

    async def _tokenizer(self) -> Any:
        return await asyncio.shield(asyncio.wrap_future(self._worker.ready))

    async def _encode(self, messages: Sequence[Message]) -> list[int]:
        tokenizer = await self._tokenizer()
        history = [message.model_dump() for message in messages]

        def work() -> list[int]:
            return encode_text(tokenizer, tokenizer.apply_chat_template(history, add_generation_prompt=True))

        return await asyncio.to_thread(work)

    async def _tokens(self, text: str) -> list[int]:
        return encode_text(await self._tokenizer(), text)

    async def _reply(
        self, prompt: list[int], sampling: Sampling, schema: JsonSchema | None, started: Callable[[], None]
    ) -> Generation:
        sampled = sampling.temperature > 0
        settings: dict[str, Any] = {"max_new_tokens": sampling.max_tokens, "do_sample": sampled}
        if sampled:
            settings |= {
                "temperature": sampling.temperature,
                "top_p": sampling.top_p,
                "rng_seed": sampling.seed,
            }
        grammar = None if schema is None else compact_json_grammar(schema)
        json_schema = None if schema is None or grammar else json.dumps(schema, ensure_ascii=False)
        [reply] = await self._run(Request(prompt, settings, grammar, json_schema, started))
        return Generation(
            text=(await self._tokenizer()).decode(list(reply.tokens)),
            finish_reason="stop" if reply.finished else "length",
            usage=Usage(prompt_tokens=len(prompt), completion_tokens=len(reply.tokens)),
        )

    async def _next(self, prompt: list[int], wanted: Sequence[int]) -> Read[int]:
        """Return the log-probabilities of some tokens after an encoded prompt.

        One pass reports the most likely tokens, a few more than are wanted (each costs time). A wanted token that is
        not among them costs one further token: a grammar forces it, which masks the choice and not the reported
        probability, on a prompt that is in the cache by then.
        """
        beams = len(wanted) + 4
        top = {"max_new_tokens": 1, "num_beams": beams, "num_return_sequences": beams, "do_sample": False}
        found = {beam.tokens[0]: beam.score for beam in await self._run(Request(prompt, top))}
        tokenizer = await self._tokenizer()
        rare = {token: tokenizer.decode([token]) for token in wanted if token not in found}
        forced = {"max_new_tokens": 1, "logprobs": 1, "do_sample": False}
        requests = (Request(prompt, forced, f"root ::= {json.dumps(text)}") for text in rare.values())
        replies = await asyncio.gather(*(self._run(request) for request in requests))
        for (token, text), [reply] in zip(rare.items(), replies, strict=True):
            if reply.tokens[0] != token:
                raise UnsupportedRequest(f"{text!r} is not an answer that {self._model_name} can begin with")
            found[token] = reply.score
        usage = Usage(prompt_tokens=len(prompt), completion_tokens=1 + len(rare))
        return Read({token: found[token] for token in wanted}, frozenset(), usage)

    async def _run(self, request: Request) -> list[Decoded]:
        await self._tokenizer()
        return await asyncio.wrap_future(self._worker.submit(request))


def connect(preset: Preset, connection: Connection) -> OpenVinoEngine:
    """Return the engine of a preset in this process."""
    del connection  # there is no server
    settings = preset.embedded or EmbeddedSettings()
    return OpenVinoEngine(
        preset.model,
        require_weights(preset),
        context_tokens=preset.context_tokens,
        kv_tokens=settings.kv_tokens,
        concurrency=preset.concurrency,
        properties=settings.properties,
        **weights_identity(preset),
    )


def _digest(parts: Sequence[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(
            len(part).to_bytes(4, "big") + part
        )  # with its length, so that the parts are unambiguous
    return digest.hexdigest()
