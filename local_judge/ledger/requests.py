"""Requests to a judge, their ledger keys, and the stored replies.

Invariant: two requests have the same key if and only if everything that can change the reply is the same:
judge identity, rendered messages, schema as sent (key order included, since a constrained decoder writes in
that order), sampling, kind with options, draw number and attempt. Nothing that cannot change the reply
(scheduling, limits) is in the key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from local_judge.base.model import Frozen
from local_judge.prompts import Prompt
from serving.types import Choice, EngineIdentity, FinishReason, Generation, Message, Sampling, Usage

if TYPE_CHECKING:
    from _hashlib import HASH

Kind = Literal["generate", "choose"]


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical(value: Any) -> str:
    """Return canonical JSON: sorted keys, no spaces, no NaN."""
    return _CANONICAL.encode(value)


def sha256(text: str) -> str:
    """Return the hex SHA-256 of the UTF-8 bytes of `text`."""
    return hashlib.sha256(text.encode()).hexdigest()


def now() -> str:
    """Return the current time: UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def row_digest(row: Sequence[Any]) -> str:
    """Return the SHA-256 of a table row as a canonical JSON list; values of other types count by their repr."""
    return sha256(json.dumps(row, ensure_ascii=True, separators=(",", ":"), default=repr))


def prompt_digest(prompt: Prompt) -> str:
    """Return the SHA-256 over content, role and length in bytes of each message.

    The end of `shared` does not affect the digest. The part up to there is hashed once for all calls that share it, and
    the messages are not rendered.
    """
    digest, length = _digest_of_shared(prompt.system, prompt.shared)
    digest = digest.copy()
    rest = prompt.rest.encode()
    digest.update(rest)
    digest.update(_end("user", length + len(rest)))
    return digest.hexdigest()


def _end(role: str, length: int) -> bytes:
    return f"\n{role} {length}\n".encode()


@lru_cache(maxsize=128)
def _digest_of_shared(system: str, shared: str) -> tuple[HASH, int]:
    before, start = system.encode(), shared.encode()
    digest = hashlib.sha256(before)
    digest.update(_end("system", len(before)))
    digest.update(start)
    return digest, len(start)


class Identified(NamedTuple):
    """A judge's identity with its digest."""

    identity: EngineIdentity
    json: str
    """Canonical JSON of the identity."""
    digest: str
    """SHA-256 of `json`."""

    @classmethod
    def of(cls, identity: EngineIdentity) -> Identified:
        """Return the identity with its JSON and digest."""
        text = canonical(identity.model_dump(mode="json"))
        return cls(identity, text, sha256(text))


class Request:
    """One call of an engine; immutable by convention.

    Args:
        judge: Judge that answers.
        prompt: Prompt of the call.
        kind: Method of the engine.
        sampling: Sampling parameters; None for `choose`. The engine may get a smaller `max_tokens`, so that prompt and
            reply fit.
        schema: JSON text of the schema, in the key order in which it is sent.
        options: Options of `choose`.
        draw: Number of the draw.
        attempt: 0 for the first attempt at a question, counting up when it is repeated.
    """

    __slots__ = (
        "attempt",
        "draw",
        "judge",
        "key",
        "kind",
        "options",
        "prompt",
        "sampling",
        "sampling_json",
        "schema",
    )

    def __init__(
        self,
        judge: Identified,
        prompt: Prompt,
        kind: Kind,
        *,
        sampling: Sampling | None = None,
        schema: str | None = None,
        options: tuple[str, ...] = (),
        draw: int = 0,
        attempt: int = 0,
    ) -> None:
        self.judge = judge
        self.prompt = prompt
        self.kind: Kind = kind
        self.sampling = sampling
        self.sampling_json = _sampling_json(cast("Any", sampling))  # hashable, which its type does not say
        """Canonical JSON of the sampling parameters."""
        self.schema = schema
        self.options = options
        self.draw = draw
        self.attempt = attempt
        parts = {
            "attempt": attempt,
            "draw": draw,
            "judge": judge.digest,
            "kind": kind,
            "messages": prompt_digest(prompt),
            "options": options,
            "sampling": self.sampling_json,
            "schema": None if schema is None else _schema_digest(schema),
        }
        self.key = sha256(canonical(parts))
        """Ledger key: SHA-256 of the canonical JSON of the parts, long ones by their digest."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """Chat messages; rendered at each access, since many requests wait at once."""
        return self.prompt.messages()


@lru_cache(maxsize=256)
def _sampling_json(sampling: Sampling | None) -> str:
    return canonical(None if sampling is None else sampling.model_dump(mode="json"))


@lru_cache(maxsize=256)
def _schema_digest(schema: str) -> str:
    return sha256(schema)


class Reply(Frozen):
    """Stored reply of an engine."""

    key: str
    kind: Kind
    text: str = ""
    reasoning: str | None = None
    """Reasoning of a thinking model; never parsed."""
    finish_reason: FinishReason = "stop"
    logprobs: dict[str, float] | None = None
    """Natural log-probability of each option; None for `generate`."""
    bounded: tuple[str, ...] = ()
    """Options that the engine did not report, whose log-probability is an upper bound."""
    usage: Usage = Usage()
    created: str
    """UTC, ISO 8601."""
    latency: float
    """Seconds from sending to the end of the reply."""

    @classmethod
    def of(cls, key: str, answer: Generation | Choice, created: str, latency: float) -> Reply:
        """Return the reply to store for an engine's answer."""
        kind: Kind = "choose" if isinstance(answer, Choice) else "generate"
        # Both types have their content in fields of the same names.
        return cls(key=key, kind=kind, created=created, latency=latency, **dict(answer))
