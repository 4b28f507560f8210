"""Thread that owns an OpenVINO pipeline and runs all waiting requests in one continuous batch.

Invariant: the pipeline is built, used and released in this thread only; each request ends in exactly one
result or one `EngineError`; and no code of the telemetry package that ships beside OpenVINO is ever loaded.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import queue
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from serving.errors import EngineFault, EngineUnreachable, MissingExtra, PromptTooLong, WeightsMissing

BLOCK_TOKENS = 32
"""Tokens in one block of the CPU KV cache: the step in which prefixes are shared."""


@dataclass(frozen=True)
class Decoded:
    """One generated sequence."""

    tokens: tuple[int, ...]
    score: float
    """Natural log-probability under the unconstrained model; for a beam, summed over its tokens."""
    finished: bool
    """False when it ran into its token limit."""


@dataclass(frozen=True)
class Request:
    """One prompt with the settings of its reply."""

    prompt: Sequence[int]
    settings: Mapping[str, Any]
    """Fields of openvino_genai's `GenerationConfig`."""
    grammar: str | None = None
    """EBNF of the reply."""
    json_schema: str | None = None
    """JSON schema of the reply, if `serving.grammar` does not cover it."""
    started: Callable[[], None] | None = None
    future: Future[list[Decoded]] = field(default_factory=Future[list[Decoded]])

    def resolve(self, result: list[Decoded] | Exception) -> None:
        """Set the result or the exception, unless the caller has cancelled the request."""
        with contextlib.suppress(InvalidStateError):
            if isinstance(result, Exception):
                self.future.set_exception(result)
            else:
                self.future.set_result(result)


@dataclass
class _Running:
    request: Request
    handle: Any
    tokens: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    scores: dict[int, float] = field(default_factory=dict[int, float])
    finished: dict[int, bool] = field(default_factory=dict[int, bool])


def load_openvino() -> tuple[Any, Any]:
    """Import `openvino_genai` and `openvino` with telemetry blocked.

    `import openvino` reports itself through the package `openvino_telemetry` if that can be imported, and uses a stub
    otherwise. Blocking the import is therefore the switch that no setting can undo.

    Raises:
        MissingExtra: A package is not installed.
    """
    if "openvino" not in sys.modules:
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    try:
        return importlib.import_module("openvino_genai"), importlib.import_module("openvino")
    except ImportError as error:
        raise MissingExtra(
            f"the embedded judge needs openvino-genai ({error}): in the checkout, pip install '.[embedded]'"
        ) from error


def encode_text(tokenizer: Any, text: str) -> list[int]:
    """Return the tokens of a text, without special tokens."""
    return [int(token) for token in tokenizer.encode(text, add_special_tokens=False).input_ids.data[0]]


