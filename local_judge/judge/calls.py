"""Calls: replies from the ledger, or from the engine and then stored in the ledger.

Invariants: a returned reply is in the ledger; concurrent identical calls are one call; a call that cannot fit is never
sent; an engine's error becomes a `Failure` of its kind, which is stored as well.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, Generic, TypeVar

from local_judge.base.failures import Failure
from local_judge.judge.errors import TooManyFailures, failure_of
from local_judge.judge.planning import STAGE, NotInLedger
from local_judge.judge.scheduler import Scheduler, Turn
from local_judge.ledger.errors import CorruptReply
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.requests import Identified, Reply, Request, now, prompt_digest
from local_judge.prompts import Prompt
from serving.engine import Engine
from serving.errors import AnswerInReasoning, EngineError, PlannedCall, PromptCut, UnreportedOptions
from serving.types import Choice, EngineLimits, Generation, Sampling

T = TypeVar("T")

TEMPLATE_TOKENS = 256
"""Upper bound of the tokens that a chat template adds to the messages."""

SEAM_TOKENS = 16
"""Upper bound of the additional tokens when two texts are tokenized together instead of separately."""

CHARACTERS_PER_TOKEN = 8
"""Upper bound of the average characters per token of a prompt without runs of one character: text has 1 to 5."""

SMALLEST_CONTEXT = 256
"""Tokens that the context of every server holds, so that no prompt of fewer is cut."""

BYTES_PER_TOKEN = 3
"""Lower bound of the average bytes per token in reports, so that the size of a prefix is overestimated."""


@dataclass
class Meter:
    """Running counts of a judge's calls, which may be read at any time.

    Invariant: a call is counted once, by the source of its reply (`made`, `replayed`, `planned` or `failed`); token
    counts cover calls that were made, never replays.
    """

    made: int = 0
    """Calls that the engine answered."""
    replayed: int = 0
    """Calls that the ledger answered, or that shared the reply of a concurrent equal call."""
    replayed_stages: Counter[str] = field(default_factory=Counter[str])
    """Calls that the ledger answered, by stage."""
    failed: int = 0
    """Calls that failed."""
    failures: Counter[str] = field(default_factory=Counter[str])
    """Questions without an answer, by kind of failure: failed calls, and replies that stayed unreadable."""
    planned: int = 0
    """Calls that a dry run would have made."""
    reasked: int = 0
    """Calls, among all of these, that repeat a question."""
    repaired: int = 0
    """Replies that were valid JSON only after repair."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the engine took from its prefix cache."""
    completion_tokens: int = 0
    in_flight: int = 0
    """Calls in progress at the engine."""
    waiting: int = 0
    """Calls waiting for the scheduler."""

    def call_failed(self, kind: str) -> None:
        """Count a call that failed."""
        self.failed += 1
        self.failures[kind] += 1

    def add(self, other: Meter) -> None:
        """Add the counts of another judge, such as one with other settings and the same ledger."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


class SingleFlight(Generic[T]):
    """Concurrent calls with one key share one run: that of the first call, in its own task.

    If the first call is cancelled, the next one starts another run.
    """

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Future[tuple[T] | None]] = {}
        """Result of each run in progress; None if it was cancelled."""

    def running(self, key: str) -> bool:
        """Check whether a run for `key` is in progress."""
        return key in self._running

    async def run(self, key: str, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `work()`, or of the run for `key` that is in progress.

        Raises:
            Exception: Exception of the run, raised to all callers.
        """
        while key in self._running:
            ended = await asyncio.shield(self._running[key])
            if ended is not None:
                return ended[0]
        own: asyncio.Future[tuple[T] | None] = asyncio.get_running_loop().create_future()
        self._running[key] = own
        try:
            value = await work()
            own.set_result((value,))
            return value
        except Exception as error:
            own.set_exception(error)
            own.exception()  # retrieved, so that asyncio does not warn if no other call waits
            raise
        finally:
            del self._running[key]
            if not own.done():
                own.set_result(None)


