"""Judge: validated answers, or failures, to prompts.

Invariants: an answer is read only from a reply in the ledger; a prompt that does not fit is never sent; an answer has
each requested item exactly once with valid values, and a missing item is a `Failure`. Only errors that concern all
questions (a ledger that cannot be written, an answer type without a schema) are raised.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import Field, TypeAdapter

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.judge.calls import Caller, Meter
from local_judge.judge.replies import Read, Unread, read_items, read_one
from local_judge.judge.schemas import items_schema, json_schema
from local_judge.ledger.calibrations import Calibration, applying
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.requests import Reply, Request
from local_judge.prompts import Prompt
from serving.engine import Engine
from serving.types import Choice, Sampling

T = TypeVar("T")


@dataclass(frozen=True)
class Answer(Generic[T]):
    """Validated value with the replies that it comes from."""

    value: T
    replies: tuple[str, ...]
    """Ledger keys of all replies to the question; the last one contains the value."""
    repaired: bool = False
    """True if that reply was valid JSON only after repair."""


class ChoiceResult(Frozen):
    """Probabilities of a closed set of options."""

    probabilities: dict[str, float]
    """Probabilities of the options, which sum to 1, in the given order."""
    logprobs: dict[str, float]
    """Log-probabilities of the model, before normalisation."""
    mass: float
    """Probability of all options together."""
    unreported: float = 0.0
    """Maximum error of a probability due to options that the server did not report."""
    reply: str
    """Ledger key."""


THINKING_OFF = (
    "set `extra_body: {chat_template_kwargs: {enable_thinking: false}}` in the judge's preset, "
    "which servers other than vLLM need"
)
"""Advice for a judge that does not answer with its first token."""


class JudgeSettings(Frozen):
    """Settings of a judge."""

    sampling: Sampling = Sampling()
    reasks: int = Field(default=2, ge=0)
    """Maximum number of times that missing items are requested again."""
    reask_temperature: float = Field(default=0.3, ge=0)
    """Minimum temperature of a repeated question, since greedy decoding would return the same reply."""
    threshold: float | None = Field(default=None, gt=0, lt=1)
    """Default minimum P(yes) of a yes for this judge; None if none was fitted."""
    min_mass: float = Field(default=0.05, ge=0, le=1)
    """Minimum probability of all options of `choose` together; below it the result is a failure."""
    max_unreported: float = Field(default=0.02, ge=0, le=1)
    """Maximum share of the options' probability that may come from bounds instead of reported log-probabilities."""
    min_reply_tokens: int = Field(default=16, ge=1)
    """Minimum room for the reply; a prompt that leaves less does not fit."""


_DEFAULTS = JudgeSettings()