class Worker:
    """Runs requests on one pipeline. Thread-safe; the pipeline is loaded when the thread starts."""

    def __init__(
        self, weights: Path, *, kv_tokens: int, max_num_seqs: int, properties: Mapping[str, Any]
    ) -> None:
        if not weights.is_file():
            raise WeightsMissing(f"no weights at {weights}; `local-judge judge fetch NAME` gets them")
        self._weights = weights
        self._kv_tokens = kv_tokens
        self._max_num_seqs = max_num_seqs
        self._properties = dict(properties)
        self._inbox: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._running: dict[int, _Running] = {}
        self._serial = 0
        self._lock = threading.Lock()
        self._closed = False
        self.ready: Future[Any] = Future()
        """Tokenizer of the pipeline, once the model is loaded."""
        self._thread = threading.Thread(target=self._main, name="openvino", daemon=True)
        self._thread.start()

    def submit(self, request: Request) -> Future[list[Decoded]]:
        """Queue a request; its future gets one entry per returned sequence, best first."""
        with self._lock:
            if self._closed:
                raise EngineUnreachable(f"the embedded engine on {self._weights.name} is closed")
            self._inbox.put(request)
        return request.future

    def close(self) -> None:
        """Fail the waiting requests, stop the thread and release the model. Idempotent."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._inbox.put(None)
        self._thread.join()

    def _main(self) -> None:
        try:
            self._genai, self._openvino = load_openvino()
            scheduler = self._genai.SchedulerConfig()
            scheduler.enable_prefix_caching = True
            scheduler.num_kv_blocks = math.ceil(self._kv_tokens / BLOCK_TOKENS)
            scheduler.max_num_batched_tokens = 1024
            scheduler.max_num_seqs = self._max_num_seqs
            self._pipeline = self._genai.ContinuousBatchingPipeline(
                str(self._weights), scheduler, "CPU", self._properties
            )
            self.ready.set_result(_warm_up(self._pipeline.get_tokenizer()))
        except BaseException as error:
            missing = isinstance(error, MissingExtra)
            fault = EngineFault(f"OpenVINO cannot load {self._weights}: {_last_line(error)}")
            self.ready.set_exception(error if missing else fault)
            self._end("the model could not be loaded")
            return
        try:
            self._loop()
        finally:
            self._end("the engine was closed")
            del self._pipeline

    def _end(self, reason: str) -> None:
        with self._lock:
            self._closed = True  # so that no caller waits for a thread that has ended
        self._fail_all(reason)

    def _loop(self) -> None:
        while True:
            while not self._running or not self._inbox.empty():
                request = self._inbox.get()
                if request is None:
                    return
                self._admit(request)
            try:
                self._pipeline.step()
            except Exception as error:
                self._fail_all(f"OpenVINO failed: {_last_line(error)}")
                continue
            for serial in list(self._running):
                self._collect(serial)

    def _admit(self, request: Request) -> None:
        config = self._pipeline.get_config()
        for name, value in request.settings.items():
            setattr(config, name, value)
        constraint = {"grammar": request.grammar, "json_schema": request.json_schema}
        for name, value in constraint.items():
            if value is not None:
                config.structured_output_config = self._genai.StructuredOutputConfig(**{name: value})
        self._serial += 1
        try:
            numpy = importlib.import_module("numpy")
            tensor = self._openvino.Tensor(numpy.array([request.prompt], dtype=numpy.int64))
            handle = self._pipeline.add_request(self._serial, tensor, config)
        except Exception as error:
            request.resolve(EngineFault(f"OpenVINO refused the request: {_last_line(error)}"))
            return
        self._running[self._serial] = _Running(request, handle)

    def _collect(self, serial: int) -> None:
        running = self._running[serial]
        request, handle = running.request, running.handle
        if request.future.cancelled():
            handle.cancel()
            del self._running[serial]
            return
        begun = bool(running.tokens)
        while handle.can_read():
            for index, output in handle.read().items():
                running.tokens.setdefault(index, []).extend(output.generated_ids)
                running.scores[index] = float(output.score)
                running.finished[index] = output.finish_reason == self._genai.GenerationFinishReason.STOP
        if running.tokens and not begun and request.started is not None:
            request.started()
        status = handle.get_status()
        if status == self._genai.GenerationStatus.RUNNING:
            return
        del self._running[serial]
        if status == self._genai.GenerationStatus.IGNORED or not running.tokens:
            request.resolve(
                PromptTooLong(
                    f"prompt of {len(request.prompt)} tokens and its reply do not fit the KV cache "
                    f"of {self._kv_tokens} tokens"
                )
            )
            return
        best_first = sorted(running.tokens, key=lambda i: (-running.scores[i], i))
        request.resolve(
            [Decoded(tuple(running.tokens[i]), running.scores[i], running.finished[i]) for i in best_first]
        )

    def _fail_all(self, reason: str) -> None:
        waiting = [running.request for running in self._running.values()]
        for running in self._running.values():
            running.handle.cancel()
        self._running.clear()
        while self._closed and not self._inbox.empty():
            request = self._inbox.get()
            if request is not None:
                waiting.append(request)
        for request in waiting:
            request.resolve(EngineFault(f"{reason} ({self._weights.name})"))


def _warm_up(tokenizer: Any) -> Any:
    """Call each method of the tokenizer once, before any other thread can, and return it.

    The binding initialises itself at a first call, and two threads that do so at once deadlock: one waits for Python's
    lock, and the thread that holds the lock waits for the initialisation.
    """
    text = tokenizer.apply_chat_template([{"role": "user", "content": "a"}], add_generation_prompt=True)
    tokenizer.decode(encode_text(tokenizer, text))
    tokenizer.get_vocab()
    return tokenizer


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]
