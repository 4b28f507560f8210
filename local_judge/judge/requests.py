"""What is asked of a judge, and the name under which its reply is kept.

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
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from local_judge.judge.layout import Prompt
from serving.types import Choice, EngineIdentity, FinishReason, Frozen, Generation, Message, Sampling, Usage

if TYPE_CHECKING:
    from _hashlib import HASH

Kind = Literal["generate", "choose"]


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical(value: Any) -> str:
    """JSON with sorted keys, no spaces and no NaN: one text for one value."""
    return _CANONICAL.encode(value)


def sha256(text: str) -> str:
    """Hex SHA-256 of the UTF-8 bytes of `text`."""
    return hashlib.sha256(text.encode()).hexdigest()


def now() -> str:
    """The time, UTC, ISO 8601 to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def messages_digest(messages: Sequence[Message], shared: str = "") -> str:
    """SHA-256 over content, role and length in bytes of each message: no two message lists share it.

    The last message is taken as `shared` and what follows it, which changes nothing but that the digest of
    all up to there is computed once for all calls that share it.
    """
    *before, last = messages
    digest = _digest_to(tuple((message.role, message.content) for message in before), shared).copy()
    content = last.content.encode()
    digest.update(content[len(shared.encode()) :])
    digest.update(_end(last.role, content))
    return digest.hexdigest()


def _end(role: str, content: bytes) -> bytes:
    return f"\n{role} {len(content)}\n".encode()


@lru_cache(maxsize=128)
def _digest_to(before: tuple[tuple[str, str], ...], shared: str) -> HASH:
    digest = hashlib.sha256()
    for role, text in before:
        content = text.encode()
        digest.update(content + _end(role, content))
    digest.update(shared.encode())
    return digest


class Identified(NamedTuple):
    """A judge identity with its name in the ledger."""

    identity: EngineIdentity
    json: str
    """Canonical JSON of the identity."""
    digest: str
    """SHA-256 of `json`."""

    @classmethod
    def of(cls, identity: EngineIdentity) -> Identified:
        """The identity with its JSON and digest."""
        text = canonical(identity.model_dump(mode="json"))
        return cls(identity, text, sha256(text))


class Request:
    """One call of an engine, asked or to be asked; not to be changed once made.

    Args:
        judge: whose reply it is.
        prompt: what is asked.
        kind: which method of the engine is called.
        sampling: as asked for; an engine may be sent a smaller `max_tokens`, so that prompt and reply fit.
            None for `choose`.
        schema: JSON text of the schema, in the key order in which it is sent.
        options: the menu of `choose`.
        draw: number of the draw.
        attempt: 0 for the first time that a question is put, counting up when it is put again.
    """

    __slots__ = (
        "attempt",
        "draw",
        "judge",
        "key",
        "kind",
        "messages",
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
        self.sampling_json = _sampling_json(sampling)
        """Canonical JSON of the sampling parameters."""
        self.schema = schema
        self.options = options
        self.draw = draw
        self.attempt = attempt
        self.messages = prompt.messages()
        """The chat messages as they are sent."""
        parts = {
            "attempt": attempt,
            "draw": draw,
            "judge": judge.digest,
            "kind": kind,
            "messages": messages_digest(self.messages, prompt.shared),
            "options": options,
            "sampling": self.sampling_json,
            "schema": None if schema is None else _schema_digest(schema),
        }
        self.key = sha256(canonical(parts))
        """Ledger key: SHA-256 of the canonical JSON of the parts, long ones by their digest."""

    def pieces(self) -> tuple[str, str, str]:
        """System text, shared part and own part: together exactly what is sent."""
        system, user = self.messages[0].content, self.messages[1].content
        shared = self.prompt.shared
        return system, shared, user[len(shared) :]


def _sampling_json(sampling: Sampling | None) -> str:
    return canonical(None if sampling is None else sampling.model_dump(mode="json"))


@lru_cache(maxsize=256)
def _schema_digest(schema: str) -> str:
    return sha256(schema)


class Reply(Frozen):
    """What an engine answered, as it is kept."""

    key: str
    kind: Kind
    text: str = ""
    reasoning: str | None = None
    """A thinking model's reasoning; never parsed."""
    finish_reason: FinishReason = "stop"
    logprobs: dict[str, float] | None = None
    """Natural log-probability of each option; None for `generate`."""
    usage: Usage = Usage()
    created: str
    """UTC, ISO 8601."""
    latency: float
    """Seconds from sending to the end of the reply."""

    @classmethod
    def of(cls, key: str, answer: Generation | Choice, created: str, latency: float) -> Reply:
        """The reply that is kept for an engine's answer."""
        if isinstance(answer, Choice):
            return cls(
                key=key,
                kind="choose",
                logprobs=answer.logprobs,
                usage=answer.usage,
                created=created,
                latency=latency,
            )
        return cls(
            key=key,
            kind="generate",
            text=answer.text,
            reasoning=answer.reasoning,
            finish_reason=answer.finish_reason,
            usage=answer.usage,
            created=created,
            latency=latency,
        )