class Judge:
    """Engine with a ledger: asks, stores, validates, and repeats questions.

    Args:
        engine: Engine that answers.
        ledger: Ledger of the replies.
        settings: Settings of the judge.
        calibrations: Calibrations of P(yes) for the engine's identity.
        fail_after: Number of failed calls after which `TooManyFailures` is raised; None for no limit.
    """

    def __init__(
        self,
        engine: Engine,
        ledger: Ledger,
        settings: JudgeSettings = _DEFAULTS,
        calibrations: Sequence[Calibration] = (),
        fail_after: int | None = None,
    ) -> None:
        self.engine = engine
        self.ledger = ledger
        self.settings = settings
        self.calibrations = tuple(calibrations)
        self._caller = Caller(
            engine,
            ledger,
            settings.min_reply_tokens,
            max_unreported=settings.max_unreported,
            min_mass=settings.min_mass,
            fail_after=fail_after,
        )

    def sharing(self, settings: JudgeSettings, calibrations: Sequence[Calibration] = ()) -> Judge:
        """Return a judge with other settings on the same engine, ledger, scheduler and meter."""
        other = copy(self)
        other.settings, other.calibrations = settings, tuple(calibrations)
        return other

    @property
    def meter(self) -> Meter:
        """Counts of the calls so far; always the same object."""
        return self._caller.meter

    def calibration(self, question: str, prompt: str, language: str) -> Calibration | None:
        """Return the calibration of P(yes) for a question about pages in a language; None if none was fitted.

        Args:
            question: Name of the question.
            prompt: Digest of the question's prompt.
            language: ISO 639-1 code; without a calibration for it, the pooled one is used.
        """
        return applying(self.calibrations, question, prompt, language)

    async def room(self, prompt: Prompt) -> int:
        """Return the tokens that the prompt leaves for the reply; negative if it does not fit.

        Raises:
            EngineError: The engine did not answer.
        """
        limits = await self.engine.limits()
        return limits.context_tokens - await self.count_tokens(prompt)

    async def count_tokens(self, prompt: Prompt) -> int:
        """Return the length of a prompt in tokens, chat template included; counted once per ledger.

        Raises:
            EngineError: The engine did not answer.
        """
        return await self._caller.count_tokens(prompt)

    async def ask(
        self, prompt: Prompt, answer: type[T], *, draw: int = 0, max_tokens: int | None = None
    ) -> Answer[T] | Failure:
        """Return one answer of type `answer`.

        After an invalid reply the question is repeated up to `reasks` times, with another seed, a temperature of at
        least `reask_temperature`, and twice the tokens if the reply was truncated.

        Raises:
            LedgerError: The reply could not be stored.
            SchemaError: `answer` has no schema for a constrained decoder.
        """
        schema, adapter = _one(answer)
        limit = max_tokens or self.settings.sampling.max_tokens
        keys: list[str] = []
        unread = Unread("invalid_reply", "")
        for attempt in range(self.settings.reasks + 1):
            got = await self._generate(prompt, schema, draw, attempt, limit)
            if isinstance(got, Failure):
                return got.model_copy(update={"attempts": attempt + 1})
            keys.append(got.key)
            read = self._noted(read_one(got, adapter))
            value = read.items[0]
            if not isinstance(value, Unread):
                return Answer(value, tuple(keys), read.repaired)
            unread = value
            if unread.kind == "truncated":
                limit *= 2
        return self._counted(_failure(unread, keys))

    async def ask_text(
        self, prompt: Prompt, read: Callable[[str], T], *, schema: str | None = None, draw: int = 0
    ) -> Answer[T] | Failure:
        """Return what `read` finds in a reply, which is free text unless a schema is given.

        While `read` refuses the reply, the question is repeated as in `ask`, with the same limit.

        Args:
            prompt: Prompt of the question.
            read: Function that parses a reply; raises ValueError for one without an answer.
            schema: JSON text of the schema of the reply.
            draw: Number of the draw.

        Raises:
            LedgerError: The reply could not be stored.
        """
        keys: list[str] = []
        unread = Unread("invalid_reply", "")
        for attempt in range(self.settings.reasks + 1):
            got = await self._generate(prompt, schema, draw, attempt, self.settings.sampling.max_tokens)
            if isinstance(got, Failure):
                return got.model_copy(update={"attempts": attempt + 1})
            keys.append(got.key)
            try:
                return Answer(read(got.text), tuple(keys))
            except (ValueError, RecursionError) as error:
                cut = got.finish_reason == "length"
                unread = Unread("truncated" if cut else "invalid_reply", " ".join(str(error).split())[:300])
        return self._counted(_failure(unread, keys))

    async def ask_items(
        self,
        prompt_for: Callable[[Sequence[int]], Prompt],
        item: type[T] | Sequence[type[T]],
        n: int,
        *,
        names: Sequence[str] | None = None,
        draw: int = 0,
        max_tokens: int | None = None,
    ) -> list[Answer[T] | Failure]:
        """Return one answer for each of `n` items, from one reply if possible.

        The reply is an object with the keys "1", "2", … in the order in which `prompt_for` renders the items, or with
        their `names`. Missing or invalid items are requested again, first all in one call, then each alone.

        Args:
            prompt_for: Function that returns the prompt for the items at some 0-based positions, numbered from 1 or
                named.
            item: Type of every answer, or a type for each.
            n: Number of items.
            names: Keys of the items, all different, which stay the same when an item is requested again.
            draw: Number of the draw, for several answers to one question.
            max_tokens: Limit of one reply, for any number of items.

        Raises:
            LedgerError: A reply could not be stored.
            SchemaError: `item` has no schema for a constrained decoder.
        """
        batch = _Batch[T](n)
        limit = max_tokens or self.settings.sampling.max_tokens

        async def put(indices: list[int], attempt: int) -> None:
            if not indices:
                return
            keys = tuple(str(i) for i in range(1, len(indices) + 1))
            if names is not None:
                keys = tuple(names[index] for index in indices)
            types = tuple(item[index] if isinstance(item, Sequence) else item for index in indices)
            schema, adapters = _items(keys, types)
            got = await self._generate(prompt_for(indices), schema, draw, attempt, limit)
            if isinstance(got, Failure):
                batch.give_up(indices, got)
                return
            batch.take(indices, got, self._noted(read_items(got, adapters)))

        await put(list(range(n)), 0)
        for attempt in range(1, self.settings.reasks + 1):
            missing = batch.missing()
            if attempt == 1:
                await put(missing, attempt)
            else:
                await asyncio.gather(*(put([index], attempt) for index in missing))
        self.meter.failures.update(batch.unread_kinds())
        return batch.answers()

    async def choose(
        self, prompt: Prompt, options: Sequence[str], *, draw: int = 0
    ) -> ChoiceResult | Failure:
        """Return the judge's probabilities of a closed set of short answers, from one forward pass.

        The probabilities come from reported log-probabilities. Options that the server did not report are bounded; if
        the bounds leave more than `max_unreported` undetermined, the result is a failure of the kind `unreported`.

        Raises:
            LedgerError: The reply could not be stored.
            ValueError: There are fewer than two options, or two are equal.
        """
        menu = tuple(options)
        if len(menu) < 2 or len(set(menu)) != len(menu):
            raise ValueError(f"options {menu}: need two or more, all different")
        judge = await self._caller.judge()
        if isinstance(judge, Failure):
            return judge
        reply = await self._caller.call(Request(judge, prompt, "choose", options=menu, draw=draw))
        if isinstance(reply, Failure):
            return reply
        found = reply.logprobs or {}
        left_out = [option for option in menu if option not in found]
        if left_out:
            detail = f"reply {reply.key[:12]}: no log-probability for {left_out}"
            return self._counted(Failure(kind="malformed", detail=detail))
        bounded = tuple(option for option in menu if option in reply.bounded)
        choice = Choice(logprobs={option: found[option] for option in menu}, bounded=bounded)
        if choice.mass < self.settings.min_mass:  # bounds included: more alternatives cannot raise it
            menu_text = "/".join(menu)
            detail = (
                f"reply {reply.key[:12]}: {menu_text} have probability {choice.mass:.3g} together, "
                f"less than {self.settings.min_mass:g}"
            )
            if judge.identity.engine == "openai" and "extra_body" not in judge.identity.options:
                detail += f"; if the model thinks before it answers, {THINKING_OFF}"
            return self._counted(Failure(kind="off_menu", detail=detail))
        return ChoiceResult(
            probabilities=choice.probabilities(),
            logprobs=choice.logprobs,
            mass=choice.mass,
            unreported=choice.unreported,
            reply=reply.key,
        )

    async def _generate(
        self, prompt: Prompt, schema: str | None, draw: int, attempt: int, max_tokens: int
    ) -> Reply | Failure:
        judge = await self._caller.judge()
        if isinstance(judge, Failure):
            return judge
        base = self.settings.sampling
        changes: dict[str, Any] = {"max_tokens": max_tokens, "seed": base.seed + _STRIDE * attempt + draw}
        if attempt:
            changes["temperature"] = max(base.temperature, self.settings.reask_temperature)
            self.meter.reasked += 1
        sampling = base.model_copy(update=changes)
        request = Request(
            judge, prompt, "generate", sampling=sampling, schema=schema, draw=draw, attempt=attempt
        )
        return await self._caller.call(request)

    def _counted(self, failure: Failure) -> Failure:
        """Count a question whose reply has no answer."""
        self.meter.failures[failure.kind] += 1
        return failure

    def _noted(self, read: Read[T]) -> Read[T]:
        self.meter.repaired += read.repaired
        return read


