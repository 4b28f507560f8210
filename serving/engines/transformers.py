"""Engine on transformers, for files that OpenVINO cannot read.

Invariant: requests that wait together and share their first tokens run as one batch, and the cache of the last prefix
is kept for the next batch.
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
from typing import Any, Unpack

from serving.engine import JsonSchema
from serving.engines import Connection
from serving.engines.choosing import Read
from serving.engines.embedded import EmbeddedEngine
from serving.engines.transformers_model import Model, Reply, Row, load_model
from serving.errors import EngineError, EngineFault, EngineUnreachable, MissingExtra, WeightsMissing
from serving.presets import Preset
from serving.types import EngineLimits, Generation, Message, Sampling, Usage
from serving.weights import WeightsIdentity, require_weights, weights_identity


class TransformersEngine(EmbeddedEngine):
    """A GGUF file or checkpoint folder, on the CPU in float32 unless `load` does otherwise.

    Args:
        model: Name under which replies are recorded.
        weights: Path of the file or folder.
        context_tokens: Maximum length of prompt and reply together.
        concurrency: Maximum number of rows in a batch.
        load: Function that loads the model from `weights`, in the model's thread.
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
        concurrency: int = 8,
        load: Callable[[Path], Model] = load_model,
        **pinned: Unpack[WeightsIdentity],
    ) -> None:
        if not weights.exists():
            raise WeightsMissing(f"no weights at {weights}; `local-judge judge fetch NAME` gets them")
        super().__init__(
            model, EngineLimits(context_tokens=context_tokens, concurrency=concurrency), **pinned
        )
        self._path = weights
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="transformers")
        self._loading: Future[Model] = self._executor.submit(_load, weights, load)
        self._waiting: list[Row] = []
        self._lock = threading.Lock()
        """Lock of `_waiting`, which callers' threads fill and the model's thread empties."""
        self._closed = False

    async def aclose(self) -> None:
        """Release the model. Idempotent."""
        self._closed = True
        await asyncio.to_thread(self._executor.shutdown, wait=True, cancel_futures=True)
        for row in self._waiting:
            row.future.cancel()
        self._waiting.clear()

    async def _library_facts(self) -> dict[str, Any]:
        model = await self._model()
        tokenizer = model.tokenizer
        return {
            "tokenizer_digest": _sha256(tokenizer.backend_tokenizer.to_str()),
            "chat_template_digest": _sha256(str(tokenizer.chat_template)),
            "engine": "transformers",
            "engine_version": version("transformers"),
            "options": {"dtype": model.dtype},
        }

    async def _model(self) -> Model:
        return await asyncio.shield(asyncio.wrap_future(self._loading))

    async def _tokenizer(self) -> Any:
        return (await self._model()).tokenizer

    async def _encode(self, messages: Sequence[Message]) -> list[int]:
        history = [message.model_dump() for message in messages]
        tokenizer = await self._tokenizer()
        return await self._tokens(
            tokenizer.apply_chat_template(history, add_generation_prompt=True, tokenize=False)
        )

    async def _tokens(self, text: str) -> list[int]:
        tokenizer = await self._tokenizer()
        return [int(token) for token in tokenizer(text, add_special_tokens=False)["input_ids"]]

    async def _reply(
        self, prompt: list[int], sampling: Sampling, schema: JsonSchema | None, started: Callable[[], None]
    ) -> Generation:
        text = None if schema is None else json.dumps(schema, ensure_ascii=False)
        reply = await self._run(Row(prompt, sampling, text, started=started))
        used = Usage(
            prompt_tokens=len(prompt), completion_tokens=len(reply.tokens), cached_tokens=reply.cached
        )
        return Generation(
            text=(await self._tokenizer()).decode(reply.tokens, skip_special_tokens=True),
            finish_reason="stop" if reply.finished else "length",
            usage=used,
        )

    async def _next(self, prompt: list[int], wanted: Sequence[int]) -> Read[int]:
        reply = await self._run(Row(prompt, Sampling(max_tokens=1), wanted=wanted))
        usage = Usage(prompt_tokens=len(prompt), completion_tokens=1, cached_tokens=reply.cached)
        return Read(dict(zip(wanted, reply.logprobs, strict=True)), frozenset(), usage)

    async def _run(self, row: Row) -> Reply:
        if self._closed:
            raise EngineUnreachable(f"the embedded engine on {self._path.name} is closed")
        with self._lock:
            self._waiting.append(row)
        self._executor.submit(self._drain)
        return await asyncio.wrap_future(row.future)

    def _drain(self) -> None:
        """Run the waiting rows as one batch, in the model's thread."""
        batch = self._next_batch()
        if not batch:
            return
        replies: Sequence[Reply | Exception]
        try:
            replies = self._loading.result().run(batch)
        except Exception as error:
            known = isinstance(error, EngineError | MissingExtra)
            replies = [error if known else EngineFault(_explain(error, batch))] * len(batch)
        for row, reply in zip(batch, replies, strict=True):
            with contextlib.suppress(InvalidStateError):  # the caller has cancelled it in the meantime
                if isinstance(reply, Exception):
                    row.future.set_exception(reply)
                else:
                    row.future.set_result(reply)

    def _next_batch(self) -> list[Row]:
        """Take the rows of the next batch out of the waiting ones, and drop cancelled rows."""
        with self._lock:
            waiting = [row for row in self._waiting if not row.future.cancelled()]
            # A batch contains either choices or replies, so that a choice does not wait for a long reply.
            alike = [row for row in waiting if (row.wanted is None) == (waiting[0].wanted is None)]
            batch = alike[: self._limits.concurrency]
            taken = {id(row) for row in batch}
            self._waiting = [row for row in waiting if id(row) not in taken]
        return batch


def connect(preset: Preset, connection: Connection) -> TransformersEngine:
    """Return the engine of a preset in this process."""
    del connection  # there is no server
    return TransformersEngine(
        preset.model,
        require_weights(preset),
        context_tokens=preset.context_tokens,
        concurrency=preset.concurrency,
        **weights_identity(preset),
    )


def _load(weights: Path, load: Callable[[Path], Model]) -> Model:
    try:
        return load(weights)
    except MissingExtra:
        raise
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise EngineFault(f"transformers cannot load {weights}: {reason}") from error


def _explain(error: Exception, batch: Sequence[Row]) -> str:
    """Return the cause of a failed batch as one line."""
    text = " ".join(str(error).split())
    # By name, so that torch is not imported here; its CPU allocator raises a RuntimeError.
    if type(error).__name__ in ("OutOfMemoryError", "MemoryError") or "can't allocate memory" in text:
        longest = max(len(row.prompt) + row.sampling.max_tokens for row in batch)
        cause = ". ".join(text.split(". ")[:3]).rstrip(".") or type(error).__name__
        return (
            f"no memory for a batch of {len(batch)}, prompt and reply up to {longest} tokens ({cause}): lower "
            "concurrency or context_tokens in the preset"
        )
    return f"transformers failed: {type(error).__name__}: {text[:300]}"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
