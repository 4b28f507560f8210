"""Errors of running a model.

    ServingError
    ├── PresetError
    ├── WeightsMissing
    ├── DigestMismatch
    ├── FetchFailed
    ├── LaunchFailed
    ├── MissingExtra
    ├── BadEndpoint
    ├── ServerDown
    └── EngineError
        ├── EngineUnreachable
        │   └── NoServer
        ├── EngineTimeout
        ├── EngineOverloaded
        ├── EngineFault
        ├── RequestRefused
        │   └── KeyRefused
        ├── PromptTooLong
        ├── PromptCut
        ├── AnswerInReasoning
        ├── UnsupportedRequest
        ├── WrongModel
        ├── UnreportedOptions
        ├── MalformedReply
        └── PlannedCall

Invariant: every message is one line for the user that names the value, the place and the remedy.
"""

from __future__ import annotations

from typing import ClassVar


class ServingError(Exception):
    """Base of all errors of this package."""


class PresetError(ServingError):
    """A judge preset is missing or invalid."""


class WeightsMissing(ServingError):
    """Weights are not on this machine."""


class DigestMismatch(ServingError):
    """The SHA-256 of a file is not the pinned one."""


class FetchFailed(ServingError):
    """Weights could not be fetched."""


class LaunchFailed(ServingError):
    """A server did not become healthy."""


class MissingExtra(ServingError):
    """An optional dependency is not installed; the message contains the pip command."""


class BadEndpoint(ServingError):
    """A server address or an engine setting is invalid."""


class ServerDown(ServingError):
    """All servers are away for longer than is waited for, or came back as another judge.

    It ends the run instead of failing the calls one by one, since all of them would fail.
    """


class EngineError(ServingError):
    """One call failed; `retryable` says whether a retry may help."""

    kind: ClassVar[str] = "engine"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Delay that the server asks for, in seconds; None if it does not."""


class EngineUnreachable(EngineError):
    """The connection was refused, reset, or closed before the end of the answer."""

    kind = "unreachable"
    retryable = True


class NoServer(EngineUnreachable):
    """No server listens at the address."""


class EngineTimeout(EngineError):
    """There was no answer within the time limit."""

    kind = "timeout"
    retryable = True


class EngineOverloaded(EngineError):
    """The server answered HTTP 429 or 503."""

    kind = "overloaded"
    retryable = True


class EngineFault(EngineError):
    """The server answered another 5xx, or the model failed."""

    kind = "server_error"
    retryable = True


class RequestRefused(EngineError):
    """The server answered a 4xx: the request is wrong (model name, key, schema), and a retry cannot help."""

    kind = "refused"


class KeyRefused(RequestRefused):
    """The server answered HTTP 401: no request with this API key can succeed."""


class PromptTooLong(EngineError):
    """Prompt and reply do not fit the model's context."""

    kind = "prompt_too_long"


class PromptCut(EngineError):
    """The server read only a part of the prompt, and said so only by its number of tokens."""

    kind = "prompt_cut"


class AnswerInReasoning(EngineError):
    """The server took the answer for reasoning."""

    kind = "in_reasoning"


class UnsupportedRequest(EngineError):
    """The engine does not support the request."""

    kind = "unsupported"


class WrongModel(EngineError):
    """The reply names another model than the requested one."""

    kind = "wrong_model"


class UnreportedOptions(EngineError):
    """The reported log-probabilities do not determine the probabilities of the options."""

    kind = "unreported"


class MalformedReply(EngineError):
    """The response body does not follow the API: truncated, empty, not JSON, or impossible values."""

    kind = "malformed"
    retryable = True


class PlannedCall(EngineError):
    """A dry run counts the call and does not make it."""

    kind = "planned"