_STRIDE = 1_000_000
"""Difference between the seeds of two attempts, so that they never equal those of other draws."""


class _Batch(Generic[T]):
    """State of each item of a batch."""

    def __init__(self, n: int) -> None:
        self._found: list[Answer[T] | Failure | None] = [None] * n
        self._unread = [Unread("incomplete", "never requested")] * n
        self._keys: list[list[str]] = [[] for _ in range(n)]

    def take(self, indices: Sequence[int], reply: Reply, read: Read[T]) -> None:
        for index, value in zip(indices, read.items, strict=True):
            self._keys[index].append(reply.key)
            if isinstance(value, Unread):
                self._unread[index] = value
            else:
                self._found[index] = Answer(value, tuple(self._keys[index]), read.repaired)

    def give_up(self, indices: Sequence[int], failure: Failure) -> None:
        for index in indices:
            self._found[index] = failure.model_copy(update={"attempts": len(self._keys[index]) + 1})

    def missing(self) -> list[int]:
        return [index for index, found in enumerate(self._found) if found is None]

    def unread_kinds(self) -> list[str]:
        return [self._unread[index].kind for index in self.missing()]

    def answers(self) -> list[Answer[T] | Failure]:
        return [
            found or _failure(unread, keys)
            for found, unread, keys in zip(self._found, self._unread, self._keys, strict=True)
        ]


def _failure(unread: Unread, keys: Sequence[str]) -> Failure:
    last = f"reply {keys[-1][:12]}: " if keys else ""
    return Failure(kind=unread.kind, detail=last + unread.why, attempts=len(keys) or 1)


@lru_cache(maxsize=256)
def _one(answer: Any) -> tuple[str, TypeAdapter[Any]]:
    return json.dumps(json_schema(answer), ensure_ascii=False), TypeAdapter(answer)


@lru_cache(maxsize=256)
def _items(keys: tuple[str, ...], types: tuple[Any, ...]) -> tuple[str, dict[str, TypeAdapter[Any]]]:
    adapters = {key: _one(item)[1] for key, item in zip(keys, types, strict=True)}
    return json.dumps(items_schema(dict(zip(keys, types, strict=True))), ensure_ascii=False), adapters
