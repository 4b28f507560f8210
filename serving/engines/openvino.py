"""An engine in this process, on a machine without a GPU: OpenVINO GenAI reading a GGUF file itself.

Invariants: it opens no socket; every log-probability it returns is the unconstrained model's; requests that
wait together are decoded together, and prompts that begin alike share their KV cache in steps of 32 tokens.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from serving.engine import JsonSchema
from serving.engines.choosing import Read, check_options, choose_by_paths
from serving.engines.openvino_worker import Request, Worker
from serving.engines.openvino_worker import Sequence as Decoded
from serving.errors import PromptTooLong, UnsupportedRequest
from serving.grammar import compact_json_grammar
from serving.types import Choice, EngineIdentity, EngineLimits, Generation, Message, Sampling, Usage

MAX_SEQUENCES = 256
"""Sequences decoded in one step; beams of a one-token answer count as such for a moment."""

STEADY: Mapping[str, Any] = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}
"""The CPU plugin's own choice depends on the processor: bfloat16 where it can, and a KV cache in 8 bits,
with which log-probabilities come in steps of 0.1 and move with what was cached before. In 32 bits they are
smooth and the same on every processor; prompts are read a little slower, replies written more than twice as
fast."""


class OpenVinoEngine:
    """A GGUF model on the CPU; implements `serving.engine.Engine`.

    Args:
        model: the name that replies are recorded under.
        weights: the GGUF file.
        weights_digest: its SHA-256, where the caller has verified it; recorded in the identity.
        revision: commit of the repository that the file is from, where known.
        quantisation: how the weights are packed, for the identity.
        context_tokens: prompt and reply together.
        kv_tokens: KV cache over all requests, in tokens; also what bounds its memory.
        concurrency: requests decoded together.
        properties: OpenVINO device properties, on top of `STEADY`.

    The model is loaded in a thread of its own, starting now; the first call waits for it.

    Raises:
        WeightsMissing: no such file.
    """

    def __init__(
        self,
        model: str,
        weights: Path,
        *,
        weights_digest: str | None = None,
        revision: str | None = None,
        quantisation: str | None = None,
        context_tokens: int = 32_768,
        kv_tokens: int = 32_768,
        concurrency: int = 8,
        properties: Mapping[str, Any] | None = None,
    ) -> None:
        self._model = model
        self._weights_digest = weights_digest
        self._revision = revision
        self._quantisation = quantisation
        self._properties = {**STEADY, **(properties or {})}
        self._limits = EngineLimits(
            context_tokens=min(context_tokens, kv_tokens), kv_tokens=kv_tokens, concurrency=concurrency
        )
        self._worker = Worker(
            weights, kv_tokens=kv_tokens, max_num_seqs=MAX_SEQUENCES, properties=self._properties
        )
        self._identity: EngineIdentity | None = None

    async def identity(self) -> EngineIdentity:
        """Digest of the weights, tokenizer and chat template, and the version of OpenVINO GenAI."""
        if self._identity is None:
            tokenizer = await self._tokenizer()
            vocabulary = await asyncio.to_thread(tokenizer.get_vocab)
            self._identity = EngineIdentity(
                model=self._model,
                revision=self._revision,
                weights_digest=self._weights_digest,
                quantisation=self._quantisation,
                tokenizer_digest=_digest(sorted(vocabulary, key=lambda token: (vocabulary[token], token))),
                chat_template_digest=_digest([tokenizer.chat_template.encode()]),
                engine="openvino",
                engine_version=version("openvino-genai"),
                options=self._properties,
            )
        return self._identity

    async def limits(self) -> EngineLimits:
        """What was asked for at construction."""
        return self._limits

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """Prompt length in tokens, by the tokenizer in the weights file."""
        return len(await self._encode(messages))

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        schema: JsonSchema | None = None,
        started: Callable[[], None] | None = None,
    ) -> Generation:
        """One reply; see `serving.engine.Engine.generate`."""
        if sampling.thinking:
            raise UnsupportedRequest(f"{self._model} does not think: set thinking to false")
        prompt = await self._encode(messages)
        self._check_fit(len(prompt), sampling.max_tokens)
        settings: dict[str, Any] = {
            "max_new_tokens": sampling.max_tokens,
            "do_sample": sampling.temperature > 0,
        }
        if sampling.temperature > 0:
            settings |= {
                "temperature": sampling.temperature,
                "top_p": sampling.top_p,
                "rng_seed": sampling.seed,
            }
        grammar = None if schema is None else compact_json_grammar(schema)
        request = Request(
            prompt=prompt,
            settings=settings,
            grammar=grammar,
            json_schema=None if schema is None or grammar else json.dumps(schema, ensure_ascii=False),
            started=None
            if started is None
            else functools.partial(_in_loop, asyncio.get_running_loop(), started),
        )
        [reply] = await self._run(request)
        tokenizer = await self._tokenizer()
        return Generation(
            text=tokenizer.decode(list(reply.tokens)),
            finish_reason="stop" if reply.finished else "length",
            usage=Usage(prompt_tokens=len(prompt), completion_tokens=len(reply.tokens)),
        )

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        """Log-probabilities of `options`; see `serving.engine.Engine.choose`.

        A pass reports the likeliest tokens, a few more than are wanted (each costs time). One that is not among them
        costs one token more, forced by a grammar (which masks what is chosen, not what is reported) on a prompt that
        is then in the cache.
        """
        check_options(options)
        tokenizer = await self._tokenizer()
        paths = {option: _path(tokenizer, option) for option in options}
        prompt = await self._encode(messages)
        self._check_fit(len(prompt), max(len(path) for path in paths.values()))

        async def ask(begun: tuple[int, ...], onward: tuple[int, ...]) -> Read[int]:
            return await self._next((*prompt, *begun), onward)

        return await choose_by_paths(paths, ask)

    async def _next(self, prompt: tuple[int, ...], wanted: Sequence[int]) -> Read[int]:
        """The log-probabilities of tokens after a prompt."""
        beams = len(wanted) + 4
        top = Request(
            prompt=prompt,
            settings={
                "max_new_tokens": 1,
                "num_beams": beams,
                "num_return_sequences": beams,
                "do_sample": False,
            },
        )
        likeliest = {beam.tokens[0]: beam.score for beam in await self._run(top)}
        rare = {
            token: (await self._tokenizer()).decode([token]) for token in wanted if token not in likeliest
        }
        forced = {"max_new_tokens": 1, "logprobs": 1, "do_sample": False}
        replies = await asyncio.gather(
            *(
                self._run(Request(prompt, forced, grammar=f"root ::= {json.dumps(text)}"))
                for text in rare.values()
            )
        )
        for (token, text), [reply] in zip(rare.items(), replies, strict=True):
            if reply.tokens[0] != token:
                raise UnsupportedRequest(f"{text!r} is not an answer that {self._model} can begin with")
            likeliest[token] = reply.score
        usage = Usage(prompt_tokens=len(prompt), completion_tokens=1 + len(rare))
        return Read({token: likeliest[token] for token in wanted}, frozenset(), usage)

    async def aclose(self) -> None:
        """Release the model. Idempotent."""
        await asyncio.to_thread(self._worker.close)

    async def _tokenizer(self) -> Any:
        return await asyncio.shield(asyncio.wrap_future(self._worker.ready))

    async def _encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        tokenizer = await self._tokenizer()
        history = [message.model_dump() for message in messages]
        return await asyncio.to_thread(_encode, tokenizer, history)

    def _check_fit(self, prompt_tokens: int, reply_tokens: int) -> None:
        room = self._limits.context_tokens
        if prompt_tokens + reply_tokens > room:
            raise PromptTooLong(
                f"prompt of {prompt_tokens} tokens and reply of up to {reply_tokens} exceed {self._model}'s "
                f"{room}"
            )

    async def _run(self, request: Request) -> list[Decoded]:
        await self._tokenizer()
        return await asyncio.wrap_future(self._worker.submit(request))


def _encode(tokenizer: Any, history: list[dict[str, str]]) -> tuple[int, ...]:
    text = tokenizer.apply_chat_template(history, add_generation_prompt=True)
    return tuple(int(token) for token in tokenizer.encode(text, add_special_tokens=False).input_ids.data[0])


def _path(tokenizer: Any, option: str) -> tuple[int, ...]:
    return tuple(int(token) for token in tokenizer.encode(option, add_special_tokens=False).input_ids.data[0])


def _in_loop(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop was closed while the reply was on its way
        loop.call_soon_threadsafe(callback)


def _digest(parts: Sequence[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(4, "big") + part)  # lengths, so that no two lists run together alike
    return digest.hexdigest()
