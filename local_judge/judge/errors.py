"""Errors of judges, and failures made from errors of engines.

Invariant: every message is one line for the user that names the value, the place and the remedy. The failure of one
question is never an exception but a `Failure` (see `base.failures`).
"""

from __future__ import annotations

from typing import cast

from local_judge.base.errors import JudgeError
from local_judge.base.failures import KINDS, Failure, FailureKind
from serving.errors import EngineError


class SchemaError(JudgeError):
    """The answer type has no JSON schema for a constrained decoder: it is recursive, for example."""


class TooManyFailures(JudgeError):
    """The maximum number of failed calls is reached."""


def failure_of(error: EngineError, what: str = "") -> Failure:
    """Return an engine's error as a failure; `what` describes the request."""
    kind = error.kind if error.kind in KINDS else "server_error"
    return Failure(kind=cast("FailureKind", kind), detail=f"{what}: {error}" if what else str(error))
