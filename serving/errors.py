"""Errors of running a model.

    ServingError
    ├── PresetError            a judge preset that is missing or wrong
    ├── WeightsMissing         weights are not here; says which command fetches them
    ├── DigestMismatch         a weights file that is not the one asked for
    ├── FetchFailed            weights could not be had
    ├── LaunchFailed           a server that did not become healthy
    ├── MissingExtra           an optional dependency that is not installed
    ├── BadEndpoint            a server address or an engine setting that cannot work
    ├── ServerDown             servers that stay away for longer than they are waited for
    └── EngineError            one call that did not succeed; has a `kind` and whether a retry may help
        ├── EngineUnreachable  connection refused, reset, or closed in the middle
        ├── EngineTimeout      no answer within the time limit
        ├── EngineOverloaded   HTTP 429 or 503 after all retries
        ├── EngineFault        any other 5xx after all retries
        ├── RequestRefused     a 4xx: the request itself is wrong (model name, key, schema)
        │   └── KeyRefused     HTTP 401: no request with this key can succeed
        ├── PromptTooLong      prompt and reply do not fit the context
        ├── UnsupportedRequest something that this engine cannot do
        ├── WrongModel         a reply by another model than the one that was asked
        ├── UnreportedOptions  log-probabilities that leave the probabilities of the options open
        └── MalformedReply     a body that is not what the protocol promises (truncated, empty, not JSON)

Invariant: every message is one line that names the value, the place and the remedy, fit to be shown to a
user.
"""

from __future__ import annotations

from typing import ClassVar


class ServingError(Exception):
    """Root of all errors of this package."""


class PresetError(ServingError):
    """A judge preset that is missing or wrong."""


class WeightsMissing(ServingError):
    """Weights are not on this machine."""


class DigestMismatch(ServingError):
    """A file whose SHA-256 is not the one pinned."""


class FetchFailed(ServingError):
    """Weights could not be fetched."""


class LaunchFailed(ServingError):
    """A server that did not become healthy."""


class MissingExtra(ServingError):
    """An optional dependency that is not installed; the message holds the pip line."""


class BadEndpoint(ServingError):
    """A server address or an engine setting that cannot work."""


class ServerDown(ServingError):
    """Servers that stay away for longer than they are waited for, or come back as something else.

    It concerns all calls alike, so that it ends what makes them, instead of failing them one by one.
    """


class EngineError(ServingError):
    """One call that did not succeed."""

    kind: ClassVar[str] = "engine"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds after which the server asks to be tried again; None where it does not say."""


class EngineUnreachable(EngineError):
    """Connection refused, reset, or closed in the middle."""

    kind = "unreachable"
    retryable = True


class EngineTimeout(EngineError):
    """No answer within the time limit."""

    kind = "timeout"
    retryable = True


class EngineOverloaded(EngineError):
    """HTTP 429 or 503."""

    kind = "overloaded"
    retryable = True


class EngineFault(EngineError):
    """A 5xx that is not overload."""

    kind = "server_error"
    retryable = True


class RequestRefused(EngineError):
    """A 4xx: sending it again cannot help."""

    kind = "refused"


class KeyRefused(RequestRefused):
    """HTTP 401: no request with this API key, or without one, can succeed."""


class PromptTooLong(EngineError):
    """Prompt and reply do not fit the model's context."""

    kind = "prompt_too_long"


class UnsupportedRequest(EngineError):
    """Something that this engine cannot do."""

    kind = "unsupported"


class WrongModel(EngineError):
    """A reply by another model than the one that was asked."""

    kind = "wrong_model"


class UnreportedOptions(EngineError):
    """Log-probabilities that leave the probabilities of the options open."""

    kind = "unreported"


class MalformedReply(EngineError):
    """A response body that is not what the protocol promises."""

    kind = "malformed"
    retryable = True
