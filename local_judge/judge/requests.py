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
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal

from local_judge.judge.layout import Prompt
from serving.types import Choice, EngineIdentity, FinishReason, Frozen, Generation, Message, Sampling, Usage

Kind = Literal["generate", "choose"]


def canonical(value: Any) -> str:
    """JSON with sorted keys, no spaces and no NaN: one text for one value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256(text: str) -> str:
    """Hex SHA-256 of the UTF-8 bytes of `text`."""
    return hashlib.sha256(text.encode()).hexdigest()


def now() -> str:
    """The time, UTC, ISO 8601 to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def identity_digest(identity: EngineIdentity) -> str:
    """SHA-256 of the canonical JSON of a judge identity."""
    return sha256(canonical(identity.model_dump(mode="json")))


def messages_digest(messages: Sequence[Message]) -> str:
    """SHA-256 over role, length in bytes and content of each message: no two message lists share it."""
    digest = hashlib.sha256()
    for message in messages:
        content = message.content.encode()
        digest.update(f"{message.role} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


@dataclass(frozen=True)
class Request:
    """One call of an engine, asked or to be asked."""

    judge: EngineIdentity
    prompt: Prompt
    kind: Kind
    sampling: Sampling | None = None
    """As asked for; an engine may be sent a smaller `max_tokens`, so that prompt and reply fit. None for
    `choose`."""
    schema: str | None = None
    """JSON text of the schema, in the key order in which it is sent."""
    options: tuple[str, ...] = ()
    draw: int = 0
    attempt: int = 0
    """0 for the first time that a question is put, counting up when it is put again."""

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The chat messages as they are sent."""
        return self.prompt.messages()

    @cached_property
    def judge_digest(self) -> str:
        """Digest of the judge identity."""
        return identity_digest(self.judge)

    @cached_property
    def sampling_json(self) -> str:
        """Canonical JSON of the sampling parameters."""
        return canonical(None if self.sampling is None else self.sampling.model_dump(mode="json"))

    @cached_property
    def key(self) -> str:
        """Ledger key: SHA-256 of the canonical JSON of the parts, long ones by their digest."""
        parts = {
            "attempt": self.attempt,
            "draw": self.draw,
            "judge": self.judge_digest,
            "kind": self.kind,
            "messages": messages_digest(self.messages),
            "options": self.options,
            "sampling": self.sampling_json,
            "schema": self.schema,
        }
        return sha256(canonical(parts))

    def pieces(self) -> tuple[str, str, str]:
        """System text, shared part and own part: together exactly what is sent."""
        system, user = self.messages[0].content, self.messages[1].content
        shared = self.prompt.shared
        return system, shared, user[len(shared) :]


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