class Caller:
    """Makes calls for a `Judge`."""

    def __init__(
        self,
        engine: Engine,
        ledger: Ledger,
        min_reply_tokens: int,
        *,
        max_unreported: float,
        min_mass: float,
        fail_after: int | None = None,
    ) -> None:
        self.meter = Meter()
        self._fail_after = fail_after
        self._unanswered = 0
        self._engine = engine
        self._ledger = ledger
        self._min_reply_tokens = min_reply_tokens
        self._max_unreported = max_unreported
        self._min_mass = min_mass
        self._calls = SingleFlight[Reply | Failure]()
        self._setup = SingleFlight[tuple[Identified, EngineLimits]]()
        self._ready: tuple[Identified, EngineLimits] | None = None
        self._scheduler: Scheduler | None = None
        self._counting = SingleFlight[int]()
        self._counts: dict[str, int] = {}

    async def judge(self) -> Identified | Failure:
        """Return the engine's identity, which is fetched once."""
        try:
            return await self._identified()
        except EngineError as error:
            return failure_of(error, "asking the judge what it is")

    async def _identified(self) -> Identified:
        if self._ready is None:
            self._ready = await self._setup.run("", self._ask_engine)
        return self._ready[0]

    async def count_tokens(self, prompt: Prompt) -> int:
        """Return the length of a prompt in tokens, from the ledger if it was counted before.

        Raises:
            EngineError: The engine did not answer.
            LedgerError: The count could not be stored.
        """
        judge = await self._identified()
        messages = prompt_digest(prompt)
        if messages not in self._counts:
            known = self._ledger.token_count(judge, messages)
            if known is None:
                known = await self._counting.run(messages, lambda: self._counted(judge, messages, prompt))
            if len(self._counts) >= _COUNTS_KEPT:
                del self._counts[next(iter(self._counts))]
            self._counts[messages] = known
        return self._counts[messages]

    async def _counted(self, judge: Identified, messages: str, prompt: Prompt) -> int:
        try:
            tokens = await self._engine.count_tokens(prompt.messages())
        except NotInLedger as error:
            self.meter.failures[error.kind] += 1
            raise
        if not self._ledger.read_only:
            await self._ledger.put_token_count(judge, messages, tokens)
        return tokens

    async def call(self, request: Request) -> Reply | Failure:
        """Return the reply to `request` after it is in the ledger; `judge` must have succeeded before.

        Raises:
            LedgerError: The reply could not be stored.
            TooManyFailures: The maximum number of failed calls is reached.
            ServerDown: An outage of the servers lasts longer than is waited for.
        """
        self.meter.replayed += self._calls.running(request.key)
        return await self._calls.run(request.key, lambda: self._answered(request))

    async def _answered(self, request: Request) -> Reply | Failure:
        try:
            stored = self._ledger.get(request.key)
        except CorruptReply:
            self.meter.call_failed("corrupt_reply")
            return await self._ledger.set_aside(request)
        if stored is None:
            return await self._make(request)
        self.meter.replayed += 1
        self.meter.replayed_stages[STAGE.get()] += 1
        return stored

    async def _ask_engine(self) -> tuple[Identified, EngineLimits]:
        identity = Identified.of(await self._engine.identity())
        limits = await self._engine.limits()
        self._scheduler = Scheduler(limits.concurrency, limits.kv_tokens)
        return identity, limits

    async def _make(self, request: Request) -> Reply | Failure:
        try:
            sampling = await self._fitted(request)
            if isinstance(sampling, Failure):
                self.meter.call_failed(sampling.kind)
                return sampling
            created, begun = now(), time.monotonic()
            answer = await self._send(request, sampling)
            self._check_read(request, answer)
            if isinstance(answer, Choice):
                self._check_reported(answer)
        except PlannedCall as error:
            self.meter.planned += 1
            return Failure(kind="planned", detail=str(error))
        except NotInLedger as error:
            # A call that failed before is that failure again, so that a replay writes the same bytes.
            known = self._ledger.failures(request.key)
            failure = known[-1] if known else failure_of(error, f"call {request.key[:12]}")
            self.meter.call_failed(failure.kind)
            return failure
        except EngineError as error:
            failure = failure_of(error, f"call {request.key[:12]}")
            self.meter.call_failed(failure.kind)
            await self._ledger.put_failure(request, failure)
            self._unanswered += failure.kind != "prompt_too_long"
            if self._fail_after is not None and self._unanswered >= self._fail_after:
                raise TooManyFailures(
                    f"{self._unanswered} calls failed, the last with: {failure.detail}; what is finished is kept: fix "
                    "the server, then run the same command again"
                ) from error
            return failure
        self._count(answer)
        latency = round(time.monotonic() - begun, 6)
        return await self._ledger.put(request, Reply.of(request.key, answer, created, latency))

    async def _send(self, request: Request, sampling: Sampling | None) -> Generation | Choice:
        assert self._scheduler is not None
        prompt = request.prompt
        tokens = (_bytes(prompt.system) + _bytes(prompt.shared)) // BYTES_PER_TOKEN
        # A prompt without a shared part waits for no other call.
        prefix_key = prompt.prefix_key if prompt.shared else request.key
        self.meter.waiting += 1
        admitted = False
        try:
            async with self._scheduler.turn(prefix_key, tokens) as turn:
                self.meter.waiting -= 1
                self.meter.in_flight += 1
                admitted = True
                return await self._answer(request, sampling, turn)
        finally:
            if admitted:
                self.meter.in_flight -= 1
            else:
                self.meter.waiting -= 1

    async def _answer(self, request: Request, sampling: Sampling | None, turn: Turn) -> Generation | Choice:
        if sampling is None:
            return await self._engine.choose(request.messages, request.options)
        schema = None if request.schema is None else _schema(request.schema)
        # An engine may have to stream to report its first token, so that only a call that others wait for asks for it.
        started = turn.started if turn.leads and request.prompt.shared else None
        return await self._engine.generate(request.messages, sampling, schema, started)

    def _check_read(self, request: Request, answer: Generation | Choice) -> None:
        """Refuse a reply to a part of the prompt, and one whose answer the server took for reasoning.

        Servers such as Ollama cut a prompt to their context without an error. A server that reports no number of
        tokens is not checked.
        """
        usage, prompt = answer.usage, request.prompt
        if request.judge.identity.engine == "openai":  # without a tokenizer; some report cached tokens apart
            read, counted = usage.prompt_tokens + (usage.cached_tokens or 0), 0
        else:
            read, counted = usage.prompt_tokens, self._counts.get(prompt_digest(prompt), 0) - TEMPLATE_TOKENS
        least = max(_least_tokens(prompt, read), counted)
        if usage.prompt_tokens and read < least >= SMALLEST_CONTEXT:
            raise PromptCut(
                f"the server read {usage.prompt_tokens:,} tokens of a prompt that has {least:,} or more, so it cuts "
                "prompts to its context; raise that context (Ollama: num_ctx, vLLM: --max-model-len)"
            )
        if isinstance(answer, Generation) and _is_in_reasoning(request, answer):
            raise AnswerInReasoning(
                "the answer is in the reply's reasoning field (reasoning_content), and its content is empty; start the "
                "server without --reasoning-parser, or with the model's own, such as qwen3"
            )

    def _check_reported(self, choice: Choice) -> None:
        """Refuse a result that depends on bounds, so that it is not stored and the next run asks again.

        If the model prefers an answer that is not among the options, more alternatives would not help, and the result
        is stored.
        """
        if choice.mass >= self._min_mass and choice.unreported > self._max_unreported:
            raise UnreportedOptions(
                f"the server does not report {'/'.join(choice.bounded)} among its alternatives, which leaves "
                f"{100 * choice.unreported:.3g} % of the options' probability open; ask for more alternatives "
                "(max_logprobs), or use vLLM"
            )

    def _count(self, answer: Generation | Choice) -> None:
        self.meter.made += 1
        self.meter.prompt_tokens += answer.usage.prompt_tokens
        self.meter.cached_tokens += answer.usage.cached_tokens or 0
        self.meter.completion_tokens += answer.usage.completion_tokens

    async def _fitted(self, request: Request) -> Sampling | Failure | None:
        """Return the sampling with `max_tokens` limited to the room that the prompt leaves, or a failure.

        Two cheap upper bounds come first: a byte-level tokenizer makes no more tokens than bytes; and the shared part
        is counted once for all its calls, the own part by its bytes.
        """
        assert self._ready is not None
        context = self._ready[1].context_tokens
        sampling, prompt = request.sampling, request.prompt
        thinking = sampling.thinking_tokens if sampling and sampling.thinking else 0
        wanted = 1 if sampling is None else sampling.max_tokens + thinking
        size = _bytes(prompt.system) + _bytes(prompt.shared) + _bytes(prompt.rest)
        if size + TEMPLATE_TOKENS + wanted <= context:
            return sampling
        if prompt.shared and _bytes(prompt.rest) + SEAM_TOKENS + wanted < context:
            alone = Prompt(shared="", own=prompt.shared, prefix_key="", system=prompt.system)
            shared = await self.count_tokens(alone)
            if shared + _bytes(prompt.rest) + SEAM_TOKENS + wanted <= context:
                return sampling
        tokens = await self.count_tokens(prompt)
        left = context - tokens
        least = 1 if sampling is None else min(wanted, self._min_reply_tokens + thinking)
        if left < least:
            return Failure(
                kind="prompt_too_long",
                detail=f"the prompt has {tokens} tokens and its reply needs {least} or more, "
                f"but the judge's context holds {context}",
            )
        if sampling is None or left >= wanted:
            return sampling
        return sampling.model_copy(update={"max_tokens": left - thinking})


_COUNTS_KEPT = 4096


def _least_tokens(prompt: Prompt, enough: int) -> int:
    """Return the least tokens that a prompt has by its characters, of which runs of one count once.

    A number up to `enough` may be too high: the runs are looked for only if it matters.
    """
    parts = (prompt.system, prompt.shared, prompt.rest)
    n = sum(map(len, parts))
    if n > enough * CHARACTERS_PER_TOKEN:
        n = sum(len(_RUN.sub(r"\1", part)) for part in parts)
    return n // CHARACTERS_PER_TOKEN


_RUN = re.compile(r"(.)\1+", re.DOTALL)


def _is_in_reasoning(request: Request, answer: Generation) -> bool:
    """Check for a reply without content whose reasoning is the answer: none was asked for, or it ends as JSON."""
    if answer.text.strip() or not answer.reasoning or answer.finish_reason == "length":
        return False
    asked = request.sampling is not None and request.sampling.thinking
    return not asked or (request.schema is not None and answer.reasoning.rstrip().endswith(("}", "]")))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


@lru_cache(maxsize=256)
def _schema(text: str) -> dict[str, Any]:
    return json.loads(text)
