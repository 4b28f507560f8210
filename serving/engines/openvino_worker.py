"""One thread that owns an OpenVINO pipeline and runs every waiting request in one continuous batch.

Invariant: the pipeline is built, used and released in this thread only; each request ends in exactly one
result or one `EngineError`; and no code of the telemetry package that ships beside OpenVINO is ever loaded.
"""

from __future__ import annotations

import importlib
import math
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from serving.errors import EngineFault, EngineUnreachable, MissingExtra, PromptTooLong, WeightsMissing

BLOCK_TOKENS = 32
"""Tokens in one block of the CPU KV cache: the step in which prefixes are shared."""


@dataclass(frozen=True)
class Sequence:
    """One generated sequence."""

    tokens: tuple[int, ...]
    score: float
    """Natural log-probability under the unconstrained model; for a beam, summed over its tokens."""
    finished: bool
    """False when it ran into its token limit."""


@dataclass(frozen=True)
class Request:
    """One prompt with the settings of its reply."""

    prompt: tuple[int, ...]
    settings: Mapping[str, Any]
    """Fields of openvino_genai's `GenerationConfig`."""
    grammar: str | None = None
    """EBNF that the reply has to follow."""
    json_schema: str | None = None
    """JSON schema that the reply has to follow, where the grammar compiler here does not cover it."""
    started: Callable[[], None] | None = None
    future: Future[list[Sequence]] = field(default_factory=Future[list[Sequence]])


@dataclass
class _Running:
    request: Request
    handle: Any
    tokens: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    scores: dict[int, float] = field(default_factory=dict[int, float])
    finished: dict[int, bool] = field(default_factory=dict[int, bool])
    announced: bool = False


def load_openvino() -> tuple[Any, Any]:
    """The modules `openvino_genai` and `openvino`, imported with telemetry blocked.

    `import openvino` reports itself through the package `openvino_telemetry` if that can be imported, and
    uses a stub of its own if not; blocking the import is therefore the switch that cannot be forgotten.

    Raises:
        MissingExtra: not installed.
    """
    if "openvino" not in sys.modules:
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    try:
        return importlib.import_module("openvino_genai"), importlib.import_module("openvino")
    except ImportError as error:
        raise MissingExtra(
            f"the embedded judge needs openvino-genai ({error}): in the checkout, pip install '.[embedded]'"
        ) from error


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
        """Resolves to the pipeline's tokenizer when the model is loaded."""
        self._thread = threading.Thread(target=self._main, name="openvino", daemon=True)
        self._thread.start()

    def submit(self, request: Request) -> Future[list[Sequence]]:
        """Queue a request; its future gets one entry per returned sequence, best first."""
        with self._lock:
            if self._closed:
                raise EngineUnreachable(f"the embedded engine on {self._weights.name} is closed")
            self._inbox.put(request)
        return request.future

    def close(self) -> None:
        """Fail what is waiting, stop the thread and release the model. Idempotent."""
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
            self.ready.set_result(warmed(self._pipeline.get_tokenizer()))
        except BaseException as error:
            self.ready.set_exception(_readable(error, self._weights))
            with self._lock:
                self._closed = True
            self._fail_all("the model could not be loaded")
            return
        try:
            self._loop()
        finally:
            with self._lock:
                self._closed = True  # whatever ended the loop: nobody may wait for it any more
            self._fail_all("the engine was closed")
            del self._pipeline

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
                self._fail_all(f"OpenVINO failed: {_first_line(error)}")
                continue
            for serial in list(self._running):
                self._collect(serial)

    def _admit(self, request: Request) -> None:
        config = self._pipeline.get_config()
        for name, value in request.settings.items():
            setattr(config, name, value)
        if request.grammar is not None:
            config.structured_output_config = self._genai.StructuredOutputConfig(grammar=request.grammar)
        elif request.json_schema is not None:
            config.structured_output_config = self._genai.StructuredOutputConfig(
                json_schema=request.json_schema
            )
        self._serial += 1
        try:
            tensor = self._openvino.Tensor(_int64_row(request.prompt))
            handle = self._pipeline.add_request(self._serial, tensor, config)
        except Exception as error:
            _fail(request, EngineFault(f"OpenVINO refused the request: {_first_line(error)}"))
            return
        self._running[self._serial] = _Running(request, handle)

    def _collect(self, serial: int) -> None:
        running = self._running[serial]
        if running.request.future.cancelled():
            running.handle.cancel()
            del self._running[serial]
            return
        while running.handle.can_read():
            for index, output in running.handle.read().items():
                running.tokens.setdefault(index, []).extend(output.generated_ids)
                running.scores[index] = float(output.score)
                running.finished[index] = output.finish_reason == self._genai.GenerationFinishReason.STOP
        if running.tokens and not running.announced:
            running.announced = True
            if running.request.started is not None:
                running.request.started()
        status = running.handle.get_status()
        if status == self._genai.GenerationStatus.RUNNING:
            return
        del self._running[serial]
        if status == self._genai.GenerationStatus.IGNORED or not running.tokens:
            _fail(
                running.request,
                PromptTooLong(
                    f"prompt of {len(running.request.prompt)} tokens and its reply do not fit the KV cache "
                    f"of {self._kv_tokens} tokens"
                ),
            )
            return
        sequences = [
            Sequence(tuple(running.tokens[i]), running.scores[i], running.finished[i])
            for i in sorted(running.tokens, key=lambda i: (-running.scores[i], i))
        ]
        _resolve(running.request, sequences)

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
            _fail(request, EngineFault(f"{reason} ({self._weights.name})"))


def warmed(tokenizer: Any) -> Any:
    """The tokenizer after one call of each of its methods, made while no other thread knows it.

    What the binding sets up at a first call, two threads must not set up at once: the one that begins waits for
    Python's lock, and the one that holds the lock waits for it to end.
    """
    text = tokenizer.apply_chat_template([{"role": "user", "content": "a"}], add_generation_prompt=True)
    tokenizer.decode(
        [int(token) for token in tokenizer.encode(text, add_special_tokens=False).input_ids.data[0]]
    )
    tokenizer.get_vocab()
    return tokenizer


def _int64_row(tokens: tuple[int, ...]) -> Any:
    numpy = importlib.import_module("numpy")
    return numpy.array([tokens], dtype=numpy.int64)


def _resolve(request: Request, sequences: list[Sequence]) -> None:
    try:
        request.future.set_result(sequences)
    except InvalidStateError:
        return  # cancelled by the caller in the meantime


def _fail(request: Request, error: Exception) -> None:
    try:
        request.future.set_exception(error)
    except InvalidStateError:
        return  # cancelled by the caller in the meantime


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]


def _readable(error: BaseException, weights: Path) -> BaseException:
    if isinstance(error, MissingExtra):
        return error
    return EngineFault(f"OpenVINO cannot load {weights}: {_first_line(error)}")
