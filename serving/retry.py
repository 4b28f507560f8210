"""Retries and outages.

Invariants: what cannot succeed is sent once. The delay before a retry grows exponentially with full jitter
(delay ~ U(0, min(cap, base * 2^k)) before retry k = 0, 1, ...) and never ends before the server's Retry-After. A
failure counts as an outage only if a health check fails too; during an outage only health checks are sent, and no
request uses up an attempt. A pause that a server asks for (429, 503) uses up no attempt either, and counts on the
patience for outages.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import TypeVar

from serving.errors import (
    EngineError,
    EngineOverloaded,
    EngineTimeout,
    EngineUnreachable,
    NoServer,
    ServerDown,
)
from serving.replicas import Replicas

T = TypeVar("T")

LONGEST_RETRY_AFTER = 300.0
"""Longest Retry-After that is waited for without patience, in seconds."""

TIMEOUT_ATTEMPTS = 2
"""Maximum number of attempts that may time out, so that a server that hangs does not block a run for hours."""

MOST_OUTAGES = 3
"""Maximum number of outages per request: a request that meets more of them may be their cause."""

SUSPICIOUS = 2
"""Consecutive failures after which the servers' health is checked."""

CHECK_SECONDS = 2.0
"""Seconds between two health checks."""

LONGEST_PAUSE = 10.0
"""Longest pause of a request whose server asks for one without saying how long, in seconds."""

STEP_SECONDS = 30.0
"""Longest part of a pause after which a request looks for a server that may be asked."""

QUIET_SECONDS = 10.0
"""Length of pauses without any answer after which a line tells of them."""


