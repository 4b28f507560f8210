"""An engine in this process on transformers, for files that OpenVINO cannot read.

Invariants: it opens no socket; requests that wait together and share their first tokens run as one batch;
the cache of the last prefix is kept for the next batch.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

from serving.engine import JsonSchema
from serving.engines.choosing import Read, check_options, choose_by_paths
from serving.engines.transformers_model import Model, Reply, Row
from serving.errors import (
    EngineError,
    EngineFault,
    EngineUnreachable,
    MissingExtra,
    PromptTooLong,
    UnsupportedRequest,
    WeightsMissing,
)
from serving.types import Choice, EngineIdentity, EngineLimits, Generation, Message, Sampling, Usage


class TransformersEngine:
    """A GGUF file or checkpoint folder on the CPU in float32; implements `serving.engine.Engine`.

    Args:
        model: the name that replies are recorded under.
        weights: the file or folder.
        weights_digest: SHA-256 of the file, where the caller has verified it.
        revision: commit of the repository that it is from, where known.
        quantisation: how the weights were packed, for the identity.
        context_tokens: prompt and reply together.
        concurrency: rows of one batch.

    Raises:
        WeightsMissing: nothing is there.
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
        concurrency: int = 8,
    ) -> None:
        if not weights.exists():
            raise WeightsMissing(f"no weights at {weights}; `local-judge judge fetch NAME` gets them")
        self._name, self._weights = model, weights
        self._weights_digest, self._revision, self._quantisation = weights_digest, revision, quantisation
        self._limits = EngineLimits(context_tokens=context_tokens, concurrency=concurrency)
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="transformers")
        self._loading: Future[Model] = self._executor.submit(_load, weights)
        self._waiting: list[Row] = []
        self._lock = threading.Lock()
        """Of `_waiting`, which the caller's thread fills and the model's thread empties."""
        self._closed = False
        self._identity: EngineIdentity | None = None

    async def identity(self) -> EngineIdentity:
        """Digests of weights, tokenizer and chat template, and the version of transformers."""
        if self._identity is None:
            tokenizer = (await self._model()).tokenizer
            self._identity = EngineIdentity(
                model=self._name,
                revision=self._revision,
                weights_digest=self._weights_digest,
                quantisation=self._quantisation,
                tokenizer_digest=_sha256(tokenizer.backend_tokenizer.to_str()),
                chat_template_digest=_sha256(str(tokenizer.chat_template)),
                engine="transformers",
                engine_version=version("transformers"),
                options={"dtype": "float32"},
            )
        return self._identity

    async def limits(self) -> EngineLimits:
        """What was asked for at construction."""
        return self._limits

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """Prompt length in tokens, by the model's own tokenizer."""
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
            raise UnsupportedRequest(f"{self._name} does not think: set thinking to false")
        prompt = await self._encode(messages)
        self._check_fit(len(prompt), sampling.max_tokens)
        loop = asyncio.get_running_loop()

        def announce() -> None:
            if started is not None:
                loop.call_soon_threadsafe(started)

        row = Row(
            prompt=prompt,
            max_tokens=sampling.max_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            seed=sampling.seed,
            schema=None if schema is None else json.dumps(schema, ensure_ascii=False),
            started=announce,
        )
        reply = await self._run(row)
        tokenizer = (await self._model()).tokenizer
        return Generation(
            text=tokenizer.decode(reply.tokens, skip_special_tokens=True),
            finish_reason="stop" if reply.finished else "length",
            usage=Usage(
                prompt_tokens=len(prompt), completion_tokens=len(reply.tokens), cached_tokens=reply.cached
            ),
        )

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        """Log-probabilities of `options`; see `serving.engine.Engine.choose`."""
        check_options(options)
        tokenizer = (await self._model()).tokenizer
        paths = {
            option: tuple(int(token) for token in tokenizer(option, add_special_tokens=False)["input_ids"])
            for option in options
        }
        prompt = await self._encode(messages)
        self._check_fit(len(prompt), max(len(path) for path in paths.values()))

        async def ask(begun: tuple[int, ...], onward: tuple[int, ...]) -> Read[int]:
            reply = await self._run(Row(prompt=[*prompt, *begun], max_tokens=1, wanted=onward))
            usage = Usage(
                prompt_tokens=len(prompt) + len(begun), completion_tokens=1, cached_tokens=reply.cached
            )
            return Read(dict(zip(onward, reply.logprobs, strict=True)), frozenset(), usage)

        return await choose_by_paths(paths, ask)

    async def aclose(self) -> None:
        """Release the model. Idempotent."""
        self._closed = True
        await asyncio.to_thread(self._executor.shutdown, wait=True, cancel_futures=True)
        for row in self._waiting:
            row.future.cancel()
        self._waiting.clear()

    async def _model(self) -> Model:
        return await asyncio.shield(asyncio.wrap_future(self._loading))

    async def _encode(self, messages: Sequence[Message]) -> list[int]:
        tokenizer = (await self._model()).tokenizer
        history = [message.model_dump() for message in messages]
        text = tokenizer.apply_chat_template(history, add_generation_prompt=True, tokenize=False)
        return [int(token) for token in tokenizer(text, add_special_tokens=False)["input_ids"]]

    def _check_fit(self, prompt: int, reply: int) -> None:
        if prompt + reply > self._limits.context_tokens:
            raise PromptTooLong(
                f"prompt of {prompt} tokens and reply of up to {reply} exceed {self._name}'s "
                f"{self._limits.context_tokens}"
            )

    async def _run(self, row: Row) -> Reply:
        if self._closed:
            raise EngineUnreachable(f"the embedded engine on {self._weights.name} is closed")
        with self._lock:
            self._waiting.append(row)
        self._executor.submit(self._drain)
        return await asyncio.wrap_future(row.future)

    def _drain(self) -> None:
        """Run what waits, as one batch; in the model's thread."""
        batch = self._next_batch()
        if not batch:
            return
        try:
            replies = self._loading.result().run(batch)
        except Exception as error:
            fault = error if isinstance(error, EngineError | MissingExtra) else _fault(error)
            for row in batch:
                with contextlib.suppress(InvalidStateError):  # cancelled in the meantime
                    row.future.set_exception(fault)
            return
        for row, reply in zip(batch, replies, strict=True):
            with contextlib.suppress(InvalidStateError):
                row.future.set_result(reply)

    def _next_batch(self) -> list[Row]:
        """Rows that run together, taken from those that wait; cancelled ones are dropped."""
        with self._lock:
            waiting = [row for row in self._waiting if not row.future.cancelled()]
            # A batch holds either choices or replies, so that a choice does not wait for someone's long reply.
            alike = [row for row in waiting if (row.wanted is None) == (waiting[0].wanted is None)]
            batch = alike[: self._limits.concurrency]
            taken = {id(row) for row in batch}
            self._waiting = [row for row in waiting if id(row) not in taken]
        return batch


def _load(weights: Path) -> Model:
    try:
        return Model(weights)
    except MissingExtra:
        raise
    except Exception as error:
        raise EngineFault(
            f"transformers cannot load {weights}: {str(error).strip().splitlines()[:1]}"
        ) from error


def _fault(error: Exception) -> EngineFault:
    return EngineFault(f"transformers failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
