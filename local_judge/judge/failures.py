"""What did not work, as data.

Invariant: a failure is a value with a kind, never a zero, a NaN, a "not supported" or a missing row (design,
3.2).
"""

from __future__ import annotations

from typing import Literal, cast, get_args

from serving.errors import EngineError
from serving.types import Frozen

FailureKind = Literal[
    "unreachable",  # engine kinds: see serving.errors
    "timeout",
    "overloaded",
    "server_error",
    "refused",
    "prompt_too_long",
    "unsupported",
    "wrong_model",
    "malformed",
    "truncated",  # the reply ran into its token limit
    "invalid_reply",  # not JSON, or JSON that breaks the schema, after repair and re-asking
    "incomplete",  # an item that stayed unanswered after being asked for alone
    "unreported",  # the server reports too few alternatives to tell the options' probabilities
    "off_menu",  # the model wanted to say something else than the options
    "corrupt_reply",  # the stored reply does not match its digest; the next run asks again
    "report_too_long",  # the report does not fit the judge's context
    "planned",  # a dry run: the call would have been made
]


class Failure(Frozen):
    """One question that has no answer."""

    kind: FailureKind
    detail: str
    """One line: what was asked, where, what came back."""
    attempts: int = 1


_KINDS: frozenset[str] = frozenset(get_args(FailureKind))


def failure_of(error: EngineError, what: str = "") -> Failure:
    """Turn an engine's error into data; `what` was asked of it."""
    kind = error.kind if error.kind in _KINDS else "server_error"
    return Failure(kind=cast("FailureKind", kind), detail=f"{what}: {error}" if what else str(error))