class ServerWatch:
    """Outage detection for a set of replicas, shared by all requests to them.

    Args:
        name: Name of the servers in messages.
        healthy: Check that returns whether a server answers, and raises `ServerDown` if it is back as another judge.
        patience: Longest outage to wait for, in seconds; 0 lets each request fail by itself.
        tell: Callback for one line when an outage begins and one when it ends.
        clock, sleep: Clock and sleep of the waiting.
    """

    def __init__(
        self,
        name: str,
        healthy: Callable[[], Awaitable[bool]],
        *,
        patience: float,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.patience = patience
        self.answers = 0
        """Number of requests that were answered."""
        self._name = name
        self._healthy = healthy
        self._tell = tell
        self._clock = clock
        self._sleep = sleep
        self._failures = 0
        self._outage: asyncio.Task[bool] | None = None
        self._down: ServerDown | None = None
        self._pausing_since: float | None = None
        """Time of the line that told of pauses; None while there are answers."""

    async def ready(self) -> None:
        """Wait for the end of the current outage, if any.

        Raises:
            ServerDown: The outage lasts longer than `patience`.
        """
        if self._down is not None:
            raise self._down
        if self._outage is not None:
            await asyncio.shield(self._outage)

    def record_answer(self) -> None:
        """Record that a request was answered."""
        self.answers += 1
        self._failures = 0
        if self._pausing_since is not None:
            self.say(
                f"{self._name} answers again after {self._clock() - self._pausing_since:.0f} s; going on"
            )
            self._pausing_since = None

    def pausing(self, error: EngineOverloaded, seconds: float, answers: int) -> None:
        """Record that a request pauses because every server asks for it.

        Args:
            error: Answer of the server that may be asked first.
            seconds: How long the request has paused.
            answers: Value of `answers` when it began.

        Raises:
            ServerDown: It has paused longer than `patience`, and no request was answered since.
            EngineOverloaded: It has, and others were answered.
        """
        if self._down is not None:
            raise self._down
        if seconds >= self.patience:
            if answers != self.answers:
                raise EngineOverloaded(
                    f"{error} (asked to wait for {seconds / 60:.3g} min)", retry_after=error.retry_after
                ) from error
            self._down = ServerDown(
                f"{self._name} has asked for pauses for {self.patience / 60:g} min and answered nothing ({error}); "
                "what is finished is kept: run the same command again later"
            )
            raise self._down from error
        if seconds >= QUIET_SECONDS and answers == self.answers and self._pausing_since is None:
            self._pausing_since = self._clock() - seconds
            minutes = f"{self.patience / 60:g} min"
            self.say(f"{self._name} asks for a pause; waiting for it up to {minutes} ({error})")

    async def wait_out(self, error: EngineError, *, final: bool) -> bool:
        """Return whether a request failed because of an outage, after the outage has ended.

        Args:
            error: Error of the request.
            final: Whether the request has no attempt left, so that health is checked at the first failure.

        Raises:
            ServerDown: The outage lasts longer than `patience`.
        """
        if not error.retryable or not self.patience:
            return False
        if self._down is not None:
            raise self._down
        if self._outage is None:
            self._failures += 1
            if self._failures < SUSPICIOUS and not final:
                return False
            self._outage = asyncio.create_task(self._wait(error))
            self._outage.add_done_callback(self._end_outage)
        return await asyncio.shield(self._outage)

    async def aclose(self) -> None:
        """Stop waiting."""
        if self._outage is not None:
            self._outage.cancel()
            await asyncio.wait([self._outage])

    def _end_outage(self, task: asyncio.Task[bool]) -> None:
        self._outage = None
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not warn if every waiting request was cancelled

    async def _wait(self, error: EngineError) -> bool:
        try:
            if await self._healthy():
                return False
            begun = self._clock()
            minutes = f"{self.patience / 60:g} min"
            self.say(f"{self._name} does not answer; waiting for it up to {minutes} ({error})")
            while (left := self.patience - (self._clock() - begun)) > 0:
                await self._sleep(min(CHECK_SECONDS, left))
                if await self._healthy():
                    self.say(f"{self._name} is back after {self._clock() - begun:.0f} s; going on")
                    self._failures = 0
                    return True
            raise ServerDown(
                f"{self._name} has not answered for {minutes}; what is finished is kept: start the server, then run "
                "the same command again"
            )
        except ServerDown as down:
            self._down = down
            raise

    def say(self, line: str) -> None:
        """Tell a line with the time of day."""
        self._tell(f"{datetime.now().astimezone():%H:%M:%S} {line}")


@dataclass
class Retry:
    """Policy that sends a request until a replica answers, the error is final, or the attempts are used up."""

    attempts: int = 5
    """Maximum number of rounds; a round skips every replica that cannot be reached. With a patient watch, rounds in
    which every replica asks for a pause do not count."""
    base: float = 0.5
    cap: float = 30.0
    rng: Random = field(default_factory=Random)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(
        self,
        replicas: Replicas,
        prefix: str,
        send: Callable[[str], Awaitable[T]],
        watch: ServerWatch | None = None,
    ) -> T:
        """Return the first answer of `send(base_url)`.

        Args:
            replicas: Replicas to try.
            prefix: Prefix that decides their order.
            send: Function that makes one attempt.
            watch: Outage detection; None, or no patience, counts every failure as an attempt.

        Raises:
            EngineError: The last error, with the number of attempts in its message if there were several.
            ServerDown: An outage lasts longer than is waited for.
        """
        failed: list[str] = []
        attempt, outages, timeouts, waited = 1, 0, 0, False
        pauses, paused, answers = 0, 0.0, 0
        patient = watch if watch is not None and watch.patience else None
        while True:
            if watch is not None:
                await watch.ready()
            if not patient and not waited and 0 < (pause := replicas.pause()) <= LONGEST_RETRY_AFTER:
                await self.sleep(pause + self.rng.uniform(0.0, self.base))
                waited = True  # once: then it is sent, so that other requests cannot hold it up for ever
                continue
            try:
                answer = await _in_order(replicas, prefix, failed, send, obey=not waited)
            except EngineError as error:
                timed_out = isinstance(error, EngineTimeout)
                overload = error if patient is not None and isinstance(error, EngineOverloaded) else None
                final = overload is None and (
                    not error.retryable
                    or attempt == self.attempts
                    or timeouts + timed_out == TIMEOUT_ATTEMPTS
                )
                if watch is not None and outages < MOST_OUTAGES and await watch.wait_out(error, final=final):
                    outages += 1
                    continue
                if patient is not None and overload is not None:
                    answers = answers if paused else patient.answers
                    patient.pausing(overload, paused, answers)
                    pause = self._pause(pauses, overload)
                    step = min(pause, STEP_SECONDS, patient.patience - paused)
                    waited = step == pause
                    pauses, paused = pauses + waited, paused + step
                    await self.sleep(step)
                    continue
                wait = self.delay(attempt, error)
                if final or wait is None:
                    if attempt == 1:
                        raise
                    text = str(error) if isinstance(error, NoServer) else f"{error} (attempt {attempt})"
                    raise type(error)(text, retry_after=error.retry_after) from error
                attempt, timeouts, waited = attempt + 1, timeouts + timed_out, True
            else:
                if watch is not None:
                    watch.record_answer()
                return answer
            await self.sleep(wait)

    def delay(self, attempt: int, error: EngineError) -> float | None:
        """Return the seconds before the next attempt; None if the server asks for more than is waited for."""
        jitter = self._jitter(attempt)
        if error.retry_after is None:
            return jitter
        return None if error.retry_after > LONGEST_RETRY_AFTER else error.retry_after + jitter

    def _pause(self, pauses: int, error: EngineOverloaded) -> float:
        """Return the seconds of a pause after `pauses` others: the Retry-After, or a growing time."""
        if error.retry_after is not None:
            return error.retry_after + self._jitter(1)
        return min(self._jitter(pauses + 1), LONGEST_PAUSE)

    def _jitter(self, attempt: int) -> float:
        return self.rng.uniform(0.0, min(self.cap, self.base * 2.0 ** (attempt - 1)))


async def _in_order(
    replicas: Replicas, prefix: str, failed: list[str], send: Callable[[str], Awaitable[T]], *, obey: bool
) -> T:
    """Return the first answer; add a replica that answers and fails to `failed`.

    One that cannot be reached or is overloaded is passed over at once. If all are, the error is the overload that ends
    first. Replicas that are away are asked only if no other is left.

    Args:
        replicas: Replicas to try.
        prefix: Prefix that decides their order.
        failed: Replica of each attempt that failed.
        send: Function that makes one attempt.
        obey: Whether to pass over replicas that asked another request for a pause.
    """
    errors: list[EngineError] = []
    for url in replicas.order(prefix, failed):
        if replicas.is_away(url) and any(isinstance(error, EngineOverloaded) for error in errors):
            break
        if obey and (overload := replicas.overload(url)) is not None:
            errors.append(overload)
            continue
        try:
            with replicas.sending(url):
                return await send(url)
        except (EngineUnreachable, EngineOverloaded) as error:
            errors.append(error)
        except EngineError:
            failed.append(url)
            raise
    raise min(errors, key=_until)


def _until(error: EngineError) -> float:
    """Return the seconds until a repetition makes sense; unreachable servers come last."""
    return (error.retry_after or 0.0) if isinstance(error, EngineOverloaded) else float("inf")
