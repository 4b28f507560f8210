"""From a prompt and a type to a validated answer or a failure.

Invariants: an answer is read only from a reply that the ledger holds; a prompt that does not fit is never
sent; an answer names each item asked for exactly once with values that its type admits, and what stays
missing is a `Failure`. Only what concerns all questions at once (a ledger that cannot be written, an answer
type without a schema) raises.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import Field, TypeAdapter

from local_judge.judge.calibration import Calibration, applying
from local_judge.judge.calls import Caller
from local_judge.judge.failures import Failure
from local_judge.judge.layout import Prompt
from local_judge.judge.ledger import Ledger
from local_judge.judge.meter import Meter
from local_judge.judge.replies import Read, Unread, read_items, read_one
from local_judge.judge.requests import Reply, Request
from local_judge.judge.schemas import items_schema, json_schema
from serving.engine import Engine
from serving.types import Choice, Frozen, Sampling

T = TypeVar("T")


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A validated value and where it came from."""

    value: T
    replies: tuple[str, ...]
    """Ledger keys of the replies that it took, the one that holds it last."""
    repaired: bool = False
    """Whether that reply was JSON only after repair."""


class ChoiceResult(Frozen):
    """What a judge thinks of each option of a closed set."""

    probabilities: dict[str, float]
    """Over the options, summing to 1, in the order in which they were given."""
    logprobs: dict[str, float]
    """The model's own, before normalisation."""
    mass: float
    """Probability that the model gives to the options together."""
    unreported: float = 0.0
    """Most that one of `probabilities` may be off by, because the server did not report every option."""
    reply: str
    """Ledger key."""


class JudgeSettings(Frozen):
    """How a judge is asked."""

    sampling: Sampling = Sampling()
    reasks: int = Field(default=2, ge=0)
    """How often what is missing is asked for again."""
    reask_temperature: float = Field(default=0.3, ge=0)
    """Least temperature of a question put again: greedy decoding would only repeat itself."""
    threshold: float | None = Field(default=None, gt=0, lt=1)
    """P(yes) from which this judge's yes counts, where nothing else is configured; None where nobody fitted one."""
    min_mass: float = Field(default=0.05, ge=0, le=1)
    """Least probability of all options of `choose` together for the pick to mean anything."""
    max_unreported: float = Field(default=0.02, ge=0, le=1)
    """Most of the options' probability that may rest on bounds instead of reported log-probabilities."""
    min_reply_tokens: int = Field(default=16, ge=1)
    """A prompt that leaves less room than this for the reply does not fit."""


_DEFAULTS = JudgeSettings()


class Judge:
    """An engine with a memory: asks, keeps, validates, asks again.

    Args:
        engine: who answers.
        ledger: where replies are kept.
        settings: how it is asked.
        calibrations: of this engine's identity, what its yes is worth.
        fail_after: calls without an answer after which the next question raises `TooManyFailures`; None for no limit.
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

    @property
    def meter(self) -> Meter:
        """What has been done so far; the same object all along."""
        return self._caller.meter

    def calibration(self, question: str, prompt: str, language: str) -> Calibration | None:
        """What this judge's yes to a question is worth on pages in a language; None where nobody has fitted it.

        Args:
            question: by name.
            prompt: digest of the question as it is sent.
            language: ISO 639-1 code; where it has no calibration of its own, the pooled one counts.
        """
        return applying(self.calibrations, question, prompt, language)

    async def room(self, prompt: Prompt) -> int:
        """Tokens that the prompt leaves for the reply; negative if it does not fit.

        Raises:
            EngineError: the engine could not be asked.
        """
        limits = await self.engine.limits()
        return limits.context_tokens - await self.engine.count_tokens(prompt.messages())

    async def ask(
        self, prompt: Prompt, answer: type[T], *, draw: int = 0, max_tokens: int | None = None
    ) -> Answer[T] | Failure:
        """One answer of type `answer`.

        A reply that is no answer is asked for again up to `reasks` times, with another seed, at least
        `reask_temperature`, and twice the tokens if it ran into its limit.

        Raises:
            LedgerError: the reply could not be stored.
            SchemaError: `answer` has no schema that a decoder can take.
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
        return _failure(unread, keys)

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
        """One answer for each of `n` items, in one reply if it succeeds.

        The reply is an object with the keys "1", "2", … in the order of the items as `prompt_for` renders
        them, or with their `names`. What is missing or invalid is asked for again, first all of it in one call,
        then each item by itself.

        Args:
            prompt_for: the prompt that asks for the items at these 0-based positions, numbered from 1 or by name.
            item: type of one answer, or of each.
            n: how many items there are.
            names: a key for each item, all different, which it keeps when it is asked for again.
            draw: number of the draw, for several answers to one question.
            max_tokens: limit of one reply, whatever number of items it is asked for.

        Raises:
            LedgerError: a reply could not be stored.
            SchemaError: `item` has no schema that a decoder can take.
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
        return batch.answers()

    async def choose(
        self, prompt: Prompt, options: Sequence[str], *, draw: int = 0
    ) -> ChoiceResult | Failure:
        """The judge's probabilities of a closed set of short answers, from one forward pass.

        A pick rests on reported log-probabilities. Options that the server did not report are bounded; where the
        bounds leave open more than `max_unreported`, there is no pick but a failure of the kind `unreported`.

        Raises:
            LedgerError: the reply could not be stored.
            ValueError: fewer than two options, or two that are equal.
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
            return Failure(
                kind="malformed", detail=f"reply {reply.key[:12]}: no log-probability for {left_out}"
            )
        bounded = tuple(option for option in menu if option in reply.bounded)
        choice = Choice(logprobs={option: found[option] for option in menu}, bounded=bounded)
        if choice.mass < self.settings.min_mass:  # bounds included: more alternatives cannot raise it
            menu_text = "/".join(menu)
            return Failure(
                kind="off_menu",
                detail=f"reply {reply.key[:12]}: {menu_text} have probability {choice.mass:.3g} together, "
                f"less than {self.settings.min_mass:g}",
            )
        return ChoiceResult(
            probabilities=choice.probabilities(),
            logprobs=choice.logprobs,
            mass=choice.mass,
            unreported=choice.unreported,
            reply=reply.key,
        )

    async def _generate(
        self, prompt: Prompt, schema: str, draw: int, attempt: int, max_tokens: int
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

    def _noted(self, read: Read[T]) -> Read[T]:
        self.meter.repaired += read.repaired
        return read


_STRIDE = 1_000_000
"""Between the seeds of two attempts, so that they never meet those of other draws."""


class _Batch(Generic[T]):
    """What is known so far of each item of a batch."""

    def __init__(self, n: int) -> None:
        self._found: list[Answer[T] | Failure | None] = [None] * n
        self._unread = [Unread("incomplete", "never asked for")] * n
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
